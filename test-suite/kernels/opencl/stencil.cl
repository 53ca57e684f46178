// kernels: stencil_1d, stencil_2d, stencil_3d
// Weighted sums of neighbours: radius 3 on a line with a halo in local memory, 5 points on a plane, 7 points in space.
// Divergence: the halo is loaded under divergent guards before a barrier. In the plane and in space the border test is a chain of
// short-circuit conditions on two or three dimensions; the march along z in 3D is a uniform loop carrying values in registers.
#include "phalanx_opencl.h"

#define RADIUS 3
#define GROUP 128

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void stencil_1d(global const float *in, global float *out, constant float *weight, int n) {
  local float line[GROUP + 2 * RADIUS];
  int t = get_local_id(0), i = get_global_id(0);
  line[t + RADIUS] = i < n ? in[i] : 0.0f;
  if (t < RADIUS) {
    int left = i - RADIUS, right = i + GROUP;
    line[t] = left >= 0 ? in[left] : 0.0f;
    line[t + GROUP + RADIUS] = right < n ? in[right] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i >= n)
    return;
  float sum = 0.0f;
  for (int k = 0; k <= 2 * RADIUS; ++k)
    sum += weight[k] * line[t + k];
  out[i] = sum;
}

kernel void stencil_2d(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height)
    return;
  int at = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
    out[at] = in[at];
  else
    out[at] = 0.5f * in[at] + 0.125f * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
}

kernel void stencil_3d(global const float *in, global float *out, int nx, int ny, int nz) {
  int x = get_global_id(0), y = get_global_id(1), plane = nx * ny;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
    return;
  int at = y * nx + x;
  float below = in[at], here = in[at + plane];
  for (int z = 1; z < nz - 1; ++z) {
    at += plane;
    float above = in[at + plane];
    out[at] = (below + above + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx]) - 6.0f * here;
    below = here;
    here = above;
  }
}
