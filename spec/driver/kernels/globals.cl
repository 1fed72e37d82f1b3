/*
 * globals.cl - program-scope variables of all kinds, in OpenCL C 2.0.
 * SPDX-License-Identifier: MIT
 */

struct inner {
  char c;
  short s[3];
};

struct outer {
  char c;
  double d;
  global int *p;
  struct inner in[2];
};

struct __attribute__((packed)) tight {
  char c;
  long l;
};

global int counter = 11;
global int table[4] = {1, 2, 3, 4};
global struct outer shape = {5, 2.5, &table[2],
                             {{6, {7, 8, 9}}, {10, {11, 12, -13}}}};
global struct tight packed = {14, -15};
global float4 vector = (float4)(1, 2, 3, 4);
global ulong wide = 0x123456789abcdef0;
global bool yes = true;
global int *global where = &counter;
global int nothing[1000];
static global int hidden = 21;
constant int fixed[3] = {31, 32, 33};

kernel void set(int value)
{
  counter = value;
  *where += 1;
  hidden += 2;
  nothing[999] += 3;
}

kernel void get(global long *out)
{
  out[0] = counter;
  for (int i = 0; i < 4; i++) out[1 + i] = table[i];
  out[5] = shape.c;
  out[6] = (long)(shape.d * 10);
  out[7] = *shape.p;
  out[8] = shape.in[1].s[2];
  out[9] = packed.l;
  out[10] = (long)(vector.x + 10 * vector.y + 100 * vector.z +
                   1000 * vector.w);
  out[11] = (long)wide;
  out[12] = yes;
  out[13] = where == &counter;
  out[14] = nothing[999];
  out[15] = hidden;
  out[16] = fixed[get_local_id(0) + 1];
  out[17] = packed.c;
  out[18] = shape.in[0].s[1];
}

/* Adds from every work-item, through a function. */
static void add(global int *what)
{
  atomic_add(what, 1);
}

kernel void count(void)
{
  add(&counter);
}
