// The part of phalanx_device.h that is NVIDIA's.
#pragma once
#pragma GCC system_header

PHX_INDEX(PhxThreadIdx, threadIdx, __nvvm_read_ptx_sreg_tid_x(), __nvvm_read_ptx_sreg_tid_y(), __nvvm_read_ptx_sreg_tid_z())
PHX_INDEX(PhxBlockIdx, blockIdx, __nvvm_read_ptx_sreg_ctaid_x(), __nvvm_read_ptx_sreg_ctaid_y(), __nvvm_read_ptx_sreg_ctaid_z())
PHX_INDEX(PhxBlockDim, blockDim, __nvvm_read_ptx_sreg_ntid_x(), __nvvm_read_ptx_sreg_ntid_y(), __nvvm_read_ptx_sreg_ntid_z())
PHX_INDEX(PhxGridDim, gridDim, __nvvm_read_ptx_sreg_nctaid_x(), __nvvm_read_ptx_sreg_nctaid_y(), __nvvm_read_ptx_sreg_nctaid_z())
#define warpSize 32

// Clang's wrappers of libdevice, then of instructions: they need no toolkit.
#define CUDA_VERSION 12080
typedef unsigned cuuint32_t;
#ifndef __THROW
#define __THROW
#endif
#pragma push_macro("INT_MAX")
#pragma push_macro("INT_MIN")
#pragma push_macro("HUGE_VAL")
#pragma push_macro("HUGE_VALF")
#undef INT_MAX
#undef INT_MIN
#undef HUGE_VAL
#undef HUGE_VALF
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>
#pragma pop_macro("INT_MAX")
#pragma pop_macro("INT_MIN")
#pragma pop_macro("HUGE_VAL")
#pragma pop_macro("HUGE_VALF")
#define PHX_IS(name, builtin) static inline __device__ unsigned name(const void *p) { return builtin(p); }
PHX_IS(__isGlobal, __nvvm_isspacep_global)
PHX_IS(__isShared, __nvvm_isspacep_shared)
PHX_IS(__isConstant, __nvvm_isspacep_const)
PHX_IS(__isLocal, __nvvm_isspacep_local)
#undef PHX_IS
static inline __device__ size_t __cvta_generic_to_shared(const void *p) {
  return (size_t)(__attribute__((address_space(3))) const void *)p;
}
#include <__clang_cuda_intrinsics.h>

template <typename T> PHX_FN unsigned __match_any_sync(unsigned mask, T v) {
  if constexpr (sizeof(T) == 8) return __nvvm_match_any_sync_i64(mask, __builtin_bit_cast(long long, v));
  else return __nvvm_match_any_sync_i32(mask, __builtin_bit_cast(int, v));
}
PHX_FN unsigned atomicInc(unsigned *p, unsigned limit) { return __nvvm_atom_inc_gen_ui(p, limit); }
PHX_FN unsigned atomicDec(unsigned *p, unsigned limit) { return __nvvm_atom_dec_gen_ui(p, limit); }
