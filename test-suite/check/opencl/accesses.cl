// PHX011 and PHX012 (with --performance) for waves of 64 lanes: `slow_` ones have findings at -O2.
#include "phalanx_opencl.h"

kernel void slow_column(global const float *matrix, global float *out) {
  int t = get_local_id(0);
  out[t] = matrix[t * 1024];
}

// Not at one distance, and as far apart.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void slow_shuffled(global const float *matrix, global float *out) {
  int t = get_local_id(0);
  out[t] = matrix[(t * 37 & 63) * 64];
}

// The same elements in another order.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void right_shuffled(global const float *row, global float *out) {
  int t = get_local_id(0);
  out[t] = row[t * 37 & 63];
}

__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void slow_bank(global float *data) {
  local float tile[64 * 64];
  int t = get_local_id(0);
  tile[t] = data[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[t] = tile[t * 64];
}

// Columns of rows that are one element longer; not at one distance.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void right_bank(global float *data) {
  local float tile[64 * 65];
  int t = get_local_id(0);
  tile[(t * 37 & 63) * 65] = data[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[t] = tile[(t * 37 & 63) * 65];
}

// A number of 64 bits is cut to 32 and extended again.
kernel void right_int_index(global const float *in, global float *out, int n) {
  int i = (long)get_group_id(0) * get_local_size(0) + get_local_id(0);
  if (i < n)
    out[i] = in[i];
}

kernel void right_uint_index(global const float *in, global float *out, uint n) {
  uint i = (ulong)get_group_id(0) * get_local_size(0) + get_local_id(0);
  if (i < n)
    out[i] = in[n - 1 - i];
}

kernel void slow_width(global const float *matrix, global float *out, int width) {
  int i = (long)get_group_id(0) * get_local_size(0) + get_local_id(0);
  out[i] = matrix[i * width];
}
