// npy files, held against NumPy's own (tests/io/make_fixtures.py).
#include <gtest/gtest.h>

#include "qkv/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace qkv::io {
namespace {

using test::fixture;
using test::read_bytes;
using test::TempFolder;
using test::write_bytes;

std::string numpy_file(std::string_view name) {
  return fixture("io/fixtures/" + std::string(name) + ".npy");
}

TEST(Npy, ReadsAndRewritesEveryType) {
  const std::pair<const char*, DType> types[] = {
      {"f2", DType::f16}, {"f4", DType::f32},    {"f8", DType::f64},
      {"i4", DType::i32}, {"i8", DType::i64},    {"u2", DType::u16},
      {"u1", DType::u8},  {"b1", DType::boolean}};
  TempFolder folder;
  for (const auto& [name, dtype] : types) {
    SCOPED_TRACE(name);
    const Tensor x = read_npy(numpy_file(name));
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_EQ(x.shape(), Shape({2, 3}));
    EXPECT_EQ(x.to_vector<double>(),
              dtype == DType::boolean
                  ? (std::vector<double>{0, 1, 1, 1, 1, 1})
                  : (std::vector<double>{0, 1, 2, 3, 4, 5}));
    write_npy(folder / "copy.npy", x);
    EXPECT_EQ(read_bytes(folder / "copy.npy"), read_bytes(numpy_file(name)));
  }
}

TEST(Npy, ReadsEveryShapeVersionAndOrder) {
  TempFolder folder;
  for (const char* name : {"scalar", "vector", "empty"}) {
    write_npy(folder / "copy.npy", read_npy(numpy_file(name)));
    EXPECT_EQ(read_bytes(folder / "copy.npy"), read_bytes(numpy_file(name)))
        << name;
  }
  EXPECT_EQ(read_npy(numpy_file("scalar")).item(), 2.5);
  EXPECT_EQ(read_npy(numpy_file("scalar")).rank(), 0);
  EXPECT_EQ(read_npy(numpy_file("vector")).shape(), Shape({2}));
  EXPECT_EQ(read_npy(numpy_file("empty")).shape(), Shape({0, 3}));
  for (const char* name : {"version2", "version3"})
    EXPECT_EQ(read_npy(numpy_file(name)).to_vector<float>(),
              (std::vector<float>{0, 1, 2, 3, 4, 5}));
  const Tensor cube = read_npy(numpy_file("fortran"));
  EXPECT_EQ(cube.shape(), Shape({2, 3, 4}));
  const auto values = cube.to_vector<double>();
  for (int i = 0; i < 24; ++i) EXPECT_EQ(values[i], i);
}

TEST(Npy, WhatIsUnsupportedIsNamed) {
  EXPECT_ERROR(input, "npy type '>f4' is unsupported",
               read_npy(numpy_file("big_endian")));
  EXPECT_ERROR(input, "npy type '<i2' is unsupported",
               read_npy(numpy_file("i2")));
  EXPECT_ERROR(input, "structured types are unsupported",
               read_npy(numpy_file("structured")));
  TempFolder folder;
  EXPECT_ERROR(input, "npy has no bf16",
               write_npy(folder / "x", Tensor::zeros({1}, DType::bf16)));
}

// A file of version 1 with this dictionary and so many bytes of data.
std::string assemble(std::string_view dictionary, std::size_t bytes) {
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(dictionary.size() & 0xFF);
  file += static_cast<char>(dictionary.size() >> 8);
  return file.append(dictionary).append(bytes, '\0');
}

TEST(Npy, FilesThatLieAreRefused) {
  const auto shape = [](std::string_view tuple) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': " +
           std::string(tuple) + "}\n";
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "no npy file"},
      {"\x93NUMP", "no npy file"},
      {"PK\3\4 this is an npz", "no npy file"},
      {std::string("\x93NUMPY\4\0\0\0", 10), "version 4.0 is unsupported"},
      {std::string("\x93NUMPY\2\0\0\0", 10), "incomplete npy header"},
      {std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12), "header length"},
      {assemble(shape("(2,)"), 8).substr(0, 40), "header length"},
      {assemble(shape("(2,)"), 7), "needs 8 bytes, the file holds 7"},
      {assemble(shape("(2,)"), 9), "needs 8 bytes, the file holds 9"},
      {assemble(shape("(2)"), 8), "is no tuple"},
      {assemble(shape("(-2,)"), 8), "a size"},
      {assemble(shape("(2.0,)"), 8), "was expected"},
      {assemble(shape("(9223372036854775808,)"), 8), "a size"},
      {assemble(shape("(4294967296, 4294967296)"), 8), "shape"},
      {assemble(shape("(4611686018427387904,)"), 8), "shape"},
      {assemble(shape("(1, 1, 1, 1, 1, 1, 1)"), 4), "more than 6 dimensions"},
      {assemble(shape("2"), 8), "'(' was expected"},
      {assemble(shape("(2,)") + "x", 8), "text after the dictionary"},
      {assemble("{'descr': '<f4'}", 4), "is missing"},
      {assemble("{'descr': '<f4', 'descr': '<f4'}", 4), "repeated key"},
      {assemble("{'descr': '<f4", 4), "a string does not end"},
      {assemble("{'descr': os.system('x')}", 4), "a string was expected"},
      {assemble("[]", 4), "'{' was expected"},
      {assemble("", 4), "'{' was expected"},
  };
  TempFolder folder;
  for (const auto& [bytes, message] : cases)
    EXPECT_ERROR(input, message, read_npy(write_bytes(folder / "x", bytes)));
}

TEST(Npy, EveryTruncationIsRefused) {
  TempFolder folder;
  const std::string whole = read_bytes(numpy_file("f4"));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_ERROR(input, folder.path(),
                 read_npy(write_bytes(folder / "x", whole.substr(0, length))));
}

}  // namespace
}  // namespace qkv::io
