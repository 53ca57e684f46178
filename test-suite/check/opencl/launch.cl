// PHX007 (with --suggest-launch): a branch by row is uniform in waves if rows are made of whole waves.
#include "phalanx_opencl.h"

kernel void wrong_rows(global float *data) {
  int t = get_local_id(1) * get_local_size(0) + get_local_id(0);
  if (get_local_id(1) == 0)
    data[t] = data[t] * data[t] + 1;
}

__attribute__((reqd_work_group_size(64, 4, 1)))
kernel void right_rows(global float *data) {
  int t = get_local_id(1) * 64 + get_local_id(0);
  if (get_local_id(1) == 0)
    data[t] = data[t] * data[t] + 1;
}
