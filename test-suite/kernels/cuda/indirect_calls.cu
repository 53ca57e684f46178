// kernels: apply_table, apply_virtual
// Calls through function pointers chosen per thread or per block, and virtual calls on objects built by each thread.
// Divergence: a call through a divergent pointer sends lanes to different functions; through a uniform pointer it does not. Neither
// callee is known, so all results are divergent; the table itself is in constant memory.
#include "phalanx_cuda.h"

using Unary = float (*)(float);

static __device__ __noinline__ float square(float v) { return v * v; }
static __device__ __noinline__ float halve(float v) { return 0.5f * v; }
static __device__ __noinline__ float clip(float v) { return v > 1.0f ? 1.0f : v < 0.0f ? 0.0f : v; }

static __device__ Unary table[4] = {square, halve, clip, nullptr};

extern "C" __global__ void apply_table(const unsigned *choice, float *data, unsigned block_choice) {
  int i = global_index();
  Unary mine = table[choice[i] & 3], ours = table[block_choice & 3];
  float v = data[i];
  if (ours) // uniform
    v = ours(v);
  if (mine) // divergent
    v = mine(v);
  data[i] = v;
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square final : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Disc final : Shape {
  float radius;
  __device__ explicit Disc(float r) : radius(r) {}
  __device__ float area() const override { return 3.1415927f * radius * radius; }
};

static __device__ __noinline__ float twice_area(const Shape &s) { return 2.0f * s.area(); }

extern "C" __global__ void apply_virtual(const float *in, float *out, int discs) {
  int i = global_index();
  Square square(in[i]);
  Disc disc(in[i]);
  out[i] = twice_area(i < discs ? static_cast<const Shape &>(disc) : square);
}
