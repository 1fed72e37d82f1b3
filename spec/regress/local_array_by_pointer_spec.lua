-- local_array_by_pointer_spec.lua - groups larger than an array in local memory
-- were chosen if the kernel accessed it through a pointer: work-items overwrote
-- each other's elements.
local lze = require "lze"

local fence = "barrier(CLK_LOCAL_MEM_FENCE); "
local function kernel(name, before, put, take, arguments)
  return ([==[
kernel void %s(global int *out%s) {
  size_t l = get_local_id(0); int g = get_global_id(0);
  %s
  %s; %s out[g] = %s;
}
]==]):format(name, arguments or "", before, put, fence, take)
end

-- Each with the number of work-items that have an element.
local kernels = {
  {kernel("direct", "local int t[32];", "t[l] = g", "t[l]"), 32},
  {kernel("pointer", "local int t[32]; local int *p = t;", "p[l] = g",
    "p[l]"), 32},
  {kernel("behind", "local int t[64]; local int *p = t + 32;", "p[l] = g",
    "p[l]"), 32},
  {kernel("border", "local int t[64]; local int *p = t;", "p[l + 32] = g",
    "p[l + 32]"), 32},
  {kernel("helper", "local int t[32];", "put(t, g)", "take(t)"), 32},
  {kernel("vector", "local int t[64];", "vstore2((int2)(g, 0), l, t)",
    "vload2(l, t).x"), 32},
  {kernel("chosen", "local int t[48], u[32]; local int *p = c ? t : u;",
    "p[l] = g", "p[l]", ", int c"), 32},
  {kernel("branched", "local int t[48], u[32]; local int *p = t;" ..
    "if (c > 3) p = u;", "p[l] = g", "p[l]", ", int c"), 32},
  {kernel("lost", "local int t[48], u[32]; local int *list[2];" ..
    "list[0] = t; list[1] = u; local int *p = list[c != 0];",
    "p[l] = g", "p[l]", ", int c"), 32},
  {kernel("member", "struct { local int *p; int x; } s; local int t[32];" ..
    "s.p = t;", "s.p[l] = g", "s.p[l]"), 32},
  {kernel("structs", "local struct pair t[32]; local struct pair *p = t;",
    "p[l].b = g", "p[l].b"), 32},
  {kernel("atomic", "local int t[32]; local int *p = t;",
    "atomic_xchg(&p[l], g)", "p[l]"), 32},
}
local source = [==[
struct pair { int a, b; };
static void put(local int *p, int v) { p[get_local_id(0)] = v; }
static int take(local int *p) { return p[get_local_id(0)]; }
]==]
for _, k in ipairs(kernels) do source = source .. k[1] end

describe("arrays in local memory", function()
  local n = 960
  for _, level in ipairs {"-O0", "-O2"} do
    local module = lze.compile(source, {flags = {level}})
    for _, k in ipairs(kernels) do
      local name = k[1]:match "void (%w+)"
      it("limit the group size: " .. name .. " " .. level, function()
        for _, policy in ipairs {"lze", "driver", "largest", "tornado"} do
          local out <close> = lze.buffer("int", n)
          local range = {n, policy = policy}
          local group = module[name]:group(range)
          assert.is_true(group <= k[2], policy .. ": " .. group)
          if #module[name].args == 2 then
            module[name](range, out, 1)
          else
            module[name](range, out)
          end
          local wrong = 0
          for i, v in ipairs(out:read()) do
            if v ~= i - 1 then wrong = wrong + 1 end
          end
          assert.equal(0, wrong, policy)
        end
        -- An explicit group size is used as given.
        assert.equal(k[2] * 2, (module[name]:group {n, group = k[2] * 2}))
      end)
    end
  end

  it("do not limit the group size if the host sets their size", function()
    local k = lze.compile(kernel("given", "", "p[l] = g", "p[l]",
      ", local int *p")).given
    local out <close> = lze.buffer("int", n)
    k({n, group = 480}, out, 480)
    assert.equal(n - 1, out[n])
  end)
end)
