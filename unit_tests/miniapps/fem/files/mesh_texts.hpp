// Mesh files as texts that tests change, and what the readers say of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace fem_files_testing {

/// What is wrong with a mesh of this content, in a file of this name; "no error" where it is read.
inline std::string message_of(const std::string& name, const std::string& content) {
  try {
    strata::fem::parse_mesh(name, content);
  } catch (const strata::fem::MeshError& error) {
    return error.what();
  }
  return "no error";
}

/// The text with `by` in place of `what`, which has to be in it.
inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t found = text.find(what);
  EXPECT_NE(found, std::string::npos) << what;
  if (found == std::string::npos) return text;
  return text.replace(found, what.size(), by);
}

}  // namespace fem_files_testing
