-- hostile.lua - finalizers and hooks that work against the call they interrupt.
-- SPDX-License-Identifier: MIT
--
--   LUA SCRIPT: require "spec.support.hostile" (KIND, PLACE)
--
-- Runs spec.support.everything with each function and method of lze wrapped.
-- Before a call, finalizers (KIND is "gc") or hooks (KIND has the letters of
-- debug.sethook, "i" for each instruction) become due that close, change and
-- drop the arguments of the call.  They act only "inside" guarded functions, or
-- "anywhere".  Returns the numbers of guarded functions, of acts inside them
-- and of all acts.  A part that fails without an act is an error.

local lze = require "lze"

local getinfo, sethook, getupvalue = debug.getinfo, debug.sethook,
  debug.getupvalue

local kind, where
local calls, acts, inside, guards = 0, 0, 0, {}
local skipped = 0          -- events before the next act
local arguments            -- of the call in progress
local armed = false

-- Returns the function that a guarded function calls in its guard, or nil.
local function guarded(f)
  if type(f) ~= "function" or getinfo(f, "S").what ~= "C" then return end
  local _, inner = getupvalue(f, 1)
  return type(inner) == "function" and inner or nil
end

local function is_inside()
  for level = 3, math.huge do
    local info = getinfo(level, "f")
    if not info then return false end
    if guards[info.func] then return true end
  end
end

local function close(v)
  if lze.type(v) and lze.type(v) ~= "device" then pcall(v.close, v) end
end

local changes = {
  buffer = function(v) return v:fill(1) end,
  kernel = function(v) v.group_hint = {1} end,
  graph = function(v) return v:call("hostile", function() end) end,
  plan = function(v) return v:run() end,
  queue = function(v) return v:barrier() end,
}

-- Do one of several things, each in its turn, to each of the arguments.
local function act()
  if not arguments then return end
  if skipped > 0 then
    skipped = skipped - 1
    return
  end
  local within = is_inside()
  if within then inside = inside + 1
  elseif where == "inside" then return end
  local given = arguments
  arguments = nil
  acts = acts + 1
  for i = 1, given.n do
    local v = given[i]
    local way = (acts + i) % 4
    if type(v) == "table" and not getmetatable(v) then
      if way == 0 then for j = #v, 1, -1 do v[j] = nil end
      elseif way == 1 then for key in pairs(v) do v[key] = {} end
      elseif way == 2 then for _, each in pairs(v) do close(each) end end
    elseif way < 2 then
      close(v)
    elseif way == 2 and changes[lze.type(v)] then
      pcall(changes[lze.type(v)], v)
    end
  end
  if acts % 3 == 0 then collectgarbage "step" end
end

local finalizer = {__gc = function()
  if armed then act() end
end}

local function arm()
  armed = true
  skipped = where == "anywhere" and calls % 7 or 0
  if kind == "gc" then
    for _ = 1, 8 do setmetatable({}, finalizer) end
  elseif kind then
    sethook(act, kind, kind:find "i" and 1 or 0)
  end
end

local function disarm(...)
  sethook()
  armed = false
  arguments = nil
  return ...
end

local function wrapped(f)
  if type(f) ~= "function" then return f end
  local inner = guarded(f)
  if inner then guards[inner] = true end
  local function call(...)
    arm()
    return disarm(f(...))
  end
  return function(...)
    calls = calls + 1
    -- Called by an act, or by lze's Lua code, whose arguments nothing holds.
    local caller = getinfo(2, "S")
    if armed or caller and caller.source:find "^=?lze " then return f(...) end
    arguments = table.pack(...)
    local results = table.pack(pcall(call, ...))
    disarm()
    if not results[1] then error(results[2], 0) end
    return table.unpack(results, 2, results.n)
  end
end

local function wrap_all(t)
  for name, f in pairs(t) do
    if type(f) == "function" then t[name] = wrapped(f) end
  end
end

return function(a_kind, a_where)
  kind, where = a_kind, a_where
  -- Finalizers run at once.
  require "spec.support.collector" ("incremental", 10, 1000, 1)
  local everything = require "spec.support.everything"
  local registry = debug.getregistry()
  local metatables = {}
  for _, t in pairs(registry) do
    if type(t) == "table" and type(rawget(t, "__name")) == "string" and
      t.__name:find "^lze%." and t.__name ~= "lze.error"
    then
      metatables[#metatables + 1] = t
    end
  end
  assert(#metatables >= 13, #metatables)
  -- lze.type needs nothing from its argument; lze.help reads the whole manual,
  -- in Lua, which takes minutes with a hook at each instruction.
  local type_of, help = lze.type, lze.help
  for _, t in ipairs(metatables) do
    local _
    local gc, methods = t.__gc, t.__index
    while type(methods) == "function" do
      _, methods = getupvalue(methods, 1)
    end
    wrap_all(t)
    if methods then wrap_all(methods) end
    t.__gc = gc
  end
  wrap_all(lze)
  wrap_all(lze.spirv)
  lze.type, lze.help = type_of, help
  local count = 0
  for _ in pairs(guards) do count = count + 1 end
  local function step(name, f)
    local before = acts
    local ok, err = pcall(f)
    disarm()
    if not ok and acts == before then
      error(("%s: %s"):format(name, tostring(err)), 0)
    end
  end
  everything(step)
  local within, all = inside, acts
  kind = nil
  collectgarbage()
  everything(step)
  assert(acts == all)
  return count, within, all
end
