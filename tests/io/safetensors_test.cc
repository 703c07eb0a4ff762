// Reading and writing safetensors files that are as they should be, held
// against files of the format's own library (tests/io/make_fixtures.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "qkv/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace qkv::io {
namespace {

using test::fixture;
using test::read_bytes;
using test::TempFolder;
using test::write_bytes;

// A file from its parts.
std::string assemble(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(header).append(data);
}

template <class T>
std::vector<T> values(const SafetensorsFile& file, std::string_view name) {
  return file.read(name).to_vector<T>();
}

TEST(Safetensors, ReadsEveryTypeOfTheFormatsOwnWriter) {
  const SafetensorsFile file(fixture("io/fixtures/types.safetensors"));
  EXPECT_EQ(file.metadata(), (Metadata{{"who", "a \"test\"\n→ é"}}));
  EXPECT_FALSE(file.has_checksums());
  EXPECT_EQ(file.entries().size(), 13u);

  EXPECT_EQ(file.read("f32").shape(), Shape({2, 3}));
  const auto f32 = values<float>(file, "f32");
  EXPECT_EQ(std::vector(f32.begin(), f32.begin() + 4),
            (std::vector<float>{1.5f, -2.0f, 3.25f, 0.1f}));
  EXPECT_EQ(f32[4], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(f32[5] == 0 && std::signbit(f32[5]));
  EXPECT_EQ(values<double>(file, "f64"), (std::vector<double>{0.1, -1e300}));
  EXPECT_EQ(file.read("bf16").dtype(), DType::bf16);
  EXPECT_EQ(values<float>(file, "bf16"),
            (std::vector<float>{1.0f, -2.5f, 0x1.c4p+127f}));
  EXPECT_EQ(file.read("f16").dtype(), DType::f16);
  EXPECT_EQ(values<float>(file, "f16"),
            (std::vector<float>{1.0f, -0.5f, 65504.0f}));
  EXPECT_EQ(values<std::int64_t>(file, "i64"),
            (std::vector<std::int64_t>{-1, std::int64_t{1} << 62}));
  EXPECT_EQ(values<std::int32_t>(file, "i32"),
            (std::vector<std::int32_t>{-5, 6}));
  EXPECT_EQ(values<std::uint16_t>(file, "u16"),
            (std::vector<std::uint16_t>{0, 65535}));
  EXPECT_EQ(values<std::uint8_t>(file, "u8"),
            (std::vector<std::uint8_t>{0, 7, 255}));
  EXPECT_EQ(file.read("bool").dtype(), DType::boolean);
  EXPECT_EQ(values<float>(file, "bool"), (std::vector<float>{1, 0}));
  EXPECT_EQ(file.read("scalar").rank(), 0);
  EXPECT_EQ(file.read("scalar").item(), 42.0);
  EXPECT_EQ(file.read("empty").shape(), Shape({0, 3}));
  EXPECT_EQ(file.read("é \"\\name").item(), 9.0);
}

TEST(Safetensors, ATypeThatQkvLacksIsListedAndNamedWhenRead) {
  const SafetensorsFile file(fixture("io/fixtures/types.safetensors"));
  ASSERT_NE(file.find("i8"), nullptr);
  EXPECT_EQ(file.find("i8")->stored, "I8");
  EXPECT_FALSE(file.find("i8")->dtype);
  EXPECT_ERROR(input, "tensor 'i8' is I8: unsupported", file.read("i8"));
}

TEST(Safetensors, WritesTheBytesOfTheFormatsOwnWriter) {
  const std::string path = fixture("io/fixtures/small.safetensors");
  const SafetensorsFile original(path);
  NamedTensors tensors;
  for (const TensorEntry& entry : original.entries())
    tensors.emplace_back(entry.name, original.read(entry.name));
  std::swap(tensors[0], tensors[2]);  // the writer puts them in order
  TempFolder folder;
  write_safetensors(folder / "copy", tensors, original.metadata());
  EXPECT_EQ(read_bytes(folder / "copy"), read_bytes(path));
}

TEST(Safetensors, OrdersAllTypesAsTheFormatsOwnWriter) {
  const SafetensorsFile original(fixture("io/fixtures/types.safetensors"));
  NamedTensors tensors;
  std::vector<std::string> expected;
  for (const TensorEntry& entry : original.entries()) {
    if (!entry.dtype) continue;
    tensors.emplace_back(entry.name, original.read(entry.name));
    expected.push_back(entry.name);
  }
  std::mt19937 random(5);
  std::shuffle(tensors.begin(), tensors.end(), random);
  TempFolder folder;
  write_safetensors(folder / "copy", tensors, original.metadata());
  const SafetensorsFile copy(folder / "copy");
  std::vector<std::string> names;
  for (const TensorEntry& entry : copy.entries()) {
    names.push_back(entry.name);
    EXPECT_EQ(checksum(copy.read(entry.name)),
              checksum(original.read(entry.name)))
        << entry.name;
  }
  EXPECT_EQ(names, expected);
  EXPECT_EQ(copy.metadata(), original.metadata());
}

TEST(Safetensors, AFileWithoutTensorsIsPaddedToEight) {
  TempFolder folder;
  write_safetensors(folder / "empty", {});
  EXPECT_EQ(read_bytes(folder / "empty"), assemble("{}      ", ""));
  EXPECT_TRUE(SafetensorsFile(folder / "empty").entries().empty());
}

TEST(Safetensors, NeedsNoAlignmentAndNoPadding) {
  // A header of 61 bytes: the numbers begin at byte 69.
  std::string header =
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.insert(0, 61 - header.size(), '\n');  // any JSON space, in front too
  const float numbers[2] = {1.5f, -3.0f};
  TempFolder folder;
  write_bytes(folder / "odd",
              assemble(header, {reinterpret_cast<const char*>(numbers), 8}));
  EXPECT_EQ(values<float>(SafetensorsFile(folder / "odd"), "x"),
            (std::vector<float>{1.5f, -3.0f}));
}

TEST(Safetensors, WritesViewsInRowMajorOrder) {
  TempFolder folder;
  const Tensor x = Tensor::from<float>({4}, {1, 2, 3, 4});
  write_safetensors(folder / "x", {{"a", x}, {"b", x}});
  const SafetensorsFile file(folder / "x");
  EXPECT_EQ(values<float>(file, "b"), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Safetensors, ReadsIntoATensorOfTheSameShapeAndTypeOnly) {
  TempFolder folder;
  write_safetensors(folder / "x",
                    {{"x", Tensor::from<float>({2}, {5.0f, 6.0f})}});
  const SafetensorsFile file(folder / "x");
  Tensor target = Tensor::zeros({2});
  const void* memory = target.raw();
  file.read_into("x", target);
  EXPECT_EQ(target.raw(), memory);
  EXPECT_EQ(target.to_vector<float>(), (std::vector<float>{5.0f, 6.0f}));
  Tensor other = Tensor::zeros({2, 1});
  EXPECT_ERROR(input, "'x' is F32 (2), wanted F32 (2,1)",
               file.read_into("x", other));
  Tensor wide = Tensor::zeros({2}, DType::f64);
  EXPECT_ERROR(input, "wanted F64 (2)", file.read_into("x", wide));
  EXPECT_ERROR(input, "no tensor 'y'", file.read("y"));
  EXPECT_EQ(file.find("y"), nullptr);
}

TEST(Safetensors, StaysWithTheFileItOpened) {
  TempFolder folder;
  write_safetensors(folder / "x", {{"x", Tensor::scalar(1.0)}});
  const SafetensorsFile file(folder / "x");
  write_safetensors(folder / "x", {{"other", Tensor::scalar(2.0)}});
  EXPECT_EQ(file.read("x").item(), 1.0);
}

TEST(Safetensors, ChecksumsAreVerifiedAndDoNotShowInTheMetadata) {
  TempFolder folder;
  const Metadata metadata{{"state", "{\"step\":3}"}};
  write_safetensors(folder / "x", {{"x", Tensor::scalar(1.0)}}, metadata,
                    {.checksums = true});
  const SafetensorsFile file(folder / "x");
  EXPECT_TRUE(file.has_checksums());
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(file.read("x").item(), 1.0);
}

TEST(Safetensors, RefusesToWriteWhatItWouldNotRead) {
  TempFolder folder;
  const Tensor x = Tensor::scalar(1.0);
  const std::string path = folder / "x";
  EXPECT_ERROR(input, "tensor 'a' appears twice",
               write_safetensors(path, {{"a", x}, {"b", x}, {"a", x}}));
  EXPECT_ERROR(input, "holds a control character",
               write_safetensors(path, {{"a\nb", x}}));
  EXPECT_ERROR(input, "longer than 1024 bytes",
               write_safetensors(path, {{std::string(1025, 'n'), x}}));
  EXPECT_ERROR(input, "is not UTF-8", write_safetensors(path, {{"\xff", x}}));
  EXPECT_ERROR(input, "__metadata__",
               write_safetensors(path, {{"__metadata__", x}}));
  EXPECT_ERROR(input, "is undefined", write_safetensors(path, {{"a", {}}}));
  EXPECT_ERROR(input, "is not UTF-8",
               write_safetensors(path, {}, {{"k", "\xc0\x80"}}));
  EXPECT_ERROR(input, "are reserved",
               write_safetensors(path, {}, {{"qkv.checksum:x", ""}}));
  EXPECT_TRUE(folder.names().empty());
  write_safetensors(path, {{std::string(1024, 'n'), x}});
  EXPECT_EQ(SafetensorsFile(path).entries().size(), 1u);
}

TEST(Safetensors, TheHeadersLimitHoldsWhenWritingToo) {
  TempFolder folder;
  const std::string large(100'000'000, 'm');
  EXPECT_ERROR(input, "the header would exceed 100000000 bytes",
               write_safetensors(folder / "x", {}, {{"k", large}}));
  EXPECT_TRUE(folder.names().empty());
  // {"__metadata__":{"k":"…"}} has 25 bytes around the value.
  const std::string fits = large.substr(0, large.size() - 25);
  write_safetensors(folder / "x", {}, {{"k", fits}});
  EXPECT_EQ(SafetensorsFile(folder / "x").metadata().at("k"), fits);
}

TEST(Checksum, IsXxh3) {
  EXPECT_EQ(checksum(""), "2d06800538d394c2");  // xxhsum -H3 of nothing
  const Tensor x = Tensor::from<std::uint8_t>({3}, {'a', 'b', 'c'});
  EXPECT_EQ(checksum(x), checksum("abc"));
}

}  // namespace
}  // namespace qkv::io
