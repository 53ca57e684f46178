// PHX011 and PHX012 (with --performance): lanes far apart, and lanes in one bank.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_column(const float *matrix, float *out) {
  out[threadIdx.x] = matrix[threadIdx.x * 1024];
}

extern "C" __global__ void right_row(const float *matrix, float *out) {
  out[threadIdx.x] = matrix[1024 + threadIdx.x];
}

extern "C" __global__ void wrong_bank(float *data) {
  __shared__ float tile[32 * 32];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x * 32];
}

extern "C" __global__ void right_bank(float *data) {
  __shared__ float tile[32 * 33];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x * 33];
}
