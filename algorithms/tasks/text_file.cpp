// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>

#include <strata/algorithms/tasks/text_file.hpp>
#include <strata/core/error.hpp>
#include <strata/core/files/partial_file.hpp>

namespace strata::inline STRATA_ABI::detail {

void write_text_file(const std::string& path, const char* what, const std::string& text) {
  files::PartialFile file;
  if (!file.create(path) || !file.write(text.data(), text.size(), 0) || !file.place())
    throw FileError(std::string(what) + " cannot be written to \"" + path + "\": " + std::strerror(errno));
}

}  // namespace strata::inline STRATA_ABI::detail
