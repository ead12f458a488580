// Temporary files of a test program are in a folder of its own, so that several checkouts can be tested at
// once: what testing::TempDir() and std::filesystem::temp_directory_path() say.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

namespace {

struct OwnFolder {
  OwnFolder() : path((std::filesystem::temp_directory_path() / "strata_tests_XXXXXX").string()) {
    if (mkdtemp(path.data()) == nullptr) path.clear();
    else setenv("TMPDIR", path.c_str(), 1);
  }
  // Not by children, which have copies of this object.
  ~OwnFolder() {
    std::error_code ignored;
    if (getpid() == maker && !path.empty()) std::filesystem::remove_all(path, ignored);
  }

  std::string path;
  pid_t maker = getpid();
};
const OwnFolder own_folder;

}  // namespace
