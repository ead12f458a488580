// What the tests of coherent arrays in files share: a folder of their own, the header of the file as it is
// there, and children that end as in a crash.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <strata/views/coherent/file_array.hpp>
#include <strata/views/coherent/file_storage.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace coherent_testing {

using strata::detail::FileHeader;
using Longs = CoherentArray<std::int64_t, rank<1>>;

struct Particle {
  double x, y;
  int cell;
};

class FileArrays : public CoherentTest {
 protected:
  void SetUp() override {
    CoherentTest::SetUp();
    std::string pattern = (std::filesystem::temp_directory_path() / "strata-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/x.strata";
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    CoherentTest::TearDown();
  }

  FileHeader header() const {
    FileHeader found{};
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(&found), sizeof found);
    return found;
  }
  bool is_complete() const { return header().state == FileHeader::State::Complete; }
  // Changes the header, with a right checksum.
  template <class F>
  void change_header(const F& change, bool sums = true) const {
    FileHeader found = header();
    change(found);
    if (sums) found.checksum = strata::detail::checksum_of(found);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(&found), sizeof found);
  }
  std::string refusal() const {
    return message_of<FileError>([&] { static_cast<void>(open_file_array<std::int64_t, rank<1>>(path)); });
  }
  void make(index_t n) const {
    const Longs x = file_array<std::int64_t, rank<1>>(path, n, overwrite);
    launch(on(Serial{}), n, Iota{100}, out(x));
  }

  // What a child's `body` returns; it ends there and then, as in a crash.
  template <class F>
  static int in_child(const F& body) {
    const pid_t child = fork();
    if (child == 0) {
      int result = 99;
      try {
        result = body();
      } catch (const std::exception&) {
        result = 98;
      }
      _exit(result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string folder, path;
};

}  // namespace coherent_testing
