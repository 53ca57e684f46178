// The same for AMDGPU, where constant memory is device memory that nobody writes.
#include "phalanx_opencl.h"

constant int table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

kernel void wrong_constant(int by) {
  volatile generic int *into = (generic int *)(ulong)(table + by);
  *into = by;
}

kernel void right_constant(global int *out) {
  out[get_local_id(0)] = table[get_local_id(0) & 15];
}

kernel void wrong_cast(global int *out) {
  generic int *p = out;
  local int *into = (local int *)p;
  into[get_local_id(0)] = 1;
}

kernel void right_cast(local int *scratch, global int *out) {
  generic int *p = scratch;
  local int *into = (local int *)p;
  into[get_local_id(0)] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_local_id(0)] = scratch[get_local_id(0) ^ 1];
}

typedef int *pointer;

kernel void wrong_escape(global int *out) {
  local pointer box[32];
  int own = get_local_id(0);
  box[get_local_id(0)] = &own;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_local_id(0)] = *box[get_local_id(0) ^ 1];
}

kernel void wrong_mixed(global int *out, local int *scratch, int where) {
  scratch[get_local_id(0)] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  generic int *from = where ? (generic int *)out : (generic int *)scratch;
  out[get_local_id(0)] = from[get_local_id(0) ^ 1];
}

kernel void right_mixed(global int *out, global int *other, int where) {
  generic int *from = where ? (generic int *)out : (generic int *)other;
  out[get_local_id(0)] = from[get_local_id(0) ^ 1];
}

kernel void wrong_null(global int *out) {
  out[get_local_id(0)] = ((volatile global int *)0)[1];
}

kernel void right_null(global int *out) {
  // Address 0 of workgroup memory is an ordinary one.
  out[get_local_id(0)] = ((volatile local int *)0)[1];
}

kernel void wrong_number(int value) {
  *(volatile global int *)0x87654320 = value;
}
