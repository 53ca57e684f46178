// kernels: spmv_warp, spmv_ldu
// Sparse matrix times vector, one warp per row; and a dense row times vector whose row is read by uniform loads.
// Divergence: the row and its bounds are uniform in a warp, lanes stride by 32, and shuffles fold the sum. `spmv_ldu` asks for
// the load-uniform instruction where the address depends on the block alone.
#include "phalanx_cuda.h"

extern "C" __global__ void spmv_warp(const int *__restrict__ row, const int *__restrict__ column, const float *__restrict__ value,
                                     const float *__restrict__ x, float *y, int rows) {
  int r = global_index() / warpSize, lane = lane_id();
  if (r >= rows) // the whole warp leaves
    return;
  float sum = 0.0f;
  for (int k = row[r] + lane; k < row[r + 1]; k += warpSize)
    sum += value[k] * __ldg(&x[column[k]]);
  for (int by = warpSize / 2; by > 0; by /= 2)
    sum += __shfl_down_sync(~0u, sum, by);
  if (lane == 0)
    y[r] = sum;
}

extern "C" __global__ void spmv_ldu(const float *matrix, const float *x, float *y, int n) {
  float scale = __nvvm_ldu_f(matrix + blockIdx.x * n);
  int i = threadIdx.x;
  if (i < n)
    y[blockIdx.x * n + i] = scale * x[i];
}
