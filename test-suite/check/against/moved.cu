// PHX020 to PHX022: what a transform made of the code, with `AFTER`, held against what it was.
#include "phalanx_cuda.h"

// A barrier that some threads no longer come to.
extern "C" __global__ void wrong_barrier(float *data) {
  data[threadIdx.x] = 1;
#ifdef AFTER
  if (threadIdx.x < 7)
#endif
    __syncthreads();
  data[threadIdx.x] += 1;
}

// A shuffle that went to where its result is used.
extern "C" __global__ void wrong_shuffle(int *data, int *out) {
  int mine = data[threadIdx.x], other = 0;
#ifdef AFTER
  if (mine > 0)
#endif
    other = __shfl_xor_sync(-1, mine, 1);
  if (mine > 0)
    out[threadIdx.x] = other;
}

// The same under a condition that is one for all threads.
extern "C" __global__ void right_barrier(float *data, int rounds) {
  data[threadIdx.x] = 1;
#ifdef AFTER
  if (rounds > 0)
#endif
    __syncthreads();
  if (rounds > 0)
    data[threadIdx.x + 1] += 1;
}

// A barrier that is no longer there when threads read what others wrote.
extern "C" __global__ void moved_barrier(float *data) {
  data[threadIdx.x] = 1;
#ifndef AFTER
  __syncthreads();
#endif
  float next = data[threadIdx.x + 1];
#ifdef AFTER
  __syncthreads();
#endif
  data[threadIdx.x] += next;
}

// It passes code that accesses nothing.
extern "C" __global__ void still_there(float *data, int n) {
  data[threadIdx.x] = 1;
#ifndef AFTER
  __syncthreads();
#endif
  int at = threadIdx.x + 1 < n ? threadIdx.x + 1 : 0;
#ifdef AFTER
  __syncthreads();
#endif
  data[threadIdx.x] += data[at];
}

extern "C" __global__ void right_shuffle(int *data, int *out, int some) {
  int mine = data[threadIdx.x], other = 0;
#ifdef AFTER
  if (some > 0)
#endif
    other = __shfl_xor_sync(-1, mine, 1);
  if (some > 0)
    out[threadIdx.x] = other;
}
