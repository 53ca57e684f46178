// What ordinary kernels in CUDA and HIP need where no toolkit is installed: attributes, indices, vector types, barriers,
// shuffles, votes, atomics, mathematics, printf, and as much of the host's functions as lets a file with a `main` be read.
// It is included ahead of the source, and written for clang, whose own headers have the wrappers of NVIDIA's instructions.
#pragma once
#pragma GCC system_header

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __maxnreg__(n)
#define __cluster_dims__(...)

// What a toolkit's headers include, where the host has it.
#if __has_include(<assert.h>) && __has_include(<math.h>) && __has_include(<stdlib.h>)
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#endif

typedef decltype(sizeof(0)) size_t;
typedef __UINTPTR_TYPE__ uintptr_t;
extern "C" __attribute__((device)) int printf(const char *, ...);
extern "C" __attribute__((device)) void __assert_fail(const char *, const char *, unsigned, const char *);

#define PHX_ALL static inline __attribute__((device, host, always_inline))
#define PHX_FN static inline __attribute__((device, always_inline))

// Vectors.
#define PHX_VECTOR(type, name, bytes)                                                                            \
  struct name##1 { type x; };                                                                                    \
  struct __attribute__((aligned(2 * bytes))) name##2 { type x, y; };                                             \
  struct name##3 { type x, y, z; };                                                                              \
  struct __attribute__((aligned(4 * bytes > 16 ? 16 : 4 * bytes))) name##4 { type x, y, z, w; };                 \
  PHX_ALL name##1 make_##name##1(type x) { return {x}; }                                                         \
  PHX_ALL name##2 make_##name##2(type x, type y) { return {x, y}; }                                              \
  PHX_ALL name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                                   \
  PHX_ALL name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
PHX_VECTOR(signed char, char, 1)
PHX_VECTOR(unsigned char, uchar, 1)
PHX_VECTOR(short, short, 2)
PHX_VECTOR(unsigned short, ushort, 2)
PHX_VECTOR(int, int, 4)
PHX_VECTOR(unsigned int, uint, 4)
PHX_VECTOR(long, long, 8)
PHX_VECTOR(unsigned long, ulong, 8)
PHX_VECTOR(long long, longlong, 8)
PHX_VECTOR(unsigned long long, ulonglong, 8)
PHX_VECTOR(float, float, 4)
PHX_VECTOR(double, double, 8)
struct dim3 {
  unsigned x, y, z;
  __attribute__((device, host)) constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  __attribute__((device, host)) constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __attribute__((device, host)) operator uint3() const { return {x, y, z}; }
};

// Where a thread is: each read of a property is one read of a register.
#define PHX_INDEX(type, name, X, Y, Z)                                                                           \
  struct type {                                                                                                  \
    static PHX_MEMBER unsigned get_x() { return X; }                                                             \
    static PHX_MEMBER unsigned get_y() { return Y; }                                                             \
    static PHX_MEMBER unsigned get_z() { return Z; }                                                             \
    __declspec(property(get = get_x)) unsigned x;                                                                \
    __declspec(property(get = get_y)) unsigned y;                                                                \
    __declspec(property(get = get_z)) unsigned z;                                                                \
    PHX_MEMBER operator uint3() const { return {X, Y, Z}; }                                                      \
    PHX_MEMBER operator dim3() const { return {X, Y, Z}; }                                                       \
  };                                                                                                             \
  extern const __attribute__((device, weak)) type name;
#define PHX_MEMBER __attribute__((device, always_inline))

// The host's functions: a file that launches its kernels is read as a whole.
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorNotReady = 600 };
typedef cudaError cudaError_t;
typedef struct PhxStream *cudaStream_t;
typedef struct PhxEvent *cudaEvent_t;
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, totalConstMem, memPitch, textureAlignment;
  int major, minor, warpSize, multiProcessorCount, maxThreadsPerBlock, maxThreadsPerMultiProcessor, clockRate, regsPerBlock;
  int deviceOverlap, integrated, canMapHostMemory, computeMode, concurrentKernels, l2CacheSize, memoryBusWidth, memoryClockRate;
  int maxThreadsDim[3], maxGridSize[3];
};
#define PHX_HOST(name) cudaError_t name(...);
#define PHX_HOST_TYPED(name) template <typename... T> cudaError_t name(T...);
PHX_HOST_TYPED(cudaMalloc) PHX_HOST_TYPED(cudaMallocManaged) PHX_HOST_TYPED(cudaMallocHost) PHX_HOST_TYPED(cudaHostAlloc)
PHX_HOST_TYPED(cudaFree) PHX_HOST_TYPED(cudaFreeHost) PHX_HOST_TYPED(cudaMemset) PHX_HOST_TYPED(cudaMemsetAsync)
PHX_HOST_TYPED(cudaMemcpy) PHX_HOST_TYPED(cudaMemcpyAsync) PHX_HOST_TYPED(cudaMallocAsync) PHX_HOST_TYPED(cudaFreeAsync)
template <typename S, typename... T> cudaError_t cudaMemcpyToSymbol(S &, T...);
template <typename S, typename... T> cudaError_t cudaMemcpyToSymbolAsync(S &, T...);
template <typename D, typename S, typename... T> cudaError_t cudaMemcpyFromSymbol(D, S &, T...);
template <typename P, typename S> cudaError_t cudaGetSymbolAddress(P, S &);
PHX_HOST_TYPED(cudaThreadSynchronize) PHX_HOST_TYPED(cudaThreadExit)
PHX_HOST_TYPED(cudaDeviceSynchronize) PHX_HOST_TYPED(cudaGetLastError) PHX_HOST_TYPED(cudaPeekAtLastError)
PHX_HOST_TYPED(cudaSetDevice) PHX_HOST_TYPED(cudaGetDevice) PHX_HOST_TYPED(cudaGetDeviceCount) PHX_HOST_TYPED(cudaDeviceReset)
PHX_HOST_TYPED(cudaGetDeviceProperties) PHX_HOST_TYPED(cudaDeviceGetAttribute) PHX_HOST_TYPED(cudaFuncSetAttribute)
PHX_HOST_TYPED(cudaStreamCreate) PHX_HOST_TYPED(cudaStreamDestroy) PHX_HOST_TYPED(cudaStreamSynchronize)
PHX_HOST_TYPED(cudaEventCreate) PHX_HOST_TYPED(cudaEventDestroy) PHX_HOST_TYPED(cudaEventRecord)
PHX_HOST_TYPED(cudaEventSynchronize) PHX_HOST_TYPED(cudaEventElapsedTime) PHX_HOST_TYPED(cudaFuncSetCacheConfig)
template <typename F, typename... T> cudaError_t cudaOccupancyMaxPotentialBlockSize(int *, int *, F, T...);
template <typename F, typename... T> cudaError_t cudaLaunchCooperativeKernel(F, dim3, dim3, T...);
#undef PHX_HOST_TYPED
#undef PHX_HOST
const char *cudaGetErrorString(cudaError_t);
const char *cudaGetErrorName(cudaError_t);

#if defined(__HIP__)
extern "C" unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void *stream = nullptr);
extern "C" unsigned hipLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
#include "phalanx_hip.h"
#else
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void *stream = nullptr);
extern "C" unsigned cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
#include "phalanx_cuda.h"
#endif

// Atomics: relaxed, of the device; all give the old value.
#define PHX_ATOMIC(name, operation, scope, suffix)                                                               \
  template <typename T, typename V> PHX_FN T name##suffix(T *p, V v) {                                           \
    return operation(p, (T)v, __ATOMIC_RELAXED, scope);                                                          \
  }
#define PHX_ATOMICS(scope, suffix)                                                                               \
  PHX_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, scope, suffix)                                                \
  PHX_ATOMIC(atomicSub, __scoped_atomic_fetch_sub, scope, suffix)                                                \
  PHX_ATOMIC(atomicMin, __scoped_atomic_fetch_min, scope, suffix)                                                \
  PHX_ATOMIC(atomicMax, __scoped_atomic_fetch_max, scope, suffix)                                                \
  PHX_ATOMIC(atomicAnd, __scoped_atomic_fetch_and, scope, suffix)                                                \
  PHX_ATOMIC(atomicOr, __scoped_atomic_fetch_or, scope, suffix)                                                  \
  PHX_ATOMIC(atomicXor, __scoped_atomic_fetch_xor, scope, suffix)                                                \
  template <typename T, typename V> PHX_FN T atomicExch##suffix(T *p, V v) {                                     \
    T desired = (T)v, old;                                                                                       \
    __scoped_atomic_exchange(p, &desired, &old, __ATOMIC_RELAXED, scope);                                        \
    return old;                                                                                                  \
  }                                                                                                              \
  template <typename T, typename V, typename W> PHX_FN T atomicCAS##suffix(T *p, V expected, W desired) {        \
    T old = (T)expected;                                                                                         \
    __scoped_atomic_compare_exchange_n(p, &old, (T)desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope);   \
    return old;                                                                                                  \
  }
PHX_ATOMICS(__MEMORY_SCOPE_DEVICE, )
PHX_ATOMICS(__MEMORY_SCOPE_SYSTEM, _system)
PHX_ATOMICS(__MEMORY_SCOPE_WRKGRP, _block)

// Operations on small vectors and numbers that both languages have.
#define PHX_MIN_MAX(type, attribute)                                                                             \
  static inline __attribute__((attribute, always_inline)) type min(type a, type b) { return b < a ? b : a; }     \
  static inline __attribute__((attribute, always_inline)) type max(type a, type b) { return a < b ? b : a; }
#define PHX_MIN_MAX_BOTH(type) PHX_MIN_MAX(type, host) PHX_MIN_MAX(type, device)
PHX_MIN_MAX(int, host)
#if defined(__HIP__)
PHX_MIN_MAX(int, device)
#endif
PHX_MIN_MAX_BOTH(unsigned)
PHX_MIN_MAX_BOTH(long)
PHX_MIN_MAX_BOTH(unsigned long)
PHX_MIN_MAX_BOTH(long long)
PHX_MIN_MAX_BOTH(unsigned long long)
PHX_MIN_MAX_BOTH(float)
PHX_MIN_MAX_BOTH(double)
#undef PHX_MIN_MAX_BOTH
#undef PHX_MIN_MAX

#undef PHX_INDEX
#undef PHX_MEMBER
#undef PHX_VECTOR
#undef PHX_ATOMIC
#undef PHX_ATOMICS
#undef PHX_FN
#undef PHX_ALL
