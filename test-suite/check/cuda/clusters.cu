// PHX009: arrivals at the barrier of a cluster, and waits for it.
#include "phalanx_cuda.h"

extern "C" __global__ void wrong_two_arrivals(float *data, int skip) {
  __nvvm_barrier_cluster_arrive();
  data[threadIdx.x] = 1;
  if (!skip)
    __nvvm_barrier_cluster_wait();
  __nvvm_barrier_cluster_arrive();
  __nvvm_barrier_cluster_wait();
}

extern "C" __global__ void wrong_wait_for_nothing(float *data) {
  __nvvm_barrier_cluster_wait();
  data[threadIdx.x] = 1;
}

// Work that does not need the others goes between the two.
extern "C" __global__ void right_turns(float *data, int rounds) {
  for (int i = 0; i < rounds; i++) {
    __nvvm_barrier_cluster_arrive();
    data[threadIdx.x] += 1;
    __nvvm_barrier_cluster_wait();
  }
}
