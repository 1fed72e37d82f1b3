-- expect.lua - checks of errors in specs.
-- SPDX-License-Identifier: MIT

local expect = {}

-- Returns the message of the misuse error of f, without the position, which
-- must be a line of a spec.
function expect.misuse(f)
  local ok, err = pcall(f)
  if ok then error("nothing was raised", 2) end
  if type(err) ~= "string" then
    error("no string was raised but " .. tostring(err), 2)
  end
  local message = err:match "^[^\n:]*_spec%.lua:%d+: (.*)$"
  if not message then error("no position of the spec in: " .. err, 2) end
  return message
end

-- Returns the error object that f raises.
function expect.failure(f)
  local ok, err = pcall(f)
  if ok then error("nothing was raised", 2) end
  if type(err) ~= "table" then
    error("no error object was raised but " .. tostring(err), 2)
  end
  return err
end

return expect
