// PHX050 to PHX053: accesses of workgroup memory that race, of what nobody wrote, and outside of an array.
#include "phalanx_opencl.h"

__attribute__((reqd_work_group_size(16, 16, 1)))
kernel void right_transpose(global const int *in, global int *out) {
  local int tile[16][17];
  int x = get_local_id(0), y = get_local_id(1);
  tile[y][x] = in[y * 16 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[y * 16 + x] = tile[x][y];
}

__attribute__((reqd_work_group_size(16, 16, 1)))
kernel void wrong_transpose(global const int *in, global int *out) {
  local int tile[16][17];
  int x = get_local_id(0), y = get_local_id(1);
  tile[y][x] = in[y * 16 + x];
  out[y * 16 + x] = tile[x][y];
}

// The index of the neighbour is one too large in the last thread.
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void right_edge(global const int *in, global int *out) {
  local int line[129];
  int t = get_local_id(0);
  line[t] = in[t];
  if (t == 0)
    line[128] = in[128];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[t] = line[t + 1];
}

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void wrong_edge(global const int *in, global int *out) {
  local int line[128];
  int t = get_local_id(0);
  line[t] = in[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[t] = line[t + 1];
}

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void wrong_uninitialised(global const int *in, global int *out) {
  local int line[256];
  int t = get_local_id(0);
  line[t] = in[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[t] = line[t ^ 1] + line[t + 128];
}

// One thread writes for all, or all write the same.
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void right_flag(global const int *in, global int *out) {
  local int found;
  int t = get_local_id(0);
  if (t == 0)
    found = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (in[t] == 7)
    found = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[t] = found;
}

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void wrong_flag(global const int *in, global int *out) {
  local int first;
  int t = get_local_id(0);
  first = t;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[t] = in[first];
}
