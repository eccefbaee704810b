// Whether results depend on the processor.
//
// Everything is compiled without contraction of a * b + c, sums have one order whatever the vector
// width or number of threads, and math functions are our own. Two things remain that differ between
// machines: a BLAS library, and matmuls on processors without fused multiply-add. Portable bits
// replace both.
#pragma once

namespace gradus {

/// Whether results may depend on the machine.
enum class Bits {
  fast,     // the fastest matmul of this machine
  portable  // the same bits on every processor, with every compiler and number of threads
};

/// Returns the setting of set_bits(), or of GRADUS_BITS=fast|portable, or fast. Throws ValueError
/// if GRADUS_BITS is invalid.
Bits bits();

/// Sets the bits of this process. Call it before computing.
void set_bits(Bits bits);

}  // namespace gradus
