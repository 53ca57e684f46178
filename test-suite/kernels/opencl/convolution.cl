// kernels: convolve_separable_rows, convolve_clamped
// Image filters: rows of a separable filter with a tile in local memory, and a full 2D filter with clamped borders.
// Divergence: the weights come from constant memory at uniform indices (uniform loads); pixels are divergent. Clamping uses
// min and max, so the inner loops hold no divergent branch at all.
#include "phalanx_opencl.h"

#define RADIUS 4
#define GROUP 64

constant float gauss[2 * RADIUS + 1] = {0.01f, 0.05f, 0.12f, 0.20f, 0.24f, 0.20f, 0.12f, 0.05f, 0.01f};

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void convolve_separable_rows(global const float *in, global float *out, int width) {
  local float tile[GROUP + 2 * RADIUS];
  int t = get_local_id(0), x = get_global_id(0), y = get_group_id(1), base = y * width;
  for (int k = t; k < GROUP + 2 * RADIUS; k += GROUP) {
    int from = get_group_id(0) * GROUP + k - RADIUS;
    tile[k] = from >= 0 && from < width ? in[base + from] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (int k = 0; k <= 2 * RADIUS; ++k)
    sum += gauss[k] * tile[t + k];
  if (x < width)
    out[base + x] = sum;
}

kernel void convolve_clamped(global const uchar4 *in, global uchar4 *out, constant float *weight, int radius, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 sum = (float4)(0.0f);
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx) {
      int sx = min(max(x + dx, 0), width - 1), sy = min(max(y + dy, 0), height - 1);
      sum += *weight++ * convert_float4(in[sy * width + sx]);
    }
  if (x < width && y < height)
    out[y * width + x] = __builtin_convertvector(sum, uchar4);
}
