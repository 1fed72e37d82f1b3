-- gate.lua - an event that blocks commands until it is signalled.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local native = assert(package.loadlib(
  os.getenv "LZE_TEST_BUILD" .. "/spec/native.so", "luaopen_native"))()

-- Call f with a device in a separate context, a host event to wait for, and a
-- function that signals the event.
local function gated(f)
  local dev = lze.device()
  local context = native.context(dev.driver.handle)
  local event, pool = native.event(context)
  local d = lze.wrap {device = dev, context = context}
  local function open() native.signal(event) end
  local ok, err = pcall(f, d, lze.wrap {event = event, device = d}, open)
  open()
  local over = lze.wait(60)
  d.context:close()
  native.event_destroy(event, pool)
  native.context_destroy(context)
  assert(ok, err)
  assert(over == true, "what was held up is not over after a minute")
end

return gated
