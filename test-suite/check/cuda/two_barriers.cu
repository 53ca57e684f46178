// PHX004: threads of one block wait at different barriers.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_roles(float *data) {
  __shared__ float line[256];
  if (threadIdx.x & 1) {
    line[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = line[threadIdx.x - 1];
  } else {
    line[threadIdx.x] = 0;
    __syncthreads();
    data[threadIdx.x] = line[threadIdx.x + 1] + 1;
  }
}

extern "C" __global__ void right_roles(float *data) {
  __shared__ float line[256];
  if (threadIdx.x & 1)
    line[threadIdx.x] = data[threadIdx.x];
  else
    line[threadIdx.x] = 0;
  __syncthreads();
  data[threadIdx.x] = line[threadIdx.x ^ 1];
}
