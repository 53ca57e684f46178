// PHX001 at a call: the barrier is in a function.
#include "phalanx_cuda.h"

__device__ __noinline__ void exchange(float *line) {
  float mine = line[threadIdx.x];
  __syncthreads();
  line[blockDim.x - 1 - threadIdx.x] = mine;
}

extern "C" __global__ void wrong_call(float *data) {
  if (threadIdx.x != 0)
    exchange(data);
  data[threadIdx.x] += 1;
}

extern "C" __global__ void right_call(float *data, int wanted) {
  if (wanted)
    exchange(data);
  data[threadIdx.x] += 1;
}
