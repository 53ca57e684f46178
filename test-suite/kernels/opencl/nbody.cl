// kernels: nbody_step
// One step of an all-pairs gravity simulation with bodies staged through local memory, in float4 vectors.
// Divergence: none in control flow: all loops and the two barriers are uniform, all data is per item. A good analysis reports no
// divergent branch here.
#include "phalanx_opencl.h"

#define GROUP 128

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void nbody_step(global const float4 *position, global float4 *velocity, global float4 *moved, float dt, int tiles) {
  local float4 tile[GROUP];
  int t = get_local_id(0), i = get_global_id(0);
  float4 self = position[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int k = 0; k < tiles; ++k) {
    tile[t] = position[k * GROUP + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < GROUP; ++j) {
      float4 d = tile[j] - self;
      float r2 = d.x * d.x + d.y * d.y + d.z * d.z + 1e-4f;
      float inverse = 1.0f / sqrt(r2);
      float pull = tile[j].w * inverse * inverse * inverse;
      ax += pull * d.x;
      ay += pull * d.y;
      az += pull * d.z;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float4 v = velocity[i] + dt * (float4)(ax, ay, az, 0.0f);
  velocity[i] = v;
  v.w = 0.0f;
  moved[i] = self + dt * v;
}
