-- svg.lua - the plot of what each policy reaches of the search's best.
-- SPDX-License-Identifier: MIT

local svg = {}

local colours = {lze = "#1b6ca8", driver = "#d1495b", largest = "#edae49",
  tornado = "#66a182", ["oneapi.jl"] = "#8d6a9f"}
local ROW, LEFT, WIDTH, TOP = 16, 240, 640, 40
local LEAST = 0.01

local function escape(s)
  return (s:gsub("[&<>]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;"}))
end

-- Draws a row for each case, a dot for each policy; logarithmic from 0.01 to 1.
function svg.plot(title, cases, policies)
  local out = {}
  local function put(...) out[#out + 1] = string.format(...) end
  local function x_of(ratio)
    local part = math.log(math.max(ratio, LEAST) / LEAST) / math.log(1 / LEAST)
    return LEFT + WIDTH * math.min(part, 1)
  end

  local rows = {}
  for _, case in ipairs(cases) do
    if case.ratio then rows[#rows + 1] = case end
  end
  local bottom = TOP + ROW * #rows
  put('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" ' ..
    'font-family="sans-serif" font-size="11">', LEFT + WIDTH + 40,
    bottom + 50)
  put('<rect width="100%%" height="100%%" fill="white"/>')
  put('<text x="%d" y="16" font-size="13">%s</text>', LEFT, escape(title))
  for _, v in ipairs {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 0.95, 1} do
    local x = x_of(v)
    put('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>', x, TOP, x,
      bottom)
    put('<text x="%.1f" y="%d" text-anchor="middle">%g</text>', x, bottom + 14,
      v)
  end
  for i, case in ipairs(rows) do
    local y = TOP + ROW * i - ROW // 2
    put('<text x="%d" y="%d" text-anchor="end">%s %s</text>', LEFT - 8, y + 4,
      escape(case.name), escape(case.shape))
    for _, policy in ipairs(policies) do
      local ratio = case.ratio[policy]
      if ratio then
        put('<circle cx="%.1f" cy="%d" r="4" fill="%s" fill-opacity="0.7">' ..
          '<title>%s %.3f</title></circle>', x_of(ratio), y,
          colours[policy] or "black", policy, ratio)
      end
    end
  end
  for i, policy in ipairs(policies) do
    local x = LEFT + (i - 1) * 110
    put('<circle cx="%d" cy="%d" r="4" fill="%s"/>', x, bottom + 32,
      colours[policy] or "black")
    put('<text x="%d" y="%d">%s</text>', x + 8, bottom + 36, policy)
  end
  put "</svg>"
  return table.concat(out, "\n") .. "\n"
end

return svg
