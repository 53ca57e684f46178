// PHX006: a mask names lanes that do not come.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_mask(int *data) {
  int v = data[threadIdx.x];
  if (threadIdx.x < 7)
    v += __shfl_xor_sync(~0u, v, 1);
  data[threadIdx.x] = v;
}

extern "C" __global__ void wrong_vote(int *data, int n) {
  int v = data[threadIdx.x], all = 1;
  if (v < n)
    all = __all_sync(~0u, v > 0);
  data[threadIdx.x] = all;
}

// The mask is made where all lanes are.
extern "C" __global__ void right_mask(int *data, int n) {
  int v = data[threadIdx.x], all = 1;
  unsigned some = __ballot_sync(~0u, v < n);
  if (v < n)
    all = __all_sync(some, v > 0);
  data[threadIdx.x] = all;
}

extern "C" __global__ void right_whole(int *data) {
  int v = data[threadIdx.x];
  v += __shfl_xor_sync(~0u, v, 1);
  data[threadIdx.x] = v;
}
