// kernels: block_sum_shuffle, warp_sum_redux, block_count
// Sums by shuffles within warps, then across the warps of a block; by the warp reduction instruction; and by a counting barrier.
// Divergence: a butterfly leaves the same sum in every lane, though each lane computes it by its own shuffles: uniform in fact, not
// by any local rule. `redux` and the counting barrier give results that are uniform by definition. The second stage runs in warp 0
// alone: `threadIdx.x < 32` is uniform within each warp.
#include "phalanx_cuda.h"

static __device__ float warp_sum(float v) {
  for (int with = warpSize / 2; with > 0; with /= 2)
    v += __shfl_xor_sync(~0u, v, with);
  return v;
}

extern "C" __global__ void __launch_bounds__(256) block_sum_shuffle(const float *in, float *total, int n) {
  __shared__ float part[8];
  float v = 0.0f;
  for (int i = global_index(); i < n; i += global_threads())
    v += in[i];
  v = warp_sum(v);
  int warp = threadIdx.x / warpSize;
  if (lane_id() == 0)
    part[warp] = v;
  __syncthreads();
  if (threadIdx.x < warpSize) {
    v = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
    v = warp_sum(v);
    if (threadIdx.x == 0)
      atomicAdd(total, v);
  }
}

extern "C" __global__ void warp_sum_redux(const int *in, int *out) {
  int sum = __reduce_add_sync(~0u, in[global_index()]);
  if (sum > 100) // uniform within a warp
    out[global_index() / warpSize] = sum;
}

extern "C" __global__ void block_count(const int *in, int *out, int threshold) {
  int above = __syncthreads_count(in[global_index()] > threshold);
  if (__syncthreads_or(above == 0) && __syncthreads_and(in[0] > 0)) // uniform within a block
    return;
  out[blockIdx.x] = above;
}
