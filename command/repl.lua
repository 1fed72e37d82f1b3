-- repl.lua - `lze repl`: a prompt for lze.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local prompt = require "lze.prompt"

-- Typed code may set any global: this file has its own.
local globals <const>, next <const> = _G, next
local _ENV <const> = {} -- luacheck: ignore
for name, value in next, globals do _ENV[name] = value end

local repl = {}

-- --- completion ------------------------------------------------------------

local keywords = {
  "and", "break", "do", "else", "elseif", "end", "false", "for", "function",
  "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then",
  "true", "until", "while",
}

local array_fields <const> = {"buffer", "device", "rank", "shape",
  "size", "strides", "type"}

local function field_of(value, name)
  local ok, v = pcall(function() return value[name] end)
  return ok and v or nil
end

-- Sets names[name] = true for each field of a value; if `methods`, only for
-- functions.
local function add_names(names, value, methods)
  local function add(t)
    for name, v in next, t do
      if type(name) == "string" and name:find "^[%a_][%w_]*$" and
        (not methods or type(v) == "function")
      then
        names[name] = true
      end
    end
  end
  local kind = lze.type(value)
  local known = kind and prompt.kinds()[kind]
  if known then
    add(known)
    if kind == "module" and not methods then
      local ok, kernels = pcall(value.kernels, value)
      for _, name in ipairs(ok and kernels or {}) do names[name] = true end
    end
    return
  end
  if kind == "array" then
    for name in next, lze.array do -- constructors are not methods
      if field_of(value, name) then names[name] = true end
    end
    for _, name in ipairs(methods and {} or array_fields) do
      names[name] = true
    end
    return
  end
  if value == lze then -- the first use of arrays loads them
    pcall(function() return lze.array end)
  end
  for _ = 1, 8 do
    if type(value) == "table" then add(value) end
    local meta = debug.getmetatable(value)
    value = type(meta) == "table" and rawget(meta, "__index")
    if type(value) ~= "table" then return end
  end
end

-- Returns the value of a chain of names such as "a.b", found without calling
-- functions of the script; nil if undefined.
local function value_of(chain, env)
  local value = env
  for name in chain:gmatch "[^.:]+" do
    local ok = lze.type(value) or value == lze or type(value) == "string"
    if ok then
      value = field_of(value, name)
    elseif type(value) == "table" then
      value = rawget(value, name)
    else
      return nil
    end
    if value == nil then return nil end
  end
  return value
end
repl.value_of = value_of

-- Returns the kernel in whose call a line ends, and the number of its argument
-- there: 0 is the range.
local function call_of(line, env)
  local depth, commas = 0, 0
  for i = #line, 1, -1 do
    local c = line:sub(i, i)
    if c == ")" or c == "}" or c == "]" then
      depth = depth + 1
    elseif c == "(" or c == "{" or c == "[" then
      if depth == 0 then
        local chain = c == "(" and
          line:sub(1, i - 1):match "([%a_][%w_.:]*)%s*$"
        chain = chain and chain:gsub(":launch$", "")
        local k = chain and value_of(chain, env)
        if lze.type(k) == "kernel" then return k, commas end
        return nil
      end
      depth = depth - 1
    elseif c == "," and depth == 0 then
      commas = commas + 1
    end
  end
end

-- Returns the names in the environment whose values fit a kernel's argument.
local function suiting(a, env)
  local list = {}
  local pointee = a.type:match "^(.*)%*$"
  local object = a.type:match "^image" or a.type:match "^(sampler)_t$"
  for name, value in next, env do
    if type(name) == "string" and name:find "^[%a_][%w_]*$" then
      local kind = lze.type(value)
      local good
      if a.space == "local" then
        good = kind == "local_bytes" or math.type(value) == "integer"
      elseif object then
        good = kind == object
      elseif pointee then
        good = (kind == "buffer" or kind == "array") and
          (pointee == "void" or value.type == pointee)
      else
        good = type(value) == "number"
      end
      if good then list[#list + 1] = name end
    end
  end
  if a.space == "local" then list[#list + 1] = "lze.local_bytes" end
  table.sort(list)
  return list
end

-- Returns completions of the word at `start` of a line that ends at the cursor.
function repl.complete(line, start, env)
  env = env or globals
  local word = line:sub(start)
  local directive = line:match "^:(%l*)$"
  local list, names = {}, {}
  if directive then
    for _, d in ipairs(repl.directives) do
      if d:sub(1, #directive) == directive then list[#list + 1] = ":" .. d end
    end
    return list
  end
  if word == "" then
    local k, number = call_of(line, env)
    local ok, arguments = pcall(function() return k and k.args end)
    local a = ok and arguments and arguments[number]
    if a then
      list = suiting(a, env)
      -- This entry is never the only one and has a unique first character: so
      -- it is shown, but never inserted.
      table.insert(list, 1, ("[%d: %s%s %s]"):format(number, a.space ==
        "local" and "local " or "", a.type, a.name or "?"))
      if #list == 1 then list[2] = tostring(k) end
      return list
    end
  end
  local before, sign, last = word:match "^(.-)([.:]?)([%a_]?[%w_]*)$"
  if not before or (sign == "") ~= (before == "") then return list end
  if sign == "" then
    add_names(names, env)
    for _, k in ipairs(keywords) do names[k] = true end
  else
    local value = value_of(before, env)
    if value == nil then return list end
    add_names(names, value, sign == ":")
  end
  for name in next, names do
    if name:sub(1, #last) == last then
      list[#list + 1] = before .. sign .. name
    end
  end
  table.sort(list)
  return list
end

-- --- lines -----------------------------------------------------------------

local here = debug.getinfo(1, "S").short_src:gsub("%p", "%%%0")

-- Parts of lze written in Lua, as a traceback names them.
local inside <const> = "^\n\tlze [%w_]+%.lua:"

-- Returns the lines of a traceback without lze's internal functions and the C
-- functions that they call.
local function outside(lines)
  local kept, held = {}, {}
  local dropped = false
  for line in lines:gmatch "\n[^\n]+" do
    if line:find(inside) then
      held, dropped = {}, true
    elseif line:find "^\n\t%[C%]" then
      held[#held + 1] = line
    elseif not (dropped and line:find "^\n\t%(%.%.%.tail calls") then
      table.move(held, 1, #held, #kept + 1, kept)
      kept[#kept + 1] = line
      held, dropped = {}, false
    end
  end
  table.move(held, 1, #held, #kept + 1, kept)
  return table.concat(kept)
end

-- Returns the error for display, with the stack above this file.
local function traced(err)
  if type(err) ~= "string" and type(err) ~= "number" then
    local meta = debug.getmetatable(err)
    if type(meta) == "table" and meta.__tostring then return tostring(err) end
    err = ("(error object is a %s value)"):format(type(err))
  end
  local text = debug.traceback(err, 2)
  text = text:gsub("\n\t%[C%]: in %a+ '[%w.]*call'\n\t" .. here .. ".*$", "")
  text = text:gsub("\n\t" .. here .. "[^\n]*", "")
  local message, lines = text:match "^(.*)\nstack traceback:(.*)$"
  lines = outside(lines)
  return message .. (lines ~= "" and "\nstack traceback:" .. lines or "")
end

-- Returns a chunk and the place of its first value: an expression is returned
-- after another value, because a tail call would have no line; statements are
-- not.  On failure returns nil, the message, and true if only the end is
-- missing.  A `=` before an expression is allowed as in lua -i.
local function compile(text)
  text = text:gsub("^=", "")
  local f, wanting = load("return nil, " .. text, "=stdin")
  if f then return f, 2 end
  local err
  f, err = load(text, "=stdin")
  if f then return f, 1 end
  return nil, err, (err .. "\n" .. wanting):find "<eof>%f[\0\n]" ~= nil
end

local function milli(ns) return ("%.3f ms"):format(ns / 1e6) end

-- Returns the times of the last line; `last` has profile, wall_ns and memory.
local function times(last)
  if not last then return "nothing has run yet" end
  local p = last.profile:stop()
  local device, commands, waits, builds = 0, 0, 0, 0
  for _, e in ipairs(p.events) do
    local ns = e.end_ns and e.end_ns - e.start_ns or 0
    if e.kind == "wait" then waits = waits + ns end
    if e.kind == "build" then builds = builds + ns end
    if e.call_ns then -- tasks are included in their run
      device, commands = device + ns, commands + 1
    end
  end
  return ("wall %s, device %s in %d command%s, waits %s, builds %s, memory " ..
    "%+d bytes of devices and %+d of Lua"):format(milli(last.wall_ns),
    milli(device), commands, commands == 1 and "" or "s", milli(waits),
    milli(builds), last.bytes, last.lua_bytes)
end

local directive = {}
repl.directives = {"help", "profile", "quit", "time"}

function directive.help(rest)
  if rest == "" then
    return [[
:help X          what the manual has on a value or a word
:time            wall, device, waits and memory of the last line
:profile [FILE]  the last line's profile, or save it (.html, .json, .csv, .txt)
:quit            the end, as Ctrl-D
_ is the last value; Tab completes names, fields, methods and what kernels take.
]] .. lze.help()
  end
  local value = rest:find "^[%a_][%w_.:]*$" and value_of(rest, globals)
  if value == nil or lze.type(value) == nil and type(value) ~= "function" then
    value = rest
  end
  local ok, text = pcall(lze.help, value)
  return ok and text or lze.help(rest)
end

function directive.time(_, last) return times(last) end

function directive.profile(rest, last)
  if not last then return "nothing has run yet" end
  last.profile:stop()
  if rest == "" then return tostring(last.profile) end
  local ok, err = pcall(last.profile.save, last.profile, rest)
  if ok then return "written: " .. rest end
  err = type(err) == "table" and err.message or tostring(err)
  error((err:gsub("^bad argument .-%(path: (.*)%)$", "%1")), 0)
end

-- Runs a prompt: read(first) returns a line, false if the user abandoned it,
-- nil at the end; show(text) and complain(text) write; remember(text) receives
-- each entry that is run.
function repl.run(read, show, complain, remember)
  local last
  local function evaluate(f, first)
    if last then last.profile:close() end
    last = {profile = lze.profile()}
    local bytes = lze.stats().bytes
    local lua_bytes, start = collectgarbage "count", last.profile.end_ns
    local r = table.pack(prompt.call(f, traced))
    last.wall_ns = last.profile.end_ns - start
    last.bytes = lze.stats().bytes - bytes
    last.lua_bytes = math.floor((collectgarbage "count" - lua_bytes) * 1024)
    -- Exclude the next line from the profile, but include pending commands.
    if lze.stats().in_flight == 0 then
      prompt.call(function() last.profile:stop() end, traced)
    end
    if not r[1] then
      complain(tostring(r[2]))
    elseif r.n > first then
      rawset(globals, "_", r[1 + first]) -- a strict table would refuse it
      r = table.pack(prompt.call(function()
        globals.print(table.unpack(r, 1 + first, r.n))
      end, traced))
      if not r[1] then complain("error calling 'print': " .. tostring(r[2])) end
    end
  end
  local text
  while true do
    local line = read(text == nil)
    if line == nil then break end
    local name, rest = nil, nil
    if not text and line then
      name, rest = line:match "^%s*:(%a+)%s*(.-)%s*$"
    end
    if not line then
      text = nil
    elseif name == "quit" then
      break
    elseif name then
      local ok, said = prompt.call(function()
        local f = directive[name]
        return f and f(rest, last) or
          "unknown: :" .. name .. "; :help lists what there is"
      end, tostring)
      if ok then show(said) else complain(tostring(said)) end
    else
      text = text and text .. "\n" .. line or line
      local f, said, unfinished = compile(text)
      if not unfinished then
        if text:find "%S" then remember(text) end
        text = nil
        if f then evaluate(f, said) else complain(said) end
      end
    end
  end
  if text then complain((select(2, compile(text)))) end
  if last then last.profile:close() end
end

-- Returns the file of the history and makes its directory; nil if that is not
-- possible.  Never creates a home directory.
local function history_path()
  local home = os.getenv "HOME"
  local state = os.getenv "XDG_STATE_HOME"
  local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end
  local needed = ""
  if not state or state == "" then
    if not home or home == "" then return nil end
    state = home .. "/.local/state"
    needed = "test -d " .. quoted(home) .. " && "
  end
  local directory = state .. "/lze"
  return os.execute(needed .. "mkdir -p -m 700 " .. quoted(directory) ..
      " 2>/dev/null") and directory .. "/history" or nil
end

local MOST_ENTRIES <const> = 2000

local function line_of(entry)
  return entry:gsub("^%s+", ""):gsub("\n", "\n\t") .. "\n"
end

-- Loads a history into the prompt, and shortens the file if it is long.  Lines
-- of an entry after its first begin with a tab.
local function load_history(path)
  local file <close> = io.open(path, "rb")
  local entries = {}
  for line in (file and file:read "a" or ""):gmatch "[^\n]+" do
    local last = line:find "^\t" and entries[#entries]
    if last then
      entries[#entries] = last .. "\n" .. line:sub(2)
    else
      entries[#entries + 1] = line
    end
  end
  for _, text in ipairs(entries) do prompt.remember(text) end
  if #entries < 2 * MOST_ENTRIES then return end
  local last, new = {}, path .. ".new"
  for i = #entries - MOST_ENTRIES + 1, #entries do
    last[#last + 1] = line_of(entries[i])
  end
  os.remove(new)
  if prompt.append(new, table.concat(last)) then os.rename(new, path) end
end

-- The command: `words` are a file to run first, and its arguments.  Returns an
-- error if that cannot be run or the output cannot be written; else nil.
function repl.main(words)
  globals.lze = lze
  local terminal = prompt.terminal(0) and prompt.terminal(1)
  local function show(text) io.stdout:write(text, "\n") end
  local function complain(text)
    io.stdout:flush()
    io.stderr:write(text, "\n")
  end
  if words[1] then
    globals.arg = {[0] = words[1], table.unpack(words, 2)}
    local f, err = loadfile(words[1])
    if not f then return err end
    local ok
    ok, err = prompt.call(function() f(table.unpack(words, 2)) end, traced)
    if not ok then complain(err) end
  end
  local function read() return io.read "l" end
  local function remember() end
  if terminal then
    local path = history_path()
    if path then load_history(path) end
    function read(first)
      return prompt.read(first and "> " or ">> ", repl.complete)
    end
    function remember(text) -- at once: the terminal or the process may end
      if prompt.remember(text) and path then
        prompt.append(path, line_of(text))
      end
    end
    show(lze._VERSION .. "  :help lists what there is, Ctrl-D ends")
  end
  repl.run(read, show, complain, remember)
  return not prompt.written() and "stdout: write error" or nil
end

return repl
