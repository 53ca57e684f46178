// kernels: locked_update, last_block_sum
// Synchronisation through memory: a spin lock taken by one thread at a time, and the last block to arrive finishing the job.
// Divergence: the retry loop's exit depends on an atomic: lanes leave one by one. "Am I last" is decided by one thread and shared
// through memory, so it is uniform in the block, but only barriers and fences make it so.
#include "phalanx_cuda.h"

extern "C" __global__ void locked_update(int *lock, volatile long long *account, const int *amount, int n) {
  int i = global_index();
  if (i >= n)
    return;
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      account[0] = account[0] + amount[i];
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

extern "C" __global__ void last_block_sum(const float *in, volatile float *partial, unsigned *arrived, float *total) {
  __shared__ bool last;
  __shared__ float sum;
  if (threadIdx.x == 0)
    sum = 0.0f;
  __syncthreads();
  atomicAdd(&sum, in[global_index()]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last)
    return;
  float mine = 0.0f;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
    mine += partial[b];
  atomicAdd(total, mine);
}
