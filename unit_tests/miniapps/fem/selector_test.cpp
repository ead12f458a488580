// Selectors: how they are read, and the nodes and faces they name.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>
#include <strata/miniapps/fem/selector.hpp>
#include <strata/miniapps/fem/upload.hpp>

#include "meshes.hpp"

namespace {

using namespace strata;
using namespace strata::fem;
using namespace strata_tests;

TEST(Conditions, AreReadWithAndWithoutTheBoundingBox) {
  const auto conditions = parse_conditions("z<=min+2 & x==max&y > -1.5e1 & x>= max - .25 & y<3");

  ASSERT_EQ(conditions.size(), 5u);
  EXPECT_EQ(conditions[0].direction, 2);
  EXPECT_EQ(conditions[0].comparison, Condition::Comparison::LessEqual);
  EXPECT_EQ(conditions[0].from, Condition::From::Minimum);
  EXPECT_EQ(conditions[0].offset, 2);
  EXPECT_EQ(conditions[1].comparison, Condition::Comparison::Equal);
  EXPECT_EQ(conditions[1].from, Condition::From::Maximum);
  EXPECT_EQ(conditions[1].offset, 0);
  EXPECT_EQ(conditions[2].comparison, Condition::Comparison::Greater);
  EXPECT_EQ(conditions[2].from, Condition::From::Zero);
  EXPECT_EQ(conditions[2].offset, -15);
  EXPECT_EQ(conditions[3].comparison, Condition::Comparison::GreaterEqual);
  EXPECT_EQ(conditions[3].offset, -0.25);
  EXPECT_EQ(conditions[4].comparison, Condition::Comparison::Less);
}

TEST(Conditions, ThatAreWrongAreErrorsThatSayHowToWriteThem) {
  for (const char* text : {"", "w<1", "x", "x1", "x=1", "x<=", "x<=mean", "x<=min2", "x<=min+", "x<=min+-2",
                           "x<=1 2", "x<=1&", "&x<=1", "x<=nan", "x<=inf", "x<=1e999", "x<=--1", "x<=>1"}) {
    try {
      parse_conditions(text);
      ADD_FAILURE() << text;
    } catch (const MeshError& error) {
      EXPECT_NE(std::string(error.what()).find("such as x<=min+2"), std::string::npos) << error.what();
    }
  }
}

TEST(Settings, AreSplitAtTheEqualsSignThatIsNoComparison) {
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(split_setting("top=0"), (Parts{"top", "0"}));
  EXPECT_EQ(split_setting("z<=min+2=100"), (Parts{"z<=min+2", "100"}));
  EXPECT_EQ(split_setting("x==max=-1,0,2"), (Parts{"x==max", "-1,0,2"}));
  EXPECT_EQ(split_setting("x>=max"), (Parts{"x>=max", ""}));
  EXPECT_EQ(split_setting("x==max"), (Parts{"x==max", ""}));
  EXPECT_EQ(split_setting("all = 3"), (Parts{"all", "3"}));
  EXPECT_EQ(split_setting("hub"), (Parts{"hub", ""}));
  EXPECT_EQ(split_setting("hub="), (Parts{"hub", ""}));
}

template <class D>
class Selector : public ::testing::Test {
 protected:
  static Mesh<PlainArrays<D>> box() { return make_box<PlainArrays<D>>(parse_box("box:3x4x5:0.3,0.4,0.5")); }

  static void expect_nodes(const char* selector, bool (*holds)(index_t i, index_t j, index_t k)) {
    std::vector<std::int32_t> expected;
    for (index_t n = 0; n < 4 * 5 * 6; ++n)
      if (holds(n % 4, n / 4 % 5, n / 20)) expected.push_back(static_cast<std::int32_t>(n));
    EXPECT_EQ(list_of(select_nodes(box(), selector)), expected) << selector;
  }
};
TYPED_TEST_SUITE(Selector, TestDevices, DeviceName);

TYPED_TEST(Selector, NamesNodesByACoordinateUpToRounding) {
  this->expect_nodes("all", [](index_t, index_t, index_t) { return true; });
  this->expect_nodes("x<=min", [](index_t i, index_t, index_t) { return i == 0; });
  this->expect_nodes("z>=max-0.2", [](index_t, index_t, index_t k) { return k >= 3; });
  this->expect_nodes("y<=min+0.3", [](index_t, index_t j, index_t) { return j <= 3; });
  this->expect_nodes("y<0.3", [](index_t, index_t j, index_t) { return j < 3; });
  this->expect_nodes("y>0.3", [](index_t, index_t j, index_t) { return j > 3; });
  this->expect_nodes("x==0.2", [](index_t i, index_t, index_t) { return i == 2; });
  this->expect_nodes("x>=0.1 & x<=0.2 & z==max",
                     [](index_t i, index_t, index_t k) { return i >= 1 && i <= 2 && k == 5; });
}

TYPED_TEST(Selector, NamesTheNodesOfSideSetsAndNodeSets) {
  using Arrays = PlainArrays<TypeParam>;
  Mesh<Arrays> mesh = this->box();
  mesh.node_sets.clear();
  const auto expected = list_of(select_nodes(mesh, "y>=max"));

  EXPECT_EQ(list_of(select_nodes(mesh, "y_max")), expected);
  EXPECT_EQ(list_of(select_nodes(mesh, "4")), expected);  // its number

  mesh.node_sets.push_back({12, "rim", select_nodes(mesh, "y>=max & x<=min")});
  EXPECT_EQ(list_of(select_nodes(mesh, "rim")), list_of(select_nodes(mesh, "y>=max & x<=min")));
  EXPECT_EQ(list_of(select_nodes(mesh, "12")), list_of(select_nodes(mesh, "rim")));
}

TYPED_TEST(Selector, HasDoneItsWorkWhenItReturns) {
  using D = TypeParam;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto mesh = make_box<PlainArrays<D>>(parse_box("box:30x30x30"));
    const auto nodes = select_nodes(mesh, "x_max");
    const auto faces = select_faces(mesh, "x>=max");
    // A queue that knows nothing of the default one.
    const Queue<D> other{D{}};
    const auto mirror = create_mirror(nodes);
    const auto elements = create_mirror(faces.elements);
    deep_copy(other, mirror, nodes);
    deep_copy(other, elements, faces.elements);
    other.wait();

    ASSERT_EQ(mirror.extent(0), 31 * 31);
    for (index_t k = 0; k < 31 * 31; ++k) ASSERT_EQ(mirror(k), 31 * k + 30);
    ASSERT_EQ(elements.extent(0), 30 * 30);
    for (index_t k = 0; k < 30 * 30; ++k) ASSERT_EQ(elements(k), 30 * k + 29);
  }
}

TYPED_TEST(Selector, TakesTheNameOfASetBeforeAllAndComparisons) {
  using Arrays = PlainArrays<TypeParam>;
  Mesh<Arrays> mesh = this->box();
  mesh.node_sets[0].name = "all";
  mesh.node_sets[1].name = "x<1";

  EXPECT_EQ(list_of(select_nodes(mesh, "all")), list_of(mesh.node_sets[0].nodes));
  EXPECT_EQ(list_of(select_nodes(mesh, "x<1")), list_of(mesh.node_sets[1].nodes));
}

TYPED_TEST(Selector, ThatNamesNothingIsAnErrorThatListsWhatThereIs) {
  using Arrays = PlainArrays<TypeParam>;
  const Mesh<Arrays> mesh = upload<Arrays>(scattered_brick(2, 2, 2));
  const auto message_of = [&](const char* selector) {
    try {
      select_nodes(mesh, selector);
    } catch (const MeshError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };

  const std::string missing = message_of("top");
  EXPECT_NE(missing.find("\"top\""), std::string::npos) << missing;
  EXPECT_NE(missing.find("bottom"), std::string::npos) << missing;
  EXPECT_NE(missing.find("origin"), std::string::npos) << missing;
  const std::string empty = message_of("x<=-1");
  EXPECT_NE(empty.find("names no node"), std::string::npos) << empty;
}

TYPED_TEST(Selector, NamesFacesOfTheSurfaceByTheirNodes) {
  const auto mesh = this->box();

  for (const char* side : {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"}) {
    const std::string name(side);
    const std::string selector = name.substr(0, 1) + (name.ends_with("min") ? "<=min" : ">=max");
    const auto faces = select_faces(mesh, selector), expected = select_faces(mesh, side);
    EXPECT_EQ(list_of(faces.elements), list_of(expected.elements)) << side;
    EXPECT_EQ(list_of(faces.faces), list_of(expected.faces)) << side;
  }
  EXPECT_EQ(select_faces(mesh, "all").elements.extent(0), 2 * (12 + 15 + 20));
  EXPECT_THROW(select_faces(mesh, "x==0.2 & y==0.2"), MeshError);
}

TYPED_TEST(Selector, NamesFacesOfTheSurfaceOfAMeshWithScatteredNumbers) {
  const auto mesh = upload<PlainArrays<TypeParam>>(scattered_brick(3, 4, 5));

  EXPECT_EQ(select_faces(mesh, "all").elements.extent(0), 2 * (12 + 15 + 20));
  const auto bottom = select_faces(mesh, "z<=min");
  EXPECT_EQ(list_of(bottom.elements), list_of(mesh.side_sets[0].elements));
  EXPECT_EQ(list_of(bottom.faces), list_of(mesh.side_sets[0].faces));
}

}  // namespace
