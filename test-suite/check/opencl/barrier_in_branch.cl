// PHX001, where the size of a work-group is stated.
#include "phalanx_opencl.h"

__attribute__((reqd_work_group_size(64, 2, 1)))
kernel void wrong_row(global float *data) {
  local float line[128];
  int t = get_local_id(1) * 64 + get_local_id(0);
  line[t] = data[t];
  if (get_local_id(1) == 1)
    barrier(CLK_LOCAL_MEM_FENCE);
  data[t] = line[127 - t];
}

// There is no other row.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void right_row(global float *data) {
  local float line[64];
  int t = get_local_id(0);
  line[t] = data[t];
  if (get_local_id(1) == 0)
    barrier(CLK_LOCAL_MEM_FENCE);
  data[t] = line[63 - t];
}

// All 64 come.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void right_all(global float *data) {
  local float line[64];
  int t = get_local_id(0);
  line[t] = data[t];
  if (t < 64)
    barrier(CLK_LOCAL_MEM_FENCE);
  data[t] = line[63 - t];
}
