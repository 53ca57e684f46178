// kernels: saxpy, axpby_template<float>, axpby_template<double>
// y = a * x + y in a grid-stride loop; the second kernel is a template, so that names are mangled and linkage is weak.
// Divergence: the loop exit is divergent at grid scope and almost always uniform in fact; the choice of the sign by a template
// argument leaves no branch.
#include "phalanx_cuda.h"

extern "C" __global__ void saxpy(const float *__restrict__ x, float *__restrict__ y, float a, int n) {
  for (int i = global_index(); i < n; i += global_threads())
    y[i] = a * x[i] + y[i];
}

template <typename T, bool Negate>
__global__ void axpby_template(const T *x, T *y, T a, T b, int n) {
  int i = global_index();
  if (i >= n)
    return;
  T v = a * x[i] + b * y[i];
  y[i] = Negate ? -v : v;
}
template __global__ void axpby_template<float, false>(const float *, float *, float, float, int);
template __global__ void axpby_template<double, true>(const double *, double *, double, double, int);
