// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <strata/miniapps/fem/files/formats.hpp>
#include <strata/miniapps/fem/files/hdf5_exodus.hpp>
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace {

bool is_exodus(std::string_view content) {
  return content.starts_with("CDF\x01") || content.starts_with("CDF\x02") || content.starts_with("CDF\x05") ||
         content.starts_with("\x89HDF\r\n\x1a\n");
}

HostMesh parse(detail::MeshText& text) {
  using namespace detail;
  const std::string_view content = trimmed(std::string_view(text.content()).substr(0, 4096));
  if (is_exodus(text.content())) return read_exodus(text);
  const auto begins = [&](std::string_view with) { return content.starts_with(with); };
  if (begins("$MeshFormat") || content.find("\n$MeshFormat") != std::string_view::npos)
    return read_gmsh(text);
  if (begins("# vtk DataFile")) return read_legacy_vtk(text);
  if (begins("MFEM ")) return read_mfem(text);
  if (content.find("MeshVersionFormatted") != std::string_view::npos) return read_medit(text);
  if (begins("*")) return read_abaqus(text);
  const std::string known = "; this build reads " + std::string(readable_formats());
  if (begins("<?xml") || begins("<VTKFile")) {
    throw MeshError(text.name() + ": VTK's XML files are not read; save the mesh as legacy VTK" + known);
  }
  if (begins("$NOD") || begins("$PARAMETRICFORMAT")) {
    throw MeshError(text.name() + ": version 1 of Gmsh's format is not read; save it as 2.2 or 4.1");
  }
  if (begins("NETGEN mesh") || content.find("MeshVersionUnformatted") != std::string_view::npos) {
    throw MeshError(text.name() + ": this variant of a .mesh file is not read; save it in ASCII" + known);
  }
  throw MeshError(text.name() + ": the content is no known mesh format" + known);
}

}  // namespace

HostMesh parse_mesh(std::string name, std::string content) {
  detail::MeshText text(std::move(name), std::move(content));
  return parse(text);
}

HostMesh read_mesh(const std::string& path) {
  detail::MeshText text = detail::MeshText::of_file(path);
  return parse(text);
}

std::string_view readable_formats() {
  return detail::has_hdf5_exodus()
             ? "Exodus II, Gmsh 2.2 and 4.1, legacy VTK, MEDIT, MFEM v1.0 and Abaqus"
             : "Exodus II (not in HDF5), Gmsh 2.2 and 4.1, legacy VTK, MEDIT, MFEM v1.0 and Abaqus";
}

}  // namespace strata::inline STRATA_ABI::fem
