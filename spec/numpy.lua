-- numpy.lua - compares array operations with NumPy's, for busted.
-- SPDX-License-Identifier: MIT
--
-- `make check-numpy` runs this.  Each row is an expression in Lua and its
-- counterpart in Python, on the same data.  LZE_NUMPY sets the types, instead
-- of a few.  NumPy has no bfloat16; specs compare all types with plain Lua.

local lze = require "lze"
local process = require "spec.support.process"
local A = lze.array

local python = os.getenv "PYTHON" or "python3"

-- --- rows --------------------------------------------------------------------

-- NumPy computes reals in double and rounds at the end.  The data are
-- x, y, z {3, 5, 4}, of few values; p the same, from 1 on; q the same, without
-- 0; b {5, 1}; v, w {4}; m {5, 4}; n {4, 6}; k {4, 5, 6}; i {3, 2, 4}, of 1 to
-- 5; large {300007}; wide {257, 611}; tall {9001, 5}; picks {9000}, of 1 to
-- 9000; for reals, s {8} with infinities and NaN.
local of_all = {
  {"-x", "-x"}, {"x + y", "x + y"}, {"x - y", "x - y"}, {"x * y", "x * y"},
  {"x + b", "x + b"}, {"b - x", "b - x"}, {"x * v", "x * v"},
  {"2 * x + 1", "2 * x + 1"}, {"7 - x", "7 - x"}, {"x / q", "real(x) / q"},
  {"1 / q", "1 / real(q)"}, {"x // q", "x // q"}, {"x % q", "x % q"},
  {"x // 3", "x // 3"}, {"x % 3", "x % 3"}, {"x ^ 2", "real(x) ** 2"},
  {"p ^ 0.5", "real(p) ** 0.5"}, {"2 ^ x", "2 ** real(x)"},
  {"x + 0.5", "real(x) + 0.5"}, {"(x + y) * (x - y) - z",
    "(x + y) * (x - y) - z"},
  {"x:eq(y)", "x == y"}, {"x:ne(y)", "x != y"}, {"x:lt(y)", "x < y"},
  {"x:le(2)", "x <= 2"}, {"x:gt(b)", "x > b"}, {"x:ge(y)", "x >= y"},
  {"x:lt(y) & y:lt(3)", "(x < y) & (y < 3)"},
  {"x:lt(y) | y:lt(3)", "(x < y) | (y < 3)"},
  {"x:lt(y) ~ y:lt(3)", "(x < y) ^ (y < 3)"}, {"~x:lt(y)", "~(x < y)"},
  {"x:abs()", "np.abs(x)"}, {"x:sign()", "np.sign(x)"},
  {"x:min(y)", "np.minimum(x, y)"}, {"x:max(1)", "np.maximum(x, 1)"},
  {"x:clamp(1, 3)", "np.clip(x, 1, 3)"},
  {"A.where(x:gt(y), x, z)", "np.where(x > y, x, z)"},
  {"A.where(x, 1, b)", "np.where(x, np.ones_like(b), b)"},
  {"p:sqrt()", "np.sqrt(real(p))"}, {"p:rsqrt()", "1 / np.sqrt(real(p))"},
  {"x:exp()", "np.exp(real(x))"}, {"p:log()", "np.log(real(p))"},
  {"p:log2()", "np.log2(real(p))"}, {"p:log10()", "np.log10(real(p))"},
  {"p:log1p()", "np.log1p(real(p))"}, {"x:expm1()", "np.expm1(real(x))"},
  {"x:sin()", "np.sin(real(x))"}, {"x:cos()", "np.cos(real(x))"},
  {"x:atan()", "np.arctan(real(x))"}, {"x:tanh()", "np.tanh(real(x))"},
  {"x:sinh()", "np.sinh(real(x))"}, {"x:cosh()", "np.cosh(real(x))"},
  {"x:atan2(q)", "np.arctan2(real(x), real(q))"},
  {"x:sigmoid()", "1 / (1 + np.exp(-real(x)))"},
  {"x:square()", "np.square(x)"}, {"x:fmod(q)", "np.fmod(x, q)"},
  {"x:remainder(q)", "np.remainder(x, q)"},
  {"x:hypot(q)", "np.hypot(real(x), real(q))"},
  {"x:copysign(q)", "np.copysign(real(x), real(q))"},
  {"x:logaddexp(q)", "np.logaddexp(real(x), real(q))"},
  {"x:asinh()", "np.arcsinh(real(x))"}, {"p:acosh()", "np.arccosh(real(p))"},
  {"x:cbrt()", "np.cbrt(real(x))"}, {"x:exp2()", "np.exp2(real(x))"},
  {"x:logical_xor(y)", "np.logical_xor(x, y)"},
  {"x:floor()", "x if whole else np.floor(x)"},

  {"x[2]", "x[1]"}, {"x[{-1, {}, {1, -1, 3}}]", "x[-1, :, ::3]"},
  {"x[{{}, {4, 2, -1}}]", "x[:, 3:0:-1]"}, {"x[{{1, 0}}]", "x[0:0]"},
  {"x[x:gt(1)]", "x[x > 1]"}, {"x[x:gt(99)]", "x[x > 99]"},
  {"x:reshape {10, -1}", "x.reshape(10, -1)"}, {"m:t()", "m.T"},
  {"x:permute {3, 1, 2}", "x.transpose(2, 0, 1)"},
  {"x:permute {3, 1, 2}:reshape {6, 10}",
    "x.transpose(2, 0, 1).reshape(6, 10)"},
  {"x:flip()", "np.flip(x)"}, {"x:flip(2, -1)", "np.flip(x, (1, 2))"},
  {"x:roll(7)", "np.roll(x, 7)"}, {"x:roll(-2, 2)", "np.roll(x, -2, 1)"},
  {"m:tile {2, 3}", "np.tile(m, (2, 3))"},
  {"x:tile {2, 1, 1, 2}", "np.tile(x, (2, 1, 1, 2))"},
  {"b:expand {3, 5, 4}", "np.broadcast_to(b, (3, 5, 4))"},
  {"x[{{2, 2}}]:squeeze()", "x[1:2].squeeze()"},
  {"A.cat({x, y}, 2)", "np.concatenate((x, y), 1)"},
  {"A.cat {x, y[{{1, 0}}], z}", "np.concatenate((x, z))"},
  {"A.stack({x, y, z}, -1)", "np.stack((x, y, z), -1)"},
  {"x:to 'float'", "x.astype('f4')"}, {"x:to 'int'", "x.astype('i4')"},
  {"p:to 'uchar'", "p.astype('u1')"}, {"x:to 'long'", "x.astype('i8')"},

  {"x:take {3, 1, -1}", "x.ravel()[[2, 0, -1]]"},
  {"x:take({{3, 1}, {2, 2}}, 2)", "np.take(x, [[2, 0], [1, 1]], 1)"},
  {"x:gather(i, 2)", "np.take_along_axis(x, i - 1, 1)"},
  {"x:scatter(i, y[{{}, {1, 2}}], 2)", "put_along(x, i - 1, y[:, :2])"},
  {"x:nonzero()", "np.argwhere(x) + 1"},
  {"x:gt(2):nonzero()", "np.argwhere(x > 2) + 1"},
  {"v:nonzero()", "np.flatnonzero(v) + 1"},

  {"x:sum()", "long(x.sum())"}, {"x:sum {dim = 1}", "long(x.sum(0))"},
  {"x:sum {dim = 2, keep = true}", "long(x.sum(1, keepdims=True))"},
  {"x:sum {dim = -1}", "long(x.sum(-1))"},
  {"x[{{1, 0}}]:sum {dim = 1}", "long(x[0:0].sum(0))"},
  {"v:prod()", "long(v.prod())"}, {"x:prod {dim = 3}", "long(x.prod(2))"},
  {"x:mean()", "real(x).mean()"}, {"x:mean {dim = 2}", "real(x).mean(1)"},
  {"x:var()", "real(x).var()"}, {"x:var {dim = 1}", "real(x).var(0)"},
  {"x:std {dim = 3}", "real(x).std(2)"},
  {"x:norm()", "np.linalg.norm(real(x))"},
  {"x:norm {dim = 2}", "np.linalg.norm(real(x), axis=1)"},
  {"x:min()", "x.min()"}, {"x:max {dim = 2}", "x.max(1)"},
  {"x:argmin()", "x.argmin() + 1"}, {"x:argmax {dim = 1}", "x.argmax(0) + 1"},
  {"x:count()", "np.array(np.count_nonzero(x))"},
  {"x:count {dim = 2}", "np.count_nonzero(x, 1)"},
  {"x:all {dim = 3}", "x.all(2)"}, {"x:any {dim = 2}", "x.any(1)"},
  {"p:all()", "p.all()"}, {"(x * 0):any()", "(x * 0).any()"},
  {"v:dot(w)", "long(v @ w)"},
  {"((x - y) * z):sum {dim = 2}", "long(((x - y) * z).sum(1))"},

  {"x:cumsum()", "long(x.cumsum())"}, {"x:cumsum(2)", "long(x.cumsum(1))"},
  {"v:cumprod()", "long(v.cumprod())"},
  {"x:cumprod(3)", "long(x.cumprod(2))"},
  {"x:cummax(2)", "np.maximum.accumulate(x, 1)"},
  {"x:cummin()", "np.minimum.accumulate(x.ravel())"},

  {"x:sort()", "np.sort(x)"}, {"x:sort {dim = 1}", "np.sort(x, 0)"},
  {"x:reshape {-1}:sort {descending = true}", "np.sort(x.ravel())[::-1]"},
  {"x:argsort {dim = 2}", "np.argsort(x, 1, kind='stable') + 1"},
  {"(x:topk(2))", "np.sort(x)[..., :-3:-1]"},
  {"(x:topk(3, {dim = 2, largest = false}))", "np.sort(x, 1)[:, :3]"},
  {"(x:unique())", "np.unique(x)"},
  {"select(2, x:unique {counts = true})",
    "np.unique(x, return_counts=True)[1]"},
  {"v:sort():searchsorted(x)", "np.searchsorted(np.sort(v), x) + 1"},
  {"v:sort():searchsorted(x, {right = true})",
    "np.searchsorted(np.sort(v), x, 'right') + 1"},
  {"(x:histogram(7))", "np.histogram(x, 7)[0]"},
  {"(x:histogram(4, {low = 1, high = 3}))",
    "np.histogram(x, 4, (1, 3))[0]"},

  {"m:mm(n)", "long(m @ n)"}, {"x:mm(n)", "long(x @ n)"},
  {"x:mm(k[{{1, 3}, {1, 4}}])", "long(x @ k[:3, :4])"},
  {"m:t():mm(m)", "long(m.T @ m)"}, {"m:mv(v)", "long(m @ v)"},
  {"v:outer(w)", "np.outer(v, w)"}, {"m:trace()", "long(m.trace())"},
  {"m:tril()", "np.tril(m)"}, {"x:tril(-1)", "np.tril(x, -1)"},
  {"x:triu(1)", "np.triu(x, 1)"},
  {"x:reshape {-1}:conv1d(v:flip())",
    "long(np.convolve(x.ravel(), v, 'valid'))"},
  {"x:conv2d(n[{{1, 2}, {1, 3}}], {padding = {1, 2}, stride = {2, 1}})",
    "long(correlate(x, n[:2, :3], (1, 2), (2, 1)))"},
  {"v:convolve(w)", "long(np.convolve(v, w))"},
  {'v:convolve(w, {mode = "same"})', "long(np.convolve(v, w, 'same'))"},
  {'v:correlate(w, {mode = "full"})', "long(np.correlate(v, w, 'full'))"},
  {"A.complex(x, y) * A.complex(z, b) - x", "pair(x, y) * pair(z, b) - x"},
  {"A.complex(x, y) / A.complex(q, p)", "pair(x, y) / pair(q, p)"},
  {"A.complex(x, y):abs()", "narrow(np.abs(pair(x, y)))"},
  {"A.complex(x, y):angle()", "narrow(np.angle(pair(x, y)))"},
  {"A.complex(x, y):exp()", "np.exp(pair(x, y))"},
  {"A.complex(p, y):log()", "np.log(pair(p, y))"},
  {"A.complex(x, y):sqrt()", "np.sqrt(pair(x, y))"},
  {"A.complex(x, y):tanh()", "np.tanh(pair(x, y))"},
  {"A.complex(x, y):asin()", "np.arcsin(pair(x, y))"},
  {"A.complex(x, y) ^ 3", "pair(x, y) ** 3"},
  {"A.complex(x, y):sum {dim = 2}", "np.sum(pair(x, y), 1)"},
  {"A.complex(x, y):cumsum {dim = 1}", "np.cumsum(pair(x, y), 0)"},
  {"A.complex(x, y):var()", "narrow(np.var(pair(x, y)))"},
  {"A.complex(m, 1):mm(n)", "pair(m, 1) @ real(n)"},
  {"x:fft()", "np.fft.fft(real(x))"},
  {"x:fft {dim = 2}", "np.fft.fft(real(x), axis=1)"},
  {"x:reshape {-1}:rfft()", "np.fft.rfft(real(x).ravel())"},
  {"x:reshape {-1}:fft():ifft()", "np.fft.ifft(np.fft.fft(real(x).ravel()))"},
  {"x:rfft {dim = 2}:irfft {dim = 2, n = 5}", "narrow(real(x))"},
  {'x:fft {dim = 1, n = 4, norm = "ortho"}',
    "np.fft.fft(real(x), 4, 0, 'ortho')"},
  {"x:fft2()", "np.fft.fft2(real(x))"},
  {"x:rfftn {dim = {2, 1}, n = {7, 2}}",
    "np.fft.rfftn(real(x), (7, 2), (1, 0))"},
  {"x:irfft2 {n = {3, 6}}", "narrow(np.fft.irfft2(real(x), (3, 6)))"},
  {'x:ifftn {norm = "forward"}', "np.fft.ifftn(real(x), norm='forward')"},
  {"x:hfft {n = 9}", "narrow(np.fft.hfft(real(x), 9))"},
  {"x:ihfft {dim = 1}", "np.fft.ihfft(real(x), axis=0)"},
  {"x:fftshift()", "np.fft.fftshift(x)"},
  {"x:ifftshift {dim = 2}", "np.fft.ifftshift(x, 1)"},
  {"A.fftfreq(7, 0.5)", "np.fft.fftfreq(7, 0.5).astype('f4')"}
}

local of_many = {
  {"large:sum()", "long(large.sum())"}, {"large:max()", "large.max()"},
  {"large:argmin()", "large.argmin() + 1"},
  {"large:count()", "np.array(np.count_nonzero(large))"},
  {"large:mean()", "real(large).mean()"}, {"large:std()", "real(large).std()"},
  {"large:clamp(0, 1):cumsum()", "long(np.clip(large, 0, 1).cumsum())"},
  {"large:cummax()", "np.maximum.accumulate(large)"},
  {"large:sort()", "np.sort(large)"},
  {"large:argsort()", "np.argsort(large, kind='stable') + 1"},
  {"select(2, large:unique {counts = true})",
    "np.unique(large, return_counts=True)[1]"},
  {"large[large:gt(2)]", "large[large > 2]"},
  {"large:eq(3):nonzero()", "np.flatnonzero(large == 3) + 1"},
  {"(large:histogram(5))", "np.histogram(large, 5)[0]"},
  {"large:flip():roll(1000)", "np.roll(large[::-1], 1000)"},
  {"tall:sum {dim = 1}", "long(tall.sum(0))"},
  {"tall:max {dim = 1}", "tall.max(0)"},
  {"tall:argmax {dim = 1}", "tall.argmax(0) + 1"},
  {"tall:argmin {dim = 2}", "tall.argmin(1) + 1"},
  {"tall:var {dim = 1}", "real(tall).var(0)"},
  {"tall:all {dim = 1}", "tall.all(0)"},
  {"tall:any {dim = 2}", "tall.any(1)"},
  {"tall:count {dim = 1}", "np.count_nonzero(tall, 0)"},
  {"tall:norm {dim = 1}", "np.linalg.norm(real(tall), axis=0)"},
  {"tall:norm()", "np.linalg.norm(real(tall))"},
  {"tall:cummin(1)", "np.minimum.accumulate(tall, 0)"},
  {"tall:cummax(1)", "np.maximum.accumulate(tall, 0)"},
  {"tall:cummax(2)", "np.maximum.accumulate(tall, 1)"},
  {"tall:sort {dim = 1}", "np.sort(tall, 0)"},
  {"tall:argsort {dim = 1}", "np.argsort(tall, 0, kind='stable') + 1"},
  {"(tall:topk(5, {dim = 1}))", "np.sort(tall, 0)[:-6:-1]"},
  {"(tall:topk(2, {largest = false}))", "np.sort(tall, 1)[:, :2]"},
  {"tall:t():argsort()", "np.argsort(tall.T, 1, kind='stable') + 1"},
  {"tall:t():argmax()", "tall.T.argmax() + 1"},
  {"tall[{{-1, 1, -3}}]:sum {dim = 2}", "long(tall[::-3].sum(1))"},
  {"tall[{{-1, 1, -3}, {2, 4}}]:max()", "tall[::-3, 1:4].max()"},
  {"tall[{{-1, 1, -3}, {2, 4}}]:cumsum(1)", "long(tall[::-3, 1:4].cumsum(0))"},
  {"tall:take(picks, 1)", "tall[picks - 1]"},
  {"large:take(picks)", "large[picks - 1]"},
  {"large:scatter(picks, -large[{{1, 9000}}])",
    "spread(large, picks - 1, -large[:9000])"},
  {"large:sort():searchsorted(tall)",
    "np.searchsorted(np.sort(large), tall) + 1"},
  {"tall:t():mm(tall)", "long(tall.T) @ long(tall)"},
  {"large:conv1d(p:reshape {-1})",
    "long(np.correlate(real(large), real(p).ravel(), 'valid'))"},
  {"large:fft()", "np.fft.fft(real(large))"},
  {"large:rfft()", "np.fft.rfft(real(large))"},
  {"tall:fft {dim = 1}", "np.fft.fft(real(tall), axis=0)"},
  {"tall:nonzero()", "np.argwhere(tall) + 1"},
  {"A.where(tall:gt(0), tall, -tall):sum()",
    "long(np.where(tall > 0, tall, -tall).astype(tall.dtype).sum())"},
  {"tall:tile {1, 3}",
    "np.tile(tall, (1, 3))"},
  {"tall:roll(-5, 1)", "np.roll(tall, -5, 0)"},
  {"tall:roll(12345)", "np.roll(tall, 12345)"},
  {"tall:lt(0):sum {dim = 1}", "(tall < 0).sum(0)"},
  {"(tall - tall:mean {dim = 1, keep = true}):abs():max {dim = 1}",
    "np.abs(real(tall) - real(tall).mean(0, keepdims=True)).max(0)"},
  {"wide:t():sum {dim = 1}", "long(wide.T.sum(0))"},
  {"wide:sum {dim = 1}", "long(wide.sum(0))"},
  {"wide:argmax {dim = 2}", "wide.argmax(1) + 1"},
  {"wide:cumsum(1)", "long(wide.cumsum(0))"},
  {"wide:sort {dim = 1}", "np.sort(wide, 0)"},
  {"wide:t():sort()", "np.sort(wide.T)"},
  {"wide:mm(wide:t())", "long(wide) @ long(wide.T)"},
  {"wide:t():mm(wide[{{}, {1, -1, 3}}])", "long(wide.T) @ long(wide[:, ::3])"},
  {"wide:mv(wide[7])", "long(wide) @ long(wide[6])"},
  {"wide:fft()", "np.fft.fft(real(wide))"},
  {"wide:rfft {dim = 1}", "np.fft.rfft(real(wide), axis=0)"},
  {"wide:t():reshape {-1}:roll(3)", "np.roll(wide.T.ravel(), 3)"}
}

local of_reals = {
  {"s:isnan()", "np.isnan(s)"}, {"s:isfinite()", "np.isfinite(s)"},
  {"s + 1", "s + 1"}, {"s * 0", "s * 0"}, {"1 / s", "1 / s"},
  {"s:min(0)", "np.minimum(s, 0)"}, {"s:max(1)", "np.maximum(s, 1)"},
  {"s:sqrt()", "np.sqrt(s)"}, {"s:log()", "np.log(s)"},
  {"s:exp()", "np.exp(s)"}, {"s:tanh()", "np.tanh(s)"},
  {"s:floor()", "np.floor(s)"}, {"s:ceil()", "np.ceil(s)"},
  {"s:round()", "np.rint(s)"}, {"s:trunc()", "np.trunc(s)"},
  {"s:abs()", "np.abs(s)"}, {"s:sign()", "np.sign(s)"},
  {"s:eq(s)", "s == s"}, {"s:lt(1)", "s < 1"}, {"s:sort()", "np.sort(s)"},
  {"s:argsort()", "np.argsort(s, kind='stable') + 1"},
  {"s:max()", "s.max()"}, {"s:argmax()", "s.argmax() + 1"},
  {"s:cummax()", "np.maximum.accumulate(s)"}, {"s:sum()", "s.sum()"},
  {"s:all()", "s.all()"}, {"s:count()", "np.array(np.count_nonzero(s))"},
  {"x:ceil()", "np.ceil(x)"}, {"x:round()", "np.rint(x)"},
  {"x:trunc()", "np.trunc(x)"}, {"x:fma(y, z)", "x * y + z"},
  {"x:lerp(y, 0.25)", "x + (y - x) * 0.25"}, {"x:tan()", "np.tan(x)"},
  {"(x / 4):asin()", "np.arcsin(x / 4)"},
  {"(x / 4):acos()", "np.arccos(x / 4)"},
  {"A.linspace(-1, 2, 7, {type = x.type})", "np.linspace(-1, 2, 7)"},
  {"A.arange(-1.0, 2.0, 0.25, {type = x.type})", "np.arange(-1, 2.25, 0.25)"}
}

local of_integers = {
  {"x & y", "x & y"}, {"x | y", "x | y"}, {"x ~ y", "x ^ y"}, {"~x", "~x"},
  {"x << 3", "x << 3"}, {"p >> 1", "p >> 1"}, {"x * 100 + y", "x * 100 + y"},
  {"x:to 'float' / 3", "x.astype('f4') / np.float32(3)"},
  {"A.arange(1, 7, 2)", "np.arange(1, 8, 2)"},
  {"A.eye(3, 4, {type = x.type})", "np.eye(3, 4, dtype=x.dtype)"}
}

-- --- comparison with NumPy ---------------------------------------------------

-- For each type its name in NumPy, and the tolerance of results.
local kinds = {
  half = {"f2", 2e-3}, float = {"f4", 4e-6}, double = {"f8", 1e-12},
  char = {"i1", 4e-6}, uchar = {"u1", 4e-6}, short = {"i2", 4e-6},
  ushort = {"u2", 4e-6}, int = {"i4", 4e-6}, uint = {"u4", 4e-6},
  long = {"i8", 4e-6}, ulong = {"u8", 4e-6}
}

local script = [=[
import sys, numpy as np
directory, dtype, form = sys.argv[1:4]
np.seterr(all='ignore')
random = np.random.default_rng(25)
whole = dtype[0] != 'f'

def data(*shape, least=-4, most=4):
  if dtype[0] == 'u': least = max(least, 0)
  if whole: return random.integers(least, most + 1, shape).astype(dtype)
  return (random.integers(4 * least, 4 * most + 1, shape) / 4).astype(dtype)
def real(v): return np.asarray(v).astype('f8')
def pair(re, im): return real(re) + 1j * real(im)
def narrow(v): return v.astype('f8' if dtype == 'f8' else 'f4')
def long(v): return np.asarray(v).astype('i8') if whole else v
def put_along(a, places, values):
  a = a.copy()
  for at in np.ndindex(*places.shape):
    a[at[0], places[at], at[2]] = values[at]
  return a
def spread(a, at, v):
  a = a.copy()
  for i, k in enumerate(at): a[k] = v[i]
  return a
def correlate(a, kernel, padding, stride):
  p, q = padding
  a = np.pad(a, ((0, 0), (p, p), (q, q)))
  windows = np.lib.stride_tricks.sliding_window_view(a, kernel.shape, (1, 2))
  windows = windows[:, ::stride[0], ::stride[1]]
  return (windows * kernel).sum((3, 4))

given = dict(x=data(3, 5, 4), y=data(3, 5, 4), z=data(3, 5, 4),
  p=data(3, 5, 4, least=1), b=data(5, 1), v=data(4), w=data(4), m=data(5, 4),
  n=data(4, 6), k=data(4, 5, 6), large=data(300007), wide=data(257, 611),
  tall=data(9001, 5),
  picks=random.integers(1, 9001, 9000),
  i=random.integers(1, 6, (3, 2, 4)))
q = data(3, 5, 4)
q[q == 0] = 3
given['q'] = q
if not whole:
  given['s'] = np.array([0.5, np.nan, -0.0, np.inf, 1.5, -2.5, -np.inf, 0.0],
    dtype)
for name, value in given.items():
  if form == 'views' and value.ndim == 3: # what lze reads as such a view
    stored = np.zeros([2 * n for n in value.shape], value.dtype)
    stored[::-2, 1::2, ::-2] = value
  else:
    stored = value
  np.save('%s/%s.npy' % (directory, name), stored)
names = dict(np=np, real=real, pair=pair, narrow=narrow, long=long,
  whole=whole, dtype=dtype, put_along=put_along, spread=spread,
  correlate=correlate)
for name, value in given.items():
  names[name] = value if whole or name in ('i', 'picks') else value.astype('f8')
for number, line in enumerate(open(directory + '/rows')):
  value = np.asarray(eval(line, names))
  if value.dtype == 'f8' and dtype != 'f8':
    value = value.astype('f4' if whole else dtype)
  if value.dtype == 'c16' and dtype != 'f8': value = value.astype('c8')
  np.save('%s/%d.npy' % (directory, number + 1), value)
print('done')
]=]

local function text(shape) return "{" .. table.concat(shape, ", ") .. "}" end

-- Returns how an array differs from the expected one, or nil.
local function difference(got, want, tolerance)
  if got.type ~= want.type then
    return ("%s, not %s"):format(got.type, want.type)
  elseif text(got.shape) ~= text(want.shape) then
    return ("shape %s, not %s"):format(text(got.shape), text(want.shape))
  end
  local exact = want.type ~= "half" and want.type ~= "float" and
    want.type ~= "double"
  local complex = A.isdtype(want.type, "complex floating")
  if complex then
    local kind = want:real().type
    got, want, exact = A(kind, got), A(kind, want), false
  end
  local g, w = got:read(), want:read()
  local scale = 1
  if complex then
    for _, v in ipairs(w) do scale = math.max(scale, math.abs(v)) end
  end
  for at, v in ipairs(w) do
    local near = g[at] == v or g[at] ~= g[at] and v ~= v
    if not near and not exact then
      near = math.abs(g[at] - v) <= tolerance * math.max(scale, math.abs(v))
    end
    if not near then
      return ("element %d of %s is %s, not %s"):format(at, text(want.shape),
        g[at], v)
    end
  end
end

local function compare(kind, form)
  local dtype, tolerance = table.unpack(kinds[kind])
  local is_real = dtype:sub(1, 1) == "f"
  local rows = {}
  local own = is_real and of_reals or of_integers
  for _, list in ipairs {of_all, of_many, own} do
    table.move(list, 1, #list, #rows + 1, rows)
  end
  process.with_directory(function(directory)
    local lines = {}
    for number, row in ipairs(rows) do lines[number] = row[2] .. "\n" end
    process.write(directory .. "/rows", table.concat(lines))
    process.write(directory .. "/x.py", script)
    local pipe = io.popen(("%s '%s/x.py' '%s' %s %s 2>&1"):format(python,
      directory, directory, dtype, form))
    assert.equal("done\n", pipe:read "a")
    pipe:close()

    local names = setmetatable({A = A, select = select}, {__index =
      function(_, name)
        local a = A.load(("%s/%s.npy"):format(directory, name))
        if form == "views" and #a.shape == 3 then
          a = a[{{-1, 1, -2}, {2, -1, 2}, {-1, 1, -2}}]
        end
        return a
      end})
    local differences = {}
    for number, row in ipairs(rows) do
      local f = assert(load("return " .. row[1], row[1], "t", names))
      local ok, got = pcall(f)
      local said = not ok and "raised " .. got or difference(got,
        A.load(("%s/%d.npy"):format(directory, number)), tolerance)
      if said then
        differences[#differences + 1] = ("%s: %s"):format(row[1], said)
      end
    end
    assert.equal("", table.concat(differences, "\n"))
  end)
end

describe("array operations", function()
  for kind in (os.getenv "LZE_NUMPY" or "half int"):gmatch "%a+" do
    if kind ~= "double" or lze.device().fp64 then
      it("match NumPy for " .. kind, function() compare(kind, "whole") end)
    end
  end
  it("match NumPy for float views", function() compare("float", "views") end)
end)
