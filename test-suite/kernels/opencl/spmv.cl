// kernels: spmv_scalar, spmv_vector
// y = A * x with A in compressed sparse rows: one row per item, and one row per 32 items with a tree over local memory.
// Divergence: in the scalar form the row length differs per item (divergent loop). In the vector form 32 neighbours share a row, so
// the loop bounds are uniform across 32 lanes, but only arithmetic on the id (`id >> 5`) can tell.
#include "phalanx_opencl.h"

#define LANES 32
#define GROUP 128

kernel void spmv_scalar(global const int *row, global const int *column, global const float *value, global const float *x,
                        global float *y, int rows) {
  int r = get_global_id(0);
  if (r >= rows)
    return;
  float sum = 0.0f;
  for (int k = row[r]; k < row[r + 1]; ++k)
    sum += value[k] * x[column[k]];
  y[r] = sum;
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void spmv_vector(global const int *row, global const int *column, global const float *value, global const float *x,
                        global float *y, int rows) {
  local float part[GROUP];
  int t = get_local_id(0), lane = t & (LANES - 1), r = get_global_id(0) >> 5;
  float sum = 0.0f;
  if (r < rows)
    for (int k = row[r] + lane, end = row[r + 1]; k < end; k += LANES)
      sum += value[k] * x[column[k]];
  part[t] = sum;
  for (int half_size = LANES / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_size)
      part[t] += part[t + half_size];
  }
  if (lane == 0 && r < rows)
    y[r] = part[t];
}
