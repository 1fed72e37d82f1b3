-- runner.lua - runs the seeds of a fuzzer in separate processes.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 FUZZER.lua SECONDS [SEED]       from a seed on, for SECONDS
--   lua5.4 FUZZER.lua SECONDS SEED COUNT   the same, but at most COUNT seeds
--   lua5.4 FUZZER.lua run SEED COUNT       COUNT seeds, in this process
--   lua5.4 FUZZER.lua replay SEED [N,...]  one seed, printed, without steps N
--   lua5.4 FUZZER.lua shrink SEED          finds the steps that make it fail
--
-- A seed that fails or ends its process is shrunk and reported.

local runner = {}

local function quoted(s)
  return "'" .. tostring(s):gsub("'", "'\\''") .. "'"
end

-- The interpreter that runs this, with its options, and the script.
local program = {}
do
  local lowest = 0
  while arg[lowest - 1] do lowest = lowest - 1 end
  for i = lowest, 0 do program[#program + 1] = quoted(arg[i]) end
end

-- Run this program again; returns true if it succeeded, and its output.
local function again(...)
  local words = table.pack(...)
  for i = 1, words.n do words[i] = quoted(words[i]) end
  local pipe = assert(io.popen(table.concat(program, " ") .. " " ..
    table.concat(words, " ") .. " 2>&1"))
  local output = pipe:read "a"
  local ok, how, code = pipe:close()
  return ok, output .. (ok and "" or ("(%s %d)\n"):format(how, code))
end

-- Print the fewest seeds, at most `most`, that fail when they are run up to
-- this one, which does not fail alone.
local function shrink_run(seed, most)
  local count = 1
  repeat
    count = math.min(2 * count, most)
    if not again("run", seed - count + 1, count) then
      print(("run %d %d"):format(seed - count + 1, count))
      return
    end
  until count == most
  print(("seed %d does not fail again"):format(seed))
end

local function shrink(seed, options)
  local skipped = {}
  local function list(extra)
    local t = {extra}
    for i = 1, options.steps do
      if skipped[i] then t[#t + 1] = i end
    end
    return table.concat(t, ",")
  end
  if again("replay", seed) then
    print(("seed %d does not fail alone"):format(seed))
    shrink_run(seed, math.min(seed, options.count))
    return
  end
  local progress
  repeat
    progress = false
    for i = options.steps, 1, -1 do
      if not skipped[i] and not again("replay", seed, list(i)) then
        skipped[i], progress = true, true
      end
    end
  until not progress
  local _, output = again("replay", seed, list())
  print(("replay %d %s\n%s"):format(seed, list(), output))
end

-- A file to which a process writes its current seed, in case it is killed.
local function progress_file()
  local name = os.tmpname()
  return name, setmetatable({}, {__close = function() os.remove(name) end})
end

local function integer(text, otherwise)
  return assert(math.tointeger(text or otherwise), "an integer expected")
end

-- options: run(seeds, skipped, told) with an iterator `seeds`; count: the
-- number of seeds per process; steps: the largest number of steps of a seed.
function runner.main(options)
  local command = arg[1]
  if command == "run" then
    local first, count = integer(arg[2]), integer(arg[3])
    local file <close> = arg[4] and assert(io.open(arg[4], "w")) or nil
    local seed, last = first - 1, tonumber(arg[5]) or math.huge
    options.run(function()
      if seed + 1 == first + count or os.time() >= last then return nil end
      seed = seed + 1
      if file then
        file:seek "set"
        file:write(("%20d"):format(seed))
        file:flush()
      end
      return seed
    end, {}, false)
  elseif command == "replay" then
    local skipped, seed = {}, integer(arg[2])
    for i in (arg[3] or ""):gmatch "%d+" do skipped[integer(i)] = true end
    io.stdout:setvbuf "no"
    local next_seed = seed
    options.run(function()
      local s = next_seed
      next_seed = nil
      return s
    end, skipped, true)
  elseif command == "shrink" then
    shrink(integer(arg[2]), options)
  else
    local seconds = assert(tonumber(command), "SECONDS [SEED] expected")
    local first, start = integer(arg[2], 1), os.time()
    local stop = first + integer(arg[3], math.maxinteger - first)
    local name, guard <close> = progress_file()
    assert(guard)
    local seed = first
    while seed < stop and os.time() < start + seconds do
      local ok, output = again("run", seed, math.min(options.count,
        stop - seed), name, start + seconds)
      local file <close> = assert(io.open(name))
      local reached = file:read "n" -- nil if it did not get that far
      if not ok then
        io.write(output)
        if reached then shrink(reached, options) end
        print("failed")
        return false
      end
      if not reached then break end -- its time was over when it began
      seed = reached + 1
    end
    print(("seeds %d to %d: %d in %d s"):format(first, seed - 1, seed - first,
      os.time() - start))
  end
  return true
end

return runner
