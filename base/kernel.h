// GRADUS_KERNEL marks the row kernels that the compiler shall build for several instruction sets.
//
// Empty where that is not to be had or not wanted: other compilers, sanitizers, the `step` preset,
// and builds made for one instruction set (-DGRADUS_KERNEL_CLONES=OFF). GRADUS_INLINE makes sure
// that a kernel's helpers are compiled with it, for each set. GRADUS_WIDE_KERNEL: where AVX2 does
// not pay, but AVX-512 does; GRADUS_HAS_WIDE_KERNELS says whether it is built for that.
#pragma once

#if defined(GRADUS_KERNEL_CLONES) && GRADUS_KERNEL_CLONES
#define GRADUS_KERNEL __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define GRADUS_WIDE_KERNEL __attribute__((target_clones("default", "arch=x86-64-v4")))
#define GRADUS_INLINE inline __attribute__((always_inline))
#else
#define GRADUS_KERNEL
#define GRADUS_WIDE_KERNEL
#define GRADUS_INLINE inline
#endif

#if (defined(GRADUS_KERNEL_CLONES) && GRADUS_KERNEL_CLONES) || defined(__AVX512F__)
#define GRADUS_HAS_WIDE_KERNELS 1
#else
#define GRADUS_HAS_WIDE_KERNELS 0
#endif
