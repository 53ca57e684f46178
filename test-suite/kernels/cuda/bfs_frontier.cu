// kernels: bfs_frontier
// Breadth-first search with an explicit frontier; 32 lanes share one node and stride over its neighbours.
// Divergence: the node, its bounds and its level are the same for a warp (`thread / 32`), the edges are not. The queue is
// appended by one atomic per warp and round, under a ballot.
#include "phalanx_cuda.h"

extern "C" __global__ void bfs_frontier(const int *__restrict__ row, const int *__restrict__ edge, int *level,
                                        const int *__restrict__ frontier, int size, int *next, int *next_size, int depth) {
  int warps = global_threads() / warpSize, lane = lane_id();
  for (int f = global_index() / warpSize; f < size; f += warps) {
    int node = __ldg(&frontier[f]);
    int begin = __ldg(&row[node]), end = __ldg(&row[node + 1]);
    for (int base = begin; base < end; base += warpSize) {
      int e = base + lane, neighbour = -1;
      if (e < end) {
        neighbour = __ldg(&edge[e]);
        if (atomicCAS(&level[neighbour], -1, depth) != -1)
          neighbour = -1;
      }
      unsigned fresh = __ballot_sync(~0u, neighbour >= 0);
      if (fresh == 0)
        continue;
      int first = 0;
      if (lane == 0)
        first = atomicAdd(next_size, __popc(fresh));
      first = __shfl_sync(~0u, first, 0);
      if (neighbour >= 0)
        next[first + __popc(fresh & lanes_below())] = neighbour;
    }
  }
}
