// What this process has moved between memory and disks, by the system's account.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

#include <strata/core/config.hpp>

namespace perf {

/// Bytes; a page that is changed in memory counts as written when that begins.
struct DiskBytes {
  strata::index_t read = 0, written = 0;
  bool is_known = false;  ///< the system says it

  friend DiskBytes operator-(const DiskBytes& a, const DiskBytes& b) {
    return {a.read - b.read, a.written - b.written, a.is_known && b.is_known};
  }
};

/// Since the process began.
inline DiskBytes disk_bytes() {
  DiskBytes bytes;
  std::ifstream file("/proc/self/io");
  bool has_read = false, has_written = false;
  for (std::string name; file >> name;) {
    strata::index_t value = 0;
    file >> value;
    if (name == "read_bytes:") bytes.read = value, has_read = true;
    if (name == "write_bytes:") bytes.written = value, has_written = true;
  }
  bytes.is_known = has_read && has_written;
  return bytes;
}

}  // namespace perf
