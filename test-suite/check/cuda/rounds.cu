// PHX002, PHX003: rounds that are counted from the thread's index, and work that one thread takes for its block.
#include "phalanx_cuda.h"

// As many rounds for all: the bound is a multiple of the step, and all indices are below that.
extern "C" __global__ void __launch_bounds__(256) right_padded(const int *in, int *out, int n) {
  __shared__ int line[256];
  int sum = 0;
  for (int i = threadIdx.x; i < (n + 255) / 256 * 256; i += 256) {
    line[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    sum += line[255 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) wrong_bound(const int *in, int *out, int n) {
  __shared__ int line[256];
  int sum = 0;
  for (int i = threadIdx.x; i < 1000; i += 256) {
    line[threadIdx.x] = in[i];
    __syncthreads();
    sum += line[255 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// Each piece of work is read by all before the first thread takes the next one.
extern "C" __global__ void right_queue(unsigned *next, const int *in, int *out, unsigned n) {
  __shared__ unsigned job;
  while (true) {
    if (threadIdx.x == 0)
      job = atomicAdd(next, 1u);
    __syncthreads();
    unsigned mine = job;
    __syncthreads();
    if (mine >= n)
      break;
    out[mine] = in[mine];
  }
  __syncthreads();
}

// The first thread may take the next one before others have read this one.
extern "C" __global__ void wrong_queue(unsigned *next, const int *in, int *out, unsigned n) {
  __shared__ unsigned job;
  while (true) {
    if (threadIdx.x == 0)
      job = atomicAdd(next, 1u);
    __syncthreads();
    unsigned mine = job;
    if (mine >= n)
      break;
    out[mine] = in[mine];
  }
  __syncthreads();
}
