// What this machine can do at most, to compare with: measured, not looked up.
#pragma once

namespace qkv::cli::bench {

// Floating-point operations a second of f32 multiply-adds in registers, on all
// threads at once; the best of some short tries.
double fma_peak();

// Bytes a second that all threads read from memory, out of every cache.
double read_bandwidth();

}  // namespace qkv::cli::bench
