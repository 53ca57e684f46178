// kernels: stream_compact, binary_search, sparse_set
// Filtering and searching: compaction with a group-wide atomic ticket, lower bound in a sorted table, bit sets.
// Divergence: an atomic under a divergent branch whose result is used in the same branch; a binary search whose number of rounds
// is uniform (it depends on the table's size alone) while every comparison is not.
#include "phalanx_opencl.h"

kernel void stream_compact(global const int *in, global int *out, global int *total, int n, int threshold) {
  local int taken, base;
  int i = get_global_id(0), ticket = -1, v = 0;
  if (get_local_id(0) == 0)
    taken = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) {
    v = in[i];
    if (v > threshold)
      ticket = atomic_inc(&taken);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    base = atomic_add(total, taken);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (ticket >= 0)
    out[base + ticket] = v;
}

kernel void binary_search(global const int *table, int size, global const int *keys, global int *where) {
  int i = get_global_id(0), key = keys[i], low = 0;
  for (int length = size; length > 0;) {
    int half_size = length / 2;
    if (table[low + half_size] < key)
      low += length - half_size;
    length = half_size;
  }
  where[i] = low;
}

kernel void sparse_set(global const uint *indices, global uint *words, global int *fresh, int n) {
  int added = 0;
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
    uint bit = 1u << (indices[i] & 31u);
    added += (atomic_or(&words[indices[i] >> 5], bit) & bit) == 0;
  }
  if (added)
    atomic_add(fresh, added);
}
