// NumPy's array file: "\x93NUMPY", version, length of the header, the header (a
// Python dictionary written out, padded), the numbers. The format is described
// in NumPy's documentation, numpy.lib.format.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <vector>

#include "core/check.h"
#include "core/convert.h"
#include "core/tensor_impl.h"
#include "core/text.h"
#include "io/input_file.h"
#include "qkv/io.h"

namespace qkv::io {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kMaxHeaderBytes = 1 << 16;  // shapes need far less
constexpr std::size_t kAlignment = 64;  // of the numbers, as NumPy writes

constexpr std::array<std::pair<std::string_view, DType>, 8> kTypes{{
    {"<f4", DType::f32},
    {"<f8", DType::f64},
    {"<f2", DType::f16},
    {"<i8", DType::i64},
    {"<i4", DType::i32},
    {"<u2", DType::u16},
    {"|u1", DType::u8},
    {"|b1", DType::boolean},
}};

// Reads the dictionary: exactly descr, fortran_order and shape, in any order.
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, const std::string& path)
      : text_(text), path_(path) {}

  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> sizes;

  void read() {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        descr = type();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        fortran_order = boolean();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        tuple();
      } else {
        fail("an unknown or repeated key");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("text after the dictionary");
    if (!has_descr || !has_order || !has_shape)
      fail("descr, fortran_order or shape is missing");
  }

 private:
  [[noreturn]] void fail(std::string_view what) {
    fail_input("{}: npy header: {} (at its byte {})", path_, what, at_);
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' was expected", c));
  }
  std::string string() {
    skip_space();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    if (mark != '\'' && mark != '"') fail("a string was expected");
    const std::size_t end = text_.find(mark, at_ + 1);
    if (end == text_.npos) fail("a string does not end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::string type() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[')
      fail("structured types are unsupported");
    return string();
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail("True or False was expected");
  }
  void tuple() {
    expect('(');
    while (!accept(')')) {
      std::int64_t size = -1;
      skip_space();
      const char* end = text_.data() + text_.size();
      const auto [stop, error] = std::from_chars(text_.data() + at_, end, size);
      if (error != std::errc() || size < 0)
        fail("a size of at most 63 bits was expected");
      at_ = static_cast<std::size_t>(stop - text_.data());
      sizes.push_back(size);
      if (sizes.size() > kMaxRank)
        fail(fmt::format("more than {} dimensions are unsupported", kMaxRank));
      if (!accept(',')) {
        expect(')');
        if (sizes.size() == 1) fail("(n) is no tuple, (n,) is");
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

struct NpyHeader {
  DType dtype;
  Shape shape;
  bool fortran_order;
  std::int64_t data_begin;
};

std::string read_header_text(const InputFile& file, std::int64_t& data_begin) {
  std::array<unsigned char, 12> start{};
  const std::int64_t have =
      std::min<std::int64_t>(file.size(), std::ssize(start));
  file.read(0, start.data(), have);
  if (have < 10 ||
      std::string_view(reinterpret_cast<char*>(start.data()), 6) != kMagic)
    fail_input("{}: it is no npy file: it does not begin with \\x93NUMPY",
               file.path());
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    fail_input("{}: npy version {}.{} is unsupported", file.path(), version,
               start[7]);
  std::int64_t length = start[8] | start[9] << 8;
  data_begin = 10;
  if (version > 1) {
    if (have < 12) fail_input("{}: incomplete npy header", file.path());
    length |= static_cast<std::int64_t>(start[10]) << 16 |
              static_cast<std::int64_t>(start[11]) << 24;
    data_begin = 12;
  }
  if (length > kMaxHeaderBytes || length > file.size() - data_begin)
    fail_input("{}: invalid npy header length {}", file.path(), length);
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(data_begin, text.data(), length);
  data_begin += length;
  return text;
}

NpyHeader read_header(const InputFile& file) {
  std::int64_t data_begin = 0;
  const std::string text = read_header_text(file, data_begin);
  DictionaryReader reader(text, file.path());
  reader.read();
  for (const auto& [name, dtype] : kTypes)
    if (reader.descr == name) {
      Shape shape;
      try {
        shape = Shape(std::span<const std::int64_t>(reader.sizes));
        checked_multiply(shape.numel(),
                         static_cast<std::int64_t>(size_of(dtype)));
      } catch (const Error& error) {
        fail_input("{}: npy header: shape: {}", file.path(), error.what());
      }
      return {dtype, shape, reader.fortran_order, data_begin};
    }
  fail_input(
      "{}: npy type {} is unsupported: little-endian f2 f4 f8 i4 i8 u2, "
      "u1 and b1 are read",
      file.path(), quote(reader.descr));
}

// The strides, in elements, of column-major memory.
Strides column_major(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

}  // namespace

Tensor read_npy(const std::string& path) {
  const InputFile file(path);
  const auto [dtype, shape, fortran_order, data_begin] = read_header(file);
  const std::int64_t bytes =
      shape.numel() * static_cast<std::int64_t>(size_of(dtype));
  if (bytes != file.size() - data_begin)
    fail_input("{}: {} {} needs {} bytes, the file holds {}", path,
               name_of(dtype), shape.str(), bytes, file.size() - data_begin);
  Tensor tensor = Tensor::empty(shape, dtype);
  file.read(data_begin, tensor.raw(), bytes);
  if (dtype == DType::boolean) {
    const auto* values = static_cast<const unsigned char*>(tensor.raw());
    for (std::int64_t i = 0; i < shape.numel(); ++i)
      if (values[i] > 1)
        fail_input("{}: b1 is 0 or 1, but element {} is {}", path, i,
                   values[i]);
  }
  if (!fortran_order || shape.rank() < 2) return tensor;
  Tensor result = Tensor::empty(shape, dtype);
  convert(tensor.raw(), dtype, shape, column_major(shape), result.raw(), dtype,
          row_major(shape));
  return result;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](auto& item) {
    return item.second == tensor.dtype();
  });
  if (type == kTypes.end())
    fail_input("{}: npy has no {}; convert it to f32 first", path,
               name_of(tensor.dtype()));
  const Shape& shape = tensor.shape();
  std::string header = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
      type->first, fmt::join(shape, ", "), shape.rank() == 1 ? "," : "");
  constexpr std::size_t kPrefix = 10;
  while ((kPrefix + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';

  AtomicFile file(path);
  file.write(kMagic);
  const std::array<char, 4> version_and_length{
      1, 0, static_cast<char>(header.size() & 0xFF),
      static_cast<char>(header.size() >> 8)};
  file.write(version_and_length.data(), version_and_length.size());
  file.write(header);
  const Tensor x = tensor.contiguous() ? tensor : tensor.clone();
  file.write(x.raw(), static_cast<std::size_t>(x.numel()) * size_of(x.dtype()));
  file.commit();
}

}  // namespace qkv::io
