// kernels: segmented_scan
// Inclusive prefix sums that restart at each flagged element, on (value, flag) pairs in local memory.
// Divergence: the combining step is guarded by a test on the local id and, within it, by a flag loaded from memory: a divergent
// branch nested in a divergent branch, both inside a uniform loop with two barriers per round.
#include "phalanx_opencl.h"

#define GROUP 128

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void segmented_scan(global const int *in, global const uchar *head, global int *out, int n) {
  local int value[GROUP];
  local uchar flag[GROUP];
  int t = get_local_id(0), i = get_global_id(0);
  value[t] = i < n ? in[i] : 0;
  flag[t] = i < n ? head[i] : 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int offset = 1; offset < GROUP; offset *= 2) {
    int sum = value[t];
    uchar seen = flag[t];
    if (t >= offset) {
      if (!seen)
        sum += value[t - offset];
      seen |= flag[t - offset];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    value[t] = sum;
    flag[t] = seen;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n)
    out[i] = value[t];
}
