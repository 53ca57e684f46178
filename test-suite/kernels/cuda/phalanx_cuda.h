// The part of the CUDA language that our kernels use, in one page, written with clang's builtins: no CUDA SDK is needed.
//
// clang knows the attributes and the PTX builtins; only their usual names are missing when `-nocudainc` is given.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))

// threadIdx.x and its kin: properties without storage, each read of which is one read of a special register.
#define PHX_REGISTER(type, name)                                                                         \
  struct type {                                                                                          \
    static __device__ __forceinline__ unsigned get_x() { return __nvvm_read_ptx_sreg_##name##_x(); }     \
    static __device__ __forceinline__ unsigned get_y() { return __nvvm_read_ptx_sreg_##name##_y(); }     \
    static __device__ __forceinline__ unsigned get_z() { return __nvvm_read_ptx_sreg_##name##_z(); }     \
    __declspec(property(get = get_x)) unsigned x;                                                        \
    __declspec(property(get = get_y)) unsigned y;                                                        \
    __declspec(property(get = get_z)) unsigned z;                                                        \
  };
namespace phx {
PHX_REGISTER(ThreadIdx, tid)
PHX_REGISTER(BlockIdx, ctaid)
PHX_REGISTER(BlockDim, ntid)
PHX_REGISTER(GridDim, nctaid)
}
#undef PHX_REGISTER
#define threadIdx (phx::ThreadIdx{})
#define blockIdx (phx::BlockIdx{})
#define blockDim (phx::BlockDim{})
#define gridDim (phx::GridDim{})
#define warpSize 32

#define PHX_FN static __device__ __forceinline__

// Where a thread is.
PHX_FN unsigned lane_id() { return __nvvm_read_ptx_sreg_laneid(); }
PHX_FN unsigned lanes_below() { return __nvvm_read_ptx_sreg_lanemask_lt(); }
PHX_FN int global_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
PHX_FN int global_threads() { return gridDim.x * blockDim.x; }

// Warp votes, matches, shuffles, reductions.
PHX_FN unsigned __activemask() { return __nvvm_activemask(); }
PHX_FN unsigned __ballot_sync(unsigned mask, bool p) { return __nvvm_vote_ballot_sync(mask, p); }
PHX_FN bool __any_sync(unsigned mask, bool p) { return __nvvm_vote_any_sync(mask, p); }
PHX_FN bool __all_sync(unsigned mask, bool p) { return __nvvm_vote_all_sync(mask, p); }
PHX_FN unsigned __match_any_sync(unsigned mask, unsigned v) { return __nvvm_match_any_sync_i32(mask, v); }
PHX_FN int __shfl_sync(unsigned mask, int v, int lane) { return __nvvm_shfl_sync_idx_i32(mask, v, lane, 31); }
PHX_FN int __shfl_up_sync(unsigned mask, int v, int by) { return __nvvm_shfl_sync_up_i32(mask, v, by, 0); }
PHX_FN int __shfl_down_sync(unsigned mask, int v, int by) { return __nvvm_shfl_sync_down_i32(mask, v, by, 31); }
PHX_FN int __shfl_xor_sync(unsigned mask, int v, int with) { return __nvvm_shfl_sync_bfly_i32(mask, v, with, 31); }
PHX_FN float __shfl_down_sync(unsigned mask, float v, int by) { return __nvvm_shfl_sync_down_f32(mask, v, by, 31); }
PHX_FN float __shfl_xor_sync(unsigned mask, float v, int with) { return __nvvm_shfl_sync_bfly_f32(mask, v, with, 31); }
PHX_FN int __reduce_add_sync(unsigned mask, int v) { return __nvvm_redux_sync_add(v, mask); }
PHX_FN unsigned __reduce_or_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_or(v, mask); }
PHX_FN void __syncwarp(unsigned mask = ~0u) { __nvvm_bar_warp_sync(mask); }

// Block barriers (`__syncthreads` itself is a clang builtin) and fences.
PHX_FN int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
PHX_FN int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
PHX_FN int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
PHX_FN void __threadfence() { __nvvm_membar_gl(); }
PHX_FN void __threadfence_block() { __nvvm_membar_cta(); }

// Relaxed atomics at device scope; all return the old value.
template <typename T> PHX_FN T atomicAdd(T *p, T v) {
  return __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <typename T> PHX_FN T atomicMin(T *p, T v) {
  return __scoped_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <typename T> PHX_FN T atomicExch(T *p, T v) {
  return __scoped_atomic_exchange_n(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <typename T> PHX_FN T atomicCAS(T *p, T expected, T desired) {
  __scoped_atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  return expected;
}
PHX_FN unsigned atomicInc(unsigned *p, unsigned limit) { return __nvvm_atom_inc_gen_ui(p, limit); }

// Loads through the read-only path.
PHX_FN float __ldg(const float *p) { return __nvvm_ldg_f(p); }
PHX_FN int __ldg(const int *p) { return __nvvm_ldg_i(p); }

// Arithmetic.
PHX_FN int min(int a, int b) { return __builtin_elementwise_min(a, b); }
PHX_FN int max(int a, int b) { return __builtin_elementwise_max(a, b); }
PHX_FN int __popc(unsigned v) { return __builtin_popcount(v); }
PHX_FN int __ffs(unsigned v) { return __builtin_ffs(v); }
PHX_FN int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
PHX_FN float sqrtf(float v) { return __nvvm_sqrt_rn_f(v); }
PHX_FN float rsqrtf(float v) { return __nvvm_rsqrt_approx_f(v); }
PHX_FN float fabsf(float v) { return __builtin_fabsf(v); }

#undef PHX_FN
