// kernels: radix_count, radix_scatter
// One 4-bit pass of a radix sort: per-group digit counts, then a stable scatter with local ranks.
// Divergence: counting is branch free apart from the bounds check. The scatter's ranking loop runs up to the item's own local id:
// a loop whose trip count is the lane number, the plainest divergent exit there is. `rank` is used after it.
#include "phalanx_opencl.h"

#define RADIX 16
#define GROUP 128

kernel void radix_count(global const uint *keys, global uint *counts, int shift, int n) {
  local uint local_counts[RADIX];
  int t = get_local_id(0), i = get_global_id(0);
  if (t < RADIX)
    local_counts[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n)
    atomic_inc(&local_counts[(keys[i] >> shift) & (RADIX - 1)]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t < RADIX)
    counts[t * get_num_groups(0) + get_group_id(0)] = local_counts[t];
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void radix_scatter(global const uint *keys, global const uint *offsets, global uint *out, int shift, int n) {
  local uchar digits[GROUP];
  int t = get_local_id(0), i = get_global_id(0);
  uint key = i < n ? keys[i] : 0u;
  uint digit = (key >> shift) & (RADIX - 1);
  digits[t] = (uchar)digit;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint rank = 0;
  for (int k = 0; k < t; ++k)
    rank += digits[k] == digit;
  if (i < n)
    out[offsets[digit * get_num_groups(0) + get_group_id(0)] + rank] = key;
}
