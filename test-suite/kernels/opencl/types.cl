// kernels: mixed_types, collatz_64, vector_shapes
// Every kind of value: half, float, double, 8- to 64-bit integers, vectors of 2 to 16, their conversions, shuffles and selects.
// Divergence: mostly straight-line, to exercise types rather than flow; `collatz_64` is one divergent loop on 64-bit integers.
#include "phalanx_opencl.h"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void mixed_types(global const half *h, global const double *d, global const short *s, global long *out, double scale) {
  int i = get_global_id(0);
  half twice = h[i] + h[i];
  float f = (float)twice * 0.5f;
  double wide = fma((double)f, scale, d[i]);
  short narrow = (short)(s[i] << 3);
  uchar byte = (uchar)(narrow ^ (narrow >> 8));
  bool big = wide > 1.0e9;
  out[i] = big ? (long)wide : (long)byte * -3 + (narrow % 7);
  if (byte == 0)
    out[i] -= popcount((ulong)out[i]);
}

kernel void collatz_64(global const ulong *in, global ushort *steps, ulong ceiling) {
  int i = get_global_id(0);
  ulong n = in[i];
  ushort count = 0;
  while (n != 1 && n < ceiling) {
    n = n & 1 ? 3 * n + 1 : n >> __builtin_ctzl(n);
    ++count;
  }
  steps[i] = n == 1 ? count : (ushort)0xffff;
}

kernel void vector_shapes(global const float16 *a, global const int4 *mask, global float2 *out, global char3 *bytes) {
  int i = get_global_id(0);
  float16 v = a[i];
  float8 even = v.even, odd = v.odd;
  float8 sum = even * odd + v.lo;
  float4 folded = sum.hi - sum.lo.wzyx;
  int4 m = mask[i];
  float4 chosen = m ? folded : -folded;
  folded[m.x & 3] = chosen.y; // a divergent element index
  out[i] = max(folded.xy, chosen.zw);
  bytes[i] = (char3)(1, (char)m.y, (char)convert_int4(chosen).z);
}
