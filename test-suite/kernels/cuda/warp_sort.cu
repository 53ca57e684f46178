// kernels: warp_sort, merge_path
// A bitonic sort of 32 keys held one per lane, and merging of two sorted runs by diagonal binary searches.
// Divergence: the sort has no branch at all at -O2 (selects on lane bits). In the merge each thread searches its own diagonal with a
// divergent loop, and then merges a uniform number of elements with a divergent choice per element.
#include "phalanx_cuda.h"

extern "C" __global__ void warp_sort(int *keys) {
  int lane = lane_id(), key = keys[global_index()];
  for (int size = 2; size <= warpSize; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      int other = __shfl_xor_sync(~0u, key, stride);
      bool upper = lane & stride, descending = lane & size;
      key = upper != descending ? max(key, other) : min(key, other);
    }
  __syncwarp();
  keys[global_index()] = key;
}

extern "C" __global__ void merge_path(const int *a, int na, const int *b, int nb, int *out, int per_thread) {
  int diagonal = global_index() * per_thread;
  if (diagonal >= na + nb)
    return;
  int low = max(0, diagonal - nb), high = min(diagonal, na);
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  int ia = low, ib = diagonal - low;
  for (int k = 0; k < per_thread && diagonal + k < na + nb; ++k) {
    bool from_a = ib >= nb || (ia < na && a[ia] <= b[ib]);
    out[diagonal + k] = from_a ? a[ia++] : b[ib++];
  }
}
