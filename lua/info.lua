-- info.lua - what there is, for a person.
-- SPDX-License-Identifier: MIT

local concat, format, gmatch, ipairs = table.concat, string.format,
  string.gmatch, ipairs

local function count(n, what)
  return format("%d %s%s", n, what, n == 1 and "" or "s")
end

-- Writes a device after its number; `selector` is a string that selects it.
local function device(d, note, selector)
  return concat {
    format("%s (%s%s, driver %d)%s\n", d.name, d.type, d.tile and " tile" or "",
      d.driver, note),
    "  ", count(d.units, "compute unit"),
    format(", groups of up to %d, %.1f GiB", d.max_group_size,
      d.memory_bytes / (1 << 30)),
    d.fp64 and ", fp64" or ", no fp64", d.fp16 and ", fp16" or ", no fp16",
    d.int64_atomics and "" or ", no 64-bit atomics",
    d.offsets and "" or ", no global offsets",
    selector and format('; in a selector string "%d"', selector) or "",
    "\n",
    d.tiles > 0 and format("  %s\n", count(d.tiles, "tile")) or ""}
end

local functions = {}

-- Returns the text of lze.info from what lze_info.c has gathered.
function functions.text(t)
  local lines = {"lze ", t.version,
    t.loader and ", Level Zero through " .. t.loader or "", "\n"}
  local function add(...)
    lines[#lines + 1] = format(...)
  end
  if t.problem then add("problem: %s\n", t.problem) end
  for i, d in ipairs(t.drivers) do
    add("driver %d: %s, Level Zero %d.%d\n", i, d.name, d.major, d.minor)
  end
  for i, d in ipairs(t.devices) do
    add("device %d: %s", i,
      device(d, d.default and ", the default" or "", i - 1))
  end
  for _, d in ipairs(t.left_out) do
    add("left out: %s", device(d, ", by ONEAPI_DEVICE_SELECTOR"))
  end
  if #t.devices + #t.left_out == 0 then add "no device\n" end
  if t.lapack then
    add("LAPACK: %s, %s, %d-bit integers\n", t.lapack_kind, t.lapack,
      t.lapack_bits)
  else
    add("LAPACK: none: %s\n", t.lapack_missing)
  end
  for note in gmatch(t.missing, "[^\n]+") do add("note: %s\n", note) end
  for _, note in ipairs(t.notes) do add("note: %s\n", note) end
  if t.uncached then
    add("note: nothing is kept for the next process: %s\n", t.uncached)
  end
  if t.allowed and t.allowed < t.processors then
    add("note: affinity: this process may use %d of %s\n", t.allowed,
      count(t.processors, "processor"))
  end
  for _, v in ipairs(t.variables) do add("%s=%s\n", v.name, v.value) end
  return concat(lines)
end

return functions
