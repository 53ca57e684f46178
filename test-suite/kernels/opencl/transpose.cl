// kernels: transpose_tiled
// out = in^T through a padded 32x32 tile; each of 32x8 items moves four elements.
// Divergence: the loop over rows has a uniform trip count; the bounds tests inside it depend on x and on y. With a 32-wide
// x dimension the y coordinate is the same across a 32-lane wave, and differs in two halves of a 64-lane one.
#include "phalanx_opencl.h"

#define TILE 32
#define ROWS 8

__attribute__((reqd_work_group_size(TILE, ROWS, 1)))
kernel void transpose_tiled(global const float *in, global float *out, int width, int height) {
  local float tile[TILE][TILE + 1];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x = get_group_id(0) * TILE + lx, y = get_group_id(1) * TILE + ly;
  for (int r = 0; r < TILE; r += ROWS)
    if (x < width && y + r < height)
      tile[ly + r][lx] = in[(y + r) * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * TILE + lx;
  y = get_group_id(0) * TILE + ly;
  for (int r = 0; r < TILE; r += ROWS)
    if (x < height && y + r < width)
      out[(y + r) * height + x] = tile[lx][ly + r];
}
