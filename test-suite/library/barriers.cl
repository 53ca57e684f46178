// Barriers at which not all of a workgroup arrive, and twins at which all do: the library says who is who.
kernel void in_branch(global int *out) {
  size_t t = get_local_id(0);
  if (t < 16)
    barrier(CLK_LOCAL_MEM_FENCE); // mistake
  out[get_global_id(0)] = (int)t;
}

kernel void by_group(global int *out) {
  if (get_group_id(0) < 4)
    barrier(CLK_LOCAL_MEM_FENCE); // fine: all of a workgroup or none
  out[get_global_id(0)] = (int)get_local_size(0);
}

kernel void by_dimension(global int *out, uint d) {
  if (get_local_id(d) == 0)
    work_group_barrier(CLK_GLOBAL_MEM_FENCE); // mistake, along whichever dimension
  out[get_global_id(0)] = (int)get_num_groups(0);
}

kernel void in_loop(global int *out, int n) {
  for (int i = 0; i < n; ++i)
    barrier(CLK_LOCAL_MEM_FENCE); // fine
  for (int i = 0; i < (int)get_local_id(1); ++i)
    barrier(CLK_LOCAL_MEM_FENCE); // mistake
  out[get_global_id(0)] = n;
}

kernel void math(global float *out, float x) {
  float y = sqrt(fabs(x)) + pow(x, 2.5f);
  if (y > 1.0f)
    barrier(CLK_LOCAL_MEM_FENCE); // fine: the same number in all threads
  float z = sin((float)get_local_id(0));
  if (z > 0.5f)
    barrier(CLK_LOCAL_MEM_FENCE); // mistake
  out[get_global_id(0)] = y + z;
}
