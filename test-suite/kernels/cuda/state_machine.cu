// kernels: irreducible_parser, protocol
// A parser with two ways into its loop, and a protocol engine written as switch in a loop with state per thread.
// Divergence: the parser starts inside or outside a comment according to per-thread data: a cycle with two entries and a divergent
// branch before it. `protocol` is reducible; its state variable is divergent from the second round on.
#include "phalanx_cuda.h"

extern "C" __global__ void irreducible_parser(const char *text, const int *start, const bool *in_comment, int *code_bytes) {
  int i = global_index(), code = 0;
  const char *c = text + start[i];
  if (in_comment[i])
    goto comment;
plain:
  if (*c == 0)
    goto end;
  if (*c++ == '#')
    goto comment;
  ++code;
  __threadfence_block(); // an operation that keeps this block a block of its own
  goto plain;
comment:
  if (*c == 0)
    goto end;
  if (*c++ != '\n')
    goto comment;
  goto plain;
end:
  code_bytes[i] = code;
}

enum class State : unsigned char { Idle, Sent, Waiting, Retry, Closed };

extern "C" __global__ void protocol(const unsigned char *events, int *result, int count, int max_retries) {
  int i = global_index(), retries = 0, acknowledged = 0;
  State state = State::Idle;
  for (int k = 0; k < count && state != State::Closed; ++k) {
    unsigned char event = events[k * global_threads() + i];
    switch (state) {
    case State::Idle: state = event & 1 ? State::Sent : State::Idle; break;
    case State::Sent: state = State::Waiting; break;
    case State::Waiting:
      if (event == 2) {
        ++acknowledged;
        state = State::Idle;
      } else if (event == 3)
        state = State::Retry;
      break;
    case State::Retry: state = ++retries > max_retries ? State::Closed : State::Sent; break;
    case State::Closed: break;
    }
  }
  result[i] = state == State::Closed ? -acknowledged : acknowledged;
}
