#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "core/check.h"
#include "core/json.h"
#include "core/text.h"

namespace qkv::io {
namespace {

struct StoredType {
  std::string_view name;
  int bits;
  std::optional<DType> dtype;
};

// In increasing order of alignment: the order in which files are written, from
// the last to the first.
constexpr std::array<StoredType, 22> kStoredTypes{{
    {"BOOL", 8, DType::boolean},
    {"F4", 4, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"U8", 8, DType::u8},
    {"I8", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"I16", 16, {}},
    {"U16", 16, DType::u16},
    {"F16", 16, DType::f16},
    {"BF16", 16, DType::bf16},
    {"I32", 32, DType::i32},
    {"U32", 32, {}},
    {"F32", 32, DType::f32},
    {"C64", 64, {}},
    {"F64", 64, DType::f64},
    {"I64", 64, DType::i64},
    {"U64", 64, {}},
}};

// A tensor as the file describes it, before anything was checked.
struct Claim {
  std::string name;
  const StoredType* type = nullptr;
  std::array<std::uint64_t, kMaxRank> sizes{};
  int rank = 0;
  std::array<std::uint64_t, 2> offsets{};
};

// Takes the JSON parser's events. Only what a header may hold passes: its depth
// is bounded by that, and nothing is kept of what does not belong.
class HeaderReader {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  Metadata metadata;
  std::vector<Claim> claims;

  bool null() { unexpected("null"); }
  bool boolean(bool) { unexpected("true or false"); }
  bool number_integer(std::int64_t) { unexpected("a negative number"); }
  bool number_float(double, const std::string& text) {
    unexpected(quote(text));
  }
  bool binary(std::vector<std::uint8_t>&) { unexpected("binary"); }

  bool number_unsigned(std::uint64_t value) {
    if (state_ == State::shape) {
      if (claim_.rank == kMaxRank)
        fail("tensor {} has more than {} dimensions: unsupported",
             quote(claim_.name), kMaxRank);
      claim_.sizes[claim_.rank++] = value;
    } else if (state_ == State::offsets && offsets_ < 2) {
      claim_.offsets[offsets_++] = value;
    } else {
      unexpected("a number");
    }
    return true;
  }

  bool string(std::string& text) {
    if (state_ == State::metadata) {
      metadata.insert_or_assign(std::move(key_), std::move(text));
    } else if (state_ == State::tensor && key_ == "dtype") {
      claim_.type = std::find_if(kStoredTypes.begin(), kStoredTypes.end(),
                                 [&](auto& type) { return type.name == text; });
      if (claim_.type == kStoredTypes.end())
        fail("tensor {} has an unknown dtype {}", quote(claim_.name),
             quote(text));
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (state_ == State::before) {
      state_ = State::top;
    } else if (state_ == State::top && key_ == "__metadata__") {
      state_ = State::metadata;
    } else if (state_ == State::top) {
      state_ = State::tensor;
      claim_ = Claim{.name = std::move(key_)};
      seen_ = {};
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool end_object() {
    if (state_ == State::tensor) {
      for (std::size_t i = 0; i < kFields.size(); ++i)
        if (!seen_[i])
          fail("tensor {} has no {}", quote(claim_.name), kFields[i]);
      claims.push_back(std::move(claim_));
    }
    state_ = state_ == State::top ? State::after : State::top;
    return true;
  }

  bool start_array(std::size_t) {
    if (state_ == State::tensor && key_ == "shape") {
      state_ = State::shape;
    } else if (state_ == State::tensor && key_ == "data_offsets") {
      state_ = State::offsets;
      offsets_ = 0;
    } else {
      unexpected("a list");
    }
    return true;
  }

  bool end_array() {
    if (state_ == State::offsets && offsets_ != 2)
      fail("tensor {}: data_offsets must be two numbers, found {}",
           quote(claim_.name), offsets_);
    state_ = State::tensor;
    return true;
  }

  bool key(std::string& name) {
    if (state_ == State::metadata) {
      if (metadata.contains(name))
        fail("metadata {} appears twice", quote(name));
    } else if (state_ == State::top) {
      if (name == "__metadata__") {
        if (metadata_seen_) fail("__metadata__ appears twice");
        metadata_seen_ = true;
      } else {
        check_tensor_name(name, path_);
      }
    } else {
      const auto field = std::find(kFields.begin(), kFields.end(), name);
      if (field == kFields.end())
        fail("tensor {} has an unknown field {}", quote(claim_.name),
             quote(name));
      bool& seen = seen_[field - kFields.begin()];
      if (seen) fail("tensor {} has {} twice", quote(claim_.name), name);
      seen = true;
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::json::exception&) {
    fail("not valid JSON at its byte {}", byte);
  }

 private:
  enum class State { before, top, metadata, tensor, shape, offsets, after };
  static constexpr std::array<std::string_view, 3> kFields{"dtype", "shape",
                                                           "data_offsets"};

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
    fail_input("{}: header: {}", path_,
               fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void unexpected(std::string_view found) {
    switch (state_) {
      case State::before:
      case State::after:
        fail("it must be an object, found {}", found);
      case State::top:
        fail("{} must be an object, found {}", quote(key_), found);
      case State::metadata:
        fail("metadata {} must be a string, found {}", quote(key_), found);
      case State::tensor:
        fail("tensor {}: {} cannot be {}", quote(claim_.name), key_, found);
      case State::shape:
        fail("tensor {}: shape must be whole numbers from 0, found {}",
             quote(claim_.name), found);
      case State::offsets:
        fail(
            "tensor {}: data_offsets must be two whole numbers from 0, found "
            "{}",
            quote(claim_.name), found);
    }
    fail("found {}", found);
  }

  const std::string& path_;
  State state_ = State::before;
  std::string key_;
  bool metadata_seen_ = false;
  Claim claim_;
  std::array<bool, 3> seen_{};
  std::size_t offsets_ = 0;
};

// The bytes that the claimed shape and type need. A size of 0 does not excuse
// the others: their product must fit too.
std::uint64_t bytes_of(const Claim& claim, const std::string& path) {
  std::uint64_t bits = static_cast<std::uint64_t>(claim.type->bits);
  bool empty = false;
  for (int i = 0; i < claim.rank; ++i) {
    if (claim.sizes[i] == 0)
      empty = true;
    else if (__builtin_mul_overflow(bits, claim.sizes[i], &bits))
      fail_input(
          "{}: tensor {}: overflow: the product of its shape is too "
          "large",
          path, quote(claim.name));
  }
  if (empty) return 0;
  if (bits % 8 != 0)
    fail_input("{}: tensor {}: {} bits of {} do not fill whole bytes", path,
               quote(claim.name), bits, claim.type->name);
  return bits / 8;
}

TensorEntry checked_entry(Claim& claim, std::uint64_t start,
                          const std::string& path) {
  const auto [begin, end] = claim.offsets;
  if (begin != start || end < begin)
    fail_input("{}: tensor {}: invalid data_offsets [{},{}]: {}", path,
               quote(claim.name), begin, end,
               end < begin
                   ? "they run backwards"
                   : fmt::format("the data before it ends at {}", start));
  const std::uint64_t bytes = bytes_of(claim, path);
  std::array<std::int64_t, kMaxRank> sizes{};
  std::copy(claim.sizes.begin(), claim.sizes.end(), sizes.begin());
  const Shape shape(std::span<const std::int64_t>(sizes.data(), claim.rank));
  if (end - begin != bytes)
    fail_input(
        "{}: tensor {}: {} {} needs {} bytes, data_offsets [{},{}] give "
        "{}",
        path, quote(claim.name), claim.type->name, shape.str(), bytes, begin,
        end, end - begin);
  return {.name = std::move(claim.name),
          .stored = claim.type->name,
          .dtype = claim.type->dtype,
          .shape = shape,
          .begin = static_cast<std::int64_t>(begin),
          .end = static_cast<std::int64_t>(end)};
}

const StoredType& stored_type(DType dtype) {
  return *std::find_if(kStoredTypes.begin(), kStoredTypes.end(),
                       [&](auto& type) { return type.dtype == dtype; });
}

}  // namespace

Header parse_header(std::string_view text, std::int64_t data_bytes,
                    const std::string& path) {
  if (const std::size_t bad = invalid_utf8(text); bad != text.npos)
    fail_input("{}: header: not UTF-8 at its byte {}", path, bad);
  // The parser would skip a byte order mark, and take a NUL for the end.
  if (text.starts_with("\xEF\xBB\xBF"))
    fail_input("{}: header: not valid JSON: it begins with a byte order mark",
               path);
  if (const std::size_t nul = text.find('\0'); nul != text.npos)
    fail_input("{}: header: not valid JSON at its byte {}: NUL", path, nul);

  HeaderReader reader(path);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  std::sort(
      reader.claims.begin(), reader.claims.end(),
      [](const Claim& a, const Claim& b) { return a.offsets < b.offsets; });

  Header header{.metadata = std::move(reader.metadata), .entries = {}};
  header.entries.reserve(reader.claims.size());
  std::uint64_t end = 0;
  for (Claim& claim : reader.claims) {
    header.entries.push_back(checked_entry(claim, end, path));
    end = claim.offsets[1];
  }
  refuse_duplicates(header.entries, path);
  const std::uint64_t have = static_cast<std::uint64_t>(data_bytes);
  if (end > have) {
    const auto first =
        std::find_if(header.entries.begin(), header.entries.end(),
                     [&](const TensorEntry& e) { return e.end > data_bytes; });
    fail_input(
        "{}: incomplete: tensor {} needs bytes {} to {} of the data, "
        "which end at {}",
        path, quote(first->name), first->begin, first->end, have);
  }
  if (end < have)
    fail_input("{}: {} bytes follow the last tensor: not part of the format",
               path, have - end);
  return header;
}

std::string_view stored_name(DType dtype) { return stored_type(dtype).name; }

int stored_rank(DType dtype) {
  return static_cast<int>(&stored_type(dtype) - kStoredTypes.data());
}

std::string format_header(const Header& header, const std::string& path) {
  const auto json_string = [&](const std::string& text) {
    if (invalid_utf8(text) != text.npos)
      fail_input("{}: {} is not UTF-8", path, quote(text));
    return nlohmann::json(text).dump();
  };
  std::string text = "{";
  const auto check_length = [&] {
    if (static_cast<std::int64_t>(text.size()) > kMaxHeaderBytes)
      fail_input(
          "{}: the header would exceed {} bytes, which no reader takes: "
          "write fewer tensors or less metadata",
          path, kMaxHeaderBytes);
  };
  if (!header.metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) {
      if (text.back() != '{') text += ',';
      text += json_string(key);
      text += ':';
      text += json_string(value);
      check_length();
    }
    text += '}';
  }
  for (const TensorEntry& entry : header.entries) {
    if (text.size() > 1) text += ',';
    text += json_string(entry.name);
    text += fmt::format(
        R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
        entry.stored, fmt::join(entry.shape, ","), entry.begin, entry.end);
    check_length();
  }
  text += '}';
  while (text.size() % 8 != 0) text += ' ';
  check_length();
  return text;
}

void check_tensor_name(std::string_view name, const std::string& path) {
  if (name.size() > kMaxNameBytes)
    fail_input("{}: the tensor name {} is longer than {} bytes", path,
               quote(name), kMaxNameBytes);
  for (unsigned char c : name)
    if (c < 0x20 || c == 0x7F)
      fail_input("{}: the tensor name {} holds a control character", path,
                 quote(name));
  if (invalid_utf8(name) != name.npos)
    fail_input("{}: the tensor name {} is not UTF-8", path, quote(name));
}

void refuse_duplicates(const std::vector<TensorEntry>& entries,
                       const std::string& path) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const TensorEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    fail_input("{}: tensor {} appears twice", path, quote(*twice));
}

std::string header_checksum(const Header& header) {
  std::string content;
  const auto add = [&](std::string_view part) {
    content += fmt::format("{}:{}\n", part.size(), part);
  };
  for (const auto& [key, value] : header.metadata) {
    if (key == kChecksumKey) continue;
    add(key);
    add(value);
  }
  for (const TensorEntry& entry : header.entries) {
    add(entry.name);
    content += fmt::format("{} {} {} {}\n", entry.stored, entry.shape.str(),
                           entry.begin, entry.end);
  }
  return checksum(content);
}

std::string checksum_key(std::string_view tensor_name) {
  return fmt::format("{}:{}", kChecksumKey, tensor_name);
}

}  // namespace qkv::io
