// kernels: match_naive, match_wildcard
// Substring search at every position, and a glob with `*` and `?` by backtracking.
// Divergence: the naive search leaves two nested loops at the first mismatch. The glob's loop has four ways round and three ways
// out, with a backtrack point in registers: loop-carried values that are divergent from the first round on.
#include "phalanx_opencl.h"

kernel void match_naive(global const char *text, constant char *pattern, global int *first, int n, int m) {
  for (int i = get_global_id(0); i + m <= n; i += get_global_size(0)) {
    int k = 0;
    while (k < m && text[i + k] == pattern[k])
      ++k;
    if (k == m) {
      atomic_min(first, i);
      return;
    }
  }
}

kernel void match_wildcard(global const char *text, global const int *start, constant char *glob, global int *matches, int n) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  global const char *s = text + start[i];
  constant char *p = glob, *star = 0;
  global const char *resume = s;
  int ok = 1;
  while (*s) {
    if (*p == '*') {
      star = p++;
      resume = s;
    } else if (*p == '?' || *p == *s) {
      ++p;
      ++s;
    } else if (star) {
      p = star + 1;
      s = ++resume;
    } else {
      ok = 0;
      break;
    }
  }
  while (ok && *p == '*')
    ++p;
  matches[i] = ok && *p == 0;
}
