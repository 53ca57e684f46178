// kernels: library_calls
// The same language without our header: work-item, math and atomic functions stay calls of undefined functions, which is what
// clang emits before a vendor library is linked.
// Divergence: work-item, math and atomic functions are known by name: the work-group id and the size are one for a workgroup.
// All calls are marked convergent: none may be moved into or out of a divergent branch.
kernel void library_calls(global const float *in, global float *out, global atomic_int *ticket, float scale, int n) {
  size_t i = get_global_id(0);
  work_group_barrier(CLK_GLOBAL_MEM_FENCE);
  if (i >= (size_t)n)
    return;
  float v = sin(in[i]) * scale;
  if (get_group_id(0) == 0)
    v = pow(v, 2.5f) + (float)get_local_size(0);
  if (v > 0.5f)
    v += (float)atomic_fetch_add_explicit(ticket, 1, memory_order_relaxed, memory_scope_device);
  out[i] = v;
}
