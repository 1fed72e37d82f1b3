/*
 * physics.cl - benchmark kernels that simulate.
 * SPDX-License-Identifier: MIT
 */
#pragma OPENCL FP_CONTRACT OFF

/* Over n bodies, x y z and mass each: their accelerations, softened. */
kernel void nbody(global const float4 *body, global float4 *force, uint n,
                  float softening)
{
  size_t i = get_global_id(0);
  float4 here = body[i];
  float ax = 0, ay = 0, az = 0;

  for (uint j = 0; j < n; j++) {
    float4 there = body[j];
    float dx = there[0] - here[0], dy = there[1] - here[1];
    float dz = there[2] - here[2];
    float r2 = dx * dx + dy * dy + dz * dz + softening;
    float pull = there[3] / (r2 * sqrt(r2));
    ax += dx * pull;
    ay += dy * pull;
    az += dz * pull;
  }
  float4 all = {ax, ay, az, 0};
  force[i] = all;
}

/* One step of the temperature of a plate that is heated by `power`, over
   {width, height}; beyond an edge it is as warm as the edge. */
kernel void hotspot(global const float *heat, global const float *power,
                    global float *out, uint width, uint height)
{
  size_t x = get_global_id(0), y = get_global_id(1), i = y * width + x;

  float here = heat[i];
  float left = heat[x > 0 ? i - 1 : i], right = heat[x + 1 < width ? i + 1 : i];
  float up = heat[y > 0 ? i - width : i];
  float down = heat[y + 1 < height ? i + width : i];
  out[i] = here + 0.1f * (left + right + up + down - 4.0f * here)
           + 0.05f * power[i];
}
