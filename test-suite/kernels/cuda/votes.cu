// kernels: any_negative, leader_compact, match_groups, ballot_loop
// Warp votes: any, all, ballot, match, the active mask, and a loop run by ballots.
// Divergence: votes make uniform values of divergent ones, so branches on them are uniform at warp scope. In `ballot_loop` the
// loop's own exit is a vote and therefore uniform, while each round serves the lanes of one leader under a divergent branch.
#include "phalanx_cuda.h"

extern "C" __global__ void any_negative(const float *in, float *out, int *flags) {
  float v = in[global_index()];
  if (__any_sync(~0u, v < 0.0f)) {
    if (lane_id() == 0)
      flags[global_index() / warpSize] = 1;
    v = fabsf(v);
  }
  if (!__all_sync(~0u, v == 0.0f))
    out[global_index()] = v;
}

extern "C" __global__ void leader_compact(const int *in, int *out, int *total, int n) {
  int i = global_index();
  if (i >= n || in[i] == 0)
    return;
  unsigned active = __activemask(); // lanes that came here together: uniform among them
  int leader = __ffs(active) - 1, base = 0;
  if ((int)lane_id() == leader)
    base = atomicAdd(total, __popc(active));
  base = __shfl_sync(active, base, leader);
  out[base + __popc(active & lanes_below())] = in[i];
}

extern "C" __global__ void match_groups(const unsigned *keys, int *size) {
  unsigned peers = __match_any_sync(~0u, keys[global_index()]); // uniform among peers only
  size[global_index()] = __popc(peers);
}

extern "C" __global__ void ballot_loop(const int *keys, int *rounds, int *out) {
  int key = keys[global_index()], round = 0;
  bool waiting = true;
  unsigned left;
  while ((left = __ballot_sync(~0u, waiting)) != 0) {
    int served = __shfl_sync(~0u, key, __ffs(left) - 1);
    if (waiting && key == served) {
      out[global_index()] = round;
      waiting = false;
    }
    ++round;
  }
  rounds[global_index() / warpSize] = round;
}
