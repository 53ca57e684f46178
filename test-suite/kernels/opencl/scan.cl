// kernels: scan_inclusive, scan_exclusive
// Prefix sums of one block: Hillis-Steele (inclusive, double buffered) and Blelloch's up- and down-sweep (exclusive).
// Divergence: all loops are uniform; the conditions inside are affine in the local id, so whole waves agree on most of them.
// The double buffer's index is uniform although it changes in each round.
#include "phalanx_opencl.h"

#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void scan_inclusive(global const int *in, global int *out, int n) {
  local int buffer[2][GROUP];
  int t = get_local_id(0), i = get_global_id(0), from = 0;
  buffer[0][t] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int offset = 1; offset < GROUP; offset *= 2) {
    int value = buffer[from][t];
    if (t >= offset)
      value += buffer[from][t - offset];
    from ^= 1;
    buffer[from][t] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n)
    out[i] = buffer[from][t];
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void scan_exclusive(global const int *in, global int *out, global int *block_sum) {
  local int tree[2 * GROUP];
  int t = get_local_id(0), base = get_group_id(0) * 2 * GROUP, stride = 1;
  tree[2 * t] = in[base + 2 * t];
  tree[2 * t + 1] = in[base + 2 * t + 1];
  for (int active = GROUP; active > 0; active /= 2, stride *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < active)
      tree[stride * (2 * t + 2) - 1] += tree[stride * (2 * t + 1) - 1];
  }
  if (t == 0) {
    block_sum[get_group_id(0)] = tree[2 * GROUP - 1];
    tree[2 * GROUP - 1] = 0;
  }
  for (int active = 1; active <= GROUP; active *= 2) {
    stride /= 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < active) {
      int left = stride * (2 * t + 1) - 1, right = stride * (2 * t + 2) - 1;
      int carried = tree[left];
      tree[left] = tree[right];
      tree[right] += carried;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[base + 2 * t] = tree[2 * t];
  out[base + 2 * t + 1] = tree[2 * t + 1];
}
