// kernels: wave_compact, waterfall, lane_exchange, wave_uniform_branch
// Cross-lane operations of the AMDGPU wave: ballots, first-lane reads, lane counts, permutes, swizzles and DPP moves.
// Divergence: ballot and readfirstlane give wave-uniform results from divergent inputs. `waterfall` is the loop that serves one
// distinct value per round and leaves lane by lane: its exit is divergent, the value it serves is uniform within a round.
#include "phalanx_opencl.h"

static uint lane(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }

kernel void wave_compact(global const int *in, global int *out, global int *total, int threshold) {
  int v = in[get_global_id(0)], base = 0;
  bool keep = v > threshold;
  ulong kept = __builtin_amdgcn_ballot_w64(keep);
  if (lane() == 0)
    base = atomic_add(total, (int)popcount(kept));
  base = __builtin_amdgcn_readfirstlane(base);
  uint below = __builtin_amdgcn_mbcnt_hi((uint)(kept >> 32), __builtin_amdgcn_mbcnt_lo((uint)kept, 0u));
  if (keep)
    out[base + (int)below] = v;
}

kernel void waterfall(global const int *selector, global const int *table, global int *out) {
  int id = get_global_id(0), mine = selector[id], result = 0;
  while (1) {
    int served = __builtin_amdgcn_readfirstlane(mine);
    if (served == mine) {
      result = table[served]; // a uniform address: a scalar load
      break;
    }
  }
  out[id] = result;
}

kernel void lane_exchange(global const int *in, global int *out) {
  int id = get_global_id(0), v = in[id];
  int turned = __builtin_amdgcn_ds_bpermute((int)(((lane() + 1) & 63) << 2), v);
  int pushed = __builtin_amdgcn_ds_permute((int)((lane() ^ 5) << 2), v);
  int swizzled = __builtin_amdgcn_ds_swizzle(v, 0x041f);
  int shifted = __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, true);
  int last = __builtin_amdgcn_readlane(v, 63);
  __builtin_amdgcn_wave_barrier();
  out[id] = turned + pushed + swizzled + shifted + last;
}

kernel void wave_uniform_branch(global const uint *in, global uint *out) {
  uint wave = (uint)get_local_id(0) >> 6, v = in[get_global_id(0)];
  if (__builtin_amdgcn_ballot_w64(v == 0) == ~0ul) // the whole wave sees zeros: a uniform branch
    return;
  if (wave == 1) // uniform within a wave, not within the group
    v = __builtin_amdgcn_ubfe(v, 4, 8);
  out[get_global_id(0)] = v + __builtin_amdgcn_sad_u8(v, wave, 1u);
}
