// A device library in one page: the OpenCL C functions that our kernels call, written with clang's target builtins.
//
// clang alone leaves `get_local_id(0)` as a call of an undefined function, to be linked with the vendor's library. Here the call
// becomes what that library would have inlined (a register read, an intrinsic, an atomic instruction), so that the emitted IR looks
// like what a driver sees. Dimension arguments must be literals. Without this header the kernels are ordinary OpenCL C 2.0.
#ifndef PHALANX_OPENCL_H
#define PHALANX_OPENCL_H

#if defined(__AMDGCN__)
#define PHX_LOCAL_ID(a) __builtin_amdgcn_workitem_id_##a()
#define PHX_GROUP_ID(a) __builtin_amdgcn_workgroup_id_##a()
#define PHX_LOCAL_SIZE(a) ((uint)__builtin_amdgcn_workgroup_size_##a())
#define PHX_NUM_GROUPS(a) (__builtin_amdgcn_grid_size_##a() / PHX_LOCAL_SIZE(a))
#define PHX_FENCE(order) __builtin_amdgcn_fence(order, "workgroup")
#define PHX_BARRIER() (PHX_FENCE(__ATOMIC_RELEASE), __builtin_amdgcn_s_barrier(), PHX_FENCE(__ATOMIC_ACQUIRE))
#elif defined(__NVPTX__)
#define PHX_LOCAL_ID(a) __nvvm_read_ptx_sreg_tid_##a()
#define PHX_GROUP_ID(a) __nvvm_read_ptx_sreg_ctaid_##a()
#define PHX_LOCAL_SIZE(a) ((uint)__nvvm_read_ptx_sreg_ntid_##a())
#define PHX_NUM_GROUPS(a) __nvvm_read_ptx_sreg_nctaid_##a()
#define PHX_BARRIER() __syncthreads()
#else
#error "this header knows amdgcn and nvptx"
#endif

// Literal dimension 0, 1 or 2 to axis x, y or z.
#define PHX_AXIS_0(m) m(x)
#define PHX_AXIS_1(m) m(y)
#define PHX_AXIS_2(m) m(z)
#define get_local_id(d) ((int)PHX_AXIS_##d(PHX_LOCAL_ID))
#define get_group_id(d) ((int)PHX_AXIS_##d(PHX_GROUP_ID))
#define get_local_size(d) ((int)PHX_AXIS_##d(PHX_LOCAL_SIZE))
#define get_num_groups(d) ((int)PHX_AXIS_##d(PHX_NUM_GROUPS))
#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))
#define get_global_size(d) (get_num_groups(d) * get_local_size(d))
#define barrier(flags) PHX_BARRIER()

// Arithmetic, for scalars and vectors alike.
#define min(a, b) __builtin_elementwise_min(a, b)
#define max(a, b) __builtin_elementwise_max(a, b)
#define fabs(a) __builtin_elementwise_abs(a)
#define floor(a) __builtin_elementwise_floor(a)
#define sqrt(a) __builtin_elementwise_sqrt(a)
#define fma(a, b, c) __builtin_elementwise_fma(a, b, c)
#define exp2(a) __builtin_elementwise_exp2(a)
#define popcount(a) __builtin_elementwise_popcount(a)
#define clz(a) __builtin_clz(a)
#define convert_float4(a) __builtin_convertvector(a, float4)
#define convert_int4(a) __builtin_convertvector(a, int4)

// Relaxed read-modify-write on plain integers, device scope for global memory and work-group scope for local memory. All return
// the old value, as in OpenCL 1.2.
#define PHX_ATOMICS(T, space, scope)                                                                                                 \
  static inline T __attribute__((overloadable, always_inline)) phx_add(volatile space T *p, T v) {                                  \
    return __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, scope);                                                                \
  }                                                                                                                                  \
  static inline T __attribute__((overloadable, always_inline)) phx_min(volatile space T *p, T v) {                                  \
    return __scoped_atomic_fetch_min(p, v, __ATOMIC_RELAXED, scope);                                                                \
  }                                                                                                                                  \
  static inline T __attribute__((overloadable, always_inline)) phx_max(volatile space T *p, T v) {                                  \
    return __scoped_atomic_fetch_max(p, v, __ATOMIC_RELAXED, scope);                                                                \
  }                                                                                                                                  \
  static inline T __attribute__((overloadable, always_inline)) phx_or(volatile space T *p, T v) {                                   \
    return __scoped_atomic_fetch_or(p, v, __ATOMIC_RELAXED, scope);                                                                 \
  }                                                                                                                                  \
  static inline T __attribute__((overloadable, always_inline)) phx_xchg(volatile space T *p, T v) {                                 \
    return __scoped_atomic_exchange_n(p, v, __ATOMIC_RELAXED, scope);                                                               \
  }                                                                                                                                  \
  static inline T __attribute__((overloadable, always_inline)) phx_cas(volatile space T *p, T expected, T desired) {                \
    T seen = expected;                                                                                                               \
    __scoped_atomic_compare_exchange_n(p, &seen, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope);                             \
    return seen;                                                                                                                     \
  }
PHX_ATOMICS(int, global, __MEMORY_SCOPE_DEVICE)
PHX_ATOMICS(uint, global, __MEMORY_SCOPE_DEVICE)
PHX_ATOMICS(ulong, global, __MEMORY_SCOPE_DEVICE)
PHX_ATOMICS(int, local, __MEMORY_SCOPE_WRKGRP)
PHX_ATOMICS(uint, local, __MEMORY_SCOPE_WRKGRP)
#undef PHX_ATOMICS
#define atomic_add(p, v) phx_add(p, v)
#define atomic_inc(p) phx_add(p, 1)
#define atomic_min(p, v) phx_min(p, v)
#define atomic_max(p, v) phx_max(p, v)
#define atomic_or(p, v) phx_or(p, v)
#define atomic_xchg(p, v) phx_xchg(p, v)
#define atomic_cmpxchg(p, e, d) phx_cas(p, e, d)

#endif
