// kernels: histogram_shared, histogram_aggregated
// Histograms: shared-memory atomics, and one atomic per group of equal keys within a warp.
// Divergence: in the aggregated form the leader's branch is divergent, and its condition comes from a match that is uniform only
// among the lanes with the same key.
#include "phalanx_cuda.h"

extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *bins, int n) {
  __shared__ unsigned counts[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    counts[b] = 0;
  __syncthreads();
  for (int i = global_index(); i < n; i += global_threads())
    atomicAdd(&counts[in[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (unsigned c = counts[b])
      atomicAdd(&bins[b], c);
}

extern "C" __global__ void histogram_aggregated(const unsigned *keys, unsigned *bins, unsigned mask) {
  unsigned bin = keys[global_index()] & mask;
  unsigned peers = __match_any_sync(~0u, bin);
  if ((int)lane_id() == __ffs(peers) - 1)
    atomicAdd(&bins[bin], (unsigned)__popc(peers));
}
