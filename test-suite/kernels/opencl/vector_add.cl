// kernels: vector_add
// c[i] = a[i] + b[i], one work-item per element.
// Divergence: the bounds check is the only branch. It compares a per-item index with a kernel argument: divergent, and one wave
// at most really splits.
#include "phalanx_opencl.h"

kernel void vector_add(global const float *a, global const float *b, global float *c, int n) {
  int i = get_global_id(0);
  if (i < n)
    c[i] = a[i] + b[i];
}
