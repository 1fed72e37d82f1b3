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

-- Returns the error of f(...) as text, without its position: the caller of f,
-- which is this file, or a line of the spec, if f is a function there.
function expect.said(f, ...)
  local ok, err = pcall(f, ...)
  if ok then error("nothing was raised", 2) end
  local spec = debug.getinfo(2, "S").source:match "[^/]*$"
  local message = tostring(err)
  return message:match "^%S*spec/support/expect.lua:%d+: (.*)$" or
    message:match("^%S*" .. spec .. ":%d+: (.*)$") or message
end

return expect
