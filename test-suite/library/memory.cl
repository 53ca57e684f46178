// Atomics and vectors at an index: the interpreter must leave the same memory as the code of the library.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define AT (get_group_id(0) * get_local_size(0) + get_local_id(0))

// Each thread has a place of its own for what was there before, and all have some in common.
kernel void first(global int *out, local int *shared) {
  int t = (int)AT;
  global int *own = out + 32 * t + 32;
  local int *near = shared + 4 * get_local_id(0);
  near[0] = t;
  near[1] = -t;
  for (int i = 0; i < 10; ++i)
    own[i] = 7 * t - 3 * i;
  own[10] = atomic_add(&own[0], t);
  own[11] = atomic_sub(&own[1], 5);
  own[12] = atomic_inc(&own[2]);
  own[13] = atomic_dec(&own[3]);
  own[14] = atomic_min(&own[4], 3);
  own[15] = (int)atomic_max((global uint *)&own[5], 3u);
  own[16] = atomic_and(&own[6], 12);
  own[17] = atomic_or(&own[7], 9);
  own[18] = atomic_xor(&own[8], 5);
  own[19] = atomic_xchg(&own[9], 77);
  own[20] = atomic_cmpxchg(&own[9], 77, t);
  own[21] = atomic_cmpxchg(&own[9], -1, 5);
  own[22] = atomic_min((local uint *)&near[1], 9u);
  own[23] = atomic_max(&near[0], 2);
  own[24] = near[0] + 1000 * near[1];
  atomic_add(&out[0], t + 1);
  atomic_max(&out[1], t * 5 % 7);
  atomic_xor(&out[2], t * 77);
  atom_add((global long *)&out[4], (long)t << 33);
  atom_min((global long *)&out[6], -(long)t);
}

kernel void second(global int *out, local int *shared) {
  int t = (int)AT;
  global int *own = out + 32 * t + 32;
  global atomic_int *a = (global atomic_int *)own;
  global atomic_uint *u = (global atomic_uint *)own;
  for (int i = 0; i < 8; ++i)
    atomic_init(&a[i], 5 * t - 2 * i);
  own[10] = atomic_fetch_add(&a[0], 3);
  own[11] = atomic_fetch_sub_explicit(&a[0], t, memory_order_relaxed);
  own[12] = atomic_fetch_min_explicit(&a[1], 4, memory_order_acq_rel, memory_scope_work_group);
  own[13] = (int)atomic_fetch_max(&u[1], 4u);
  own[14] = atomic_fetch_and(&a[2], 14);
  own[15] = atomic_fetch_or_explicit(&a[2], 65, memory_order_release, memory_scope_device);
  own[16] = atomic_fetch_xor(&a[2], t);
  own[17] = atomic_exchange_explicit(&a[3], 99, memory_order_seq_cst);
  own[18] = atomic_load_explicit(&a[3], memory_order_acquire);
  atomic_store(&a[4], t * t);
  int expected = t % 2 ? 99 : 98;
  own[19] = atomic_compare_exchange_strong(&a[3], &expected, t);
  own[20] = expected;
  own[21] = atomic_load(&a[3]);
  local atomic_int *all = (local atomic_int *)shared;
  if (get_local_id(0) == 0)
    atomic_init(all, 0);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_fetch_add_explicit(all, t, memory_order_relaxed, memory_scope_work_group);
  barrier(CLK_LOCAL_MEM_FENCE);
  own[22] = atomic_load(all);
}

kernel void vectors(global int *out, global float *floats) {
  int t = (int)AT;
  global int *own = out + 64 * t;
  global uchar *bytes = (global uchar *)own;
  global float *f = floats + 32 * t;
  for (int i = 0; i < 32; ++i)
    own[i] = 1103515 * (t + 1) * (i + 1);
  vstore2(vload2(3, own).yx, 16, own);
  vstore3(vload3(2, own).zxy, 12, own);
  vstore4(vload4(1, own) + vload4(0, own), 10, own);
  vstore8(vload8(1, bytes).s76543210, 22, bytes);
  vstore16(vload16(2, (global ushort *)own).s1032547698badcfe, 6, (global ushort *)own);
  vstore2(vload2(0, (global long *)own), 14, (global long *)own);
  for (int i = 0; i < 8; ++i)
    f[i] = (0.1f * t - 1.0f) * (i + 1) + (i == 7 ? 60000.0f * t : 0.0f);
  vstore4(vload4(0, f).wzyx, 2, f);
  int few[4] = {t, 2 * t, 3 * t, 4 * t};
  vstore2(vload2(1, few), 31, own);
}

kernel void halves(global int *out, global float *floats) {
  int t = (int)AT;
  global half *h = (global half *)(out + 64 * t);
  global float *f = floats + 32 * t;
  for (int i = 0; i < 8; ++i)
    f[i] = (0.37f * t - 1.3f) * (i + 1) + (i == 7 ? 30000.0f * t : 0.0f);
  vstore_half(f[0], 0, h);
  vstore_half_rte(f[1], 1, h);
  vstore_half_rtz(f[2], 2, h);
  vstore_half_rtp(f[3], 3, h);
  vstore_half_rtn(f[4], 4, h);
  vstore_half4(vload4(1, f), 2, h);
  vstore_half3_rtz(vload3(0, f), 4, h);
  vstorea_half3(vload3(1, f), 5, h);
  vstorea_half4_rtn(vload4(1, f), 6, h);
  vstore_half8_rtp(vload8(0, f), 4, h);
  f[8] = vload_half(2, h);
  vstore4(vload_half4(2, h), 3, f);
  vstore3(vload_half3(4, h), 6, f);
  vstore3(vloada_half3(5, h), 8, f);
}
