// kernels: pi_estimate, random_walk
// Monte Carlo with a xorshift generator: area of the quarter circle, and walks that end at a border.
// Divergence: the generator's state is per item and straight-line. Hits are counted without a branch; walks end after a random
// number of steps (divergent exit) or at the uniform limit. Results are combined by a local then a global atomic.
#include "phalanx_opencl.h"

static ulong next_random(private ulong *state) {
  ulong s = *state;
  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  return *state = s;
}

kernel void pi_estimate(global uint *hits, ulong seed, int samples) {
  local uint group_hits;
  ulong state = (seed ^ 0x9e3779b97f4a7c15UL) * (ulong)(get_global_id(0) + 1);
  uint mine = 0;
  if (get_local_id(0) == 0)
    group_hits = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < samples; ++k) {
    ulong bits = next_random(&state);
    float x = (float)(uint)(bits & 0xffffffu) * 0x1p-24f, y = (float)(uint)(bits >> 40) * 0x1p-24f;
    mine += x * x + y * y < 1.0f;
  }
  atomic_add(&group_hits, mine);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    atomic_add(hits, group_hits);
}

kernel void random_walk(global int *length, ulong seed, int radius, int limit) {
  int i = get_global_id(0), x = 0, y = 0, step = 0;
  ulong state = seed + (ulong)i * 0x9e3779b97f4a7c15UL;
  do {
    switch (next_random(&state) >> 62) {
    case 0: ++x; break;
    case 1: --x; break;
    case 2: ++y; break;
    default: --y; break;
    }
    if (x * x + y * y > radius * radius)
      break;
  } while (++step < limit);
  length[i] = step;
}
