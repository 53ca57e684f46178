// kernels: heat_step<1>, heat_step<2>
// Heat equation on a plane with a template radius, a tile with halo in shared memory, and weights in constant memory.
// Divergence: the cooperative load is a doubly strided loop with divergent exits, then a barrier, then uniform unrolled loops under
// a divergent bounds check.
#include "phalanx_cuda.h"

constexpr int Side = 16;

__constant__ float weights[8];

template <int Radius>
__global__ void __launch_bounds__(Side *Side) heat_step(const float *in, float *out, int width, int height) {
  constexpr int Span = Side + 2 * Radius;
  __shared__ float tile[Span][Span];
  int left = blockIdx.x * Side - Radius, top = blockIdx.y * Side - Radius;
  for (int y = threadIdx.y; y < Span; y += Side)
    for (int x = threadIdx.x; x < Span; x += Side) {
      int gx = min(max(left + x, 0), width - 1), gy = min(max(top + y, 0), height - 1);
      tile[y][x] = in[gy * width + gx];
    }
  __syncthreads();
  int x = threadIdx.x + Radius, y = threadIdx.y + Radius;
  if (left + x >= width || top + y >= height)
    return;
  float sum = weights[0] * tile[y][x];
  for (int r = 1; r <= Radius; ++r)
    sum += weights[r] * (tile[y][x - r] + tile[y][x + r] + tile[y - r][x] + tile[y + r][x]);
  out[(top + y) * width + left + x] = sum;
}
template __global__ void heat_step<1>(const float *, float *, int, int);
template __global__ void heat_step<2>(const float *, float *, int, int);
