// PHX001, where structures that a kernel is passed decide: each thread has a copy of what the host passed.
#include "phalanx_opencl.h"

typedef struct {
  int dims[4];
  int strides[4];
  int offset;
} Param;

// All threads make the same changes.
kernel void right_changed(global int *out, Param p) {
  local int shared[64];
  p.offset += 4;
  p.dims[0] = p.dims[1] * 2 + p.offset;
  int sum = 0;
  for (int i = 0; i < p.dims[0]; ++i) {
    shared[get_local_id(0)] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += shared[0];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = sum;
}

int rounds(const Param *p) { return p->dims[2] - p->offset; }

// A function reads the copy.
kernel void right_read(global int *out, Param p, int n) {
  local int shared[64];
  if (rounds(&p) > n) {
    shared[get_local_id(0)] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[0];
  }
}

// Each thread changes its own copy.
kernel void wrong_changed(global int *out, Param p) {
  local int shared[64];
  p.offset += (int)get_local_id(0);
  if (p.offset > 7) {
    shared[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[0];
  }
}

// Each thread reads another member.
kernel void wrong_member(global int *out, Param p, int n) {
  local int shared[64];
  if (p.dims[get_local_id(0) & 3] > n) {
    shared[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[0];
  }
}
