// The header of a safetensors file: what it may say, and writing it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/io.h"

namespace qkv::io {

inline constexpr std::int64_t kMaxHeaderBytes = 100'000'000;
inline constexpr std::int64_t kLengthBytes = 8;  // the header's length, first
inline constexpr std::size_t kMaxNameBytes = 1024;

struct Header {
  Metadata metadata;
  std::vector<TensorEntry> entries;  // in the order of the data
};

// Parses and checks the header's text against the bytes of data that follow it.
// Faults are found in the order of the format's own reader: text, JSON, then
// tensor by tensor in the order of the data, then the whole.
Header parse_header(std::string_view text, std::int64_t data_bytes,
                    const std::string& path);

// The name of the type in a file, and its place in the format's list, which is
// in increasing order of alignment.
std::string_view stored_name(DType dtype);
int stored_rank(DType dtype);

// The text with its padding. Throws when it would be longer than readers take.
std::string format_header(const Header& header, const std::string& path);

// Throws unless a tensor may have this name.
void check_tensor_name(std::string_view name, const std::string& path);

// Throws when two entries have one name.
void refuse_duplicates(const std::vector<TensorEntry>& entries,
                       const std::string& path);

// What the checksum of the header is taken of: everything in it but itself.
std::string header_checksum(const Header& header);
inline constexpr std::string_view kChecksumKey = "qkv.checksum";
std::string checksum_key(std::string_view tensor_name);

}  // namespace qkv::io
