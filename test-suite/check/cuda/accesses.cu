// PHX011 and PHX012 (with --performance): lanes far apart, and lanes in one bank.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_column(const float *matrix, float *out) {
  out[threadIdx.x] = matrix[threadIdx.x * 1024];
}

extern "C" __global__ void right_row(const float *matrix, float *out) {
  out[threadIdx.x] = matrix[1024 + threadIdx.x];
}

extern "C" __global__ void wrong_bank(float *data) {
  __shared__ float tile[32 * 32];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x * 32];
}

extern "C" __global__ void right_bank(float *data) {
  __shared__ float tile[32 * 33];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x * 33];
}

// 4 * width bytes from lane to lane, whatever that is.
extern "C" __global__ void slow_width(const float *matrix, float *out, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = matrix[i * width];
}

// Rows of a matrix are read, and columns written.
extern "C" __global__ void slow_transpose(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[x * height + y] = in[y * width + x];
}

struct Particle {
  float x, y, z, mass;
  int tags[4];
};

extern "C" __global__ void slow_structures(const Particle *all, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = all[i].mass;
}

// In different banks if the width is odd.
extern "C" __global__ void slow_rows(float *data, int width) {
  __shared__ float tile[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x)
    tile[i] = data[i];
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x * width];
}

extern "C" __global__ void slow_atomic(const int *data, int *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(sum, data[i]);
}

// The lanes follow each other, as long as no index wraps; backwards, too.
extern "C" __global__ void right_index(const float *in, float *out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[n - 1 - i];
}

// Where data say: nothing is known.
extern "C" __global__ void right_gather(const float *in, const int *where, float *out) {
  out[threadIdx.x] = in[where[threadIdx.x]];
}

// One lane of each wave, and one thread of the workgroup.
extern "C" __global__ void right_leaders(int *sums) {
  if ((threadIdx.x & 31) == 0)
    atomicAdd(&sums[0], 1);
  if (blockIdx.x > 0 && threadIdx.x < 1)
    atomicAdd(&sums[1], 1);
}
