// kernels: hash_insert, hash_lookup
// Open addressing with linear probing; 64-bit slots hold key and value, inserted by compare-and-swap.
// Divergence: probing loops with two exits each (found, or free slot), of which each lane takes its own in its own round. The
// bound on the number of probes is uniform, and so is that exit on its own; the others make the whole loop's exit divergent.
#include "phalanx_opencl.h"

#define EMPTY 0xffffffffffffffffUL

static uint hash(uint key) {
  key ^= key >> 16;
  key *= 0x7feb352du;
  key ^= key >> 15;
  key *= 0x846ca68bu;
  return key ^ (key >> 16);
}

kernel void hash_insert(global ulong *table, uint mask, global const uint2 *pairs, global int *failed, int n) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  uint2 pair = pairs[i];
  ulong packed = ((ulong)pair.x << 32) | pair.y;
  uint slot = hash(pair.x) & mask;
  for (uint probe = 0; probe <= mask; ++probe) {
    ulong seen = atomic_cmpxchg(&table[slot], EMPTY, packed);
    if (seen == EMPTY || (uint)(seen >> 32) == pair.x)
      return;
    slot = (slot + 1) & mask;
  }
  *failed = 1;
}

kernel void hash_lookup(global const ulong *table, uint mask, global const uint *keys, global uint *values, int n) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  uint key = keys[i], slot = hash(key) & mask, result = 0;
  while (1) {
    ulong entry = table[slot];
    if (entry == EMPTY)
      break;
    if ((uint)(entry >> 32) == key) {
      result = (uint)entry;
      break;
    }
    slot = (slot + 1) & mask;
  }
  values[i] = result;
}
