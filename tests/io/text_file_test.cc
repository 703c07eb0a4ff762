// Text files as users have them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qkv/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

namespace qkv::io {
namespace {

using test::TempFolder;
using test::write_bytes;

TEST(ReadTextFile, KeepsTheTextAndDropsTheByteOrderMark) {
  TempFolder folder;
  const auto read = [&](std::string_view bytes) {
    return read_text_file(write_bytes(folder / "x", bytes));
  };
  EXPECT_EQ(read("a"), "a");
  EXPECT_EQ(read("emma\r\nolivia\n"), "emma\r\nolivia\n");
  EXPECT_EQ(read("a\rb"), "a\rb");
  EXPECT_EQ(read("no newline at the end"), "no newline at the end");
  EXPECT_EQ(read("\xEF\xBB\xBF{}"), "{}");
  EXPECT_EQ(read("\xEF\xBB\xBF\xEF\xBB\xBFx"), "\xEF\xBB\xBFx");  // one only
  EXPECT_EQ(read("naïve 日本 \xF0\x9F\xA4\x97"), "naïve 日本 🤗");
}

TEST(ReadTextFile, OpensNamesThatAreNotAscii) {
  TempFolder folder;
  const std::string inner = folder / "ŽЗ日本 x";
  mkdir(inner.c_str(), 0755);
  EXPECT_EQ(read_text_file(write_bytes(inner + "/\xff.txt", "a")), "a");
}

TEST(ReadTextFile, SaysWhatIsWrong) {
  TempFolder folder;
  const auto read = [&](std::string_view bytes) {
    return read_text_file(write_bytes(folder / "x.txt", bytes), 100);
  };
  EXPECT_ERROR(input, "x.txt: it is empty", read(""));
  EXPECT_ERROR(input, "it is empty", read("\xEF\xBB\xBF"));
  EXPECT_ERROR(input, "it has 101 bytes, more than the 100",
               read(std::string(101, 'a')));
  EXPECT_ERROR(input, "it is UTF-16",
               read(std::string("\xFF\xFE"
                                "a\0",
                                4)));
  EXPECT_ERROR(input, "it is UTF-16", read(std::string("\xFE\xFF\0a", 4)));
  EXPECT_ERROR(input, "line 2 holds a NUL (byte 3)",
               read(std::string("ab\n\0c", 5)));
  EXPECT_ERROR(input, "line 3 is not UTF-8: byte 0xFF at 4",
               read("a\nb\n\xFF"));
  EXPECT_ERROR(input, "byte 0xED at 0", read("\xED\xA0\x80"));  // a surrogate
  EXPECT_ERROR(input, "byte 0xC0 at 1", read("a\xC0\x80"));     // overlong
  EXPECT_ERROR(input, "byte 0xF5 at 0", read("\xF5\x80\x80\x80"));
  EXPECT_ERROR(input, "byte 0xE3 at 9", read("123456789\xE3\x81"));  // cut off
}

TEST(ReadTextFile, SaysWhatIsNoTextFile) {
  TempFolder folder;
  EXPECT_ERROR(input, "No such file", read_text_file(folder / "missing.txt"));
  EXPECT_ERROR(input, "missing.txt: ", read_text_file(folder / "missing.txt"));
  EXPECT_ERROR(input, "it is a directory", read_text_file(folder.path()));
  EXPECT_ERROR(input, "it is a device", read_text_file("/dev/null"));
  EXPECT_ERROR(input, "the file name is empty", read_text_file(""));
  EXPECT_ERROR(input, "cannot hold a NUL", read_text_file({"a\0b", 3}));
  EXPECT_ERROR(input, "File name too long",
               read_text_file("/" + std::string(5000, 'a')));
  EXPECT_ERROR(input, "Not a directory",
               read_text_file(write_bytes(folder / "f", "x") + "/g"));
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_ERROR(input, "it is a pipe", read_text_file(pipe));
  const std::string loop = folder / "loop";
  ASSERT_EQ(symlink("loop", loop.c_str()), 0);
  EXPECT_ERROR(input, "symbolic links", read_text_file(loop));
}

TEST(ReadTextFile, AHugeFileIsRefusedBeforeItIsRead) {
  TempFolder folder;
  const std::string path = write_bytes(folder / "huge", "x");
  if (truncate(path.c_str(), std::int64_t{1} << 40) != 0)
    GTEST_SKIP() << "the file system has no sparse files of 1 TiB";
  EXPECT_ERROR(input, "it has 1099511627776 bytes", read_text_file(path));
}

TEST(ReadTextFile, SaysThatPermissionIsMissing) {
  TempFolder folder;
  const std::string path = write_bytes(folder / "secret", "x");
  ASSERT_EQ(chmod(path.c_str(), 0000), 0);
  const int status = test::as_ordinary_user([&] {
    EXPECT_ERROR(input, "Permission denied", read_text_file(path));
    return 0;
  });
  if (status == test::kSkipped) GTEST_SKIP() << "cannot become nobody";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace qkv::io
