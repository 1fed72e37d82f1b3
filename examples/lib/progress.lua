-- progress.lua - how far a program is, in a line on the terminal, for the other
-- examples.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

-- lze then shows its own progress, too, if standard error is a terminal.
local shown = os.getenv "LZE_PROGRESS" ~= "0" and lze.progress(true)
local last, line = os.time() + 1, false

-- Shows the progress of work that takes longer than a second, once a second; a
-- call without a format removes the line.
return function(format, ...)
  if not format then
    if line then io.stderr:write "\r\27[K" end
    line = false
  elseif shown and os.time() > last then
    last, line = os.time(), true
    io.stderr:write("\r\27[K  ", format:format(...), " ")
  end
end
