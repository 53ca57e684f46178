// One defect is told once: in a helper, at each wrong call of a right helper, and for all barriers under one branch.
#include "phalanx_cuda.h"

// Wrong by itself: the barrier is for those below `half` only.
__device__ inline float block_sum(float *scratch, float v) {
  int t = threadIdx.x;
  scratch[t] = v;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) {
      scratch[t] += scratch[t + half];
      __syncthreads();
    }
  }
  return scratch[0];
}

__device__ inline void settle() { __syncthreads(); }

extern "C" __global__ void sum(const float *in, float *out) {
  __shared__ float scratch[256];
  float sum = block_sum(scratch, in[threadIdx.x]);
  if (threadIdx.x == 0)
    out[blockIdx.x] = sum;
}

extern "C" __global__ void sum_of_squares(const float *in, float *out) {
  __shared__ float scratch[256];
  float v = in[threadIdx.x], sum = block_sum(scratch, v * v);
  if (threadIdx.x == 0)
    out[blockIdx.x] = sum;
}

extern "C" __global__ void wrong_call(float *data) {
  __shared__ float line[256];
  line[threadIdx.x] = data[threadIdx.x];
  if (threadIdx.x < 16)
    settle();
  data[threadIdx.x] = line[255 - threadIdx.x];
}

extern "C" __global__ void wrong_call_by_data(float *data) {
  __shared__ float line[256];
  line[threadIdx.x] = data[threadIdx.x];
  if (line[threadIdx.x] > 0)
    settle();
  data[threadIdx.x] = line[255 - threadIdx.x];
}

// One branch, two barriers.
extern "C" __global__ void wrong_twice(float *data) {
  __shared__ float line[256];
  line[threadIdx.x] = data[threadIdx.x];
  if (threadIdx.x < 16) {
    __syncthreads();
    line[threadIdx.x] += line[15 - threadIdx.x];
    __syncthreads();
  }
  data[threadIdx.x] = line[255 - threadIdx.x];
}

// Two shuffles by one wrapper.
extern "C" __global__ void wrong_shuffle(int *data) {
  int v = data[threadIdx.x];
  if (threadIdx.x < 7)
    v += __shfl_xor_sync(~0u, v, 1);
  data[threadIdx.x] = v;
}

extern "C" __global__ void wrong_other_shuffle(int *data) {
  int v = data[threadIdx.x];
  if (threadIdx.x < 9)
    v += __shfl_xor_sync(~0u, v, 2);
  data[threadIdx.x] = v;
}
