// kernels: bitonic_sort, bitonic_step, odd_even_sort
// Sorting by compare-exchange: a whole bitonic network in local memory, one step of it in global memory, odd-even transposition.
// Divergence: partners are `t ^ stride`, directions `t & size`: divergent branches that hold for blocks of neighbouring lanes. The
// odd-even sort stops when a whole round swapped nothing: the flag is shared, so the loop exit is uniform per group, which no
// analysis can see without knowing that the barrier orders the flag.
#include "phalanx_opencl.h"

#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void bitonic_sort(global uint *keys) {
  local uint s[GROUP];
  int t = get_local_id(0), i = get_global_id(0);
  s[t] = keys[i];
  for (int size = 2; size <= GROUP; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      int partner = t ^ stride;
      if (partner > t) {
        uint a = s[t], b = s[partner];
        if ((a > b) == ((t & size) == 0)) {
          s[t] = b;
          s[partner] = a;
        }
      }
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  keys[i] = s[t];
}

kernel void bitonic_step(global uint *keys, int size, int stride) {
  int i = get_global_id(0), partner = i ^ stride;
  if (partner <= i)
    return;
  uint a = keys[i], b = keys[partner];
  int ascending = (i & size) == 0;
  if (ascending ? a > b : a < b) {
    keys[i] = b;
    keys[partner] = a;
  }
}

kernel void odd_even_sort(global int *data, local int *s, int n) {
  local int swapped;
  int t = get_local_id(0);
  s[t] = t < n ? data[t] : 0x7fffffff;
  int phase = 0, quiet = 0;
  while (quiet < 2) { // two phases in a row without a swap: sorted
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t == 0)
      swapped = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int left = 2 * t + phase;
    if (left + 1 < n && s[left] > s[left + 1]) {
      int a = s[left];
      s[left] = s[left + 1];
      s[left + 1] = a;
      swapped = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    quiet = swapped ? 0 : quiet + 1;
    phase ^= 1;
  }
  if (t < n)
    data[t] = s[t];
}
