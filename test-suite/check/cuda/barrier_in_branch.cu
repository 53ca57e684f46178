// PHX001: a barrier that only some threads of a block come to.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_half(float *data) {
  __shared__ float line[256];
  line[threadIdx.x] = data[threadIdx.x];
  if (threadIdx.x < 16)
    __syncthreads();
  data[threadIdx.x] = line[255 - threadIdx.x];
}

// What decides is known at run time only.
extern "C" __global__ void wrong_maybe(float *data, int active) {
  __shared__ float line[256];
  line[threadIdx.x] = data[threadIdx.x];
  if (threadIdx.x < active) {
    line[threadIdx.x] *= 2;
    __syncthreads();
  }
  data[threadIdx.x] = line[255 - threadIdx.x];
}

extern "C" __global__ void right_half(float *data, int active) {
  __shared__ float line[256];
  line[threadIdx.x] = data[threadIdx.x];
  if (threadIdx.x < active)
    line[threadIdx.x] *= 2;
  __syncthreads();
  data[threadIdx.x] = line[255 - threadIdx.x];
}

// The same way for the whole block.
extern "C" __global__ void right_uniform(float *data, int wanted) {
  __shared__ float line[256];
  line[threadIdx.x] = data[threadIdx.x];
  if (wanted > blockIdx.x)
    __syncthreads();
  data[threadIdx.x] = line[threadIdx.x];
}
