// strata-mesh-convert FROM TO: reads a mesh of hexahedra in any format that the mini-apps read, says what is
// in it, and writes it as Exodus II (.e) or legacy VTK (.vtk) with its blocks and sets.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/files/result_writer.hpp>

namespace {

int run(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr,
                 "usage: strata-mesh-convert FROM [TO]\n\nFROM: %s.\nTO:   .e (Exodus II) or .vtk (legacy "
                 "VTK); without "
                 "it, the mesh is read and described only.\n",
                 std::string(strata::fem::readable_formats()).c_str());
    return 2;
  }
  const strata::fem::HostMesh mesh = strata::fem::read_mesh(argv[1]);
  std::printf("%s: %zu nodes, %zu hexahedra\n", argv[1], mesh.coordinates.size(), mesh.elements.size());
  for (const auto& block : mesh.blocks) std::printf("  block %s\n", block.name.c_str());
  for (const auto& set : mesh.side_sets) {
    std::printf("  side set %s: %zu faces\n", set.name.c_str(), set.elements.size());
  }
  for (const auto& set : mesh.node_sets) {
    std::printf("  node set %s: %zu nodes\n", set.name.c_str(), set.nodes.size());
  }
  for (const std::string& remark : mesh.remarks) std::printf("  %s\n", remark.c_str());
  if (argc == 3) strata::fem::write_mesh(argv[2], mesh);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return strata::miniapp::exit_status_of("strata-mesh-convert", [&] { return run(argc, argv); });
}
