/*
 * finance.cl - benchmark kernels that compute much for each number.
 * SPDX-License-Identifier: MIT
 */
#pragma OPENCL FP_CONTRACT OFF

/* The normal distribution by the polynomial of Abramowitz and Stegun,
   Handbook of Mathematical Functions, 26.2.17. */
static float normal(float x)
{
  float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
  float sum = k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f
                   + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228f * exp(-0.5f * x * x) * sum;
  return x < 0 ? tail : 1.0f - tail;
}

/* Prices of a European call and put over n options, by the formula of Black
   and Scholes.  `chance` is in 0 .. 1 and places each option in the ranges
   below. */
kernel void black_scholes(global const float *chance, global float *call,
                          global float *put)
{
  size_t i = get_global_id(0);
  float r = chance[i];
  float price = 10.0f + 90.0f * r, strike = 100.0f - 90.0f * r;
  float time = 1.0f + 9.0f * r, rate = 0.01f + 0.04f * r;
  float volatility = 0.01f + 0.09f * r;

  float spread = volatility * sqrt(time);
  float d1 = (log(price / strike)
              + (rate + 0.5f * volatility * volatility) * time) / spread;
  float d2 = d1 - spread;
  float discounted = strike * exp(-rate * time);
  call[i] = price * normal(d1) - discounted * normal(d2);
  put[i] = discounted * normal(-d2) - price * normal(-d1);
}

/* Over n: the number of `steps` random points of a square inside its circle.
   The generator is the 64-bit one of Knuth's MMIX, seeded by the id; its upper
   halves are coordinates in 0 .. 65535. */
kernel void monte_carlo(global uint *hits, uint steps)
{
  size_t i = get_global_id(0);
  ulong state = i + 1;
  uint inside = 0;

  for (uint s = 0; s < steps; s++) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    ulong x = state >> 48, y = (state >> 32) & 0xffff;
    inside += x * x + y * y < 0x100000000ul;
  }
  hits[i] = inside;
}
