// kernels: edit_distance, lu_column, fft_radix2
// Wavefronts over a matrix: edit distance by anti-diagonals, one column of an LU factorisation, a radix-2 Fourier transform.
// Divergence: `edit_distance` has a divergent test and two barriers in a uniform loop; `lu_column` distributes a triangle, so that
// lanes leave the row loop at different times; the transform's butterflies pair lanes by bit tricks under uniform loops.
#include "phalanx_opencl.h"

kernel void edit_distance(global const char *a, global const char *b, local int *row, global int *result, int n) {
  int t = get_local_id(0), left = t + 1, diagonal = t;
  char mine = t < n ? a[t] : 0;
  row[t] = left;
  for (int step = 0; step < 2 * n - 1; ++step) {
    barrier(CLK_LOCAL_MEM_FENCE);
    int j = step - t, above = t > 0 ? row[t - 1] : j + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < n && j >= 0 && j < n) {
      int cost = diagonal + (mine != b[j]);
      left = min(min(left, above) + 1, cost);
      row[t] = left;
      diagonal = above;
    }
  }
  if (t == n - 1)
    *result = left;
}

kernel void lu_column(global float *m, int n, int k) {
  local float pivot;
  if (get_local_id(0) == 0)
    pivot = 1.0f / m[k * n + k];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int r = k + 1 + get_global_id(0); r < n; r += get_global_size(0)) {
    float factor = m[r * n + k] * pivot;
    m[r * n + k] = factor;
    if (factor == 0.0f)
      continue;
    for (int c = k + 1; c < n; ++c)
      m[r * n + c] -= factor * m[k * n + c];
  }
}

kernel void fft_radix2(global const float2 *in, global float2 *out, constant float2 *twiddle, local float2 *s, int log_n) {
  int t = get_local_id(0), n = 1 << log_n;
  for (int k = t; k < n; k += get_local_size(0)) {
    uint reversed = 0;
    for (int bit = 0; bit < log_n; ++bit)
      reversed |= ((uint)k >> bit & 1u) << (log_n - 1 - bit);
    s[reversed] = in[get_group_id(0) * n + k];
  }
  for (int half_size = 1; half_size < n; half_size *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = t; k < n / 2; k += get_local_size(0)) {
      int j = k & (half_size - 1), lo = 2 * (k - j) + j, hi = lo + half_size;
      float2 w = twiddle[j * (n / (2 * half_size))], b = s[hi], a = s[lo];
      float2 p = (float2)(w.x * b.x - w.y * b.y, w.x * b.y + w.y * b.x);
      s[lo] = a + p;
      s[hi] = a - p;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = t; k < n; k += get_local_size(0))
    out[get_group_id(0) * n + k] = s[k];
}
