// kernels: mandelbrot, julia_smooth
// Escape-time fractals: iteration counts, and a smooth colour in double precision.
// Divergence: the classic loop with one uniform exit (the iteration limit) and one divergent exit. The counter is the same for all
// lanes still iterating, and differs outside the loop: temporal divergence in its purest form.
#include "phalanx_opencl.h"

kernel void mandelbrot(global int *count, float x0, float y0, float step, int width, int height, int limit) {
  int px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height)
    return;
  float cx = x0 + step * (float)px, cy = y0 + step * (float)py, x = 0.0f, y = 0.0f;
  int k = 0;
  for (; k < limit; ++k) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f)
      break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
  }
  count[py * width + px] = k;
}

kernel void julia_smooth(global float *shade, double cx, double cy, double step, int width, int limit) {
  int px = get_global_id(0), py = get_global_id(1);
  double x = step * (px - width / 2), y = step * (py - width / 2), norm = x * x + y * y;
  int k = 0;
  while (k < limit && norm < 256.0) {
    double next = x * x - y * y + cx;
    y = 2.0 * x * y + cy;
    x = next;
    norm = x * x + y * y;
    ++k;
  }
  shade[py * width + px] = k == limit ? 0.0f : (float)k + 1.0f - (float)(norm / 65536.0);
}
