// PHX003: a barrier after some threads have returned. Current hardware does not wait for these.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_guard(float *data, int n) {
  __shared__ float line[256];
  int i = global_index();
  if (i >= n)
    return;
  line[threadIdx.x] = data[i];
  __syncthreads();
  data[i] = line[threadIdx.x ^ 1];
}

extern "C" __global__ void right_guard(float *data, int n) {
  __shared__ float line[256];
  int i = global_index();
  if (i < n)
    line[threadIdx.x] = data[i];
  __syncthreads();
  if (i < n)
    data[i] = line[threadIdx.x ^ 1];
}

// All threads of a block return, or none.
extern "C" __global__ void right_block(float *data, int blocks) {
  __shared__ float line[256];
  if (blockIdx.x >= blocks)
    return;
  line[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = line[threadIdx.x ^ 1];
}

extern "C" __global__ void right_allowed(float *data, int n) {
  __shared__ float line[256];
  if (threadIdx.x >= n)
    return;
  line[threadIdx.x] = data[threadIdx.x];
  __syncthreads(); // phalanx: allow(PHX003)
  data[threadIdx.x] = line[threadIdx.x ^ 1];
}

extern "C" __global__ __attribute__((annotate("phalanx: allow(PHX003)")))
void right_annotated(float *data, int n) {
  __shared__ float line[256];
  if (threadIdx.x >= n)
    return;
  line[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = line[threadIdx.x ^ 1];
}
