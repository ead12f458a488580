// Control groups that are nothing but files, for tests of what limits follow from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace device_testing {

/// A folder that looks like /sys/fs/cgroup, removed at the end.
class Cgroups {
 public:
  Cgroups() {
    std::string name = (std::filesystem::temp_directory_path() / "strata_cgroup_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    root_ = name;
  }
  ~Cgroups() { std::filesystem::remove_all(root_); }
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace device_testing
