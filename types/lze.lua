---@meta
-- lze.lua - the module lze for editors that read LuaCATS annotations.
-- SPDX-License-Identifier: MIT
--
-- The manual, doc/manual.md, says what each of these does.

---Lua for accelerators through oneAPI Level Zero.
---@class lze
---@field version string "0.1.0"
---@field _VERSION string "lze 0.1.0"
---@field spirv lze.spirv
---@field work lze.work
---@field array lze.array
---@field yield fun(ev: lze.Event) what ev:await calls; coroutine.yield at first
local lze = {}

---@alias lze.ElementType
---| "char" | "uchar" | "short" | "ushort" | "int" | "uint" | "long" | "ulong"
---| "half" | "bfloat16" | "float" | "double"
---| "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64"
---| "f16" | "bf16" | "f32" | "f64"
---| "int32" | "uint32" | "int64" | "uint64" | "float32" | "float64"
---| "char2" | "char3" | "char4" | "char8" | "char16"
---| "uchar2" | "uchar3" | "uchar4" | "uchar8" | "uchar16"
---| "short2" | "short3" | "short4" | "short8" | "short16"
---| "ushort2" | "ushort3" | "ushort4" | "ushort8" | "ushort16"
---| "int2" | "int3" | "int4" | "int8" | "int16"
---| "uint2" | "uint3" | "uint4" | "uint8" | "uint16"
---| "long2" | "long3" | "long4" | "long8" | "long16"
---| "ulong2" | "ulong3" | "ulong4" | "ulong8" | "ulong16"
---| "half2" | "half3" | "half4" | "half8" | "half16"
---| "bfloat162" | "bfloat163" | "bfloat164" | "bfloat168" | "bfloat1616"
---| "float2" | "float3" | "float4" | "float8" | "float16"
---| "double2" | "double3" | "double4" | "double8" | "double16"

---A number, an array of them for a vector, the fields or bytes of a struct.
---@alias lze.Value number | number[] | table<string, any> | string

---A position in lze.devices(), or terms such as "gpu", "cpu:0;!epyc".
---@alias lze.Selector integer | string

---@alias lze.Usage "shared" | "device" | "host"
---@alias lze.Policy "lze" | "driver" | "largest" | "tornado" | "oneapi.jl" | "tuned"
---@alias lze.Kind
---| "buffer" | "context" | "device" | "driver" | "event" | "kernel"
---| "local_bytes" | "module" | "queue" | "graph" | "plan" | "scratch" | "slice"
---| "struct" | "element" | "array" | "image" | "sampler"

-- Devices and contexts ------------------------------------------------------

---@class lze.Driver
---@field name string
---@field version integer the driver's own number
---@field api string the Level Zero it implements, such as "1.10"
---@field handle lightuserdata

---@class lze.Device
---@field name string
---@field type "gpu" | "cpu" | "npu" | "fpga" | "mca" | "other"
---@field vendor string
---@field memory_bytes integer
---@field compute_units integer
---@field max_group_size integer
---@field subgroup_sizes integer[]
---@field fp64 boolean
---@field fp16 boolean
---@field uuid string
---@field driver lze.Driver
---@field context lze.Context the one in use when none is given
---@field queue lze.Queue the one in use when none is given
---@field parent lze.Device? of a tile, its device
---@field software boolean a CPU
---@field handle lightuserdata
local Device = {}

---What the driver reports.
---@return table<string, integer | boolean | string | integer[]>
function Device:properties() end

---@return integer free_bytes the total less what this state uses
---@return integer total_bytes
function Device:memory() end

---The formats that it has for images.
---@param dimensions? 1 | 2 | 3 2 when not given
---@return string[]
function Device:image_formats(dimensions) end

---@class lze.Telemetry
---@field temperature_celsius? number
---@field energy_joules? number
---@field power_watts? number since the last call
---@field frequency_mhz? number
---@field memory_used_bytes? integer
---@field memory_total_bytes? integer
---@field activity? number since the last call, 0 to 1
---@field compute_activity? number
---@field copy_activity? number

---@return lze.Telemetry
function Device:telemetry() end

---Whether what runs on it may touch memory of the other: peer access.
---@param other lze.Device | lze.Selector
---@return boolean
function Device:reaches(other) end

---@return lze.Device[] tiles
function Device:subdevices() end

---@class lze.Context
---@field driver lze.Driver
---@field handle lightuserdata
local Context = {}

---Close everything made in it; work in flight runs to its end.
function Context:close() end

---@return lze.Driver[]
function lze.drivers() end

---@param selector? lze.Selector
---@return lze.Device[] devices GPUs first
function lze.devices(selector) end

---@param selector? lze.Selector the default device when not given
---@return lze.Device
function lze.device(selector) end

---@param what? lze.Device | lze.Selector | lze.Queue | lze.Context
---@return lze.Device, lze.Context, lze.Queue
function lze.default(what) end

---@param devices? lze.Device | lze.Selector | (lze.Device | lze.Selector)[]
---@return lze.Context
function lze.context(devices) end

---One screen for a person.
---@return string
function lze.info() end

---@param v any
---@return lze.Kind?
function lze.type(v) end

-- Buffers -------------------------------------------------------------------

---@class lze.BufferOptions
---@field usage? lze.Usage "shared" when not given
---@field device? lze.Device | lze.Selector
---@field context? lze.Context
---@field zero? boolean false: leave the contents undefined

---@class lze.Box
---@field size integer[] width, height, depth in elements
---@field src? integer[] x, y, z where it starts
---@field dst? integer[] x, y, z where it starts
---@field src_width? integer elements from one row to the next
---@field dst_width? integer elements from one row to the next
---@field src_height? integer rows from one slice to the next
---@field dst_height? integer rows from one slice to the next

---@class lze.Buffer
---@field type string
---@field usage lze.Usage
---@field bytes integer
---@field pointer integer
---@field handle lightuserdata
---@field device lze.Device
---@field context lze.Context
---@field [integer] lze.Value?
---@operator len: integer
local Buffer = {}

---The elements i..j in a table, from its index 1 on.
---@param i? integer
---@param j? integer
---@param t? lze.Value[]
---@return lze.Value[]
function Buffer:read(i, j, t) end

---@param source lze.Value[] | string | lze.Buffer
---@param i? integer where to; 1 when not given
---@return lze.Buffer self
function Buffer:write(source, i) end

---The bytes of the elements i..j.
---@param i? integer
---@param j? integer
---@return string
function Buffer:string(i, j) end

---Enqueue that the elements i..j become v.
---@param v lze.Value
---@param i? integer
---@param j? integer
---@return lze.Buffer self
function Buffer:fill(v, i, j) end

---Enqueue a copy of src[i..j] to self[at..].
---@param src lze.Buffer | lze.Image an image is copied whole
---@param i? integer
---@param j? integer
---@param at? integer
---@return lze.Buffer self
function Buffer:copy(src, i, j, at) end

---Enqueue a copy of a box of rows.
---@param src lze.Buffer | lze.Image
---@param box lze.Box
---@return lze.Buffer self
function Buffer:copy_box(src, box) end

---Read elements from an open file.
---@param file file*
---@param i? integer
---@param j? integer
---@return integer count how many there were before its end
function Buffer:load(file, i, j) end

---Write the bytes of the elements to an open file.
---@param file file*
---@param i? integer
---@param j? integer
---@return lze.Buffer self
function Buffer:save(file, i, j) end

---A buffer that shares the elements i..j.
---@param i? integer
---@param j? integer
---@param type? lze.ElementType
---@return lze.Buffer
function Buffer:view(i, j, type) end

---Whether work in flight touches it; does not wait. Raises what the driver says
---when it does not tell.
---@return boolean
function Buffer:pending() end

---A token for lze.import: an integer, for this or another Lua state of the
---process, or a string for another process.
---@param where? "state" | "process"
---@return integer | string
function Buffer:export(where) end

function Buffer:close() end

---Show it in a notebook, or print it.
function Buffer:display() end

---An element type of several fields, laid out as OpenCL C does: "float mass;
---int kind; float4 pos".
---@class lze.Struct
---@field name string
---@field bytes integer
---@field fields {name: string, type: string, offset: integer, count?: integer}[]
---@overload fun(fields: table): string
local Struct = {}

---@param bytes string
---@return table
function Struct:unpack(bytes) end

---A place in a buffer of structs: its fields by name.
---@class lze.Element
---@field [string] any
local Element = {}

---@param fields string
---@return lze.Struct
function lze.struct(fields) end

---@param type lze.ElementType | lze.Struct
---@param contents integer | lze.Value[] | string | lze.Buffer a count, elements, bytes, or what is copied
---@param options? lze.BufferOptions
---@return lze.Buffer
function lze.buffer(type, contents, options) end

-- Images and samplers -------------------------------------------------------

---@class lze.ImageOptions
---@field zero? boolean false: leave the contents undefined
---@field device? lze.Device | lze.Selector
---@field context? lze.Context

---@class lze.ImageBox
---@field at? integer[] where it starts, {1, 1, 1} when not given
---@field size? integer[] to the end when not given

---@class lze.Image
---@field format string "rgba8unorm"
---@field type string the element type of a pixel, "uchar4"
---@field width integer
---@field height integer
---@field depth integer
---@field dimensions 1 | 2 | 3
---@field bytes integer
---@field access "both" | "read" what kernels may do with it
---@field device lze.Device
---@field context lze.Context
---@field handle lightuserdata
local Image = {}

---The pixels of a box, row after row.
---@param box? lze.ImageBox
---@param t? table
---@return lze.Value[]
function Image:read(box, t) end

---The same as bytes.
---@param box? lze.ImageBox
---@return string
function Image:string(box) end

---@param values lze.Value[] | string as many as the box has pixels
---@param box? lze.ImageBox
---@return lze.Image self
function Image:write(values, box) end

---Enqueue a copy of all of src.
---@param src lze.Image | lze.Buffer
---@return lze.Image self
function Image:copy(src) end

---Enqueue a copy of a box.
---@param src lze.Image | lze.Buffer
---@param box lze.Box
---@return lze.Image self
function Image:copy_box(src, box) end

---Whether work in flight touches it; does not wait.
---@return boolean
function Image:pending() end

function Image:close() end

---@param format string "rgba8unorm", "r32float"
---@param size integer | integer[] {width [, height [, depth]]}
---@param options? lze.ImageOptions
---@return lze.Image
function lze.image(format, size, options) end

---@class lze.SamplerOptions
---@field address? "none" | "repeat" | "clamp" | "border" | "mirror" "clamp" when not given
---@field filter? "nearest" | "linear" "nearest" when not given
---@field normalized? boolean coordinates from 0 to 1
---@field device? lze.Device | lze.Selector
---@field context? lze.Context

---@class lze.Sampler
---@field address string
---@field filter string
---@field normalized boolean
---@field device lze.Device
---@field context lze.Context
---@field handle lightuserdata
local Sampler = {}

function Sampler:close() end

---@param options? lze.SamplerOptions
---@return lze.Sampler
function lze.sampler(options) end

-- Modules and kernels -------------------------------------------------------

---@class lze.ModuleOptions
---@field device? lze.Device | lze.Selector
---@field context? lze.Context
---@field options? string for the driver's compiler
---@field constants? table<string | integer, number | boolean>
---@field validate? "strict"
---@field spirv? string the SPIR-V of a native binary

---@class lze.CompileOptions: lze.ModuleOptions
---@field std? string "CL1.2" when not given
---@field defines? table<string, string | number | boolean>
---@field include? string[]
---@field flags? string[] for clang
---@field format? "source" the driver's own compiler takes it
---@field signature? string with that, the kernels' declarations

---@class lze.Module
---@field warnings string[] what the validator found; kernels that call what is not defined
---@field log string what the compilers said although they succeeded
---@field device lze.Device
---@field handle lightuserdata
---@field [string] lze.Kernel
local Module = {}

---@param name string
---@return lze.Kernel
function Module:kernel(name) end

---@return string[] names
function Module:kernels() end

---@return string bytes the SPIR-V it was made from
function Module:spirv() end

---@return string bytes the device's binary
function Module:native() end

---The same module on another device.
---@param device lze.Device | lze.Selector
---@return lze.Module
function Module:on(device) end

function Module:close() end

---@class lze.Argument
---@field name string?
---@field type string
---@field space "global" | "constant" | "local" | nil
---@field access "none" | "read" | "write" | "both" | nil

---@class lze.LaunchTable
---@field [integer] integer nx, ny, nz
---@field group? integer | integer[]
---@field offset? integer | integer[]
---@field queue? lze.Queue
---@field after? lze.Event | lze.Event[]
---@field signal? lze.Event one of lze.wrap, signalled when the launch is done
---@field policy? lze.Policy
---@field uses? lze.Buffer | lze.Buffer[]

---@alias lze.Range integer | lze.LaunchTable

---@class lze.Kernel
---@field name string
---@field args lze.Argument[]
---@field max_group_size integer
---@field required_group_size integer[]?
---@field group_hint integer | integer[] | nil # may be set
---@field subgroup_size integer
---@field local_bytes integer
---@field private_bytes integer
---@field spill_bytes integer
---@field handle lightuserdata
---@overload fun(range: lze.Range, ...: any)
local Kernel = {}

---@param range lze.Range
---@param ... any its arguments
---@return lze.Event
function Kernel:launch(range, ...) end

---The ordinary kernel that such a launch of a kernel in Lua would run.
---@param range lze.Range
---@param ... any
---@return lze.Kernel
function Kernel:variant(range, ...) end

---@class lze.Report
---@field ok boolean
---@field findings string[]
---@field worst number
---@field worst_at? string

---Runs the function of a kernel in Lua itself, and the device beside it.
---@param range lze.Range
---@param ... any
---@return lze.Report
function Kernel:check(range, ...) end

---Of a kernel in Lua.
---@param range? lze.Range | string a signature, or a range and arguments
---@param ... any
---@return string
function Kernel:spirv(range, ...) end

---The group that such a launch would get, and why.
---@param nx lze.Range
---@param ny? integer
---@param nz? integer
---@return integer gx, integer gy, integer gz, string why
function Kernel:group(nx, ny, nz) end

---Compile ahead what such a launch needs, running nothing.
---@param range lze.Range
---@param ... any {background = true} or not, then its arguments, or none
---@return boolean done false where the driver cannot be asked
function Kernel:prepare(range, ...) end

function Kernel:close() end

---@class lze.LocalBytes

---An argument that is n bytes of local memory.
---@param n integer
---@return lze.LocalBytes
function lze.local_bytes(n) end

---@class lze.TuneResult
---@field group integer[]
---@field ns integer
---@field rounds integer

---@class lze.TuneReport: lze.TuneResult
---@field stored boolean
---@field results lze.TuneResult[]

---Measures group sizes; policy = "tuned" uses what it finds.
---@param k lze.Kernel
---@param range integer | integer[] | lze.LaunchTable
---@param ... any
---@return lze.TuneReport
function lze.tune(k, range, ...) end

---@class lze.ProfileOptions
---@field events? integer how many are kept at most

---@class lze.ProfileEvent
---@field kind "kernel" | "copy" | "fill" | "graph" | "command" | "wait" | "build" | "mark" | "alloc" | "free"
---@field name string
---@field where string? "script.lua:12"
---@field queued_ns integer
---@field start_ns integer?
---@field end_ns integer?
---@field call_ns integer?
---@field device string?
---@field queue integer?
---@field global integer[]?
---@field group integer[]?
---@field why string?
---@field after integer? place in the array of what it depends on
---@field bytes integer?
---@field storage integer?
---@field again true?
---@field collected true?
---@field failed true?

---@class lze.Finding
---@field rule string
---@field where string
---@field share number
---@field text string

---@class lze.Profile
---@field events lze.ProfileEvent[]
---@field findings lze.Finding[] the worst first
---@field start_ns integer
---@field end_ns integer
---@field recording boolean
---@field dropped integer older events that there was no room for
local Profile = {}

---Wait for everything and record no more.
---@return lze.Profile
function Profile:stop() end

---@param path string ends in .html, .json, .csv or .txt
---@return lze.Profile
function Profile:save(path) end

function Profile:close() end

---Show it in a notebook, or print it.
function Profile:display() end

---Begins to record or, with a function, records that call.
---@overload fun(options: lze.ProfileOptions): lze.Profile
---@overload fun(options: lze.ProfileOptions, f: function, ...: any): lze.Profile, any
---@param f? fun(...: any): any
---@param ... any
---@return lze.Profile
---@return any ... results of f
function lze.profile(f, ...) end

---What the manual says of a function, an object or a word.
---@param x? any
---@return string
function lze.help(x) end

---A point in profiles or, with a function, the time of that call.
---@param name string
---@param f? fun(...: any): any
---@param ... any
---@return any ... results of f
function lze.mark(name, f, ...) end

---@param path string SPIR-V, or OpenCL C where it ends in .cl
---@param options? lze.CompileOptions
---@return lze.Module
function lze.load(path, options) end

---@param bytes string SPIR-V
---@param options? lze.ModuleOptions
---@return lze.Module
function lze.module(bytes, options) end

---@param source string OpenCL C
---@param options? lze.CompileOptions
---@return lze.Module
function lze.compile(source, options) end

---@class lze.LuaKernelOptions
---@field signature? string the arguments' types, as in C
---@field name? string
---@field real? "float" | "double"
---@field int? "long" | "int"
---@field fast? boolean
---@field bounds? boolean launches raise for accesses outside

---A kernel made of a Lua function, the body of a loop over the range.
---@param f function
---@param options? lze.LuaKernelOptions | string
---@return lze.Kernel
function lze.kernel(f, options) end

---What a work-item can ask; ids begin at 1.
---@class lze.work
local work = {}

---@param d? integer the dimension
---@return integer
function work.global_id(d) end

---@param d? integer
---@return integer
function work.local_id(d) end

---@param d? integer
---@return integer
function work.group_id(d) end

---@param d? integer
---@return integer
function work.global_size(d) end

---@param d? integer
---@return integer
function work.local_size(d) end

---@param d? integer
---@return integer
function work.num_groups(d) end

function work.barrier() end

---@param type string
---@param n integer
---@return lze.Buffer
function work.local_array(type, n) end

---@param type string
---@param n integer
---@return lze.Buffer
function work.private_array(type, n) end

---@param x lze.Buffer
---@param i integer
---@param v number
---@return number old
function work.atomic_add(x, i, v) end

---@param x lze.Buffer
---@param i integer
---@param v number
---@return number old
function work.atomic_sub(x, i, v) end

---@param x lze.Buffer
---@param i integer
---@param v number
---@return number old
function work.atomic_min(x, i, v) end

---@param x lze.Buffer
---@param i integer
---@param v number
---@return number old
function work.atomic_max(x, i, v) end

---@param x lze.Buffer
---@param i integer
---@param v integer
---@return integer old
function work.atomic_and(x, i, v) end

---@param x lze.Buffer
---@param i integer
---@param v integer
---@return integer old
function work.atomic_or(x, i, v) end

---@param x lze.Buffer
---@param i integer
---@param v integer
---@return integer old
function work.atomic_xor(x, i, v) end

---@param x lze.Buffer
---@param i integer
---@param v number
---@return number old
function work.atomic_exchange(x, i, v) end

---@param x lze.Buffer
---@param i integer
---@param expected number
---@param v number
---@return number old
function work.atomic_compare_exchange(x, i, expected, v) end

---@return integer
function work.sub_group_size() end

---@return integer
function work.lane() end

---Philox-4x32-10: four integers of 32 bits.
---@param seed integer
---@param counter integer
---@return integer, integer, integer, integer
function work.random(seed, counter) end

---@param a number
---@param b number
---@param c number
---@return number
function work.fma(a, b, c) end

---@param ... any
function work.print(...) end

---@class lze.CacheState
---@field directory string?
---@field entries integer
---@field bytes integer

---What is kept on disk.
---@param clear? "clear" remove it all first
---@return lze.CacheState
function lze.cache(clear) end

---Whether what takes long is shown on the terminal.
---@param on? boolean
---@return boolean
function lze.progress(on) end

-- Queues and events ---------------------------------------------------------

---@class lze.QueueOptions
---@field mode? "immediate" | "batched"
---@field order? "in" | "out"
---@field engine? "compute" | "copy"
---@field priority? "low" | "normal" | "high"
---@field hazards? boolean
---@field device? lze.Device | lze.Selector
---@field context? lze.Context

---@alias lze.Advice
---| "read_mostly" | "not_read_mostly" | "prefer_device" | "not_prefer_device"
---| "non_atomic_mostly" | "not_non_atomic_mostly"

---@class lze.Queue
---@field mode "immediate" | "batched"
---@field order "in" | "out"
---@field engine "compute" | "copy"
---@field device lze.Device
---@field handle lightuserdata
local Queue = {}

---@param k lze.Kernel
---@param range lze.Range
---@param ... any its arguments
---@return lze.Event
function Queue:launch(k, range, ...) end

---@param dst lze.Buffer | lze.Image
---@param src lze.Buffer | lze.Image
---@param i? integer
---@param j? integer
---@param at? integer
---@return lze.Event
function Queue:copy(dst, src, i, j, at) end

---@param x lze.Buffer
---@param v lze.Value
---@param i? integer
---@param j? integer
---@return lze.Event
function Queue:fill(x, v, i, j) end

---@param events? lze.Event | lze.Event[]
---@return lze.Event
function Queue:barrier(events) end

---@param ev lze.Event one of lze.wrap
---@return lze.Event
function Queue:signal(ev) end

---@param x lze.Buffer
function Queue:prefetch(x) end

---@param x lze.Buffer
---@param word lze.Advice
function Queue:advise(x, word) end

function Queue:flush() end

---@param seconds? number
---@return boolean done
function Queue:wait(seconds) end

function Queue:close() end

---@param device? lze.Device | lze.Selector
---@param options? lze.QueueOptions
---@return lze.Queue
---@overload fun(options: lze.QueueOptions): lze.Queue
function lze.queue(device, options) end

---Everything on every queue of this state.
---@param seconds? number
---@return boolean done
function lze.wait(seconds) end

---@class lze.Times
---@field queued_ns integer
---@field start_ns integer
---@field end_ns integer
---@field kernel_ns integer

---@class lze.Event
---@field command string
---@field handle lightuserdata? while it is in flight
local Event = {}

---Whether the command is over; does not wait. Raises what the driver says when
---it does not tell.
---@return boolean
function Event:done() end

---@param seconds? number
---@return boolean done
function Event:wait(seconds) end

---Wait, then tell when it ran.
---@return lze.Times
function Event:time() end

---Call yield(ev) until the command is over; raises as `done` does.
---@param yield? fun(ev: lze.Event) lze.yield when not given
---@return true
function Event:await(yield) end

---A descriptor that is readable once the command is over.
---@return integer
function Event:fd() end

function Event:close() end

-- Errors --------------------------------------------------------------------

---What is raised when a driver, a compiler, a file or memory refuses.
---@class lze.Error
---@field call string
---@field code string
---@field result integer?
---@field message string
---@field object string?
---@field where string?
---@field log string?

-- SPIR-V --------------------------------------------------------------------

---@class lze.spirv
local spirv = {}

---@param bytes string
---@param target? string such as "opencl1.2"
---@return true? valid
---@return string? message
function spirv.validate(bytes, target) end

---@param text string
---@return string bytes
function spirv.assemble(text) end

---@param bytes string
---@return string text
function spirv.disassemble(bytes) end

---@class lze.ReflectedType
---@field kind "unknown" | "void" | "bool" | "int" | "float" | "struct" | "pointer"
---@field sign "signed" | "unsigned" | nil
---@field bits integer
---@field lanes integer
---@field bytes integer

---@class lze.ReflectedArgument
---@field name string?
---@field class "value" | "pointer" | "local" | "image" | "sampler" | "other"
---@field type lze.ReflectedType
---@field source_type string?
---@field space string?
---@field access string?
---@field const boolean
---@field bytes integer

---@class lze.ReflectedKernel
---@field name string
---@field args lze.ReflectedArgument[]
---@field builtins string[]
---@field features string[]
---@field beside integer[]
---@field apart integer[]
---@field again integer[]
---@field local_fit integer[]
---@field local_items integer
---@field local_bytes integer
---@field required_group_size integer[]?
---@field group_size_hint integer[]?
---@field required_subgroup_size integer?

---@class lze.ReflectedConstant
---@field id integer
---@field name string?
---@field type lze.ReflectedType

---@class lze.Reflection
---@field version string
---@field generator integer
---@field address_bits integer
---@field capabilities integer[]
---@field kernels lze.ReflectedKernel[]
---@field spec_constants lze.ReflectedConstant[]
---@field imports boolean
---@field exports boolean

---@param bytes string
---@return lze.Reflection
function spirv.reflect(bytes) end

---@param bytes string
---@param passes? string[] flags of spirv-opt
---@return string bytes
function spirv.optimize(bytes, passes) end

-- Housekeeping --------------------------------------------------------------

---@class lze.Stats
---@field objects table<string, integer>
---@field bytes integer
---@field shared_bytes integer
---@field device_bytes integer
---@field host_bytes integer
---@field peak_bytes integer
---@field pinned integer
---@field pinned_bytes integer
---@field pending integer
---@field in_flight integer
---@field launches integer
---@field collections integer

---@return lze.Stats
function lze.stats() end

---@class lze.GcOptions
---@field soft_limit_bytes? integer
---@field growth? number
---@field close_seconds? number

---@param options? lze.GcOptions
---@return lze.GcOptions in_force
function lze.gc(options) end

-- Several devices -----------------------------------------------------------

---What lze.slice makes.
---@class lze.Slice

---@class lze.Part
---@field device lze.Device
---@field first integer
---@field count integer
---@field kernel_ns integer

---n work-items over several devices, by their measured speed; waits for all.
---@param devices lze.Device | (lze.Device | lze.Selector)[]
---@param n integer | {[1]: integer, offset?: integer}
---@param k lze.Kernel
---@param ... any its arguments, or slices
---@return lze.Part[]
function lze.parallel(devices, n, k, ...) end

---An argument of lze.parallel of which each device sees its part.
---@param x lze.Buffer
---@param size? integer elements for each work-item
---@return lze.Slice
function lze.slice(x, size) end

-- Inside other programs -----------------------------------------------------

---One of context, queue, buffer and event, and what goes with it.
---@class lze.WrapOptions
---@field context? lightuserdata
---@field queue? lightuserdata an immediate command list
---@field buffer? lightuserdata USM
---@field event? lightuserdata
---@field driver? lightuserdata of a context
---@field device? lightuserdata | lze.Device | lze.Selector
---@field type? lze.ElementType of a buffer
---@field count? integer of a buffer

---@class lze.ImportOptions
---@field device? lze.Device | lze.Selector
---@field context? lze.Context

---A buffer on what x:export() was called on, in this or another Lua state, or
---in another process.
---@param token integer | string
---@param options? lze.ImportOptions with a string
---@return lze.Buffer
function lze.import(token, options) end

---Native objects of the host, which goes on owning them.
---@param options lze.WrapOptions
---@return lze.Device | lze.Queue | lze.Buffer | lze.Event
function lze.wrap(options) end

-- Task graphs ---------------------------------------------------------------

---A buffer that exists in plans only.
---@class lze.Scratch
---@field type lze.ElementType
---@field bytes integer
---@operator len: integer
local Scratch = {}

---@class lze.TaskTable: lze.LaunchTable
---@field access? table<string | integer, "read" | "write" | "both">
---@field device? lze.Device | lze.Selector
---@field after? string | string[]

---@class lze.Graph
---@field name string
local Graph = {}

---@param name? string
---@return lze.Graph
function lze.graph(name) end

---@param name string
---@param k lze.Kernel | lze.Graph
---@param range? lze.Range | lze.TaskTable
---@param ... any its arguments
---@return lze.Graph
function Graph:task(name, k, range, ...) end

---@param name string
---@param dst lze.Buffer | lze.Scratch
---@param src lze.Buffer | lze.Scratch
---@param i? integer
---@param j? integer
---@param at? integer
---@return lze.Graph
function Graph:copy(name, dst, src, i, j, at) end

---@param name string
---@param dst lze.Array
---@param expression lze.Array
---@return lze.Graph
function Graph:array(name, dst, expression) end

---@param name string
---@param x lze.Buffer | lze.Scratch
---@param v lze.Value
---@param i? integer
---@param j? integer
---@return lze.Graph
function Graph:fill(name, x, v, i, j) end

---@param name string
---@param f fun()
---@return lze.Graph
function Graph:call(name, f) end

---@param x lze.Buffer
---@param when? "every" | "first" | "none"
---@param source? table | string | lze.Buffer
---@return lze.Graph
function Graph:input(x, when, source) end

---@param x lze.Buffer
---@param when? "every" | "demand"
---@param destination? table | lze.Buffer
---@return lze.Graph
function Graph:output(x, when, destination) end

---@param type lze.ElementType
---@param count integer
---@return lze.Scratch
function Graph:buffer(type, count) end

---@param a lze.Buffer
---@param b lze.Buffer
---@return lze.Graph
function Graph:swap(a, b) end

---@class lze.PlanOptions
---@field device? lze.Device | lze.Selector
---@field devices? (lze.Device | lze.Selector)[]
---@field batch_bytes? integer
---@field memory_bytes? integer
---@field profile? boolean
---@field queues? integer

---@param options? lze.PlanOptions
---@return lze.Plan
function Graph:compile(options) end

function Graph:close() end

---@class lze.Plan
---@field device lze.Device
local Plan = {}

---@class lze.RunOptions
---@field iterations? integer

---@param options? lze.RunOptions
---@return lze.Plan
function Plan:run(options) end

---@param options? lze.RunOptions
---@return lze.Event
function Plan:start(options) end

---@param task string
---@param argument integer | string
---@param value any
---@return lze.Plan
function Plan:set(task, argument, value) end

---@param y lze.Buffer
---@return lze.Buffer
function Plan:fetch(y) end

---@param x lze.Buffer
---@return lze.Buffer
function Plan:current(x) end

---@class lze.Report
---@field name string
---@field device string
---@field runs integer
---@field tasks table[]
---@field transfers table[]
---@field lanes integer
---@field segments integer
---@field lists integer
---@field recorded integer
---@field captured_bytes integer
---@field transient_bytes integer
---@field unshared_bytes integer
---@field total_ns integer?
---@field busy_ns integer?
---@field critical_ns integer?
---@field overlap number?
---@field critical_path string[]?

---@return lze.Report
function Plan:report() end

---@return string
function Plan:json() end

---@return string
function Plan:trace() end

---@return string
function Plan:dot() end

function Plan:close() end

---Show it in a notebook, or print it.
function Plan:display() end

-- Arrays ----------------------------------------------------------------------

---@alias lze.Operand lze.Array | number
---@alias lze.Place integer | {[1]?: integer, [2]?: integer, [3]?: integer}

---Integers, from 1, negative ones from the end.
---@alias lze.Indices lze.Array | integer | table

---@class lze.SortOptions
---@field dim? integer the last when not given
---@field descending? boolean
---@field by? fun(x: number, y: number): boolean whether x comes before y

---@class lze.ArrayOptions
---@field type? lze.ElementType "float" when not given
---@field device? lze.Device | lze.Selector

---@class lze.ReduceOptions
---@field dim? integer all elements when not given
---@field keep? boolean dimensions that are reduced stay, of size 1

---@class lze.Array
---@field type lze.ElementType
---@field shape integer[]
---@field strides integer[] in elements
---@field buffer lze.Buffer
---@field device lze.Device
---@operator add(lze.Operand): lze.Array
---@operator sub(lze.Operand): lze.Array
---@operator mul(lze.Operand): lze.Array
---@operator div(lze.Operand): lze.Array
---@operator idiv(lze.Operand): lze.Array
---@operator mod(lze.Operand): lze.Array
---@operator pow(lze.Operand): lze.Array
---@operator band(lze.Operand): lze.Array
---@operator bor(lze.Operand): lze.Array
---@operator bxor(lze.Operand): lze.Array
---@operator shl(lze.Operand): lze.Array
---@operator shr(lze.Operand): lze.Array
---@operator unm: lze.Array
---@operator bnot: lze.Array
---@operator len: integer
local Array = {}

---@class lze.array
---@overload fun(type: lze.ElementType, source: table | integer | lze.Buffer, shape?: integer[]): lze.Array
local array = {}

---@return lze.Array
function Array:neg() end
array.neg = Array.neg

---@return lze.Array
function Array:abs() end
array.abs = Array.abs

---@return lze.Array
function Array:sign() end
array.sign = Array.sign

---@return lze.Array
function Array:sqrt() end
array.sqrt = Array.sqrt

---@return lze.Array
function Array:rsqrt() end
array.rsqrt = Array.rsqrt

---@return lze.Array
function Array:exp() end
array.exp = Array.exp

---@return lze.Array
function Array:log() end
array.log = Array.log

---@return lze.Array
function Array:log2() end
array.log2 = Array.log2

---@return lze.Array
function Array:log10() end
array.log10 = Array.log10

---@return lze.Array
function Array:log1p() end
array.log1p = Array.log1p

---@return lze.Array
function Array:expm1() end
array.expm1 = Array.expm1

---@return lze.Array
function Array:sin() end
array.sin = Array.sin

---@return lze.Array
function Array:cos() end
array.cos = Array.cos

---@return lze.Array
function Array:tan() end
array.tan = Array.tan

---@return lze.Array
function Array:asin() end
array.asin = Array.asin

---@return lze.Array
function Array:acos() end
array.acos = Array.acos

---@return lze.Array
function Array:atan() end
array.atan = Array.atan

---@return lze.Array
function Array:sinh() end
array.sinh = Array.sinh

---@return lze.Array
function Array:cosh() end
array.cosh = Array.cosh

---@return lze.Array
function Array:tanh() end
array.tanh = Array.tanh

---@return lze.Array
function Array:sigmoid() end
array.sigmoid = Array.sigmoid

---@return lze.Array
function Array:floor() end
array.floor = Array.floor

---@return lze.Array
function Array:ceil() end
array.ceil = Array.ceil

---@return lze.Array
function Array:round() end
array.round = Array.round

---@return lze.Array
function Array:trunc() end
array.trunc = Array.trunc

---@return lze.Array
function Array:isnan() end
array.isnan = Array.isnan

---@return lze.Array
function Array:isfinite() end
array.isfinite = Array.isfinite

---@return lze.Array
function Array:t() end
array.t = Array.t

---@return lze.Array
function Array:clone() end
array.clone = Array.clone

---@param b lze.Operand
---@return lze.Array
function Array:eq(b) end
array.eq = Array.eq

---@param b lze.Operand
---@return lze.Array
function Array:ne(b) end
array.ne = Array.ne

---@param b lze.Operand
---@return lze.Array
function Array:lt(b) end
array.lt = Array.lt

---@param b lze.Operand
---@return lze.Array
function Array:le(b) end
array.le = Array.le

---@param b lze.Operand
---@return lze.Array
function Array:gt(b) end
array.gt = Array.gt

---@param b lze.Operand
---@return lze.Array
function Array:ge(b) end
array.ge = Array.ge

---@param b lze.Operand
---@return lze.Array
function Array:atan2(b) end
array.atan2 = Array.atan2

---@param b? lze.Operand | lze.ReduceOptions elementwise with an operand
---@return lze.Array
function Array:min(b) end
array.min = Array.min

---@param b? lze.Operand | lze.ReduceOptions elementwise with an operand
---@return lze.Array
function Array:max(b) end
array.max = Array.max

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:sum(options) end
array.sum = Array.sum

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:prod(options) end
array.prod = Array.prod

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:mean(options) end
array.mean = Array.mean

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:argmin(options) end
array.argmin = Array.argmin

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:argmax(options) end
array.argmax = Array.argmax

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:all(options) end
array.all = Array.all

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:any(options) end
array.any = Array.any

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:count(options) end
array.count = Array.count

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:var(options) end
array.var = Array.var

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:std(options) end
array.std = Array.std

---@param options? lze.ReduceOptions
---@return lze.Array
function Array:norm(options) end
array.norm = Array.norm

---@param b lze.Array
---@return lze.Array
function Array:dot(b) end
array.dot = Array.dot

---@param dim? integer | {dim?: integer}
---@return lze.Array
function Array:cumsum(dim) end
array.cumsum = Array.cumsum

---@param dim? integer | {dim?: integer}
---@return lze.Array
function Array:cumprod(dim) end
array.cumprod = Array.cumprod

---@param dim? integer | {dim?: integer}
---@return lze.Array
function Array:cummax(dim) end
array.cummax = Array.cummax

---@param dim? integer | {dim?: integer}
---@return lze.Array
function Array:cummin(dim) end
array.cummin = Array.cummin

---@param low lze.Operand
---@param high lze.Operand
---@return lze.Array
function Array:clamp(low, high) end
array.clamp = Array.clamp

---@param b lze.Operand
---@param c lze.Operand
---@return lze.Array
function Array:fma(b, c) end
array.fma = Array.fma

---@param b lze.Operand
---@param t lze.Operand
---@return lze.Array
function Array:lerp(b, t) end
array.lerp = Array.lerp

---@param a lze.Operand
---@param b lze.Operand
---@return lze.Array
function Array:where(a, b) end
array.where = Array.where

---Elements by their indices; of a dimension, rows.
---@param indices lze.Indices
---@param dim? integer
---@return lze.Array
function Array:take(indices, dim) end
array.take = Array.take

---@param indices lze.Indices of the shape of the array, but for `dim`
---@param dim? integer the last when not given
---@return lze.Array
function Array:gather(indices, dim) end
array.gather = Array.gather

---A copy with values at the indices.
---@param indices lze.Indices of the shape of the array, but for `dim`
---@param values lze.Operand | table
---@param dim? integer the last when not given
---@return lze.Array
function Array:scatter(indices, values, dim) end
array.scatter = Array.scatter

---The indices of what is not 0; a row for each where there is not one dimension.
---@return lze.Array
function Array:nonzero() end
array.nonzero = Array.nonzero

---@param options? lze.SortOptions
---@return lze.Array
function Array:sort(options) end
array.sort = Array.sort

---@param options? lze.SortOptions
---@return lze.Array
function Array:argsort(options) end
array.argsort = Array.argsort

---@param k integer
---@param options? {dim?: integer, largest?: boolean} the last; true
---@return lze.Array values
---@return lze.Array indices
function Array:topk(k, options) end
array.topk = Array.topk

---@param options? {counts?: boolean}
---@return lze.Array values
---@return lze.Array? counts
function Array:unique(options) end
array.unique = Array.unique

---Of a sorted array: where each value can be put.
---@param values lze.Operand | number[]
---@param options? {right?: boolean}
---@return lze.Array
function Array:searchsorted(values, options) end
array.searchsorted = Array.searchsorted

---@param bins integer
---@param options? {low?: number, high?: number}
---@return lze.Array counts
---@return lze.Array edges
function Array:histogram(bins, options) end
array.histogram = Array.histogram

---Computes the elements of an expression now; returns itself.
---@return lze.Array
function Array:eval() end
array.eval = Array.eval

---How an expression would be computed, and why; also what a reduction of it
---would do.
---@param reduction? string
---@return string
function Array:explain(reduction) end
array.explain = Array.explain

---f, whose results are each computed by one kernel.
---@param f fun(...: lze.Operand): ...
---@return fun(...: lze.Operand): ...
function array.fuse(f) end

---@class lze.ArrayStats
---@field operations integer
---@field evaluations integer
---@field fused integer
---@field hits integer
---@field builds integer
---@field build_ms number

---@return lze.ArrayStats
function array.stats() end

---f of the elements of arrays that broadcast, and of numbers; f is compiled.
---@param f fun(...: number): number | boolean
---@param ... lze.Array | number
---@return lze.Array
function array.map(f, ...) end

---The elements for which f is true; f is compiled.
---@param f fun(x: number): boolean
---@param x lze.Array
---@return lze.Array
function array.filter(f, x) end

---@param type lze.ElementType
---@return lze.Array
function Array:to(type) end
array.to = Array.to

---@param shape integer | integer[]
---@return lze.Array
function Array:reshape(shape) end
array.reshape = Array.reshape

---@param shape integer | integer[]
---@return lze.Array
function Array:view(shape) end
array.view = Array.view

---@param order integer[]
---@return lze.Array
function Array:permute(order) end
array.permute = Array.permute

---@param shape integer[]
---@return lze.Array
function Array:expand(shape) end
array.expand = Array.expand

---@param dim? integer
---@return lze.Array
function Array:squeeze(dim) end
array.squeeze = Array.squeeze

---@param ... integer dimensions; all when not given
---@return lze.Array
function Array:flip(...) end
array.flip = Array.flip

---@param n integer
---@param dim? integer
---@return lze.Array
function Array:roll(n, dim) end
array.roll = Array.roll

---@param times integer[]
---@return lze.Array
function Array:tile(times) end
array.tile = Array.tile

---Writes; returns itself.
---@param v lze.Operand | table
---@return lze.Array
function Array:set(v) end
array.set = Array.set

---@param v number
---@return lze.Array
function Array:fill(v) end
array.fill = Array.fill

---@param src lze.Array | lze.Buffer
---@return lze.Array
function Array:copy(src) end
array.copy = Array.copy

---@return number[]
function Array:read() end
array.read = Array.read

---@return table | number
function Array:table() end
array.table = Array.table

---@return number
function Array:item() end
array.item = Array.item

---A .npy file, or by its name a .png.
---@param path string
---@param options? {compress?: boolean}
function Array:save(path, options) end
array.save = Array.save

---Show it in a notebook, or print it.
function Array:display() end
array.display = Array.display

---@param path string
---@return lze.Array
function array.load(path) end

---@param shape integer | integer[]
---@param options? lze.ArrayOptions
---@return lze.Array
function array.zeros(shape, options) end

---@param shape integer | integer[]
---@param options? lze.ArrayOptions
---@return lze.Array
function array.ones(shape, options) end

---@param shape integer | integer[]
---@param value number
---@param options? lze.ArrayOptions
---@return lze.Array
function array.full(shape, value, options) end

---@param first number
---@param last? number | lze.ArrayOptions
---@param step? number | lze.ArrayOptions
---@param options? lze.ArrayOptions
---@return lze.Array
function array.arange(first, last, step, options) end

---@param first number
---@param last number
---@param n integer
---@param options? lze.ArrayOptions
---@return lze.Array
function array.linspace(first, last, n, options) end

---@param n integer
---@param m? integer | lze.ArrayOptions
---@param options? lze.ArrayOptions
---@return lze.Array
function array.eye(n, m, options) end

---@param list lze.Array[]
---@param dim? integer
---@return lze.Array
function array.cat(list, dim) end

---@param list lze.Array[]
---@param dim? integer
---@return lze.Array
function array.stack(list, dim) end

---@param f fun(a: number, b: number): number associative
---@param init number
---@param x lze.Array
---@param options? lze.ReduceOptions
---@return lze.Array
function array.reduce(f, init, x, options) end

---@param f fun(a: number, b: number): number associative
---@param init number
---@param x lze.Array
---@return lze.Array
function array.scan(f, init, x) end
---@class lze.IntegerOptions
---@field type? lze.ElementType "long" when not given
---@field device? lze.Device | lze.Selector

---From 0 on, below 1.
---@param shape integer | integer[]
---@param options? lze.ArrayOptions
---@return lze.Array
function array.rand(shape, options) end

---Normal, of mean 0 and deviation 1.
---@param shape integer | integer[]
---@param options? lze.ArrayOptions
---@return lze.Array
function array.randn(shape, options) end

---Integers from low to high, both ends among them.
---@param shape integer | integer[]
---@param low integer
---@param high integer
---@param options? lze.IntegerOptions
---@return lze.Array
function array.randint(shape, low, high, options) end

---@param n integer
function array.seed(n) end

---The product of matrices; dimensions before the last two broadcast.
---@param b lze.Array
---@return lze.Array
function Array:mm(b) end
array.mm = Array.mm

---The product of a matrix and a vector.
---@param x lze.Array
---@return lze.Array
function Array:mv(x) end
array.mv = Array.mv

---@param b lze.Array
---@return lze.Array
function Array:outer(b) end
array.outer = Array.outer

---The sum of the diagonal.
---@return lze.Array
function Array:trace() end
array.trace = Array.trace

---@param k? integer 0, the main diagonal, when not given
---@return lze.Array
function Array:tril(k) end
array.tril = Array.tril

---@param k? integer 0, the main diagonal, when not given
---@return lze.Array
function Array:triu(k) end
array.triu = Array.triu

---@class lze.ConvolutionOptions
---@field stride? integer | integer[] 1 when not given
---@field padding? integer | integer[] 0 when not given

---The kernel is not turned round.
---@param kernel lze.Array
---@param options? lze.ConvolutionOptions
---@return lze.Array
function Array:conv1d(kernel, options) end
array.conv1d = Array.conv1d

---The kernel is not turned round.
---@param kernel lze.Array
---@param options? lze.ConvolutionOptions
---@return lze.Array
function Array:conv2d(kernel, options) end
array.conv2d = Array.conv2d

---@param options? {dim?: integer} the last dimension when not given
---@return lze.Array
function Array:fft(options) end
array.fft = Array.fft

---@param options? {dim?: integer} the last dimension when not given
---@return lze.Array
function Array:ifft(options) end
array.ifft = Array.ifft

---@param options? {dim?: integer} the last dimension when not given
---@return lze.Array
function Array:rfft(options) end
array.rfft = Array.rfft

---@param options? {dim?: integer, n?: integer}
---@return lze.Array
function Array:irfft(options) end
array.irfft = Array.irfft

---What require "lze.mpi" returns.
---@class lze.mpi
local mpi = {}

---All ranks; the same object each time.
---@return lze.Communicator
function mpi.world() end

---@class lze.MessageOptions
---@field first? integer
---@field last? integer
---@field tag? integer 0 to 32767

---@class lze.ReductionOptions
---@field order? "rank"

---@class lze.GridOptions
---@field periodic? boolean | boolean[]
---@field reorder? boolean

---@alias lze.Operator "sum"|"prod"|"min"|"max"|"band"|"bor"|"bxor"

---Ranks that exchange messages, maybe as a grid.
---@class lze.Communicator
---@field rank integer from 0
---@field size integer
---@field node_rank integer among those of this machine, from 0
---@field node_size integer
---@field library string
---@field dims integer[] of a grid
---@field coords integer[] of a grid, from 0
---@field periodic boolean[] of a grid
local Communicator = {}

---The device of this machine that this rank should use.
---@return lze.Device
function Communicator:device() end

---@param x lze.Buffer | lze.Array | any
---@param rank integer
---@param options? lze.MessageOptions
function Communicator:send(x, rank, options) end

---@param x lze.Buffer | lze.Array | any
---@param rank integer
---@param options? lze.MessageOptions
---@return lze.Event
function Communicator:isend(x, rank, options) end

---Without a buffer it returns a value, its source and its tag.
---@param y lze.Buffer | lze.Array | nil
---@param rank? integer any rank when not given
---@param options? lze.MessageOptions
---@return any source
---@return integer tag
---@return integer count
function Communicator:recv(y, rank, options) end

---@param y lze.Buffer | lze.Array
---@param rank? integer any rank when not given
---@param options? lze.MessageOptions
---@return lze.Event
function Communicator:irecv(y, rank, options) end

function Communicator:barrier() end

---@return lze.Event
function Communicator:ibarrier() end

---@generic T
---@param x T
---@param root? integer 0 when not given
---@return T
function Communicator:bcast(x, root) end

---@param x lze.Buffer | lze.Array
---@param root? integer 0 when not given
---@return lze.Event
function Communicator:ibcast(x, root) end

---@generic T: lze.Buffer | lze.Array
---@param x T
---@param operator lze.Operator
---@param root? integer 0 when not given
---@param options? lze.ReductionOptions
---@return T
function Communicator:reduce(x, operator, root, options) end

---@param x lze.Buffer | lze.Array
---@param operator lze.Operator
---@param root? integer 0 when not given
---@param options? lze.ReductionOptions
---@return lze.Event
function Communicator:ireduce(x, operator, root, options) end

---@generic T: lze.Buffer | lze.Array
---@param x T
---@param operator lze.Operator
---@param options? lze.ReductionOptions
---@return T
function Communicator:allreduce(x, operator, options) end

---@param x lze.Buffer | lze.Array
---@param operator lze.Operator
---@param options? lze.ReductionOptions
---@return lze.Event
function Communicator:iallreduce(x, operator, options) end

---@generic T: lze.Buffer | lze.Array
---@param x T
---@param operator lze.Operator
---@param options? lze.ReductionOptions
---@return T
function Communicator:scan(x, operator, options) end

---@param x lze.Buffer | lze.Array
---@param operator lze.Operator
---@param options? lze.ReductionOptions
---@return lze.Event
function Communicator:iscan(x, operator, options) end

---@generic T: lze.Buffer | lze.Array
---@param x lze.Buffer | lze.Array
---@param y T only on the root
---@param root? integer 0 when not given
---@return T
function Communicator:gather(x, y, root) end

---@param x lze.Buffer | lze.Array
---@param y lze.Buffer | lze.Array only on the root
---@param root? integer 0 when not given
---@return lze.Event
function Communicator:igather(x, y, root) end

---@generic T: lze.Buffer | lze.Array
---@param x lze.Buffer | lze.Array only on the root
---@param y T
---@param root? integer 0 when not given
---@return T
function Communicator:scatter(x, y, root) end

---@param x lze.Buffer | lze.Array only on the root
---@param y lze.Buffer | lze.Array
---@param root? integer 0 when not given
---@return lze.Event
function Communicator:iscatter(x, y, root) end

---@generic T: lze.Buffer | lze.Array
---@param x lze.Buffer | lze.Array
---@param y T
---@return T
function Communicator:allgather(x, y) end

---@param x lze.Buffer | lze.Array
---@param y lze.Buffer | lze.Array
---@return lze.Event
function Communicator:iallgather(x, y) end

---@generic T: lze.Buffer | lze.Array
---@param x lze.Buffer | lze.Array
---@param y T
---@return T
function Communicator:alltoall(x, y) end

---@param x lze.Buffer | lze.Array
---@param y lze.Buffer | lze.Array
---@return lze.Event
function Communicator:ialltoall(x, y) end

---@param color integer | nil
---@param key? integer
---@return lze.Communicator | nil
function Communicator:split(color, key) end

---@param dims integer[]
---@param options? lze.GridOptions
---@return lze.Communicator | nil
function Communicator:cart(dims, options) end

---@param dimension integer
---@param by? integer 1 when not given
---@return integer | nil source
---@return integer | nil destination
function Communicator:shift(dimension, by) end

---@param u lze.Buffer | lze.Array with its border
---@param options? {width?: integer, shape?: integer[]}
---@return lze.Halo
function Communicator:halo(u, options) end

---@param n integer
---@param k lze.Kernel
---@param ... any its arguments, or slices by mpi.slice
---@return lze.Part[]
function Communicator:parallel(n, k, ...) end

---@param n integer
---@param rank? integer
---@return integer first
---@return integer last
function Communicator:part(n, rank) end

function Communicator:close() end

---@class lze.Halo
local Halo = {}

---Packs and sends what neighbours need.
---@return lze.Halo
function Halo:start() end

---Waits for what they have sent; it goes into the border.
---@return lze.Halo
function Halo:wait() end

function Halo:close() end

return lze
