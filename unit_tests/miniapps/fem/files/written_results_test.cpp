// Results and meshes come out of each format as they went in.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/netcdf_classic.hpp>
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/files/result_writer.hpp>

#include "miniapps/fem/files/mesh_fixtures.hpp"
#include "miniapps/fem/files/result_fields.hpp"

namespace {

using namespace fem_files_testing;

TEST(WriteCsv, RowsHaveTheNodesNumberPlaceAndFieldsInSeventeenDigits) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();

  const auto files = fem::write_result(folder / "out.csv", mesh, 1, fields_of(mesh));

  EXPECT_EQ(files, std::vector{folder / "out.csv"});
  std::istringstream rows(content_of(folder / "out.csv"));
  std::string row;
  std::getline(rows, row);
  EXPECT_EQ(row, "node,x,y,z,ux,uy,uz,temperature");
  std::getline(rows, row);
  EXPECT_EQ(row, "10,0,0,0,0,0.33333333333333331,0.66666666666666663,100");
  std::size_t count = 1;
  while (std::getline(rows, row)) ++count;
  EXPECT_EQ(count, 36u);
  EXPECT_EQ(files_in(folder), 1u);
}

// The values of an appended array, by its name.
template <class Value>
std::vector<Value> appended(const std::string& content, const std::string& name) {
  const std::size_t array = content.find("Name=\"" + name + "\"");
  if (array == std::string::npos) return {};
  const std::size_t offset = content.find("offset=\"", array) + 8;
  const std::size_t begin =
      content.find("<AppendedData encoding=\"raw\">\n_") + 31 + std::stoul(content.substr(offset));
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, content.data() + begin, sizeof bytes);
  std::vector<Value> values(bytes / sizeof(Value));
  std::memcpy(values.data(), content.data() + begin + sizeof bytes, bytes);
  return values;
}

TEST(WriteVtu, ArraysComeBackBitForBit) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  const auto fields = fields_of(mesh);

  fem::write_result(folder / "out.vtu", mesh, 0.25, fields);

  const std::string content = content_of(folder / "out.vtu");
  EXPECT_NE(content.find("NumberOfPoints=\"36\" NumberOfCells=\"12\""), std::string::npos);
  EXPECT_NE(content.find("Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">0.25<"),
            std::string::npos);
  for (const fem::Field& written : fields) EXPECT_EQ(appended<double>(content, written.name), written.values);
  const auto points = appended<double>(content, "Points");
  ASSERT_EQ(points.size(), 108u);
  EXPECT_EQ(0, std::memcmp(points.data(), mesh.coordinates.data(), 108 * sizeof(double)));
  const auto nodes = appended<std::int32_t>(content, "connectivity");
  ASSERT_EQ(nodes.size(), 96u);
  EXPECT_EQ(0, std::memcmp(nodes.data(), mesh.elements.data(), 96 * sizeof(std::int32_t)));
  EXPECT_EQ(appended<std::int64_t>(content, "node"), mesh.node_ids);
  EXPECT_EQ(appended<std::int64_t>(content, "offsets").back(), 96);
  EXPECT_EQ(appended<unsigned char>(content, "types"), std::vector<unsigned char>(12, 12));
}

TEST(WritePvd, ListsOneFileForEveryTime) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  fem::ResultWriter writer(folder / "run.pvd", mesh);

  for (int step = 0; step < 6; ++step) writer.write(0.5 * step, fields_of(mesh, step));
  const auto files = writer.finish();

  ASSERT_EQ(files.size(), 7u);
  EXPECT_EQ(files[0], folder / "run.pvd");
  EXPECT_EQ(files[6], folder / "run_0005.vtu");
  EXPECT_NE(content_of(files[0]).find("<DataSet timestep=\"2.5\" part=\"0\" file=\"run_0005.vtu\"/>"),
            std::string::npos);
  EXPECT_EQ(appended<double>(content_of(files[6]), "temperature"), fields_of(mesh, 5)[1].values);
  EXPECT_EQ(files_in(folder), 7u);
}

void expect_same(const fem::HostMesh& a, const fem::HostMesh& b) {
  EXPECT_EQ(a.coordinates, b.coordinates);
  EXPECT_EQ(a.elements, b.elements);
  EXPECT_EQ(a.element_blocks, b.element_blocks);
  ASSERT_EQ(a.blocks.size(), b.blocks.size());
  for (std::size_t k = 0; k < a.blocks.size(); ++k) EXPECT_EQ(a.blocks[k].name, b.blocks[k].name);
  ASSERT_EQ(a.side_sets.size(), b.side_sets.size());
  for (const fem::SideSet& set : a.side_sets) {
    const fem::SideSet* other = side_set(b, set.name);
    ASSERT_NE(other, nullptr) << set.name;
    EXPECT_EQ(set.faces.size(), other->faces.size());
  }
  ASSERT_EQ(a.node_sets.size(), b.node_sets.size());
  for (const fem::NodeSet& set : a.node_sets) {
    const fem::NodeSet* other = node_set(b, set.name);
    ASSERT_NE(other, nullptr) << set.name;
    EXPECT_EQ(set.nodes, other->nodes);
  }
}

TEST(WriteMesh, MeshesComeBackFromExodusAndVtk) {
  const TemporaryFolder folder;
  for (const char* file : {"two_blocks.e", "two_blocks_22.msh", "two_blocks.inp", "two_blocks.mfem.mesh"}) {
    const fem::HostMesh mesh = fem::read_mesh(fixture(file));
    for (const char* name : {"mesh.e", "mesh.vtk"}) {
      fem::write_mesh(folder / name, mesh);
      const fem::HostMesh again = fem::read_mesh(folder / name);

      expect_same(mesh, again);
      if (side_set(again, "top") != nullptr) expect_level(again, "top", 1.5);
    }
  }
}

TEST(WriteExodus, NumbersOfTheFileAreKept) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();

  fem::write_mesh(folder / "mesh.e", mesh);

  const fem::HostMesh again = fem::read_mesh(folder / "mesh.e");
  EXPECT_EQ(again.node_ids, mesh.node_ids);
  EXPECT_EQ(again.element_ids, mesh.element_ids);
}

TEST(WriteExodus, ElementsOfMixedBlocksKeepTheirNodesNumbersAndSides) {
  const TemporaryFolder folder;
  fem::HostMesh mesh = two_blocks();
  for (std::size_t e = 0; e < 12; ++e) mesh.element_blocks[e] = e % 2;
  const auto fields = fields_of(mesh);

  fem::write_result(folder / "mesh.e", mesh, 0, fields);

  const fem::HostMesh again = fem::read_mesh(folder / "mesh.e");
  for (std::size_t e = 0; e < 12; ++e) {
    const auto number = static_cast<std::size_t>(again.element_ids[e] - 101);  // its place before
    EXPECT_EQ(again.elements[e], mesh.elements[number]);
    EXPECT_EQ(again.element_blocks[e], number % 2);
  }
  expect_level(again, "bottom", 0);
  fem::detail::MeshText text = fem::detail::MeshText::of_file(folder / "mesh.e");
  const std::string content = text.content();
  fem::detail::NetcdfClassic file(text);
  const auto* of_first = file.find("vals_elem_var1eb1");
  ASSERT_NE(of_first, nullptr);
  text.seek(of_first->begin.size());
  EXPECT_EQ(text.binary_number(8, "a value"), fields[2].values[0]);
  EXPECT_EQ(text.binary_number(8, "a value"), fields[2].values[2]);
}

TEST(WriteExodus, EveryStateIsATimeStep) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  fem::ResultWriter writer(folder / "run.exo", mesh);

  for (int step = 0; step < 5; ++step) writer.write(0.5 * step, fields_of(mesh, step));
  writer.finish();

  fem::detail::MeshText text = fem::detail::MeshText::of_file(folder / "run.exo");
  text.set_big_endian(true);
  text.seek(4);
  EXPECT_EQ(text.binary_integer(4, false, "records"), 5);
  text.seek(0);
  const fem::detail::NetcdfClassic file(text);
  const auto* times = file.find("time_whole");
  const auto* uy = file.find("vals_nod_var2");
  ASSERT_NE(times, nullptr);
  ASSERT_NE(uy, nullptr);
  EXPECT_TRUE(uy->is_record);
  const std::size_t record = 8 * (1 + 4 * 36 + 12);
  for (std::size_t step = 0; step < 5; ++step) {
    text.seek((times->begin + step * record).size());
    EXPECT_EQ(text.binary_number(8, "a time"), 0.5 * static_cast<double>(step));
    text.seek((uy->begin + step * record).size());
    EXPECT_EQ(text.binary_number(8, "a value"), static_cast<double>(step) + 1.0 / 3);
  }
  EXPECT_EQ(text.content().size(), times->begin + 5 * record);
}

}  // namespace
