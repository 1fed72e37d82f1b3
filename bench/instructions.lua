-- instructions.lua - which of a callgrind profile's instructions are our own.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 bench/instructions.lua own|beyond|records|ratio|more COUNT TITLE \
--     FILE [TITLE FILE]...
--
-- A library's own instructions are those in its functions and in what they call
-- elsewhere (libc, liblua), without libraries below it: the driver under
-- lze.so, OpenCL under the driver.  "beyond" counts all instructions of the
-- thread except in calls of the driver, including the host program and Lua.
-- "records" counts the recorder's functions and all that they call.  "more" is
-- the difference between a program and the same program with COUNT fewer.

local ours = {
  { name = "lze.so", below = { "libze_loader", "libze_opencl" } },
  { name = "libze_opencl.so", below = { "libOpenCL", "libpocl" } },
}

local function base(path)
  return path:match "[^/]*$"
end

local function is_below(library, object)
  for _, prefix in ipairs(library.below) do
    if object:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- callgrind writes a name once, later only its number.
local function numbered()
  local names = {}
  return function(text)
    local id, name = text:match "^(%(%d+%))%s*(.*)$"
    if name ~= "" then names[id] = base(name) end
    return names[id]
  end
end

local function is_record(name)
  return name:find "^lze_record_" ~= nil
end

-- Returns own[name], the total, the instructions beyond the driver, and the
-- records.
local function read(path)
  local object_of, function_of = numbered(), numbered()
  local own, total, driver, records = {}, 0, 0, 0
  for _, library in ipairs(ours) do own[library.name] = 0 end
  local object, callee, in_call = "", nil, false
  local name, called = "", ""
  for line in io.lines(path) do
    local cost = line:match "^[%d+*-]%S* (%d+)$"
    if cost then
      cost = math.tointeger(cost)
      for _, library in ipairs(ours) do
        if object == library.name and not (in_call
          and (callee == object or is_below(library, callee)))
        then
          own[object] = own[object] + cost
        end
      end
      if not in_call then total = total + cost end
      if in_call and object == "lze.so" and is_below(ours[1], callee) then
        driver = driver + cost
      end
      if in_call and is_record(called) and not is_record(name) then
        records = records + cost
      end
      in_call, callee = false, nil
    elseif line:find "^ob=" then
      object = object_of(line:sub(4))
    elseif line:find "^cob=" then
      callee = object_of(line:sub(5))
    elseif line:find "^fn=" then
      name = function_of(line:sub(4))
    elseif line:find "^cfn=" then
      called = function_of(line:sub(5))
    elseif line:find "^calls=" then
      in_call, callee = true, callee or object
    end
  end
  return own, total, total - driver, records
end

if arg[1] == "ratio" then
  local _, one = read(arg[4])
  local _, other = read(arg[6])
  print(("instructions of %s: %.3f"):format(arg[3], one / other))
  return
end

local count = math.tointeger(arg[2])
if arg[1] == "more" then
  local _, all = read(arg[4])
  local _, fewer = read(arg[6])
  print(("instructions of %s: %d"):format(arg[3], (all - fewer) // count))
  return
end

for i = 3, #arg, 2 do
  local own, total, beyond, records = read(arg[i + 1])
  local parts = {}
  if arg[1] == "beyond" then
    parts[1] = ("%d beyond the driver"):format(beyond // count)
  elseif arg[1] == "records" then
    parts[1] = ("%d"):format(records // count)
  else
    for _, library in ipairs(ours) do
      if own[library.name] > 0 then
        parts[#parts + 1] = ("%s %d"):format(library.name,
          own[library.name] // count)
      end
    end
  end
  print(("instructions of %s: %s, of %d in the calling thread")
    :format(arg[i], table.concat(parts, ", "), total // count))
end
