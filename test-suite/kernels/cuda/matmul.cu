// kernels: matmul_blocked
// C = A * B with 32x32 tiles in shared memory and four results per thread in registers.
// Divergence: loops and barriers are uniform; the block is 32x8, so that `threadIdx.y` is the same for a whole warp and so is
// every address made of it: loads of the A tile are broadcasts.
#include "phalanx_cuda.h"

constexpr int Tile = 32, Rows = 8, PerThread = Tile / Rows;

extern "C" __global__ void __launch_bounds__(Tile * Rows)
matmul_blocked(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
  __shared__ float ta[Tile][Tile], tb[Tile][Tile];
  int tx = threadIdx.x, ty = threadIdx.y;
  int column = blockIdx.x * Tile + tx, row = blockIdx.y * Tile + ty;
  float sum[PerThread] = {};
  for (int base = 0; base < n; base += Tile) {
    for (int r = 0; r < Tile; r += Rows) {
      ta[ty + r][tx] = a[(row + r) * n + base + tx];
      tb[ty + r][tx] = b[(base + ty + r) * n + column];
    }
    __syncthreads();
    for (int k = 0; k < Tile; ++k)
      for (int r = 0; r < PerThread; ++r)
        sum[r] += ta[ty + r * Rows][k] * tb[k][tx];
    __syncthreads();
  }
  for (int r = 0; r < PerThread; ++r)
    if (row + r * Rows < n && column < n)
      c[(row + r * Rows) * n + column] = sum[r];
}
