// kernels: saxpy_grid_stride, saxpy_vector
// y = alpha * x + y: once with a grid-stride loop, once four elements at a time with a scalar tail.
// Divergence: in the grid-stride loop the trip count differs between items of the last wave only, but the loop exit must be called
// divergent. In the vector form the test on `alpha` is uniform while the tail test is not.
#include "phalanx_opencl.h"

kernel void saxpy_grid_stride(global const float *x, global float *y, float alpha, int n) {
  int step = get_global_size(0);
  for (int i = get_global_id(0); i < n; i += step)
    y[i] = fma(alpha, x[i], y[i]);
}

kernel void saxpy_vector(global const float4 *x, global float4 *y, float alpha, int n) {
  if (alpha == 0.0f) // uniform early exit
    return;
  int i = get_global_id(0);
  if (4 * i + 3 < n) {
    y[i] = alpha * x[i] + y[i];
    return;
  }
  global const float *xs = (global const float *)x;
  global float *ys = (global float *)y;
  for (int k = 4 * i; k < n; ++k)
    ys[k] += alpha * xs[k];
}
