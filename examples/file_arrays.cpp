// The program of docs/file_arrays.md: arrays that live in files. The regions between the marks are shown
// there.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include <strata/strata.hpp>
#include <strata/streaming.hpp>

using namespace strata;
using namespace strata::literals;

namespace {

struct Cool {
  STRATA_FUNCTION void operator()(auto i, auto t) const {
    for (index_t j = 0; j < 40; ++j) t(i, j) = 300 + t(i, j) / 2;
  }
};

void check(bool good) {
  if (good) return;
  std::puts("file_arrays: a result is wrong");
  std::exit(1);
}

// clang-format off
template <class D>
void write_and_read(const D& device, const std::string& path) {
//! [file_arrays]
  {
    auto t = file_array<double, rank<2>>(path, 1000, 40, overwrite);  // a file of zeros, with all the blocks it needs
    launch(on(device), 1000, Cool{}, inout(t));                  // a coherent array as any other
    save(t);                                                     // on the disk, and complete
    t(3, 4) = 273;                                               // incomplete again, until t ends
  }
  auto t = open_file_array<double, rank<2>>(path, for_reading);  // its extents are in the file
  const double sum = t(3, 4) + t(999, 39);
//! [file_arrays]
  check(sum == 573);
}
template <class D>
void stream(const D& device, const std::string& path) {
//! [streamed]
  auto t = open_file_array<double, rank<2>>(path);
  launch(streamed(device, 64_KiB), 1000, Cool{}, inout(t));      // disk, host, 64 KiB of the device, and back
  save(t);
//! [streamed]
  check(t(3, 4) == 300 + 273. / 2);
}
// clang-format on

void run() {
  const std::string name = "strata-file-arrays-" + std::to_string(getpid());
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  write_and_read(Emulated{0}, path);
  stream(Emulated{0}, path);
  std::filesystem::remove(path);
  std::puts("file_arrays: all right");
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, run); }
