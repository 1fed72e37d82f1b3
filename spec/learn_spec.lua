-- learn_spec.lua - ranges that a kernel has not been launched with before.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"

local compiles = lze.load "kernels/saxpy.spv".saxpy:prepare(64)

-- Runs a script in a process with caches of its own, where `compiled` counts
-- the kernels in PoCL's; other drivers compile nothing for a group size.
local function with_caches(script, env)
  if not compiles then pending "nothing is compiled for a group size" end
  local output
  process.with_directory(function(dir)
    env = env or {}
    env.POCL_CACHE_DIR, env.XDG_CACHE_HOME = dir .. "/pocl", dir
    output = process.output(([[
      local lze = require "lze"
      local saxpy = lze.load "kernels/saxpy.spv".saxpy
      local x, y = lze.buffer("float", 1 << 20), lze.buffer("float", 1 << 20)
      local function compiled()
        local pipe = assert(io.popen
          "find '%s' -name '*.so' ! -name 'tempfile*' | wc -l")
        local n = pipe:read "n"
        pipe:close()
        return n
      end
      -- Whether a launch of n work-items does what it should, no more.
      local function right(n)
        x:fill(1)
        y:fill(2)
        saxpy(n, 3, x, y)
        lze.wait()
        for i = 1, n, 1 + n // 64 do
          if y[i] ~= 5 then return false end
        end
        return y[n] == 5 and (n == #y or y[n + 1] == 2)
      end
      local function why(...) return (select(4, saxpy:group(...))) end
      local function own(...)
        local fresh <close> = lze.load "kernels/saxpy.spv".saxpy
        return (select(4, fresh:group(...)))
      end
    ]]):format(dir .. "/pocl") .. script, {env = env, seconds = 120})
  end)
  return output
end

local ranges = [[
  local all = true
  for i = 1, 24 do all = right(i * i * 1013 % 300007 + 70 * i) and all end
  print(all, compiled())]]

describe("a range that is new to a kernel", function()
  it("is launched in sizes that are compiled", function()
    local all, n = with_caches(ranges):match "(%w+)\t(%d+)"
    assert.equal("true", all)
    assert.is_true(tonumber(n) <= 6, n .. " kernels were compiled")
  end)

  it("is said to be in profiles", function()
    assert.equal("true nil nil\n", (with_caches([[
      saxpy:prepare(640)
      local p = lze.profile(function()
        saxpy(777777, 3, x, y)
        saxpy({777777, group = 1}, 3, x, y)
        saxpy(640, 3, x, y)
      end)
      local seen = {}
      for _, e in ipairs(p.events) do
        if e.kind == "kernel" then
          seen[#seen + 1] = tostring(e.provisional)
        end
      end
      print(table.concat(seen, " "))]])))
  end)

  it("is not where that is switched off", function()
    local all, n = with_caches(ranges,
      {LZE_GROUP_LEARN = "0"}):match "(%w+)\t(%d+)"
    assert.equal("true", all)
    assert.is_true(tonumber(n) >= 20, n .. " kernels were compiled")
  end)

  it("never gets its own size where that is asked for", function()
    local script = [[
      local all = right(777777)
      local before, first = compiled(), saxpy:group(777777)
      for _ = 1, 400 do saxpy(777777, 0, x, y) end
      lze.wait()
      all = right(777777) and all
      print(all, first, compiled() - before)
      saxpy:prepare(777777)
      print(saxpy:group(777777) ~= first, compiled() > before)]]
    -- Nothing is compiled beside the launches without a build server.
    local env = {LZE_GROUP_LEARN = "never", LZE_BUILD_SECONDS = "0"}
    assert.equal("true\t64\t0\ntrue\ttrue\n", with_caches(script, env))
  end)

  it("has no other word for that", function()
    for name, word in pairs {LZE_GROUP_LEARN = "never", LZE_CHECK = "lua"} do
      local out = process.run('require "lze".buffer("int", 1)',
        {env = {[name] = "often"}}).output
      assert.matches(name .. "=often: 0, 1 or " .. word .. " expected", out)
    end
  end)

  it("is the first, and runs in what is soon compiled", function()
    assert.equal("1000\t1\n64\t1\n64\t1\n1\n64\n3367\n1\n", with_caches([==[
      local source = [[
        kernel void f(global float *a) {
          size_t x = get_global_id(0), y = get_global_id(1);
          a[y * 1024 + x] += 1.0f;
        }]]
      local f = lze.compile(source).f
      local function shown(range, ...)
        print(...)
        f(range, x)
        lze.wait()
      end
      -- Groups of more than a row take PoCL longest; no row serves the next.
      for _, range in ipairs {{1000, 1000}, {320, 240}, {384, 200}} do
        shown(range, table.unpack({f:group(range)}, 1, 2))
      end
      -- A few work-items, which groups of 1 serve as well on two cores; what
      -- will serve others; a divisor; what is there.
      for i, n in ipairs {100, 600011, 777777, 101} do
        if i % 2 == 1 then f = lze.compile(source).f end
        shown(n, (f:group(n)))
      end]==], {POCL_MAX_PTHREAD_COUNT = "2"}))
  end)

  it("compiles nothing that serves only behind the first one's rows", function()
    assert.equal("1\t3\t3\n", with_caches [==[
      local f = lze.compile([[
        kernel void f(global float *a) {
          size_t x = get_global_id(0), y = get_global_id(1);
          a[y * 1024 + x] += 1.0f;
        }]]).f
      x:fill(0) -- which compiles, too
      lze.wait()
      local before, n = compiled(), {}
      -- A row; 64 and 1, not 645 and what 227 of a row are left over as.
      for i, range in ipairs {{645, 899}, {872, 216}, {81, 912}} do
        f(range, x)
        lze.wait()
        n[i] = compiled() - before
      end
      print(n[1], n[2], n[3])]==])
  end)

  it("gets its own size in the end", function()
    assert.equal("first\nsecond\nown\n", with_caches [[
      for _, n in ipairs {48, 40} do right(n) end
      print(why(48) == own(48) and "first")
      local n = 777777
      print(why(n) ~= own(n) and why(n):find("compiled", 1, true) and "second")
      for _ = 1, 400 do saxpy(n, 0, x, y) end
      lze.wait()
      local limit = os.time() + 60 -- it is compiled beside the launches
      while why(n) ~= own(n) and os.time() < limit do
        saxpy(n, 0, x, y)
        lze.wait()
      end
      print(why(n) == own(n) and "own")]])
  end)

  it("is launched as k:group says, while its own size is compiled", function()
    assert.equal("true\ttrue\ttrue\n", with_caches [[
      for _, n in ipairs {1000003, 3000, 777} do saxpy(n, 0, x, y) end
      lze.wait()
      local n, said, seen = 777777, {}, {}
      local function launch()
        said[#said + 1] = tostring(saxpy:group(n))
        saxpy(n, 0, x, y)
        lze.wait()
      end
      local p, limit = lze.profile(), os.time() + 60
      repeat launch() until said[#said] ~= said[1] or os.time() > limit
      launch()
      p:stop()
      for _, e in ipairs(p.events) do
        if e.kind == "kernel" then seen[#seen + 1] = tostring(e.group[1]) end
      end
      print(#said > 3, said[#said] ~= said[1],
        table.concat(seen, " ") == table.concat(said, " "))]])
  end)

  it("gets it at once where it is prepared, given or of another policy",
    function()
      assert.equal("new\tprepared\tgiven\tlargest\tnone\n", with_caches [[
        for _, n in ipairs {1000003, 3000, 777} do right(n) end
        local new = why(777777) ~= own(777777) and "new"
        local given = {777777, group = 128}
        local largest = {777777, policy = "largest"}
        saxpy:prepare(777777)
        local before = compiled()
        print(new, why(777777) == own(777777) and "prepared",
          why(given) == own(given) and "given",
          why(largest) == own(largest) and "largest",
          right(777777) and compiled() == before and "none")]])
    end)

  it("is computed the same, of two dimensions and with an offset", function()
    assert.equal("true\n", with_caches [==[
      local f = lze.compile([[
        kernel void f(global float *a) {
          size_t x = get_global_id(0), y = get_global_id(1);
          a[y * 512 + x] += 1.0f + x + y;
        }]]).f
      local a = lze.buffer("float", 512 * 512)
      local all = true
      for i = 1, 12 do
        local w, h, dx, dy = 17 * i, 401 - 29 * i, i % 3, i % 2 * 5
        a:fill(0)
        f({w, h, offset = {dx, dy}}, a)
        lze.wait()
        for k = 0, 512 * 512 - 1 do
          local px, py = k % 512, k // 512
          local inside = px >= dx and px < dx + w and py >= dy and py < dy + h
          all = all and a[k + 1] == (inside and 1 + px + py or 0)
        end
      end
      print(all)]==])
  end)

  it("changes nothing for a kernel that sees its group", function()
    assert.equal("true\n", with_caches [==[
      local source = [[
        kernel void f(global int *a) {
          a[get_global_id(0)] = get_local_size(0);
        }]]
      local f, a = lze.compile(source).f, lze.buffer("int", 4096)
      local all = true
      for _, n in ipairs {1000, 777, 1024, 500, 3000, 777} do
        local fresh <close> = lze.compile(source).f
        f(n, a)
        lze.wait()
        all = all and a[1] == fresh:group(n) and a[n] == a[1]
      end
      print(all)]==])
  end)
end)
