// kernels: block_scan
// Inclusive prefix sums of a block: shuffles up within warps, a scan of the warps' totals by one warp, and a carry added back.
// Divergence: `lane >= by` is divergent under a uniform loop, and the shuffle must stay outside it: moved inside, it would read
// lanes that are not there. The carry's load is the same for a whole warp.
#include "phalanx_cuda.h"

static __device__ int warp_scan(int v) {
  int lane = lane_id();
  for (int by = 1; by < warpSize; by *= 2) {
    int other = __shfl_up_sync(~0u, v, by);
    if (lane >= by)
      v += other;
  }
  return v;
}

extern "C" __global__ void __launch_bounds__(1024) block_scan(const int *in, int *out, int n) {
  __shared__ int totals[32];
  int i = global_index(), warp = threadIdx.x / warpSize, warps = blockDim.x / warpSize;
  int v = warp_scan(i < n ? in[i] : 0);
  if (lane_id() == warpSize - 1)
    totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = (int)threadIdx.x < warps ? totals[threadIdx.x] : 0;
    totals[threadIdx.x] = warp_scan(t);
  }
  __syncthreads();
  int carry = warp > 0 ? totals[warp - 1] : 0;
  if (i < n)
    out[i] = v + carry;
}
