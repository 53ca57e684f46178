// kernels: reduce_sum, reduce_max_atomic
// Sum of an array, one partial sum per work-group by a tree in local memory; and the maximum with one atomic per work-group.
// Divergence: a group with nothing to do leaves at once (uniform: it depends on the group only). The accumulation loop has a
// divergent exit. The tree's loop is uniform, its body is guarded by `t < half`; the barrier stays outside the guard.
#include "phalanx_opencl.h"

#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void reduce_sum(global const float *in, global float *partial, int n) {
  local float scratch[GROUP];
  int t = get_local_id(0), first = get_group_id(0) * GROUP;
  if (first >= n)
    return;
  float sum = 0.0f;
  for (int i = first + t; i < n; i += get_num_groups(0) * GROUP)
    sum += in[i];
  scratch[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    if (t < half_size)
      scratch[t] += scratch[t + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0)
    partial[get_group_id(0)] = scratch[0];
}

kernel void reduce_max_atomic(global const int *in, global int *result, int n) {
  local int best;
  if (get_local_id(0) == 0)
    best = in[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0))
    if (in[i] > best) // a racy read: only saves useless atomics
      atomic_max(&best, in[i]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    atomic_max(result, best);
}
