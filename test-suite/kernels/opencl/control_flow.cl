// kernels: early_exits, nested_breaks, uniform_and_divergent
// Shapes of control flow on their own: a chain of early exits, breaks and continues out of nested loops, and a mix of uniform and
// divergent branches with joins.
// Divergence: each early exit is control dependent on all before it. In `nested_breaks` the inner break is divergent and the outer
// one uniform, so that `j` is temporally divergent after the inner loop and `i` is not after the outer.
#include "phalanx_opencl.h"

kernel void early_exits(global const int *in, global int *out, int n, int low, int high) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  if (low > high) // uniform
    return;
  int v = in[i];
  if (v < low)
    return;
  if (v > high)
    return;
  out[i] = v;
  if ((v & 1) == 0)
    return;
  out[i] = v * in[n - 1 - i];
}

kernel void nested_breaks(global const int *in, global int *out, int rows, int columns, int stop) {
  int id = get_global_id(0), sum = 0, i = 0;
  for (; i < rows; ++i) {
    if (i == stop) // uniform
      break;
    int j = 0;
    for (; j < columns; ++j) {
      int v = in[i * columns + (j ^ id)];
      if (v == 0)
        continue;
      if (v == id) // divergent
        break;
      sum += v;
    }
    sum += j;
  }
  out[id] = sum + i;
}

kernel void uniform_and_divergent(global const int *in, global int *out, int mode) {
  int id = get_global_id(0), a, b;
  if (mode > 0) // uniform branch: `a` differs only because `id` does not reach it
    a = mode * 2;
  else
    a = -mode;
  if (in[id] > a) // divergent branch: `b` is a divergent choice between uniform values
    b = a + 1;
  else
    b = a - 1;
  for (int k = 0; k < a; ++k) // uniform loop with a divergent branch inside
    if (in[k + id] < b)
      ++b;
  out[id] = b;
}
