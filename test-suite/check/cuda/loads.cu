// PHX040 (with --loads): memory that is only read, and cannot be taken for such.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_aliased(const float *x, float *y) {
  y[threadIdx.x] = 2.0f * x[threadIdx.x];
}

extern "C" __global__ void right_restrict(const float *__restrict__ x, float *__restrict__ y) {
  y[threadIdx.x] = 2.0f * x[threadIdx.x];
}

extern "C" __global__ void right_in_place(float *__restrict__ x) {
  x[threadIdx.x] = 2.0f * x[threadIdx.x];
}

extern "C" __global__ void wrong_kept(const float *__restrict__ x, const float **kept, float *__restrict__ y) {
  *kept = x;
  y[threadIdx.x] = x[threadIdx.x];
}
