-- instructions.lua - which of a callgrind profile's instructions are our own.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 bench/instructions.lua LAUNCHES TITLE FILE [TITLE FILE]...
--
-- A library's own instructions are those of its functions and of what they
-- call elsewhere (libc, liblua), without what lies below it: the driver under
-- lze.so, OpenCL under the driver.

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

-- own[name] and the total of a profile, in instructions.
local function read(path)
  local names = {}  -- callgrind writes a name once and then its number
  local function object_of(text)
    local id, name = text:match "^(%(%d+%))%s*(.*)$"
    if name ~= "" then names[id] = base(name) end
    return names[id]
  end

  local own, total = {}, 0
  for _, library in ipairs(ours) do own[library.name] = 0 end
  local object, callee, in_call = "", nil, false
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
      in_call, callee = false, nil
    elseif line:find "^ob=" then
      object = object_of(line:sub(4))
    elseif line:find "^cob=" then
      callee = object_of(line:sub(5))
    elseif line:find "^calls=" then
      in_call, callee = true, callee or object
    end
  end
  return own, total
end

local launches = math.tointeger(arg[1])
for i = 2, #arg, 2 do
  local own, total = read(arg[i + 1])
  local parts = {}
  for _, library in ipairs(ours) do
    if own[library.name] > 0 then
      parts[#parts + 1] = ("%s %d"):format(library.name,
        own[library.name] // launches)
    end
  end
  print(("instructions a launch %s: %s, of %d in the calling thread")
    :format(arg[i], table.concat(parts, ", "), total // launches))
end
