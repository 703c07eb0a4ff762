// Safetensors files that lie, are cut, damaged or something else: each is
// refused with a message that names the fault, and none is misread.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "qkv/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace qkv::io {
namespace {

using test::fixture;
using test::read_bytes;
using test::TempFolder;
using test::write_bytes;

std::string assemble(std::string_view header, std::string_view data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(header).append(data);
}

// Everything in the file that can be read, as one line; as make_fixtures.py's.
std::string view(const std::string& path) {
  const SafetensorsFile file(path);
  std::map<std::string, std::string> parts;
  for (const TensorEntry& entry : file.entries()) {
    const Tensor tensor = file.read(entry.name);
    std::string line = entry.name + " " + std::string(entry.stored) + " " +
                       entry.shape.str() + " ";
    const auto* bytes = static_cast<const unsigned char*>(tensor.raw());
    for (std::int64_t i = 0; i < entry.end - entry.begin; ++i) {
      char hex[3];
      std::snprintf(hex, sizeof hex, "%02x", bytes[i]);
      line += hex;
    }
    parts[entry.name] = line;
  }
  std::string all;
  for (const auto& [name, line] : parts) all += (all.empty() ? "" : ";") + line;
  return all;
}

struct Case {
  std::string file;
  const char* message;
};

// A header with one tensor 't' and so many bytes of data.
Case tensor(std::string_view description, std::size_t bytes,
            const char* message) {
  return {assemble(R"({"t":)" + std::string(description) + "}",
                   std::string(bytes, '\0')),
          message};
}

const std::vector<Case>& corpus() {
  const auto f32 = [](std::string_view shape, std::string_view offsets) {
    return R"({"dtype":"F32","shape":)" + std::string(shape) +
           R"(,"data_offsets":)" + std::string(offsets) + "}";
  };
  const std::string eight_ff(8, '\xff');
  static const std::vector<Case> cases{
      // The length of the header.
      {"", "header too small: the file has 0 bytes"},
      {"1234567", "header too small: the file has 7 bytes"},
      {eight_ff, "header too large: 18446744073709551615 bytes"},
      {eight_ff + std::string(100, 'x'), "header too large"},
      {std::string("\x01\xe1\xf5\x05\0\0\0\0", 8), "header too large"},
      {std::string("\0\xe1\xf5\x05\0\0\0\0", 8), "invalid header length"},
      {"<!DOCTYPE html><html></html>", "it begins with '<!DOCTYP'"},
      {"GGUF\3\0\0\0\0\0\0\0\0\0\0\0", "header too"},
      {assemble("{}").substr(0, 9), "invalid header length: 2 bytes"},
      // Its text.
      {assemble("{\"\xff\":1}"), "not UTF-8 at its byte 2"},
      {assemble("{\"\xed\xa0\x80\":1}"), "not UTF-8"},
      {assemble("{\"\xc0\xaf\":1}"), "not UTF-8"},
      {assemble(""), "not valid JSON"},
      {assemble("        "), "not valid JSON"},
      {assemble("{"), "not valid JSON"},
      {assemble("{}x"), "not valid JSON"},
      {assemble("{}{}"), "not valid JSON"},
      {assemble(std::string("{}\0\0\0\0\0\0", 8)), "NUL"},
      {assemble("\xef\xbb\xbf{}"), "byte order mark"},
      {assemble("{/* a comment */}"), "not valid JSON"},
      {assemble("{'t':1}"), "not valid JSON"},
      {assemble("{\"t\":NaN}"), "not valid JSON"},
      {assemble("{\"t\":{\"dtype\":\"F32\",}}"), "not valid JSON"},
      // Valid JSON, but no header.
      {assemble("[]"), "it must be an object, found a list"},
      {assemble("null"), "it must be an object, found null"},
      {assemble("1"), "it must be an object, found a number"},
      {assemble("\"x\""), "it must be an object, found a string"},
      {assemble(R"({"t":1})"), "'t' must be an object, found a number"},
      {assemble(R"({"t":null})"), "'t' must be an object, found null"},
      {assemble(R"({"t":[]})"), "'t' must be an object, found a list"},
      {assemble(std::string(100'000, '[')), "found a list"},
      {assemble(R"({"t":{"shape":)" + std::string(100'000, '[')),
       "shape must be whole numbers"},
      {assemble(R"({"__metadata__":1})"), "__metadata__"},
      {assemble(R"({"__metadata__":null})"), "__metadata__"},
      {assemble(R"({"__metadata__":{"k":1}})"),
       "metadata 'k' must be a string, found a number"},
      {assemble(R"({"__metadata__":{"k":{}}})"), "must be a string"},
      {assemble(R"({"__metadata__":{"k":"a","k":"a"}})"),
       "metadata 'k' appears twice"},
      {assemble(R"({"__metadata__":{},"__metadata__":{}})"),
       "__metadata__ appears twice"},
      // A tensor's description.
      tensor("{}", 0, "tensor 't' has no dtype"),
      tensor(R"({"dtype":"F32","shape":[]})", 4, "has no data_offsets"),
      tensor(R"({"dtype":"F32","data_offsets":[0,4]})", 4, "has no shape"),
      tensor(R"({"dtype":"F33","shape":[],"data_offsets":[0,4]})", 4,
             "unknown dtype 'F33'"),
      tensor(R"({"dtype":32,"shape":[],"data_offsets":[0,4]})", 4,
             "dtype cannot be a number"),
      tensor(R"({"dtype":"F32","dtype":"F32"})", 4, "has dtype twice"),
      tensor(R"({"dtype":"F32","extra":{}})", 4, "unknown field 'extra'"),
      tensor(f32("2", "[0,8]"), 8, "shape cannot be a number"),
      tensor(f32("[2.0]", "[0,8]"), 8, "found '2.0'"),
      tensor(f32("[2e0]", "[0,8]"), 8, "found '2e0'"),
      tensor(f32("[-1]", "[0,4]"), 4, "found a negative number"),
      tensor(f32("[\"2\"]", "[0,8]"), 8, "found a string"),
      tensor(f32("[[2]]", "[0,8]"), 8, "found a list"),
      tensor(f32("[18446744073709551616]", "[0,8]"), 8,
             "found '18446744073709551616'"),
      tensor(f32("[1,1,1,1,1,1,1]", "[0,4]"), 4, "more than 6 dimensions"),
      tensor(f32("[2]", "[0]"), 8, "must be two numbers, found 1"),
      tensor(f32("[2]", "[0,8,8]"), 8, "must be two whole numbers"),
      tensor(f32("[2]", "[\"0\",8]"), 8, "found a string"),
      tensor(f32("[2]", "[0,8.0]"), 8, "found '8.0'"),
      tensor(f32("[2]", "[-8,0]"), 8, "found a negative number"),
      tensor(f32("[2]", "{\"0\":8}"), 8, "data_offsets cannot be an object"),
      // Names.
      {assemble(R"({"a\u0000":{}})"), "control character"},
      {assemble(R"({"a\nb":{}})"), "control character"},
      {assemble("{\"" + std::string(1025, 'n') + "\":{}}"),
       "longer than 1024 bytes"},
      {assemble(R"({"a":)" + f32("[]", "[0,4]") + R"(,"a":)" +
                    f32("[]", "[4,8]") + "}",
                std::string(8, '\0')),
       "tensor 'a' appears twice"},
      {assemble(R"({"a":)" + f32("[]", "[0,4]") + R"(,"\u0061":)" +
                    f32("[]", "[4,8]") + "}",
                std::string(8, '\0')),
       "tensor 'a' appears twice"},
      // Offsets and sizes.
      tensor(f32("[2,2]", "[16,0]"), 16, "invalid data_offsets [16,0]"),
      tensor(f32("[0]", "[4,0]"), 4, "invalid data_offsets"),
      tensor(f32("[2,2]", "[0,17]"), 17, "needs 16 bytes"),
      tensor(f32("[2,2]", "[0,17]"), 16, "needs 16 bytes"),
      tensor(f32("[2,2]", "[0,4]"), 4, "F32 (2,2) needs 16 bytes"),
      tensor(f32("[2]", "[4,12]"), 12, "the data before it ends at 0"),
      tensor(f32("[268435456]", "[0,1073741824]"), 8,
             "tensor 't' needs bytes 0 to 1073741824 of the data, which end "
             "at 8"),
      tensor(f32("[2]", "[0,8]"), 7, "incomplete: tensor 't' needs bytes"),
      tensor(f32("[2]", "[0,8]"), 9, "1 bytes follow the last tensor"),
      {assemble("{}", "x"), "1 bytes follow the last tensor"},
      tensor(f32("[4294967296,4294967296]", "[0,0]"), 0, "overflow"),
      tensor(f32("[4611686018427387904]", "[0,0]"), 0, "overflow"),
      tensor(f32("[18446744073709551615]", "[0,18446744073709551612]"), 0,
             "overflow"),
      tensor(f32("[0,18446744073709551615]", "[0,0]"), 0, "overflow"),
      tensor(R"({"dtype":"F4","shape":[3],"data_offsets":[0,2]})", 2,
             "do not fill whole bytes"),
      tensor(R"({"dtype":"F6_E2M3","shape":[2],"data_offsets":[0,2]})", 2,
             "do not fill whole bytes"),
      // Two tensors: the same bytes, a hole, an overlap.
      {assemble(R"({"a":)" + f32("[4]", "[0,16]") + R"(,"b":)" +
                    f32("[4]", "[0,16]") + "}",
                std::string(16, '\0')),
       "invalid data_offsets [0,16]: the data before it ends at 16"},
      {assemble(R"({"a":)" + f32("[]", "[0,4]") + R"(,"b":)" +
                    f32("[]", "[8,12]") + "}",
                std::string(12, '\0')),
       "tensor 'b': invalid data_offsets [8,12]: the data before it ends at 4"},
      {assemble(R"({"a":)" + f32("[2]", "[0,8]") + R"(,"b":)" +
                    f32("[2]", "[4,12]") + "}",
                std::string(12, '\0')),
       "tensor 'b': invalid data_offsets [4,12]"},
  };
  return cases;
}

TEST(SafetensorsCorpus, EachIsRefusedForItsFault) {
  TempFolder folder;
  int number = 0;
  for (const Case& c : corpus()) {
    SCOPED_TRACE("case " + std::to_string(number++));
    const std::string path = write_bytes(folder / "x.safetensors", c.file);
    EXPECT_ERROR(input, c.message, SafetensorsFile(path));
    EXPECT_ERROR(input, "x.safetensors: ", SafetensorsFile(path));
  }
}

TEST(SafetensorsCorpus, ABooleanIsZeroOrOne) {
  TempFolder folder;
  const std::string path = write_bytes(
      folder / "x",
      assemble(R"({"t":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})",
               "\1\2"));
  const SafetensorsFile file(path);
  EXPECT_ERROR(input, "BOOL is 0 or 1, but element 1 is 2", file.read("t"));
}

TEST(SafetensorsCorpus, SubByteTypesAreUnsupportedByName) {
  TempFolder folder;
  const std::string path = write_bytes(
      folder / "x",
      assemble(R"({"t":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})",
               "ab"));
  EXPECT_ERROR(input, "tensor 't' is F4: unsupported",
               SafetensorsFile(path).read("t"));
}

TEST(SafetensorsCorpus, EveryTruncationIsRefused) {
  TempFolder folder;
  const std::string whole =
      read_bytes(fixture("io/fixtures/small.safetensors"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string path = write_bytes(folder / "x", whole.substr(0, length));
    EXPECT_ERROR(input, folder.path(), SafetensorsFile(path));
  }
  EXPECT_NO_THROW(view(write_bytes(folder / "x", whole)));
}

TEST(SafetensorsCorpus, AppendedBytesAreRefused) {
  TempFolder folder;
  const std::string whole =
      read_bytes(fixture("io/fixtures/small.safetensors"));
  for (std::size_t extra : {1, 7, 4096})
    EXPECT_ERROR(input, std::to_string(extra) + " bytes follow",
                 SafetensorsFile(write_bytes(
                     folder / "x", whole + std::string(extra, '\0'))));
}

// Every bit of the header flipped, every byte of it set to 00, FF, 7F and 80.
TEST(SafetensorsCorpus, AgreesWithTheFormatsOwnReaderOnEveryDamagedHeader) {
  std::map<std::pair<int, int>, std::string> accepted;  // by the reference
  std::istringstream lines(read_bytes(fixture("io/fixtures/verdicts.txt")));
  for (std::string line; std::getline(lines, line);) {
    int at = 0, value = 0, used = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%d %d %n", &at, &value, &used), 2);
    accepted[{at, value}] = line.substr(used);
  }
  ASSERT_GT(accepted.size(), 50u);

  TempFolder folder;
  const std::string original =
      read_bytes(fixture("io/fixtures/small.safetensors"));
  const int header = 8 + static_cast<unsigned char>(original[0]);
  std::size_t agreed = 0;
  for (int at = 0; at < header; ++at) {
    const int old = static_cast<unsigned char>(original[at]);
    std::set<int> values{0x00, 0xFF, 0x7F, 0x80};
    for (int bit = 0; bit < 8; ++bit) values.insert(old ^ 1 << bit);
    values.erase(old);
    for (const int value : values) {
      std::string changed = original;
      changed[at] = static_cast<char>(value);
      const std::string path = write_bytes(folder / "x", changed);
      const auto expected = accepted.find({at, value});
      try {
        const std::string seen = view(path);
        ASSERT_NE(expected, accepted.end()) << at << " " << value;
        EXPECT_EQ(seen, expected->second) << at << " " << value;
        ++agreed;
      } catch (const Error& error) {
        const std::string message = error.what();
        EXPECT_EQ(error.kind(), ErrorKind::input);
        // What this reader refuses beyond the reference.
        const bool stricter =
            message.find("control character") != message.npos ||
            message.find("unsupported") != message.npos;
        EXPECT_TRUE(expected == accepted.end() || stricter)
            << at << " " << value << ": " << message;
      }
    }
  }
  EXPECT_GT(agreed, 50u);
}

// A checkpoint: its checksums leave no single bit that could turn unseen.
TEST(SafetensorsChecksums, EveryFlippedBitIsFound) {
  TempFolder folder;
  const Tensor weight = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  const Metadata metadata{{"state", R"({"step":1000})"}};
  write_safetensors(folder / "good",
                    {{"weight", weight}, {"step", Tensor::scalar(7)}}, metadata,
                    {.checksums = true});
  const std::string good = read_bytes(folder / "good");
  const std::string good_view = view(folder / "good");
  const std::size_t data = good.size() - 20;
  int same = 0;
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] ^= static_cast<char>(1 << bit);
      const std::string path = write_bytes(folder / "bad", bad);
      try {
        const std::string seen = view(path);
        // Another spelling of the same header, at most.
        EXPECT_EQ(seen, good_view) << at << " " << bit;
        EXPECT_EQ(SafetensorsFile(path).metadata(), metadata);
        ++same;
      } catch (const Error& error) {
        const std::string message = error.what();
        if (at >= data) {
          const bool first = at < data + 4;  // 'step' comes before 'weight'
          EXPECT_NE(message.find(first ? "tensor 'step' does not match"
                                       : "tensor 'weight' does not match"),
                    message.npos)
              << message;
        }
      }
    }
  EXPECT_LT(same, 16);
}

TEST(SafetensorsChecksums, AZeroedTailIsFound) {
  TempFolder folder;
  const Tensor x = Tensor::full({1000}, 1.0);
  write_safetensors(folder / "x", {{"a", x}, {"b", x}}, {},
                    {.checksums = true});
  std::string bytes = read_bytes(folder / "x");
  std::fill(bytes.end() - 4000, bytes.end(), '\0');
  const SafetensorsFile file(write_bytes(folder / "torn", bytes));
  EXPECT_EQ(file.read("a").to_vector<float>()[999], 1.0f);
  EXPECT_ERROR(input, "tensor 'b' does not match its checksum", file.read("b"));
}

TEST(SafetensorsChecksums, AMissingOneIsFound) {
  TempFolder folder;
  write_safetensors(folder / "x", {{"a", Tensor::scalar(1)}}, {},
                    {.checksums = true});
  std::string bytes = read_bytes(folder / "x");
  const std::size_t at = bytes.find("qkv.checksum:a");
  bytes[at + 13] = 'b';
  EXPECT_ERROR(input, "header does not match its checksum",
               SafetensorsFile(write_bytes(folder / "y", bytes)));
}

std::int64_t peak_bytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} << 10;
}

TEST(SafetensorsLimits, ALyingLengthCostsNoMemory) {
  TempFolder folder;
  std::string bytes = assemble("{}");
  bytes.resize(1000, ' ');
  const std::uint64_t length = 100'000'000;
  std::memcpy(bytes.data(), &length, sizeof length);
  const std::string path = write_bytes(folder / "x", bytes);
  const std::int64_t before = peak_bytes();
  EXPECT_ERROR(input, "invalid header length", SafetensorsFile(path));
  EXPECT_LT(peak_bytes() - before, 16 << 20);
}

TEST(SafetensorsLimits, AHundredThousandTensorsLoadInTime) {
  constexpr int kCount = 100'000;
  std::string header = "{";
  for (int i = 0; i < kCount; ++i)
    header += (i ? ",\"layer." : "\"layer.") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
              std::to_string(i) + "," + std::to_string(i + 1) + "]}";
  header += "}";
  TempFolder folder;
  const std::string path =
      write_bytes(folder / "x", assemble(header, std::string(kCount, '\5')));
  const auto start = std::chrono::steady_clock::now();
  const SafetensorsFile file(path);
  EXPECT_EQ(file.entries().size(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(file.read("layer.99999").item(), 5);
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - start;
  EXPECT_LT(time.count(), 1.0 + header.size() / 1e7);  // 1 s per 10 MB
}

}  // namespace
}  // namespace qkv::io
