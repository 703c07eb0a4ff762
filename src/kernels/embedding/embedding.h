// Rows of a table by their ids, and the gradient of that.
#pragma once

#include <cstdint>

namespace qkv::kernels {

// The index of the first id outside [0, limit), or -1. An id equal to `allowed`
// passes (cross entropy's ignored target); none does by default.
std::int64_t first_out_of_range(const std::int64_t* ids, std::int64_t count,
                                std::int64_t limit);
std::int64_t first_out_of_range(const std::int64_t* ids, std::int64_t count,
                                std::int64_t limit, std::int64_t allowed);

// out (count,width) = table[ids]. The ids are in range.
template <class T>
void embedding(const T* table, std::int64_t width, const std::int64_t* ids,
               std::int64_t count, T* out);

// dtable[ids[i]] += dy[i], i in order, so that the sum of an id that comes
// often does not depend on the threads. dtable is not cleared first.
template <class T>
void embedding_backward(const T* dy, std::int64_t width,
                        const std::int64_t* ids, std::int64_t count, T* dtable);

}  // namespace qkv::kernels
