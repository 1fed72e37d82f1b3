-- array_product.lua - products over chosen dimensions.
-- SPDX-License-Identifier: MIT
--
-- They are products of matrices (mm), once the dimensions are in order.

local core = ...
local fail, types = core.fail, core.types
local C, define, shape_text = core.C, core.define, core.shape_text
local ipairs, mathtype, type = ipairs, math.type, type
local unpack = table.unpack
local with = core.linear.with

local function product(list)
  local n = 1
  for _, size in ipairs(list) do n = n * size end
  return n
end

-- Returns an operand whose products do not wrap.
local function wide(a)
  local t = types[a.kind]
  return t and not t.real and a:to "long" or a
end

-- Checks two operands.
local function check_pair(a, b, fname)
  core.check(a, 1, "a", fname)
  core.check(b, 2, "b", fname)
  core.together(fname, {"a", "b"}, a, b)
  local kind, why = core.promote(a.kind, b.kind)
  if not kind then fail("%s: %s", fname, why) end
  core.needs_double(fname, kind, a)
end

-- a:matmul(b): as mm; a vector is a row on the left, a column on the right.
define("matmul", function(a, b)
  check_pair(a, b, "matmul")
  for n, v in ipairs {a, b} do
    if #v.dims == 0 then
      fail("matmul: argument %d (%s): 1 dimension or more expected, got shape "
        .. "{}", n, n == 1 and "a" or "b")
    end
  end
  local row, column = #a.dims == 1, #b.dims == 1
  local depth = b.dims[column and 1 or #b.dims - 1]
  if a.dims[#a.dims] ~= depth then
    fail("matmul: shapes %s and %s do not fit (%d columns, %d rows)",
      shape_text(a.dims), shape_text(b.dims), a.dims[#a.dims], depth)
  end
  if row and column then return a:dot(b) end
  if row then a = a:reshape {1, a.size} end
  if column then b = b:reshape {b.size, 1} end
  local c = a:mm(b)
  if row then c = c:squeeze(-2) end
  return column and c:squeeze(-1) or c
end)

-- a:vecdot(b [, options]): the sums of products along dim, by default the last;
-- of complex numbers a, those of their conjugates.
define("vecdot", function(a, b, o)
  check_pair(a, b, "vecdot")
  o = core.options(o, {"dim"}, "vecdot", 3)
  local d = o.dim == nil and -1 or o.dim
  for n, v in ipairs {a, b} do
    core.dimension(#v.dims, d, "vecdot", n == 1 and "argument 1 (a): dim" or
      "argument 2 (b): dim")
  end
  local m, n = a.dims[d < 0 and d + #a.dims + 1 or d],
    b.dims[d < 0 and d + #b.dims + 1 or d]
  if m ~= n then
    fail("vecdot: shapes %s and %s do not fit: dimension %d has %d and %d "
      .. "elements", shape_text(a.dims), shape_text(b.dims), d, m, n)
  end
  core.broadcast("vecdot", a.dims, b.dims)
  if not types[a.kind] then a = a:conj() end
  return (wide(a) * wide(b)):sum {dim = d}
end)

-- a:cross(b [, options]): the products of vectors of 3 elements along dim, by
-- default the last.
define("cross", function(a, b, o)
  check_pair(a, b, "cross")
  o = core.options(o, {"dim"}, "cross", 3)
  local shape = core.broadcast("cross", a.dims, b.dims)
  local d = core.dimension(#shape, o.dim == nil and -1 or o.dim, "cross",
    "argument 3 (options): dim")
  for n, v in ipairs {a, b} do
    local e = d - #shape + #v.dims
    if v.dims[e] ~= 3 then
      fail("cross: argument %d (%s): 3 elements along dimension %d expected, "
        .. "got shape %s", n, n == 1 and "a" or "b", e, shape_text(v.dims))
    end
  end
  local function part(v, i)
    return core.narrow(v, d - #shape + #v.dims, i, i, 1)
  end
  local list = {}
  for i = 1, 3 do
    local j, k = i % 3 + 1, (i + 1) % 3 + 1
    list[i] = part(a, j) * part(b, k) - part(a, k) * part(b, j)
  end
  return core.A.cat(list, d)
end)

-- a:kron(b): each element of a times all of b, in place of that element.
define("kron", function(a, b)
  check_pair(a, b, "kron")
  local rank = math.max(#a.dims, #b.dims)
  if rank > 4 then
    fail("kron: shapes %s and %s: at most 4 dimensions expected",
      shape_text(a.dims), shape_text(b.dims))
  end
  local left, right, shape = {}, {}, {}
  for d = 1, rank do
    local m = a.dims[d - rank + #a.dims] or 1
    local n = b.dims[d - rank + #b.dims] or 1
    left[2 * d - 1], left[2 * d] = m, 1
    right[2 * d - 1], right[2 * d] = 1, n
    shape[d] = m * n
  end
  core.check_shape(shape, "kron")
  return (wide(a):reshape(left) * wide(b):reshape(right)):reshape(shape)
end)

-- --- tensordot ---------------------------------------------------------------

-- Returns the dimensions of a and b to sum over.
local function summed(a, b, axes)
  if axes == nil then axes = 2 end
  if mathtype(core.whole(axes)) == "integer" then
    local n = core.check_integer(axes, "tensordot", "argument 3 (dims)",
      "a number of dimensions of both", 0, math.min(#a.dims, #b.dims))
    local x, y = {}, {}
    for i = 1, n do x[i], y[i] = #a.dims - n + i, i end
    return x, y
  end
  if type(axes) ~= "table" or core.is(axes) or #axes ~= 2 then
    fail("tensordot: argument 3 (dims): a number or two lists of dimensions "
      .. "expected, got %s", C.describe(axes))
  end
  return (core.dimensions(a, axes[1], "tensordot", "argument 3 (dims): of a")),
    (core.dimensions(b, axes[2], "tensordot", "argument 3 (dims): of b"))
end

-- Returns the dimensions that are not in a list, and their sizes.
local function others(a, list)
  local chosen, rest, sizes = {}, {}, {}
  for _, d in ipairs(list) do chosen[d] = true end
  for d, size in ipairs(a.dims) do
    if not chosen[d] then rest[#rest + 1], sizes[#sizes + 1] = d, size end
  end
  return rest, sizes
end

-- a:tensordot(b [, dims]): the sums of products over the last `dims` dimensions
-- of a and the first ones of b, by default 2, or over dims = {of_a, of_b}.
define("tensordot", function(a, b, axes)
  check_pair(a, b, "tensordot")
  local x, y = summed(a, b, axes)
  local sizes = {}
  if #x ~= #y then
    fail("tensordot: argument 3 (dims): %d dimensions of a and %d of b", #x, #y)
  end
  for i, d in ipairs(x) do
    sizes[i] = a.dims[d]
    if b.dims[y[i]] ~= sizes[i] then
      fail("tensordot: shapes %s and %s do not fit: dimension %d has %d "
        .. "elements, dimension %d has %d", shape_text(a.dims),
        shape_text(b.dims), d, sizes[i], y[i], b.dims[y[i]])
    end
  end
  local left, m = others(a, x)
  local right, n = others(b, y)
  local shape, depth = core.check_shape(with(m, unpack(n)), "tensordot"),
    product(sizes)
  local p = a:permute(with(left, unpack(x))):reshape {product(m), depth}
  local q = b:permute(with(y, unpack(right))):reshape {depth, product(n)}
  return wide(p):mm(wide(q)):reshape(shape)
end)

-- --- einsum ------------------------------------------------------------------

-- Splits a term into labels: letters, and numbers for the dimensions that "..."
-- stands for, counted from the last one.
local function labels_of(term, rank)
  local list, dots = {}, term:match "^%a*()%.%.%.%a*$"
  if not dots and not term:find "^%a*$" then
    fail("einsum: argument 1 (text): letters, at most one '...', ',' and '->' "
      .. "expected, got '%s'", term)
  end
  for at, letter in term:gmatch "()(%a)" do
    if dots and at > dots and not list.dots then
      list.dots = #list
    end
    list[#list + 1] = letter
  end
  if not dots then return list end
  local first = list.dots or #list
  local count = rank and rank - #list
  local own = {unpack(list, 1, first)}
  for i = count or 0, 1, -1 do own[#own + 1] = i end
  for i = first + 1, #list do own[#own + 1] = list[i] end
  return own, count or true, first
end

-- Returns the labels of the result if the text does not list them: the
-- dimensions of "...", then the letters that occur once.
local function usual(terms, most)
  local counts, list = {}, {}
  for _, t in ipairs(terms) do
    for _, l in ipairs(t.labels) do
      if type(l) == "string" then counts[l] = (counts[l] or 0) + 1 end
    end
  end
  for l, n in next, counts do if n == 1 then list[#list + 1] = l end end
  table.sort(list)
  local all = {}
  for i = most, 1, -1 do all[#all + 1] = i end
  return with(all, unpack(list))
end

-- Returns an operand with one dimension for each label: a label that occurs
-- twice is a diagonal.
local function operand(a, labels, sizes, n)
  local place, own, shape, strides = {}, {}, {}, {}
  a = wide(a)
  for d, l in ipairs(labels) do
    local size = a.dims[d]
    local known = sizes[l]
    if known and known ~= size and (type(l) == "string" or known ~= 1 and
        size ~= 1) then
      fail("einsum: argument %d: dimension %d, '%s', has %d elements, not %d",
        n, d, type(l) == "string" and l or "...", size, known)
    end
    if not known or known == 1 then sizes[l] = size end
    local at = place[l]
    if not at then
      at = #own + 1
      place[l], own[at], shape[at], strides[at] = at, l, size, 0
    end
    strides[at] = strides[at] + a.stride[d]
  end
  return {a = core.view(a, a.from, shape, strides), labels = own}
end

local function set_of(...)
  local set = {}
  for _, list in ipairs {...} do
    for _, l in ipairs(list) do set[l] = true end
  end
  return set
end

-- Sums an operand over the labels that nothing needs any more.
local function reduced(t, needed)
  local dims, rest = {}, {}
  for d, l in ipairs(t.labels) do
    if needed[l] then rest[#rest + 1] = l else dims[#dims + 1] = d end
  end
  if #dims == 0 then return t end
  return {a = t.a:sum {dim = dims}, labels = rest}
end

-- Returns an operand's elements in the order of groups of labels, each of which
-- is one dimension.
local function arranged(t, sizes, ...)
  local place, order, whole, shape = {}, {}, {}, {}
  for d, l in ipairs(t.labels) do place[l] = d end
  for _, group in ipairs {...} do
    local n = 1
    for _, l in ipairs(group) do
      order[#order + 1], whole[#whole + 1] = place[l], sizes[l]
      n = n * sizes[l]
    end
    shape[#shape + 1] = n
  end
  return t.a:permute(order):expand(whole):reshape(shape)
end

-- Multiplies two operands and sums over the labels that are not needed.
local function contracted(x, y, needed, sizes)
  local in_x, in_y = set_of(x.labels), set_of(y.labels)
  x = reduced(x, set_of(y.labels, needed.list))
  y = reduced(y, set_of(x.labels, needed.list))
  local batch, left, right, gone = {}, {}, {}, {}
  for _, l in ipairs(x.labels) do
    local to = not in_y[l] and left or needed.set[l] and batch or gone
    to[#to + 1] = l
  end
  for _, l in ipairs(y.labels) do
    if not in_x[l] then right[#right + 1] = l end
  end
  local labels = with(batch, unpack(left))
  labels = with(labels, unpack(right))
  local shape = {}
  for d, l in ipairs(labels) do shape[d] = sizes[l] end
  core.check_shape(shape, "einsum: a product")
  local a
  if #gone == 0 then
    a = arranged(x, sizes, batch, left, {}) * arranged(y, sizes, batch, {},
      right)
  elseif #left == 0 and #right == 0 then
    a = (arranged(x, sizes, batch, gone) * arranged(y, sizes, batch, gone)):sum
      {dim = 2}
  else
    a = arranged(x, sizes, batch, left, gone):mm(arranged(y, sizes, batch, gone,
      right))
  end
  return {a = a:reshape(shape), labels = labels}
end

-- Checks the operands of einsum; returns them with their labels.
local function terms_of(text, list)
  local terms, most = {}, 0
  local inputs = text:gsub("%->.*$", "")
  local count = 0
  for term in (inputs .. ","):gmatch "([^,]*)," do
    count = count + 1
    terms[count] = {text = term}
  end
  if count ~= #list then
    fail("einsum: argument 1 (text): %d operand%s for %d array%s", count,
      count == 1 and "" or "s", #list, #list == 1 and "" or "s")
  end
  for i, t in ipairs(terms) do
    local a = core.check(list[i], i + 1, "a" .. i, "einsum")
    core.needs_double("einsum", a.kind, a)
    local labels, dots = labels_of(t.text, #a.dims)
    if #labels ~= #a.dims or dots and dots < 0 then
      fail("einsum: argument %d (a%d): '%s' does not fit shape %s", i + 1, i,
        t.text, shape_text(a.dims))
    end
    most = math.max(most, dots or 0)
    t.labels = labels
  end
  core.together("einsum", "argument %d", unpack(list))
  return terms, most
end

-- Returns the labels of the result.
local function result_of(text, terms, most, sizes)
  local output = text:match "%->(.*)$"
  if not output then return usual(terms, most) end
  local labels, dots, first = labels_of(output)
  if dots then
    local own = {unpack(labels, 1, first)}
    for i = most, 1, -1 do own[#own + 1] = i end
    labels = with(own, unpack(labels, first + 1))
  end
  local seen = {}
  for _, l in ipairs(labels) do
    if seen[l] or not sizes[l] then
      fail("einsum: argument 1 (text): label '%s' of the result is in %s", l,
        seen[l] and "it twice" or "no operand")
    end
    seen[l] = true
  end
  return labels
end

-- A.einsum(text, a, ...): sums of products: each letter is the index of a
-- dimension, and sums run over the indices that the result does not have, as in
-- "ij,jk->ik".  Operands are multiplied from left to right.
function core.A.einsum(text, ...)
  if type(text) ~= "string" then
    fail("einsum: argument 1 (text): string expected, got %s", C.describe(text))
  end
  local list = {...}
  text = text:gsub("%s", "")
  local terms, most = terms_of(text, list)
  local sizes, parts = {}, {}
  for i, t in ipairs(terms) do
    parts[i] = operand(list[i], t.labels, sizes, i + 1)
  end
  local output = result_of(text, terms, most, sizes)
  local x = parts[1]
  for i = 2, #parts do
    local lists = {output}
    for k = i + 1, #parts do lists[#lists + 1] = parts[k].labels end
    local needed = {}
    for _, l in ipairs(lists) do table.move(l, 1, #l, #needed + 1, needed) end
    x = contracted(x, parts[i], {list = needed, set = set_of(needed)}, sizes)
  end
  x = reduced(x, set_of(output))
  local groups = {}
  for i, l in ipairs(output) do groups[i] = {l} end
  return arranged(x, sizes, unpack(groups)):clone()
end
