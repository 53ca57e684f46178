// PHX013 to PHX019: numbers of barriers, masks and sources of lanes that cannot be right.
#include "phalanx_cuda.h"

// PHX014: the first lane calls, and is not named.
extern "C" __global__ void wrong_not_named(int *data) {
  data[threadIdx.x] = __all_sync(0xfffffffeu, data[threadIdx.x] > 0);
}

// PHX014: eight lanes are named by their remainder, not by their quotient.
extern "C" __global__ void wrong_group(int *data) {
  unsigned mask = 0xffu << (threadIdx.x % 4 * 8);
  int v = data[threadIdx.x];
  for (int with = 4; with > 0; with /= 2)
    v += __shfl_xor_sync(mask, v, with);
  data[threadIdx.x] = v;
}

extern "C" __global__ void right_group(int *data) {
  unsigned mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
  int v = data[threadIdx.x];
  for (int with = 4; with > 0; with /= 2)
    v += __shfl_xor_sync(mask, v, with);
  data[threadIdx.x] = v;
}

// PHX015: odd lanes name even ones, which have another mask.
extern "C" __global__ void wrong_masks(int *data) {
  unsigned mask = threadIdx.x & 1 ? ~0u : 0x55555555u;
  data[threadIdx.x] = __all_sync(mask, data[threadIdx.x] > 0);
}

extern "C" __global__ void right_masks(int *data) {
  unsigned mask = threadIdx.x & 1 ? 0xaaaaaaaau : 0x55555555u;
  data[threadIdx.x] = __all_sync(mask, data[threadIdx.x] > 0);
}

// PHX016: in groups of eight lanes nobody is sixteen lanes away.
extern "C" __global__ void wrong_source(int *data) {
  unsigned mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
  data[threadIdx.x] = __shfl_xor_sync(mask, data[threadIdx.x], 16);
}

// PHX006: the mask is computed, and names lanes of the other arm.
extern "C" __global__ void wrong_arm(int *data) {
  int v = data[threadIdx.x];
  unsigned mask = 1u << (threadIdx.x & 31);
  mask |= 1u << ((threadIdx.x & 31) ^ 16);
  if ((threadIdx.x & 31) < 16)
    v += __shfl_xor_sync(mask, v, 16);
  data[threadIdx.x] = v;
}

// PHX018: lanes part after the mask was made.
extern "C" __global__ void wrong_active(int *data, int n) {
  int v = data[threadIdx.x];
  unsigned mask = __activemask();
  if (v < n)
    v += __shfl_xor_sync(mask, v, 1);
  data[threadIdx.x] = v;
}
