// kernels: matmul_naive, matmul_tiled
// C = A * B for square row-major matrices: straight from global memory, and through 16x16 tiles in local memory.
// Divergence: the inner loops are uniform (bounds are arguments or constants). In the naive form they sit under a divergent bounds
// check; the tiled form has no divergent branch around its barriers, only guarded loads before and a guarded store after them.
#include "phalanx_opencl.h"

#define TILE 16

kernel void matmul_naive(global const float *a, global const float *b, global float *c, int n) {
  int row = get_global_id(1), col = get_global_id(0);
  if (row >= n || col >= n)
    return;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k)
    sum = fma(a[row * n + k], b[k * n + col], sum);
  c[row * n + col] = sum;
}

__attribute__((reqd_work_group_size(TILE, TILE, 1)))
kernel void matmul_tiled(global const float *a, global const float *b, global float *c, int n) {
  local float tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1];
  int tx = get_local_id(0), ty = get_local_id(1);
  int row = get_group_id(1) * TILE + ty, col = get_group_id(0) * TILE + tx;
  float sum = 0.0f;
  for (int base = 0; base < n; base += TILE) {
    tile_a[ty][tx] = row < n && base + tx < n ? a[row * n + base + tx] : 0.0f;
    tile_b[ty][tx] = col < n && base + ty < n ? b[(base + ty) * n + col] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; ++k)
      sum = fma(tile_a[ty][k], tile_b[k][tx], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}
