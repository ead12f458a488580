// A file system that is soon full, for tests of what a full disk does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <sys/mount.h>

namespace strata_tests {

/// A file system of 1 MiB at `folder`, where the system lets us make one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& folder)
      : is_there(mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0), folder_(folder) {}
  ~SmallDisk() {
    if (is_there) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const bool is_there;

 private:
  const std::string folder_;
};

}  // namespace strata_tests
