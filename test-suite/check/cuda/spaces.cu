// PHX030, PHX031, PHX032 and (with --no-generic) PHX033: constant memory that is written, casts to another space, private addresses
// that others read, accesses of two spaces.
#include "phalanx_cuda.h"

__constant__ int table[16];

extern "C" __global__ void wrong_constant(int by) {
  // Compilers drop the store unless it is volatile.
  volatile int *into = (int *)table + by;
  *into = by;
}

extern "C" __global__ void right_constant(int *out) {
  out[threadIdx.x] = table[threadIdx.x & 15];
}

typedef __attribute__((address_space(3))) int shared_int;

extern "C" __global__ void wrong_cast(int *out) {
  shared_int *into = (shared_int *)out;
  into[threadIdx.x] = 1;
}

extern "C" __global__ void right_cast(int *out) {
  __shared__ int tile[32];
  int *generic = tile;
  shared_int *into = (shared_int *)generic;
  into[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

extern "C" __global__ void wrong_escape(int *out) {
  __shared__ int *box[32];
  int own = threadIdx.x;
  box[threadIdx.x] = &own;
  __syncthreads();
  out[threadIdx.x] = *box[threadIdx.x ^ 1];
}

extern "C" __global__ void right_escape(int *out) {
  __shared__ int box[32];
  int own[2] = {(int)threadIdx.x, 1};
  int *mine = &own[threadIdx.x & 1];
  box[threadIdx.x] = *mine;
  __syncthreads();
  out[threadIdx.x] = box[threadIdx.x ^ 1];
}

extern "C" __global__ void wrong_mixed(int *out, int where) {
  __shared__ int tile[32];
  tile[threadIdx.x] = 1;
  __syncthreads();
  int *from = where ? out : tile;
  out[threadIdx.x] = from[threadIdx.x ^ 1];
}

extern "C" __global__ void right_mixed(int *out, int where) {
  __shared__ int tile[32], other[32];
  tile[threadIdx.x] = 1;
  other[threadIdx.x] = 2;
  __syncthreads();
  int *from = where ? other : tile;
  out[threadIdx.x] = from[threadIdx.x ^ 1];
}

extern "C" __global__ void wrong_null(int *out) {
  // Compilers delete the load unless it is volatile.
  out[threadIdx.x] = ((volatile int *)nullptr)[1];
}

extern "C" __global__ void wrong_number(int value) {
  *(volatile int *)0x87654320 = value;
}

extern "C" __global__ void right_number(unsigned long long address, int *out) {
  // An integer that becomes a pointer is any pointer.
  char *none = nullptr;
  out[threadIdx.x] = *(int *)(none + address);
}
