// kernels: life_step
// One generation of Conway's game of life on a torus.
// Divergence: wrap-around is done with selects, the neighbour count with two uniform loops and a uniform `continue`; the rule
// itself is a divergent condition that becomes a select or a branch according to the optimisation level.
#include "phalanx_opencl.h"

kernel void life_step(global const uchar *cell, global uchar *next, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height)
    return;
  int alive = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0)
        continue;
      int nx = x + dx, ny = y + dy;
      nx = nx < 0 ? width - 1 : nx == width ? 0 : nx;
      ny = ny < 0 ? height - 1 : ny == height ? 0 : ny;
      alive += cell[ny * width + nx];
    }
  int at = y * width + x;
  if (alive == 3 || (alive == 2 && cell[at]))
    next[at] = 1;
  else
    next[at] = 0;
}
