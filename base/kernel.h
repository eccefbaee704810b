// What packed_gemm.h is compiled with: GRADUS_WIDE_KERNEL where AVX2 does not pay, but AVX-512
// does; GRADUS_HAS_WIDE_KERNELS says whether it is built for that. Only g++ has target_clones for
// templates. Other kernels: simd.h.
#pragma once

#include "gradus/base/simd.h"

#if GRADUS_DISPATCHES && !defined(__clang__)
#define GRADUS_WIDE_KERNEL __attribute__((target_clones("default", "arch=x86-64-v4")))
#define GRADUS_HAS_WIDE_KERNELS 1
#else
#define GRADUS_WIDE_KERNEL
#if defined(__AVX512F__)
#define GRADUS_HAS_WIDE_KERNELS 1
#else
#define GRADUS_HAS_WIDE_KERNELS 0
#endif
#endif
