// kernels: tree_depth, tree_search
// A binary tree walked twice: by a recursive function, and by a loop with a stack of its own in local memory.
// Divergence: recursion makes a cycle in the call graph, so a summary needs a fixed point. In the loop the stack pointer is
// divergent, the stack array is private, and the loop ends lane by lane.
#include "phalanx_cuda.h"

struct Node {
  int key, left, right;
};

static __device__ __noinline__ int depth_of(const Node *nodes, int at) {
  if (at < 0)
    return 0;
  return 1 + max(depth_of(nodes, nodes[at].left), depth_of(nodes, nodes[at].right));
}

extern "C" __global__ void tree_depth(const Node *nodes, const int *roots, int *depth, int n) {
  int i = global_index();
  if (i < n)
    depth[i] = depth_of(nodes, roots[i]);
}

extern "C" __global__ void tree_search(const Node *nodes, int root, const int *low, const int *high, int *count, int n) {
  int i = global_index();
  if (i >= n)
    return;
  int stack[24], top = 0, found = 0, at = root;
  while (at >= 0 || top > 0) {
    if (at < 0)
      at = stack[--top];
    Node node = nodes[at];
    found += node.key >= low[i] && node.key <= high[i];
    if (node.right >= 0 && node.key <= high[i] && top < 24)
      stack[top++] = node.right;
    at = node.key >= low[i] ? node.left : -1;
  }
  count[i] = found;
}
