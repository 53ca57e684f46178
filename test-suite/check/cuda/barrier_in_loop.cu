// PHX002: a barrier in a loop that threads leave in different rounds.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_rounds(const float *in, float *out, int n) {
  __shared__ float line[256];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    line[threadIdx.x] = in[i];
    __syncthreads();
    sum += line[255 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

// As many rounds for all; the guard is inside.
extern "C" __global__ void right_rounds(const float *in, float *out, int n) {
  __shared__ float line[256];
  float sum = 0;
  for (int base = 0; base < n; base += blockDim.x) {
    int i = base + threadIdx.x;
    line[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    sum += line[255 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
