// kernels: list_sum, tagged_area
// Pointer-heavy code: a walk along linked nodes in global memory, and a tagged union passed by pointer to functions that are
// not inlined.
// Divergence: the walk's exit is per item and its pointer is loop-carried. The calls make the results unknown (divergent) unless the
// callees are summarised; `unit_area` is called with a uniform argument and is uniform for whoever looks inside.
#include "phalanx_opencl.h"

typedef struct node {
  int value;
  global struct node *next;
} node;

typedef struct {
  int tag;
  union {
    struct { float w, h; } box;
    struct { float r; } disc;
    uint raw[2];
  } as;
} shape;

kernel void list_sum(global node *global *heads, global int *sums, int limit) {
  int i = get_global_id(0), sum = 0, seen = 0;
  for (global node *n = heads[i]; n; n = n->next) {
    if (n->value < 0)
      continue;
    sum += n->value;
    if (++seen == limit)
      break;
  }
  sums[i] = sum;
}

__attribute__((noinline)) static float unit_area(float scale) { return 3.14159265f * scale * scale; }

__attribute__((noinline)) static float area(private const shape *s, float unit) {
  if (s->tag == 0)
    return s->as.box.w * s->as.box.h;
  if (s->tag == 1)
    return unit * s->as.disc.r * s->as.disc.r;
  return (float)(s->as.raw[0] ^ s->as.raw[1]);
}

kernel void tagged_area(global const shape *shapes, global float *out, float scale, int n) {
  float unit = unit_area(scale);
  int i = get_global_id(0);
  if (i >= n)
    return;
  shape s = shapes[i];
  out[i] = area(&s, unit);
}
