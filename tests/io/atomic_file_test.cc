// Writing files on real file systems: full, read-only, limited.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "qkv/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

namespace qkv::io {
namespace {

using test::read_bytes;
using test::TempFolder;
using test::write_bytes;
using Names = std::vector<std::string>;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_mode & 0777;
}

TEST(AtomicFile, NothingShowsBeforeCommit) {
  TempFolder folder;
  const std::string path = write_bytes(folder / "a", "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_bytes(path), "old");
    EXPECT_EQ(folder.names(), (Names{"a", "a.tmp"}));
    file.commit();
    EXPECT_EQ(read_bytes(path), "new");
  }
  EXPECT_EQ(folder.names(), Names{"a"});
  {
    AtomicFile dropped(path);
    dropped.write("newer");
  }
  EXPECT_EQ(read_bytes(path), "new");
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, KeepsOrderOfSmallAndLargePieces) {
  TempFolder folder;
  std::string expected;
  AtomicFile file(folder / "a");
  for (std::size_t size :
       {1u, 70'000u, 3u, 65'536u, 65'535u, 2u, 0u, 200'000u}) {
    const std::string piece(size, static_cast<char>('a' + size % 23));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(read_bytes(folder / "a"), expected);
}

TEST(AtomicFile, TakesARelativeName) {
  const int status = test::in_child([] {
    TempFolder folder;
    if (chdir(folder.path().c_str()) != 0) return 1;
    write_file("plain.txt", "x");
    EXPECT_EQ(read_bytes(folder / "plain.txt"), "x");
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(AtomicFile, KeepsTheModeAndFollowsALink) {
  TempFolder folder;
  const std::string real = write_bytes(folder / "real", "old");
  ASSERT_EQ(chmod(real.c_str(), 0600), 0);
  const std::string link = folder / "link";
  ASSERT_EQ(symlink("real", link.c_str()), 0);
  write_file(link, "new");
  EXPECT_EQ(read_bytes(real), "new");
  EXPECT_EQ(mode_of(real), 0600u);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST(AtomicFile, OneWriterAtATime) {
  TempFolder folder;
  AtomicFile first(folder / "a");
  EXPECT_ERROR(io, "another process is writing it", AtomicFile(folder / "a"));
  first.write("first");
  first.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "first");
  write_file(folder / "a", "second");
  EXPECT_EQ(read_bytes(folder / "a"), "second");
}

TEST(AtomicFile, TakesOverWhatAKilledWriterLeft) {
  TempFolder folder;
  write_bytes(folder / "a.tmp", std::string(1000, 'x'));
  write_file(folder / "a", "whole");
  EXPECT_EQ(read_bytes(folder / "a"), "whole");
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, WhatStandsInTheWayIsNamed) {
  TempFolder folder;
  EXPECT_ERROR(io, "it is a directory", AtomicFile(folder.path()));
  EXPECT_ERROR(io, "No such file", AtomicFile(folder / "none/a"));
  EXPECT_ERROR(io, "Not a directory",
               AtomicFile(write_bytes(folder / "f", "") + "/a"));
  EXPECT_ERROR(io, "is empty", AtomicFile(""));
  mkdir((folder / "a.tmp").c_str(), 0755);
  EXPECT_ERROR(io, "Is a directory", AtomicFile(folder / "a"));
}

TEST(AtomicFile, ADeviceIsWrittenDirectly) {
  write_file("/dev/null", "anything");
  struct stat status {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(AtomicFile, AFullDeviceIsAnError) {
  struct stat status {};
  if (stat("/dev/full", &status) != 0) GTEST_SKIP() << "no /dev/full";
  EXPECT_ERROR(io, "/dev/full: cannot write it: No space left on device",
               write_file("/dev/full", "x"));
  EXPECT_ERROR(io, "No space left",
               write_file("/dev/full", std::string(1 << 20, 'x')));
  EXPECT_FALSE(std::filesystem::exists("/dev/full.tmp"));
}

// Runs body on a file system of 1 MiB that only this process sees.
int on_a_small_disk(const std::function<void(const std::string&)>& body) {
  return test::in_child([&] {
    TempFolder folder;
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0)
      return test::kSkipped;
    body(folder.path());
    umount(folder.path().c_str());
    return 0;
  });
}

TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  const int status = on_a_small_disk([](const std::string& disk) {
    const std::string path = disk + "/checkpoint.safetensors";
    const Tensor half = Tensor::zeros({150'000});  // 600 kB
    write_safetensors(path, {{"w", half}}, {{"step", "1"}});
    // The second does not fit beside the first.
    EXPECT_ERROR(io, "checkpoint.safetensors: cannot write it: No space left",
                 write_safetensors(path, {{"w", half}}, {{"step", "2"}}));
    EXPECT_EQ(SafetensorsFile(path).metadata().at("step"), "1");
    EXPECT_EQ(SafetensorsFile(path).read("w").numel(), 150'000);
    EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
    EXPECT_ERROR(io, "No space left",
                 write_file(disk + "/new", std::string(2 << 20, 'x')));
    EXPECT_FALSE(std::filesystem::exists(disk + "/new"));
    EXPECT_FALSE(std::filesystem::exists(disk + "/new.tmp"));
  });
  if (status == test::kSkipped) GTEST_SKIP() << "cannot mount a tmpfs here";
  EXPECT_EQ(status, 0);
}

TEST(AtomicFile, TheLimitOfAFilesSizeIsAnErrorNotASignal) {
  const int status = test::in_child([] {
    TempFolder folder;
    const std::string path = write_bytes(folder / "a", "old");
    rlimit limit{100'000, 100'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return test::kSkipped;
    EXPECT_ERROR(io, "File too large",
                 write_file(path, std::string(200'000, 'x')));
    EXPECT_EQ(read_bytes(path), "old");
    EXPECT_EQ(folder.names(), Names{"a"});
    sigset_t pending;
    sigpending(&pending);
    EXPECT_FALSE(sigismember(&pending, SIGXFSZ));
    write_file(path, "small");
    EXPECT_EQ(read_bytes(path), "small");
    return 0;
  });
  if (status == test::kSkipped) GTEST_SKIP() << "setrlimit is not allowed";
  EXPECT_EQ(status, 0);
}

TEST(AtomicFile, PermissionsHold) {
  TempFolder folder;
  const std::string closed = folder / "closed";
  mkdir(closed.c_str(), 0755);
  write_bytes(closed + "/a", "old");
  const std::string open = folder / "open";
  mkdir(open.c_str(), 0755);
  ASSERT_EQ(chmod(open.c_str(), 0777), 0);
  const std::string kept = write_bytes(open + "/kept", "old");
  ASSERT_EQ(chmod(kept.c_str(), 0444), 0);
  ASSERT_EQ(chmod(closed.c_str(), 0555), 0);
  const int status = test::as_ordinary_user([&] {
    EXPECT_ERROR(io, "Permission denied", write_file(closed + "/b", "new"));
    EXPECT_ERROR(io, "Permission denied", write_file(closed + "/a", "new"));
    // A rename would be allowed here; the file itself says no.
    EXPECT_ERROR(io, "Permission denied", write_file(kept, "new"));
    return 0;
  });
  ASSERT_EQ(chmod(closed.c_str(), 0755), 0);
  if (status == test::kSkipped) GTEST_SKIP() << "cannot become nobody";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_bytes(closed + "/a"), "old");
  EXPECT_EQ(read_bytes(kept), "old");
  EXPECT_FALSE(std::filesystem::exists(closed + "/b.tmp"));
}

}  // namespace
}  // namespace qkv::io
