-- wrong_self_spec.lua - plan.report() crashed the process without a plan, or
-- with a number or table in its place: the user value was read before the type
-- was checked.
-- SPDX-License-Identifier: MIT
--
-- No method is named here: all functions of lze and of its objects' method
-- tables and metatables are called with every value that they do not accept,
-- alone and in place of each argument of the calls in
-- spec/support/everything.lua.  None may crash, and a wrong self must raise an
-- error that says so.

local process = require "spec.support.process"

local script = [[
local lze = require "lze"
local everything = require "spec.support.everything"
local kinds, methods = {}, {} -- metatables, method tables, by kind

-- C functions that guard others have them as their first upvalue.
local function methods_of(f)
  repeat local _, v = debug.getupvalue(f, 1) f = v until type(f) ~= "function"
  return f
end
for _, mt in pairs(debug.getregistry()) do
  local name = type(mt) == "table" and math.type(#mt) and rawget(mt, "__name")
  local kind = type(name) == "string" and name:match "^lze%.(.*)$"
  if kind then
    kinds[kind] = mt
    methods[kind] = mt.__index and methods_of(mt.__index) or {}
  end
end
assert(kinds.plan and kinds.buffer and kinds.report and methods.plan.run)

-- An object of each kind, and values of Lua's types.
local mod = lze.load "kernels/spec.spv"
local function objects()
  local x = lze.buffer("int", 4)
  local g = lze.graph "g":fill("x", x, 1)
  local plan = g:compile():run()
  local dev = lze.device()
  return {buffer = x, graph = g, plan = plan, report = plan:report(),
    kernel = mod.add, module = mod, device = dev, driver = dev.driver,
    context = dev.context, queue = dev.queue, scratch = g:buffer("int", 4),
    event = mod.add:launch(4, x, 1), slice = lze.slice(x),
    local_bytes = lze.local_bytes(4), struct = lze.struct "int a",
    element = lze.buffer(lze.struct "int a", 1)[1],
    image = lze.image("r8uint", {2, 2}), sampler = lze.sampler {},
    profile = lze.profile(function() end),
    ["kernel in Lua"] = lze.kernel(function(i, x) x[i] = i end)}
end
local given = objects()
given.error = setmetatable({}, kinds.error)
for kind in pairs(kinds) do assert(given[kind], kind) end
local wrong = {false, true, 0, -1, 1.5, 0/0, "", "x\0y", {}, {{}}, print,
  function() end, coroutine.create(print), io.stdout,
  debug.upvalueid(methods_of, 1), setmetatable({}, {__name = "lze.plan"})}
for _, o in pairs(given) do wrong[#wrong + 1] = o end

local function kind_of(v)
  local mt = debug.getmetatable(v)
  for kind, m in pairs(kinds) do if m == mt then return kind end end
  return math.type(v) or type(v)
end

-- Call f, which may close or set something: that does not matter.
local calls, faults = 0, {}
local function try(must, name, f, ...)
  calls = calls + 1
  local ok, e = pcall(f, ...)
  if must and (ok or not tostring(e):find "expected") then
    local fault = ("%s with %s: %s"):format(name, kind_of((...)),
      ok and "no error" or tostring(e))
    if fault ~= faults[#faults] then faults[#faults + 1] = fault end
  end
end

-- Functions that take no self, or any.
local anything = {__index = true, __newindex = true, __gc = true,
  __eq = true, __concat = true}
for kind, mt in pairs(kinds) do
  for _, list in ipairs {mt, methods[kind]} do
    for name, f in pairs(list) do
      if type(f) == "function" then
        local must = not anything[name]
        local full = kind .. "." .. name
        try(must, full, f)
        for _, v in ipairs(wrong) do
          local mine = kind_of(v) == kind or
            type(given[kind]) == "table" and type(v) == "table"
          if not mine then
            try(must, full, f, v)
            try(must, full, f, v, v, v)
            for key in pairs(methods[kind]) do
              if name == "__index" then try(false, full, f, v, key) end
            end
          end
        end
      end
    end
  end
end

-- Calls that are right, with something wrong in the place of each argument: of
-- each function once in each part, and one in a run of it, which they disturb.
local called, done, budget = {}, {}, 0
local function wrapped(name, f)
  called[name] = false
  return function(...)
    called[name] = true
    if budget > 0 and not done[name] then
      budget, done[name] = 0, true
      for i = 1, select("#", ...) do
        local right = kind_of((select(i, ...)))
        for _, v in ipairs(wrong) do
          local kind = kind_of(v)
          if kind ~= right and not (kind == "integer" and right == "float") then
            local arguments = table.pack(...)
            arguments[i] = v
            try(false, name, f, table.unpack(arguments, 1, arguments.n))
          end
        end
      end
    end
    return f(...)
  end
end
local functions = 0
local function wrap(prefix, t)
  for name, f in pairs(t) do
    if type(f) == "function" then
      functions = functions + 1
      rawset(t, name, wrapped(prefix .. name, f))
    end
  end
end
wrap("lze.", lze)
wrap("lze.spirv.", lze.spirv)
for kind, t in pairs(methods) do wrap(kind .. ":", t) end
kinds.kernel.__call = wrapped("kernel()", kinds.kernel.__call)
local dev = lze.device()
everything(function(_, f)
  done = {}
  repeat
    budget = 1
    pcall(f)
    pcall(lze.default, dev)
  until budget == 1
end)
for name, was in pairs(called) do
  -- What waits calls lze.yield only where there is something to wait for.
  if not was and name ~= "lze.yield" then
    faults[#faults + 1] = name .. ": was not called"
  end
end
print(calls > 5000 and functions > 50, functions, calls)
table.sort(faults)
print(#faults == 0 and "good" or table.concat(faults, "\n"))]]

describe("a wrong self or argument", function()
  it("does not crash, and a wrong self raises an error", function()
    local r = process.run(script, {seconds = 300})
    assert.equal("exit 0", r.how .. " " .. r.code, r.output)
    -- lze.profile and lze.mark call the function they are given, even print.
    assert.matches("true\t%d+\t%d+\ngood\n$", r.output)
  end)
end)
