// PHX041 (with --loads): one address for the wave, and no scalar load.
#include "phalanx_opencl.h"

kernel void wrong_behind_a_barrier(global const int *table, global int *out, local int *shared) {
  shared[get_local_id(0)] = (int)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = table[get_group_id(0)] + shared[0];
}

kernel void right_before_a_barrier(global const int *table, global int *out, local int *shared) {
  int first = table[get_group_id(0)];
  shared[get_local_id(0)] = (int)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = first + shared[0];
}

kernel void wrong_behind_a_store(global int *data) {
  data[get_global_id(0)] = (int)get_local_id(0);
  data[get_global_id(0) + 64] = data[get_group_id(0)];
}
