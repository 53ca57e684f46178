// kernels: barrier_option
// Monte Carlo price of a barrier option: random paths in double precision that are knocked out when they cross a level.
// Divergence: a path ends early (divergent exit) or after all steps (uniform exit); the number of living paths is counted by a
// counting barrier in each batch, and the batch loop ends uniformly.
#include "phalanx_cuda.h"

struct Random {
  unsigned long long state;
  __device__ explicit Random(unsigned long long seed) : state(seed * 0x9e3779b97f4a7c15ull | 1) {}
  __device__ double uniform() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545f4914f6cdd1dull >> 11) * 0x1p-53;
  }
  __device__ double normal() { // Irwin-Hall: good enough, and without library calls
    double sum = -6.0;
    for (int k = 0; k < 12; ++k)
      sum += uniform();
    return sum;
  }
};

extern "C" __global__ void barrier_option(double *payoff, double spot, double strike, double level, double drift, double volatility,
                                          int steps, int batches) {
  Random random(global_index() + 1);
  double total = 0.0;
  for (int batch = 0; batch < batches; ++batch) {
    double price = spot;
    int step = 0;
    for (; step < steps; ++step) {
      price *= 1.0 + drift + volatility * random.normal();
      if (price <= level)
        break;
    }
    bool alive = step == steps;
    if (alive && price > strike)
      total += price - strike;
    if (__syncthreads_count(alive) == 0) // uniform in the block
      break;
  }
  payoff[global_index()] = total;
}
