// PHX008: barriers for some threads of a block, by number.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_part_of_a_warp(float *data) {
  __nvvm_barrier_sync_cnt(1, 48);
  data[threadIdx.x] = 1;
}

extern "C" __global__ void __launch_bounds__(64) wrong_more_than_there_are(float *data) {
  __shared__ float line[64];
  line[threadIdx.x] = data[threadIdx.x];
  __nvvm_barrier_sync_cnt(1, 128);
  data[threadIdx.x] = line[threadIdx.x ^ 1];
}

// The first two warps exchange, the others go on.
extern "C" __global__ void __launch_bounds__(256) right_two_warps(float *data) {
  __shared__ float line[64];
  if (threadIdx.x < 64) {
    line[threadIdx.x] = data[threadIdx.x];
    __nvvm_barrier_sync_cnt(1, 64);
    data[threadIdx.x] = line[63 - threadIdx.x];
  }
}
