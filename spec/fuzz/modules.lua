-- modules.lua - passes damaged SPIR-V to every function that takes SPIR-V.
-- SPDX-License-Identifier: MIT
--
-- See spec/fuzz/runner.lua for how to run it.  Nothing is launched, as a
-- damaged kernel may do anything to the process.  Each call must return or
-- raise, and the error must give a reason.

local runner = require "spec.fuzz.runner"
local lze = require "lze"

local random = math.random

local function words_of(bytes)
  local words = {}
  for i = 1, #bytes // 4 do
    words[i] = ("<I4"):unpack(bytes, 4 * i - 3)
  end
  return words
end

local function bytes_of(words)
  local t = {}
  for i = 1, #words, 200 do
    local n = math.min(200, #words - i + 1)
    t[#t + 1] = ("<" .. ("I4"):rep(n)):pack(table.unpack(words, i, i + n - 1))
  end
  return table.concat(t)
end

-- Small modules are chosen more often: the tools take longer for longer ones.
local small, all = {}, {}
for _, name in ipairs {"saxpy", "vector_add", "histogram", "mandelbrot",
  "nbody", "reduction", "network", "sobel", "kmeans", "scan", "blur", "matmul",
  "cg", "spec"} do
  local file <close> = assert(io.open("kernels/" .. name .. ".spv", "rb"))
  local words = words_of(file:read "a")
  all[#all + 1] = words
  if #words < 1300 then small[#small + 1] = words end
end

-- Returns the positions at which the instructions of a module begin.
local function starts_of(words)
  local starts, at = {}, 6
  while at <= #words do
    starts[#starts + 1] = at
    at = at + math.max(1, words[at] >> 16)
  end
  return starts
end

local odd = {0, 1, 2, 3, 4, 16, 63, 64, 0xff, 0xffff, 0x10000, 0x3fffff,
  0x7fffffff, 0x80000000, 0xffffffff}

-- Damage the words in one way.
local function damage(words)
  local starts = starts_of(words)
  if #starts == 0 then return end -- nothing but a header is left
  local at = starts[random(#starts)]
  local length = math.min(math.max(1, words[at] >> 16), #words - at + 1)
  local inside = at + (length > 1 and random(length - 1) or 0)
  local how = random(9)
  if how == 1 then
    words[random(#words)] = odd[random(#odd)]
  elseif how == 2 then
    local i = random(#words)
    words[i] = words[i] ~ (1 << random(0, 31))
  elseif how <= 5 then
    words[inside] = random(math.max(1, words[4]))
  elseif how == 6 then
    words[inside] = random(0, 64)
  elseif how == 7 then
    words[at] = (words[at] & 0xffff0000) | random(0, 420)
  elseif how == 8 then
    table.move(words, at + length, #words + length, at)
  else
    local copy = table.move(words, at, at + length - 1, 1, {})
    table.move(words, at, #words, at + length)
    table.move(copy, 1, length, at, words)
  end
end

-- Call f.  An error must have a message, and must not be a bug in Lua code.
local function attempt(name, f, ...)
  local ok, result = pcall(f, ...)
  if ok then return result end
  local text = tostring(result)
  if #text < 10 or text:find "attempt to" then
    error(name .. " raised " .. text, 0)
  end
end

local function try(bytes, told, deep)
  local s = lze.spirv
  local valid, why = s.validate(bytes)
  if not valid and (type(why) ~= "string" or why == "") then
    error("validate says nothing", 0)
  end
  attempt("validate for a target", s.validate, bytes, "opencl2.2")
  local r = attempt("reflect", s.reflect, bytes)
  local text = attempt("disassemble", s.disassemble, bytes)
  if text then attempt("assemble", s.assemble, text) end
  if told then print("  valid: " .. tostring(valid), why or "") end
  -- The optimiser is only for valid modules, as everywhere.
  if valid then attempt("optimize", s.optimize, bytes) end
  if not r or not deep then return end
  local m = attempt("module", lze.module, bytes)
  if told then print("  module: " .. tostring(m)) end
  if not m then return end
  for _, name in ipairs(m:kernels()) do
    local k = attempt("kernel", m.kernel, m, name)
    if k then
      assert(#k.args >= 0 and tostring(k) and k.max_group_size >= 0)
      attempt("group", k.group, k, 1000)
    end
  end
  m:close()
end

local ok = runner.main {count = 2000, steps = 4,
  run = function(seeds, skipped, told)
    for seed in seeds do
      math.randomseed(seed, 0)
      local from = random(20) == 1 and all or small
      local file = from[random(#from)]
      local words = table.move(file, 1, #file, 1, {})
      -- Building one takes the compilers longer than all the rest.
      local times, deep = random(4), random(64) == 1
      for i = 1, times do
        math.randomseed(seed, i)
        if not skipped[i] then damage(words) end
      end
      local fine, err = pcall(try, bytes_of(words), told, deep)
      if not fine then error(("seed %d: %s"):format(seed, err), 0) end
    end
  end}
if not ok then os.exit(false) end
