// kernels: lex_numbers, irreducible_walk, duff_copy
// State machines with gotos: a small lexer, a cycle with two entries, and a loop entered through a switch.
// Divergence: the lexer's states form one reducible loop nest. `irreducible_walk` enters its cycle at `even` or at `odd` by a
// divergent branch: no header dominates the cycle, so the whole cycle has to be assumed divergent. `duff_copy` jumps into a loop
// body by a *uniform* switch: irreducible, yet every lane takes the same way in.
#include "phalanx_opencl.h"

kernel void lex_numbers(global const char *text, global const int *start, global int *sums) {
  int i = get_global_id(0), sum = 0, number = 0;
  global const char *c = text + start[i];
blank:
  if (*c == 0)
    goto done;
  if (*c >= '0' && *c <= '9')
    goto digit;
  ++c;
  goto blank;
digit:
  number = number * 10 + (*c++ - '0');
  if (*c >= '0' && *c <= '9')
    goto digit;
  sum += number;
  number = 0;
  goto blank;
done:
  sums[i] = sum;
}

kernel void irreducible_walk(global const uint *seed, global uint *steps, global uint *trace, uint limit) {
  int i = get_global_id(0);
  uint n = seed[i], count = 0;
  if (n & 1)
    goto odd;
even:
  trace[count & 63] = n;
  n /= 2;
  if (++count >= limit || n <= 1)
    goto done;
  if ((n & 1) == 0)
    goto even;
odd:
  atomic_add(&trace[64], n);
  n = 3 * n + 1;
  if (++count < limit)
    goto even;
done:
  steps[i] = count;
}

kernel void duff_copy(global const int *in, global int *out, int count) {
  int lane = get_global_id(0), stride = get_global_size(0), rounds = (count + 3) / 4;
  in += lane;
  out += lane;
  if (count <= 0)
    return;
  switch (count & 3) {
    do {
    case 0: *out = *in; in += stride; out += stride; // fall through on purpose
    case 3: *out = *in; in += stride; out += stride;
    case 2: *out = *in; in += stride; out += stride;
    case 1: *out = *in; in += stride; out += stride;
    } while (--rounds > 0);
  }
}
