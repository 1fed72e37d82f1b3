# numpy_rows.py - runs lines of NumPy for numpy_rows.lua and times them.
# SPDX-License-Identifier: MIT
#
#   python3 bench/numpy_rows.py ANSWERS
#
# Each line of standard input is "COUNT CODE".  The answer, a line in the file
# ANSWERS, is the milliseconds that one of COUNT runs takes, and those of the
# processor, or "nan nan".

import sys
import time
import numpy as np

r = np.random.default_rng(1)
x, y, z = (r.random(1 << 22, 'f4') for _ in range(3))
p = r.random(1 << 20, 'f4')
d = r.random(1 << 20)
i = r.integers(-1000, 1000, 1 << 20, 'i4')
u = r.integers(0, 100, 1 << 22, 'u1')
places = r.integers(0, 1 << 20, 1 << 20)
m = r.random((2000, 2000), 'f4')
k = r.random((1000, 1000), 'f4')
row, col = r.random(2000, 'f4'), r.random((2000, 1), 'f4')
a512, a1024 = r.random((512, 512), 'f4'), r.random((1024, 1024), 'f4')
d512 = r.random((512, 512))
image, five = r.random((1024, 1024), 'f4'), r.random((5, 5), 'f4')
k31 = r.random(31, 'f4')
s, t = r.random(1000, 'f4'), r.random(1000, 'f4')
t10, u10 = r.random(10, 'f4'), r.random(10, 'f4')
m16 = r.random((16, 16), 'f4')
windows = np.lib.stride_tricks.sliding_window_view

answers = open(sys.argv[1], 'w', 1)
for line in sys.stdin:
  try:
    count, code = line.strip().split(' ', 1)
    code = compile(f'for _ in range({count}): {code}', 'row', 'exec')
    start, used = time.perf_counter(), time.process_time()
    exec(code)
    print((time.perf_counter() - start) * 1e3 / int(count),
          (time.process_time() - used) * 1e3 / int(count), file=answers)
  except Exception as error:
    print('nan nan', file=answers)
    print(line, error, file=sys.stderr)
