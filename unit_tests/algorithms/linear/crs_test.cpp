// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "matrices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using linear::Duplicates;
using linear::MatrixError;
using linear::MatrixFault;

template <class V>
auto elements(const V& view) {
  std::vector<typename V::value_type> host(static_cast<std::size_t>(view.extent(0)));
  const View<typename V::value_type, Serial, typename V::extents_type, typename V::layout_type> target(
      host.data(), view.extent(0));
  deep_copy(target, view);
  return host;
}

// The fault and the row that `make` reports.
template <class Make>
std::pair<MatrixFault, index_t> fault_of(const Make& make) {
  try {
    make();
  } catch (const MatrixError& error) {
    EXPECT_NE(std::string(error.what()).find("\"wrong\""), std::string::npos) << error.what();
    return {error.fault(), error.row()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {MatrixFault::RowMap, -1};
}

template <class D>
class LinearCrs : public ::testing::Test {
 protected:
  using Fault = std::pair<MatrixFault, index_t>;

  // The fault of a graph with 3 columns, as the host finds it, and as the device does.
  static void expect_fault(const std::vector<index_t>& row_map, const std::vector<std::int32_t>& entries,
                           Fault expected) {
    using Graph = linear::CrsGraph<D>;
    const auto rows = static_cast<index_t>(row_map.size()) - 1;
    const auto maps =
        make_vector<index_t, D>(rows + 1, [&](index_t i) { return row_map[static_cast<std::size_t>(i)]; });
    const auto columns = make_vector<std::int32_t, D>(static_cast<index_t>(entries.size()), [&](index_t i) {
      return entries[static_cast<std::size_t>(i)];
    });
    const Graph graph(rows, 3, maps, columns);

    EXPECT_EQ(fault_of([&] {
                static_cast<void>(linear::create_crs_graph<Graph>("wrong", rows, 3, row_map, entries));
              }),
              expected);
    EXPECT_EQ(fault_of([&] { linear::check("wrong", graph); }), expected);
  }
};
TYPED_TEST_SUITE(LinearCrs, TestDevices, DeviceName);

TYPED_TEST(LinearCrs, RowsOfTheHostArriveOnTheDevice) {
  using Matrix = linear::CrsMatrix<double, TypeParam>;
  const std::vector<index_t> row_map{0, 2, 2, 3};
  const std::vector<std::int32_t> entries{0, 3, 1};
  const std::vector<double> values{1, 2, 3};

  const auto a = linear::create_crs<Matrix>("A", 3, 4, row_map, entries, values);

  EXPECT_EQ(a.rows(), 3);
  EXPECT_EQ(a.columns(), 4);
  EXPECT_EQ(a.entry_count(), 3);
  EXPECT_EQ(elements(a.graph().row_map()), row_map);
  EXPECT_EQ(elements(a.graph().entries()), entries);
  EXPECT_EQ(elements(a.values()), values);
  EXPECT_NO_THROW(linear::check("A", a.graph()));
}

TYPED_TEST(LinearCrs, AMatrixMayHaveNoRowsNoColumnsOrNoEntries) {
  using Matrix = linear::CrsMatrix<double, TypeParam>;
  const std::vector<index_t> none{0}, two{0, 0, 0};

  const auto no_rows = linear::create_crs<Matrix>("A", 0, 5, none, {}, {});
  const auto no_columns = linear::create_crs<Matrix>("A", 2, 0, two, {}, {});

  EXPECT_NO_THROW(linear::check("A", no_rows.graph()));
  EXPECT_NO_THROW(linear::check("A", no_columns.graph()));
  EXPECT_EQ(no_columns.entry_count(), 0);
  EXPECT_FALSE(Matrix());
}

TYPED_TEST(LinearCrs, WrongRowsAreFoundByTheHostAndByTheDevice) {
  this->expect_fault({1, 2}, {0, 1}, {MatrixFault::RowMap, 0});
  this->expect_fault({0, 2, 1, 2}, {0, 1}, {MatrixFault::RowMap, 1});
  this->expect_fault({0, 1, 3}, {0, 1}, {MatrixFault::RowMap, 1});
  this->expect_fault({0, 1, 1}, {0, 1}, {MatrixFault::RowMap, 1});
  this->expect_fault({0, 1, 2}, {0, 3}, {MatrixFault::OutOfRange, 1});
  this->expect_fault({0, 1, 2}, {-1, 0}, {MatrixFault::OutOfRange, 0});
  this->expect_fault({0, 0, 2}, {2, 1}, {MatrixFault::Unsorted, 1});
  this->expect_fault({0, 3}, {0, 2, 2}, {MatrixFault::Duplicate, 0});
  this->expect_fault({0}, {0}, {MatrixFault::RowMap, 0});
}

TYPED_TEST(LinearCrs, TheFirstOfManyWrongRowsIsNamed) {
  std::vector<index_t> row_map{0};
  std::vector<std::int32_t> entries;
  for (index_t i = 0; i < 3000; ++i) {
    entries.insert(entries.end(), {0, i >= 1234 ? 0 : 1});
    row_map.push_back(2 * i + 2);
  }

  this->expect_fault(row_map, entries, {MatrixFault::Duplicate, 1234});
}

TYPED_TEST(LinearCrs, ArraysOfWrongLengthsAreErrors) {
  using D = TypeParam;
  using Matrix = linear::CrsMatrix<double, D>;
  using Graph = typename Matrix::graph_type;
  const std::vector<index_t> row_map{0, 1, 2};
  const std::vector<std::int32_t> entries{0, 1};
  const std::vector<double> values{1};
  const auto maps = make_vector<index_t, D>(3, [](index_t i) { return i; });
  const auto columns = make_vector<std::int32_t, D>(2, [](index_t i) { return i; });
  const auto one = make_vector<double, D>(1, [](index_t i) { return i; });

  EXPECT_THROW(static_cast<void>(linear::create_crs<Matrix>("A", 2, 2, row_map, entries, values)),
               ShapeMismatch);
  EXPECT_THROW(static_cast<void>(linear::create_crs_graph<Graph>("A", 3, 2, row_map, entries)),
               ShapeMismatch);
  EXPECT_THROW(static_cast<void>(linear::create_crs_graph<Graph>("A", -1, 2, row_map, entries)), ExtentError);
  EXPECT_THROW(Graph(3, 2, maps, columns), ShapeMismatch);
  EXPECT_THROW(Matrix(Graph(2, 2, maps, columns), one), ShapeMismatch);
}

TYPED_TEST(LinearCrs, MoreColumnsThanTheIntegersCanCountAreAnError) {
  using D = TypeParam;
  using Wide = linear::CrsGraph<D, std::int64_t>;
  const std::vector<index_t> row_map{0};

  EXPECT_THROW(
      static_cast<void>(linear::create_crs_graph<linear::CrsGraph<D>>("A", 0, 3000000000, row_map, {})),
      ExtentError);
  EXPECT_NO_THROW(static_cast<void>(linear::create_crs_graph<Wide>("A", 0, 3000000000, row_map, {})));
}

TYPED_TEST(LinearCrs, TripletsInAnyOrderBecomeSortedRows) {
  using Matrix = linear::CrsMatrix<double, TypeParam>;
  const std::vector<std::int32_t> i{2, 0, 2, 0}, j{3, 1, 0, 0};
  const std::vector<double> v{23, 1, 20, 0.5};

  const auto a = linear::create_crs_from_coo<Matrix>("A", 4, 4, i, j, v, Duplicates::Error);

  EXPECT_EQ(elements(a.graph().row_map()), (std::vector<index_t>{0, 2, 2, 4, 4}));
  EXPECT_EQ(elements(a.graph().entries()), (std::vector<std::int32_t>{0, 1, 0, 3}));
  EXPECT_EQ(elements(a.values()), (std::vector<double>{0.5, 1, 20, 23}));
}

TYPED_TEST(LinearCrs, TripletsOfOnePlaceAreAddedInTheOrderGivenOrAnError) {
  using Matrix = linear::CrsMatrix<double, TypeParam, std::int64_t, std::int32_t>;
  const std::vector<std::int64_t> i{1, 1, 0, 1}, j{1, 1, 0, 1};
  const std::vector<double> v{1e16, 1, 5, -1e16};

  const auto a = linear::create_crs_from_coo<Matrix>("A", 2, 2, i, j, v);

  EXPECT_EQ(elements(a.values()), (std::vector<double>{5, 1e16 + 1 - 1e16}));
  EXPECT_EQ(elements(a.graph().row_map()), (std::vector<std::int32_t>{0, 1, 2}));
  const auto refused = fault_of([&] {
    static_cast<void>(linear::create_crs_from_coo<Matrix>("wrong", 2, 2, i, j, v, Duplicates::Error));
  });
  EXPECT_EQ(refused, (std::pair{MatrixFault::Duplicate, index_t{1}}));
}

TYPED_TEST(LinearCrs, TripletsOutsideOfTheMatrixAreErrors) {
  using Matrix = linear::CrsMatrix<double, TypeParam>;
  const std::vector<std::int32_t> zero{0}, two{2}, negative{-1};
  const std::vector<double> v{1};
  const auto make = [&](const auto& i, const auto& j) {
    return fault_of([&] { static_cast<void>(linear::create_crs_from_coo<Matrix>("wrong", 2, 2, i, j, v)); })
        .first;
  };

  EXPECT_EQ(make(zero, two), MatrixFault::OutOfRange);
  EXPECT_EQ(make(two, zero), MatrixFault::OutOfRange);
  EXPECT_EQ(make(negative, zero), MatrixFault::OutOfRange);
  EXPECT_EQ(make(zero, negative), MatrixFault::OutOfRange);
}

TYPED_TEST(LinearCrs, ManyRandomTripletsGiveTheMatrixOfTheirSums) {
  using Matrix = linear::CrsMatrix<double, TypeParam>;
  constexpr unsigned seed = 20240607;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::int32_t> place(0, 29), number(-8, 8);
  std::vector<std::int32_t> i, j;
  std::vector<double> v;
  double dense[30][30] = {};
  for (int t = 0; t < 2000; ++t) {
    i.push_back(place(random));
    j.push_back(place(random));
    v.push_back(number(random));
    dense[i.back()][j.back()] += v.back();
  }

  const auto a = linear::create_crs_from_coo<Matrix>("A", 30, 30, i, j, v);

  EXPECT_NO_THROW(linear::check("A", a.graph()));
  const auto row_map = elements(a.graph().row_map());
  const auto entries = elements(a.graph().entries());
  const auto values = elements(a.values());
  for (std::size_t row = 0; row < 30; ++row)
    for (auto k = static_cast<std::size_t>(row_map[row]); k < static_cast<std::size_t>(row_map[row + 1]);
         ++k) {
      double& expected = dense[row][entries[k]];
      EXPECT_EQ(values[k], expected);
      expected = 0;
    }
  for (const auto& row : dense)
    for (const double left : row) EXPECT_EQ(left, 0) << "an entry is missing";
}

}  // namespace
