// PHX050 to PHX053: accesses of workgroup memory that race, of what nobody wrote, and outside of an array.
#include "phalanx_cuda.h"

extern "C" __global__ void __launch_bounds__(256) right_neighbour(const float *in, float *out) {
  __shared__ float tile[256];
  unsigned t = threadIdx.x;
  tile[t] = in[t];
  __syncthreads();
  out[t] = tile[(t + 1) % 256];
}

extern "C" __global__ void __launch_bounds__(256) wrong_neighbour(const float *in, float *out) {
  __shared__ float tile[256];
  unsigned t = threadIdx.x;
  tile[t] = in[t];
  out[t] = tile[(t + 1) % 256];
}

// Each round halves the sums that are left.
extern "C" __global__ void right_reduction(const float *in, float *out, unsigned n) {
  __shared__ float sums[256];
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0.0f;
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    __syncthreads();
    if (t < s)
      sums[t] += sums[t + s];
  }
  if (t == 0)
    out[blockIdx.x] = sums[0];
}

extern "C" __global__ void wrong_reduction(const float *in, float *out, unsigned n) {
  __shared__ float sums[256];
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s)
      sums[t] += sums[t + s];
  }
  if (t == 0)
    out[blockIdx.x] = sums[0];
}

// A tile is read by all before the next round overwrites it.
extern "C" __global__ void right_tiles(const float *in, float *out, int n) {
  __shared__ float tile[256];
  float sum = 0;
  for (int k = 0; k < n; k += 256) {
    tile[threadIdx.x] = in[k + threadIdx.x];
    __syncthreads();
    sum += tile[threadIdx.x ^ 64];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

extern "C" __global__ void wrong_tiles(const float *in, float *out, int n) {
  __shared__ float tile[256];
  float sum = 0;
  for (int k = 0; k < n; k += 256) {
    tile[threadIdx.x] = in[k + threadIdx.x];
    __syncthreads();
    sum += tile[threadIdx.x ^ 64];
  }
  out[threadIdx.x] = sum;
}

// All threads count, and one sets the counters to zero first.
extern "C" __global__ void right_counters(const int *in, int *out) {
  __shared__ int bins[16];
  if (threadIdx.x < 16)
    bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x % 16], in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 16)
    out[threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void wrong_counters(const int *in, int *out) {
  __shared__ int bins[16];
  if (threadIdx.x < 16)
    bins[threadIdx.x] = 0;
  atomicAdd(&bins[threadIdx.x % 16], in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 16)
    out[threadIdx.x] = bins[threadIdx.x];
}

// Lanes of a warp hand on values through a row of their own.
extern "C" __global__ void __launch_bounds__(256) right_warp(const int *in, int *out) {
  __shared__ int rows[256];
  unsigned t = threadIdx.x;
  rows[t] = in[t];
  __syncwarp();
  out[t] = rows[t ^ 16];
}

extern "C" __global__ void __launch_bounds__(256) wrong_warp(const int *in, int *out) {
  __shared__ int rows[256];
  unsigned t = threadIdx.x;
  rows[t] = in[t];
  out[t] = rows[t ^ 16];
}
