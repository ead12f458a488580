// Files that lie about how many there are of something: the reproducers of what went wrong once.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "miniapps/fem/files/crafted_netcdf.hpp"
#include "miniapps/fem/files/mesh_fixtures.hpp"
#include "miniapps/fem/files/mesh_texts.hpp"

namespace {

using namespace fem_files_testing;
using Bytes = CraftedNetcdf;

// Eight nodes, and blocks of hexahedra for whose connectivity the file has values for `stored` elements.
std::string exodus(std::int64_t elements, std::int64_t in_block, std::int64_t stored) {
  Bytes file(5);
  file.add_dimension("num_dim", 3);
  const std::int64_t nodes = file.add_dimension("num_nodes", 8);
  file.add_dimension("num_elem", elements);
  const std::int64_t blocks = file.add_dimension("num_el_blk", 1);
  file.add_dimension("num_el_in_blk1", in_block);
  const std::int64_t corner = file.add_dimension("num_nod_per_el1", 8);
  const std::int64_t of = file.add_dimension("stored", stored);
  file.add("coord", Bytes::Doubles, {0, nodes}, Bytes::zeros(8 * 24));
  file.add("eb_prop1", Bytes::Integers, {blocks}, Bytes::integers({1}));
  file.add("connect1", Bytes::Integers, {of, corner}, Bytes::integers({1, 2, 3, 4, 5, 6, 7, 8}), "HEX8");
  return file.bytes();
}

TEST(CraftedExodus, AsItIsCraftedHereIsReadWhereItSaysTheTruth) {
  EXPECT_EQ(fem::parse_mesh("part.e", exodus(1, 1, 1)).elements.size(), 1u);
}

TEST(CraftedExodus, ANumberOfElementsWhoseEightfoldOverflowsIsNoNumberOfTheFile) {
  const std::int64_t many = (std::int64_t{1} << 61) + 1;  // 8 * many is 8 in 64 bits

  EXPECT_EQ(
      message_of("part.e", exodus(many, many, 1)),
      "part.e: the mesh announces 2305843009213693953 elements, more than the file has bytes; the file is "
      "damaged: write it again");
}

TEST(CraftedExodus, ANumberOfNodesWhoseThreefoldOverflowsIsNoNumberOfTheFile) {
  Bytes file(5);
  file.add_dimension("num_dim", 3);
  file.add_dimension("num_nodes", 0x5555555555555556);  // three times that is 2 in 64 bits
  const std::int64_t two = file.add_dimension("two", 2);
  const std::int64_t blocks = file.add_dimension("num_el_blk", 1);
  file.add("coord", Bytes::Doubles, {two}, Bytes::zeros(16));
  file.add("eb_prop1", Bytes::Integers, {blocks}, Bytes::integers({1}));

  EXPECT_EQ(message_of("part.e", file.bytes()),
            "part.e: byte 0: the variable 'coord' has 2 values, not 9223372036854775807 or more; the file is "
            "damaged: write it again");
}

TEST(CraftedExodus, TwoDimensionsOfOneNameDoNotMakeTextsLongerThanTheyAre) {
  Bytes file(2);
  file.add_dimension("num_dim", 3);
  const std::int64_t nodes = file.add_dimension("num_nodes", 8);
  file.add_dimension("num_elem", 1);
  const std::int64_t blocks = file.add_dimension("num_el_blk", 1);
  file.add_dimension("len_name", 1 << 30);
  const std::int64_t length = file.add_dimension("len_name", 4);
  const std::int64_t one = file.add_dimension("num_el_in_blk1", 1);
  const std::int64_t corner = file.add_dimension("num_nod_per_el1", 8);
  file.add("coord", Bytes::Doubles, {0, nodes}, Bytes::zeros(8 * 24));
  file.add("eb_prop1", Bytes::Integers, {blocks}, Bytes::integers({1}));
  file.add("eb_names", Bytes::Characters, {blocks, length}, std::string("rod\0", 4));
  file.add("connect1", Bytes::Integers, {one, corner}, Bytes::integers({1, 2, 3, 4, 5, 6, 7, 8}), "HEX8");

  EXPECT_EQ(fem::parse_mesh("part.e", file.bytes()).blocks.at(0).name, "rod");
}

TEST(CraftedVtk, TuplesTimesComponentsOfStringsMustBeInTheFile) {
  const std::string text =
      "# vtk DataFile Version 3.0\npart\nASCII\nDATASET UNSTRUCTURED_GRID\nFIELD names 1\n"
      "block_names 1000 4 string\n1:a\n2:b\n3:c\n4:d\n";

  EXPECT_EQ(message_of("part.vtk", text),
            "part.vtk:6: 4000 strings are announced, but only 16 bytes follow; the file is truncated or "
            "damaged: write it again");
}

TEST(CraftedVtk, ANegativeNumberOfValuesIsRefused) {
  const std::string text =
      "# vtk DataFile Version 3.0\npart\nASCII\nDATASET UNSTRUCTURED_GRID\nFIELD names 1\n"
      "a -3037000500 -3037000500 int\n1 2 3\n";

  EXPECT_EQ(message_of("part.vtk", text), "part.vtk:6: a number of components is -3037000500; correct it");
}

}  // namespace
