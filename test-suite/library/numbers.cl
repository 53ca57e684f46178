// What threads are told of where they are, and numbers that libraries compute exactly: both forms must leave the same memory.
// Not by get_global_id: libclc looks for where the grid begins where today's drivers have something else.
#define AT(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))

kernel void places(global int *out) {
  global int *own = out + 8 * (AT(0) + get_global_size(0) * AT(1));
  own[0] = (int)get_local_id(0) + 100 * (int)get_local_id(1);
  own[1] = (int)get_group_id(0) + 100 * (int)get_group_id(1);
  own[2] = (int)get_local_size(0) + 100 * (int)get_local_size(1);
  own[3] = (int)get_num_groups(0) + 100 * (int)get_num_groups(1);
  own[4] = (int)get_global_size(0) + 100 * (int)get_global_size(1);
  own[5] = (int)get_local_id(3) + 100 * (int)get_local_size(3);
}

kernel void numbers(global int *out, global float *floats) {
  int t = (int)get_local_id(0);
  uint u = (uint)t * 1103515245u + 12345u;
  int s = (int)u;
  global int *own = out + 8 * AT(0);
  own[0] = min(s, -7);
  own[1] = (int)min(u, 7u);
  own[2] = max(s, -7);
  own[3] = (int)max(u, 7u);
  own[4] = popcount(s);
  own[5] = mul_hi(s, 12345);
  own[6] = (int)mul_hi(u, 12345u);
  floats[4 * AT(0)] = sqrt((float)t) + floor(0.3f * t) + fabs(-1.5f * t);
  floats[4 * AT(0) + 1] = fmin(0.25f * t, 2.0f) + fmax(0.25f * t, 2.0f) + ceil(0.3f * t);
}

kernel void neighbours(global int *out, local int *shared) {
  int t = (int)get_local_id(0), n = (int)get_local_size(0);
  shared[t] = t * t;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[AT(0)] = shared[(t + 1) % n];
}
