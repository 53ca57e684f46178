// kernels: pipeline_rounds, producer_consumer
// Cooperation through barriers: rounds of a red-black relaxation, and two halves of a group with different roles.
// Divergence: in `pipeline_rounds` the barrier is in a loop whose exit is decided by a value that every item reads from the same
// place after a barrier. In `producer_consumer` the roles branch on the local id, but each round's barrier is outside the branch.
#include "phalanx_opencl.h"

#define GROUP 128

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void pipeline_rounds(global float *data, float tolerance, int limit) {
  local float line[GROUP + 2];
  local int busy;
  int t = get_local_id(0), at = t + 1;
  line[at] = data[get_global_id(0)];
  if (t == 0)
    line[0] = line[GROUP + 1] = 0.0f;
  for (int round = 0; round < limit; ++round) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t == 0)
      busy = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int colour = 0; colour < 2; ++colour) {
      if ((t & 1) == colour) {
        float next = 0.5f * (line[at - 1] + line[at + 1]);
        if (fabs(next - line[at]) > tolerance)
          busy = 1;
        line[at] = next;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (!busy)
      break;
  }
  data[get_global_id(0)] = line[at];
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void producer_consumer(global const int *in, global int *out, int rounds) {
  local int queue[2][GROUP / 2];
  int t = get_local_id(0), half_id = t & (GROUP / 2 - 1), sum = 0;
  for (int r = 0; r <= rounds; ++r) {
    if (t < GROUP / 2) {
      if (r < rounds)
        queue[r & 1][half_id] = in[(get_group_id(0) * rounds + r) * (GROUP / 2) + half_id];
    } else if (r > 0) {
      sum += queue[(r - 1) & 1][GROUP / 2 - 1 - half_id];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t >= GROUP / 2)
    out[get_group_id(0) * (GROUP / 2) + half_id] = sum;
}
