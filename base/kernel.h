// GRADUS_KERNEL marks the row kernels that the compiler shall build for several instruction sets.
#pragma once

#include "gradus/base/simd.h"

#if defined(GRADUS_KERNEL_CLONES) && GRADUS_KERNEL_CLONES
#define GRADUS_KERNEL __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define GRADUS_KERNEL
#endif
