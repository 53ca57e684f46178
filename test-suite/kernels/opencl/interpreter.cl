// kernels: stack_machine
// A stack machine: every item runs the same byte code on its own input.
// Divergence: byte code and program counter start uniform, so the dispatch switch is uniform until the first conditional jump on
// item data makes the counter divergent: then the switch, all its cases and the loop exit follow. The stack lives in private memory.
#include "phalanx_opencl.h"

enum opcode { HALT, PUSH, INPUT, ADD, SUB, MUL, DUP, SWAP, JUMP, JUMP_IF_ZERO, LESS };

kernel void stack_machine(constant int *code, global const int *input, global int *result, int fuel) {
  int stack[16], top = 0, pc = 0, id = get_global_id(0);
  stack[0] = 0;
  while (fuel-- > 0) {
    int a = stack[top & 15], b = stack[(top - 1) & 15];
    switch (code[pc++]) {
    case HALT: goto done;
    case PUSH: stack[++top & 15] = code[pc++]; break;
    case INPUT: stack[++top & 15] = input[id]; break;
    case ADD: stack[--top & 15] = b + a; break;
    case SUB: stack[--top & 15] = b - a; break;
    case MUL: stack[--top & 15] = b * a; break;
    case LESS: stack[--top & 15] = b < a; break;
    case DUP: stack[++top & 15] = a; break;
    case SWAP:
      stack[top & 15] = b;
      stack[(top - 1) & 15] = a;
      break;
    case JUMP: pc = code[pc]; break;
    case JUMP_IF_ZERO:
      --top;
      pc = a == 0 ? code[pc] : pc + 1;
      break;
    default: top = -1; goto done;
    }
  }
done:
  result[id] = top < 0 ? -1 : stack[top & 15];
}
