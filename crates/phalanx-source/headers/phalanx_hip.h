// The part of phalanx_device.h that is AMD's.
#pragma once
#pragma GCC system_header

// The packet that launched the kernel has the sizes, as clang's OpenCL library reads them.
#define PHX_PACKET ((const __attribute__((address_space(4))) unsigned short *)__builtin_amdgcn_dispatch_ptr())
#define PHX_GRID ((const __attribute__((address_space(4))) unsigned *)__builtin_amdgcn_dispatch_ptr())
PHX_INDEX(PhxThreadIdx, threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
PHX_INDEX(PhxBlockIdx, blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
PHX_INDEX(PhxBlockDim, blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z())
PHX_INDEX(PhxGridDim, gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
          __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
#define warpSize __builtin_amdgcn_wavefrontsize()

// Barriers, fences, votes and shuffles, as HIP's own headers make them.
PHX_FN void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
PHX_FN void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
PHX_FN void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
PHX_FN void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
PHX_FN unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0)); }
PHX_FN unsigned long __ballot(int p) { return __builtin_amdgcn_ballot_w64(p); }
PHX_FN int __any(int p) { return __ballot(p) != 0; }
PHX_FN int __all(int p) { return __ballot(!p) == 0; }
PHX_FN unsigned long __activemask() { return __ballot(true); }
PHX_FN int PhxFrom(int v, int lane) { return __builtin_amdgcn_ds_bpermute(lane << 2, v); }
template <typename T> PHX_FN T PhxRead(T v, int lane) {
  union { T v; int words[(sizeof(T) + 3) / 4]; } all = {v};
  for (unsigned i = 0; i < (sizeof(T) + 3) / 4; ++i) all.words[i] = PhxFrom(all.words[i], lane);
  return all.v;
}
template <typename T> PHX_FN T __shfl(T v, int lane, int width = warpSize) {
  return PhxRead(v, (lane & (width - 1)) + (__lane_id() & ~(width - 1)));
}
template <typename T> PHX_FN T __shfl_up(T v, unsigned by, int width = warpSize) {
  int self = __lane_id(), from = self - by;
  return PhxRead(v, from < (self & ~(width - 1)) ? self : from);
}
template <typename T> PHX_FN T __shfl_down(T v, unsigned by, int width = warpSize) {
  int self = __lane_id();
  return PhxRead(v, (self & (width - 1)) + (int)by >= width ? self : self + (int)by);
}
template <typename T> PHX_FN T __shfl_xor(T v, int with, int width = warpSize) {
  int self = __lane_id(), from = self ^ with;
  return PhxRead(v, from >= ((self + width) & ~(width - 1)) ? self : from);
}
PHX_FN int __popc(unsigned v) { return __builtin_popcount(v); }
PHX_FN int __popcll(unsigned long v) { return __builtin_popcountl(v); }
PHX_FN int __ffs(unsigned v) { return __builtin_ffs(v); }
PHX_FN int __ffsll(unsigned long v) { return __builtin_ffsl(v); }
PHX_FN int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }

// Mathematics: functions of AMD's device library, which are known by name.
#define PHX_MATH(name)                                                                                           \
  extern "C" __attribute__((device, const)) float __ocml_##name##_f32(float);                                    \
  extern "C" __attribute__((device, const)) double __ocml_##name##_f64(double);                                  \
  PHX_FN float name##f(float v) { return __ocml_##name##_f32(v); }                                               \
  PHX_FN double name(double v) { return __ocml_##name##_f64(v); }                                                \
  PHX_FN float name(float v) { return __ocml_##name##_f32(v); }
PHX_MATH(sin) PHX_MATH(cos) PHX_MATH(tan) PHX_MATH(exp) PHX_MATH(exp2) PHX_MATH(log) PHX_MATH(log2) PHX_MATH(log10)
PHX_MATH(sqrt) PHX_MATH(rsqrt) PHX_MATH(fabs) PHX_MATH(floor) PHX_MATH(ceil) PHX_MATH(trunc) PHX_MATH(round)
PHX_MATH(tanh) PHX_MATH(sinh) PHX_MATH(cosh) PHX_MATH(atan) PHX_MATH(asin) PHX_MATH(acos) PHX_MATH(erf)
#undef PHX_MATH
#define PHX_MATH2(name)                                                                                          \
  extern "C" __attribute__((device, const)) float __ocml_##name##_f32(float, float);                             \
  extern "C" __attribute__((device, const)) double __ocml_##name##_f64(double, double);                          \
  PHX_FN float name##f(float a, float b) { return __ocml_##name##_f32(a, b); }                                   \
  PHX_FN double name(double a, double b) { return __ocml_##name##_f64(a, b); }                                   \
  PHX_FN float name(float a, float b) { return __ocml_##name##_f32(a, b); }
PHX_MATH2(pow) PHX_MATH2(fmin) PHX_MATH2(fmax) PHX_MATH2(fmod) PHX_MATH2(atan2)
#undef PHX_MATH2
PHX_FN float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
PHX_FN float __expf(float v) { return expf(v); }
PHX_FN float __logf(float v) { return logf(v); }
template <typename T> PHX_FN T __ldg(const T *p) { return *p; }

// The host's functions under HIP's names.
typedef cudaError_t hipError_t;
typedef cudaStream_t hipStream_t;
typedef cudaEvent_t hipEvent_t;
#define hipSuccess cudaSuccess
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemcpy cudaMemcpy
#define hipMemset cudaMemset
#define hipMemcpyAsync cudaMemcpyAsync
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipMemcpyDeviceToDevice cudaMemcpyDeviceToDevice
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipGetLastError cudaGetLastError
#define hipGetErrorString cudaGetErrorString
#define hipStreamCreate cudaStreamCreate
#define hipStreamDestroy cudaStreamDestroy
#define hipStreamSynchronize cudaStreamSynchronize
#define hipMallocManaged cudaMallocManaged
#define hipHostMalloc cudaHostAlloc
#define hipHostFree cudaFreeHost
#define hipMallocAsync cudaMallocAsync
#define hipFreeAsync cudaFreeAsync
#define hipMemsetAsync cudaMemsetAsync
#define hipMemcpyToSymbol cudaMemcpyToSymbol
#define hipMemcpyFromSymbol cudaMemcpyFromSymbol
#define hipGetSymbolAddress cudaGetSymbolAddress
#define HIP_SYMBOL(symbol) symbol
typedef cudaMemcpyKind hipMemcpyKind;
#define hipMemcpyHostToHost cudaMemcpyHostToHost
#define hipMemcpyDefault cudaMemcpyDefault
#define hipPeekAtLastError cudaPeekAtLastError
#define hipGetErrorName cudaGetErrorName
#define hipSetDevice cudaSetDevice
#define hipGetDevice cudaGetDevice
#define hipGetDeviceCount cudaGetDeviceCount
#define hipGetDeviceProperties cudaGetDeviceProperties
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDeviceReset cudaDeviceReset
#define hipFuncSetAttribute cudaFuncSetAttribute
#define hipEventCreate cudaEventCreate
#define hipEventDestroy cudaEventDestroy
#define hipEventRecord cudaEventRecord
#define hipEventSynchronize cudaEventSynchronize
#define hipEventElapsedTime cudaEventElapsedTime
#define hipOccupancyMaxPotentialBlockSize cudaOccupancyMaxPotentialBlockSize
#define hipLaunchCooperativeKernel cudaLaunchCooperativeKernel
struct hipDeviceProp_t : cudaDeviceProp {
  char gcnArchName[256];
  int managedMemory, cooperativeLaunch;
  size_t maxSharedMemoryPerMultiProcessor;
};
enum { hipHostMallocDefault = 0, hipHostMallocPortable = 1, hipHostMallocMapped = 2, hipHostMallocNonCoherent = 4 };
#define hipStreamDefault 0
enum { hipStreamNonBlocking = 1, hipDeviceAttributeCooperativeLaunch = 95 };
#define PHX_HIP(name) template <typename... T> hipError_t name(T...);
PHX_HIP(hipEventCreateWithFlags) PHX_HIP(hipStreamCreateWithFlags) PHX_HIP(hipStreamWaitEvent) PHX_HIP(hipStreamQuery)
PHX_HIP(hipHostRegister) PHX_HIP(hipHostUnregister) PHX_HIP(hipHostGetDevicePointer) PHX_HIP(hipMemcpy2D)
PHX_HIP(hipModuleLoad) PHX_HIP(hipModuleGetFunction) PHX_HIP(hipModuleUnload) PHX_HIP(hipModuleLaunchKernel)
PHX_HIP(hipMemGetInfo)
#undef PHX_HIP
template <typename F, typename... T> hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *, F, T...);
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
