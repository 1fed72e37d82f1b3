-- trace.lua - `lze trace merge`: profiles of several processes as one.
-- SPDX-License-Identifier: MIT
--
-- Both kinds of file are those that lua/profile.lua writes, a line each event.
-- Clocks: all processes of one run of a machine have the same, so that times
-- are exact; else the time since 1970 at the beginning of each is what is
-- known.

local prompt = require "lze.prompt"

local trace = {}

-- How many nanoseconds after the first each one began; each has boot, start
-- and epoch.
local function shifts(files)
  local key, first = "start", nil
  for _, f in ipairs(files) do
    if f.boot == "" or f.boot ~= files[1].boot then key = "epoch" end
  end
  for _, f in ipairs(files) do first = math.min(first or f[key], f[key]) end
  for _, f in ipairs(files) do f.shift = f[key] - first end
end

-- --- traces ----------------------------------------------------------------

local json_form = '^{"displayTimeUnit":"ns","otherData":(%b{}),' ..
  '"traceEvents":%[\n(.*)\n%]}%s*$'

local function parse_json(text)
  local about, events = text:match(json_form)
  if not about then return nil end
  local function number(name)
    return math.tointeger(tonumber(about:match('"' .. name .. '":(%d+)')))
  end
  return {events = events, process = about:match '"process":"([^"]*)"' or "",
    boot = about:match '"boot":"([^"]*)"' or "", start = number "start_ns",
    epoch = number "epoch_ns"}
end

-- One trace: numbers of processes and arrows are made unlike, times are moved.
local function merge_json(files)
  local json = prompt.json()
  local lines, pids, ids = {}, 0, 0
  for _, f in ipairs(files) do
    local most_pid, most_id = 0, 0
    for event in (f.events .. ",\n"):gmatch "(.-),\n" do
      local line = event:gsub('"pid":(%d+)', function(n)
        most_pid = math.max(most_pid, tonumber(n))
        return ('"pid":%d'):format(pids + n)
      end, 1)
      line = line:gsub('"id":(%d+)', function(n)
        most_id = math.max(most_id, tonumber(n))
        return ('"id":%d'):format(ids + n)
      end, 1)
      line = line:gsub('"ts":(%d+)%.(%d+)', function(micros, ns)
        return '"ts":' .. json.micro(micros * 1000 + ns + f.shift)
      end, 1)
      line = line:gsub('"sort_index":(%d+)', function(n)
        return ('"sort_index":%d'):format(pids + n)
      end, 1)
      -- A device is one for each of them.
      if line:find('"name":"process_name"', 1, true) and
        not line:find('"name":"' .. f.process, 1, true)
      then
        line = line:gsub('"args":{"name":"', function(s)
          return s .. f.process .. ": "
        end, 1)
      end
      lines[#lines + 1] = line
    end
    pids, ids = pids + most_pid, ids + most_id
  end
  local first = files[1]
  for _, f in ipairs(files) do if f.shift == 0 then first = f end end
  local same = true
  for _, f in ipairs(files) do same = same and f.boot == first.boot end
  return ('{"displayTimeUnit":"ns","otherData":%s,"traceEvents":[\n%s\n]}\n')
    :format(json.json {process = "", boot = same and first.boot or "",
      start_ns = first.start, epoch_ns = first.epoch},
      table.concat(lines, ",\n"))
end

-- --- pages -----------------------------------------------------------------

local data_form = '^(.*<script type="application/json" id="data">%[)' ..
  "(.*)(%]</script>.*)$"

local function parse_html(text)
  local head, data, rest = text:match(data_form)
  if not head or not head:find("<title>lze: ", 1, true) then return nil end
  return {head = head, data = data, rest = rest,
    text = head:match "<pre>(.*)</pre>"}
end

-- One page: it puts the data of all processes beside each other itself.
local function merge_html(files)
  local data, texts, count = {}, {}, 0
  for i, f in ipairs(files) do
    data[i] = f.data
    -- A page that was merged already has several.
    local names = {}
    for name in f.data:gmatch '{"process":"([^"]*)","boot":' do
      names[#names + 1] = name
    end
    count = count + #names
    texts[i] = (#names == 1 and names[1] .. "\n\n" or "") .. f.text
  end
  local function put(text, pattern, new)
    return (text:gsub(pattern, function(before, after)
      return before .. new .. after
    end))
  end
  local title = ("lze: %d processes"):format(count)
  local head = put(files[1].head, "(<title>)[^<]*(</title>)", title)
  head = put(head, "(<h1>)[^<]*(</h1>)", title)
  head = put(head, "(<pre>).*(</pre>)", table.concat(texts, "\n\n"))
  return head .. table.concat(data, ",\n") .. files[1].rest
end

-- What the files named in `paths` are together; read(path) gives their bytes.
-- Nil and a reason where they are something else.
function trace.merge(paths, read)
  local ending, files = nil, {}
  for i, path in ipairs(paths) do
    local own = path:match "%.(%l+)$"
    if own ~= "json" and own ~= "html" then
      return nil, path .. ": a name that ends in .json or .html expected"
    end
    if ending and own ~= ending then
      return nil, path .. ": all of them .json or all .html expected"
    end
    ending = own
    files[i] = (own == "json" and parse_json or parse_html)(read(path))
    if not files[i] then
      return nil, path .. ": not a profile that lze has written"
    end
  end
  if ending == "html" then return merge_html(files) end
  shifts(files)
  return merge_json(files)
end

return trace
