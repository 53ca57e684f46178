// kernels: launch_facts, generic_pointers, clocks
// What the hardware and the launch say about themselves: ids, sizes, dispatch packet, address-space queries, clocks.
// Divergence: work-group ids, sizes and pointers to launch data are uniform; ids of the y and z dimension are uniform across a wave
// when the required group size says so (64x2x2 here). A pointer that may be local or global is generic ("flat"); loads
// through it may touch private memory as far as its type says.
#include "phalanx_opencl.h"

__attribute__((reqd_work_group_size(64, 2, 2)))
kernel void launch_facts(global uint *out) {
  uint y = get_local_id(1), z = get_local_id(2), v = 0;
  if (y == 1) // a whole wave of 64 has the same y and z
    v = get_group_id(1);
  if (z == 1)
    v += get_group_id(2) + get_num_groups(2);
  constant ushort *packet = (constant ushort *)__builtin_amdgcn_dispatch_ptr();
  out[(z * 2 + y) * 64 + get_local_id(0)] = v + packet[2] + (uint)get_global_size(1);
}

kernel void generic_pointers(global int *g, int use_local, int n) {
  local int l[64];
  int t = get_local_id(0);
  l[t & 63] = g[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  int *p = use_local ? (int *)l : (int *)g;
  if (__builtin_amdgcn_is_shared((__generic void *)p))
    n = min(n, 64);
  int sum = 0;
  for (int k = 0; k < n; ++k)
    sum += p[k];
  g[n + t] = sum;
}

kernel void clocks(global ulong *out, global const float *in, int n) {
  ulong begin = __builtin_readcyclecounter();
  float sum = 0.0f;
  for (int k = 0; k < n; ++k)
    sum += __builtin_amdgcn_rcpf(in[k]) + __builtin_amdgcn_fractf(in[k]);
  ulong end = __builtin_amdgcn_s_memtime();
  out[get_global_id(0)] = end - begin + (ulong)(sum < 0.0f);
}
