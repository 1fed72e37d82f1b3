/*
 * nbody.cl - bodies that attract each other.
 * SPDX-License-Identifier: MIT
 */
#pragma OPENCL FP_CONTRACT OFF

/*
 * One step of `dt` seconds over n bodies: x, y, z and mass of each are in
 * `from` and, moved, in `to`; velocity is changed in place.  Leapfrog: forces,
 * which are softened, change velocity for the whole step, then bodies move.
 * Uses the global id alone.
 */
kernel void step(global const float4 *from, global float4 *to,
                 global float4 *velocity, uint n, float softening, float dt)
{
  size_t i = get_global_id(0);
  float4 here = from[i];
  float4 force = (float4)(0);

  for (uint j = 0; j < n; j++) {
    float4 there = from[j];
    float4 d = there - here;
    float r2 = d.x * d.x + d.y * d.y + d.z * d.z + softening;
    force += d * (there.w / (r2 * sqrt(r2)));
  }
  force.w = 0;
  float4 v = velocity[i] + dt * force;
  velocity[i] = v;
  to[i] = here + dt * v;
}
