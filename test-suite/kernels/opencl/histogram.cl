// kernels: histogram_local, histogram_private
// 256-bin histogram: atomics on a copy in local memory, merged at the end; and 8 bins per item in private memory.
// Divergence: counting is straight-line code with divergent addresses. The merge loop has a divergent exit when the group is smaller
// than the number of bins. The private array is indexed by data: at -O0 and -O2 it stays in scratch memory.
#include "phalanx_opencl.h"

#define BINS 256

kernel void histogram_local(global const uchar *in, global uint *bins, int n) {
  local uint counts[BINS];
  int t = get_local_id(0), group = get_local_size(0);
  for (int b = t; b < BINS; b += group)
    counts[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0))
    atomic_add(&counts[in[i]], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b = t; b < BINS; b += group)
    if (counts[b] != 0)
      atomic_add(&bins[b], counts[b]);
}

kernel void histogram_private(global const uchar *in, global uint *bins, int per_item) {
  uint counts[8] = {0};
  int first = get_global_id(0) * per_item;
  for (int i = 0; i < per_item; ++i) // uniform trip count
    ++counts[in[first + i] >> 5];
  for (int b = 0; b < 8; ++b)
    if (counts[b])
      atomic_add(&bins[b], counts[b]);
}
