// PHX005: which lane is the first depends on a branch.
#include "phalanx_opencl.h"

kernel void wrong_first(global int *data) {
  int t = get_local_id(0), v = data[t];
  if (v & 1)
    v = __builtin_amdgcn_readfirstlane(v);
  data[t] = v;
}

kernel void right_first(global int *data) {
  int t = get_local_id(0), v = data[t];
  v = __builtin_amdgcn_readfirstlane(v);
  data[t] = v;
}
