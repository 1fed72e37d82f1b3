-- read_before_loop_spec.lua - a kernel uses the value that it read before a
-- loop or a barrier, although the element was written in between.
-- SPDX-License-Identifier: MIT
--
-- PoCL 7 read the element again after the loop or the barrier.  In a group of
-- one work-item it ran the code before nested loops twice.

local lze = require "lze"
local work = lze.work

local N, SIZE = 16, 8

local function numbers()
  local t = {}
  for i = 1, N * SIZE do t[i] = i % 13 + 0.5 end
  return t
end

local function mirror(i, x)
  local b = (i - 1) * SIZE
  local a3, a4 = x[b + 3], x[b + 4]
  for k = 0, 3 do
    local t, u = x[b + 8 - k] * 10, x[b + k * 2 + 1] * 10
    x[b + k * 2 + 1] = t
    x[b + 8 - k] = u
  end
  x[b + 1], x[b + 2] = x[b + 2] + a3, x[b + 1] + a4
end

local function nested(i, x, n)
  local b = (i - 1) * SIZE
  local r = x[b + 5]
  local t, u = x[b + 8] - r, x[b + 3] - r
  x[b + 5] = t
  x[b + 7] = u
  for j = 2, n do
    for k = 0, n + 1 do
      x[b + (8 - j) % 8 + 1] = x[b + (3 + 2 * k) % 8 + 1] *
        x[b + (4 + 3 * k) % 8 + 1]
    end
  end
end

local source = [[
kernel void mirror(global double *x) {
  x += get_global_id(0) * 8;
  double a3 = x[2], a4 = x[3];
  for (int k = 0; k < 4; k++) {
    double t = x[7 - k] * 10, u = x[k * 2] * 10;
    x[k * 2] = t;
    x[7 - k] = u;
  }
  double first = x[0];
  x[0] = x[1] + a3;
  x[1] = first + a4;
}
kernel void nested(global double *x, long n) {
  x += get_global_id(0) * 8;
  double r = x[4], t = x[7] - r, u = x[2] - r;
  x[4] = t;
  x[6] = u;
  for (long j = 2; j <= n; j++)
    for (long k = 0; k <= n + 1; k++)
      x[(8 - j) & 7] = x[(3 + 2 * k) & 7] * x[(4 + 3 * k) & 7];
}
kernel void turn(global double *x) {
  size_t i = get_global_id(0), n = get_global_size(0);
  double own = x[i];
  barrier(CLK_GLOBAL_MEM_FENCE);
  x[(i + 1) % n] = own;
}]]

describe("a value that a kernel read before", function()
  for name, k in pairs {Lua = function() return lze.kernel(mirror) end,
      ["OpenCL C"] = function()
        return lze.compile(source):kernel "mirror" end} do
    it("a loop that writes it is used after the loop, in " .. name, function()
      local want = numbers()
      for i = 1, N do mirror(i, want) end
      for _, group in ipairs {1, 4, N} do
        local x = lze.buffer("double", numbers())
        k()({N, group = group}, x)
        assert.same(want, x:read())
      end
    end)
  end

  for name, k in pairs {Lua = function() return lze.kernel(nested) end,
      ["OpenCL C"] = function()
        return lze.compile(source):kernel "nested" end} do
    it("nested loops is used once, in " .. name, function()
      local want = numbers()
      for i = 1, N do nested(i, want, 3) end
      for _, group in ipairs {1, 4} do
        local x = lze.buffer("double", numbers())
        k()({N, group = group}, x, 3)
        assert.same(want, x:read())
      end
    end)
  end

  for name, k in pairs {Lua = function()
        return lze.kernel(function(i, x)
          local own = x[i]
          work.barrier()
          x[i % work.global_size(1) + 1] = own
        end)
      end,
      ["OpenCL C"] = function()
        return lze.compile(source):kernel "turn" end} do
    it("a barrier is used after it, in " .. name, function()
      local have, want = numbers(), numbers()
      for i = 1, N do want[i % N + 1] = have[i] end
      local x = lze.buffer("double", have)
      k()({N, group = N}, x)
      assert.same(want, x:read())
    end)
  end
end)
