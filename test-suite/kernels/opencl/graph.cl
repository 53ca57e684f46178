// kernels: bfs_level, sssp_relax, components_hook, components_jump
// Graph search over compressed sparse rows: one level of breadth-first search, one round of shortest-path relaxation, and
// hooking and pointer jumping for connected components.
// Divergence: early exits on the node's state, a neighbour loop with per-node bounds, atomics under divergent control. Pointer
// jumping is a data-dependent `while` whose result is used after the loop (temporal divergence of a per-thread value).
#include "phalanx_opencl.h"

kernel void bfs_level(global const int *row, global const int *edge, global int *level, global int *changed, int depth, int nodes) {
  int v = get_global_id(0);
  if (v >= nodes || level[v] != depth)
    return;
  for (int e = row[v], end = row[v + 1]; e < end; ++e) {
    int w = edge[e];
    if (level[w] >= 0)
      continue;
    level[w] = depth + 1; // every writer writes the same value
    *changed = 1;
  }
}

kernel void sssp_relax(global const int *row, global const int *edge, global const uint *weight, global uint *distance,
                       global int *changed, int nodes) {
  int v = get_global_id(0);
  if (v >= nodes)
    return;
  uint here = distance[v];
  if (here == 0xffffffffu)
    return;
  int relaxed = 0;
  for (int e = row[v]; e < row[v + 1]; ++e) {
    uint through = here + weight[e];
    relaxed |= atomic_min(&distance[edge[e]], through) > through;
  }
  if (relaxed)
    atomic_or(changed, 1);
}

kernel void components_hook(global const int2 *edge, global int *parent, global int *changed, int edges) {
  for (int e = get_global_id(0); e < edges; e += get_global_size(0)) {
    int a = parent[edge[e].x], b = parent[edge[e].y];
    if (a == b)
      continue;
    int low = min(a, b), high = max(a, b);
    if (atomic_min(&parent[high], low) != low)
      *changed = 1;
  }
}

kernel void components_jump(global int *parent, int nodes) {
  int v = get_global_id(0);
  if (v >= nodes)
    return;
  int root = parent[v];
  while (root != parent[root])
    root = parent[root];
  parent[v] = root;
}
