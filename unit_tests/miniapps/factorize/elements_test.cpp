// Tiles that are filled from inputs, and products of inputs and tiles with vectors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <strata/miniapps/factorize/elements.hpp>

#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata::factorize;
using strata_tests::expect_parts;
using strata_tests::message_of;

double at(const MatrixInput& input, index_t i, index_t j) {
  double value = 0;
  input.read(i, j, 1, &value);
  return value;
}

// An input with one element that is not as the others.
class Spoiled final : public MatrixInput {
 public:
  Spoiled(index_t order, index_t row, index_t column, double value)
      : MatrixInput(order, "spoiled"), row_(row), column_(column), value_(value) {}
  void read(index_t row, index_t first, index_t count, double* values) const override {
    std::fill_n(values, count, 1.0);
    if (row == row_ && first <= column_ && column_ < first + count) values[column_ - first] = value_;
  }

 private:
  index_t row_, column_;
  double value_;
};

TEST(Elements, TilesAreFilled) {
  const auto input = make_generated(false, 37, 1);
  const TiledMatrix<double> all("all", 37, 37, 10, uninitialized);
  const auto half = TiledMatrix<float>::symmetric("half", 37, 10, uninitialized);
  index_t done = 0;
  fill(all, *input, [&](index_t count) { EXPECT_EQ(count, ++done); });
  EXPECT_EQ(done, 16);
  fill(half, *input, [](index_t) {});
  index_t elements = 0;
  all.read([&](index_t i, index_t j, double value) {
    ASSERT_EQ(value, at(*input, i, j));
    ++elements;
  });
  EXPECT_EQ(elements, 37 * 37);
  half.read(
      [&](index_t i, index_t j, float value) { ASSERT_EQ(value, static_cast<float>(at(*input, i, j))); });
}

TEST(Elements, WhatIsNotFiniteIsNamed) {
  const auto message = [](double value, auto type) {
    const TiledMatrix<decltype(type)> a("a", 30, 30, 8, uninitialized);
    return message_of<InputError>([&] { fill(a, Spoiled(30, 17, 29, value), [](index_t) {}); });
  };
  expect_parts(message(std::nan(""), 0.0),
               {"spoiled: the element in row 17 and column 29", "is nan", "finite numbers"});
  expect_parts(message(-INFINITY, 0.0F), {"row 17 and column 29", "-inf"});
  expect_parts(message(1e39, 0.0F), {"1e+39, too large for float: take --type double"});
  const TiledMatrix<double> a("a", 30, 30, 8, uninitialized);
  EXPECT_NO_THROW(fill(a, Spoiled(30, 17, 29, 1e39), [](index_t) {}));
  // Above the diagonal of a symmetric matrix nothing counts.
  const auto half = TiledMatrix<double>::symmetric("half", 30, 8, uninitialized);
  EXPECT_NO_THROW(fill(half, Spoiled(30, 17, 29, std::nan("")), [](index_t) {}));
}

// y = A v by plain loops, for the elements that `element` has.
template <class Element>
Vectors expected(index_t n, const Vectors& v, const Element& element) {
  Vectors y(n, v.columns);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j)
      for (index_t c = 0; c < v.columns; ++c) y(i, c) += element(i, j) * v(j, c);
  return y;
}
void expect_near(const Vectors& a, const Vectors& b) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t k = 0; k < a.values.size(); ++k) ASSERT_NEAR(a.values[k], b.values[k], 1e-11);
}

TEST(Elements, InputsAreMultipliedWithVectors) {
  const index_t n = 301;  // more than a block
  const auto input = make_generated(false, n, 5);
  const Vectors v = random_vectors(n, 3, 9);
  const auto all = [&](index_t i, index_t j) { return at(*input, i, j); };
  const auto lower = [&](index_t i, index_t j) { return at(*input, std::max(i, j), std::min(i, j)); };
  double norm = 0, squares = 0, squares_of_lower = 0;
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) {
      squares += all(i, j) * all(i, j);
      squares_of_lower += lower(i, j) * lower(i, j);
    }

  expect_near(multiply<double>(*input, InputPart::All, false, v, &norm), expected(n, v, all));
  EXPECT_NEAR(norm, std::sqrt(squares), 1e-10);
  expect_near(multiply<double>(*input, InputPart::Symmetric, false, v, &norm), expected(n, v, lower));
  EXPECT_NEAR(norm, std::sqrt(squares_of_lower), 1e-10);
  expect_near(multiply<float>(*input, InputPart::All, true, v, nullptr),
              expected(n, v, [&](index_t i, index_t j) { return all(j, i); }));
}

TEST(Elements, TrianglesOfInputsAreMultipliedWithVectors) {
  const index_t n = 301;
  const auto input = make_generated(false, n, 5);
  const Vectors v = random_vectors(n, 3, 9);
  for (const InputPart part :
       {InputPart::Lower, InputPart::Upper, InputPart::UnitLower, InputPart::UnitUpper}) {
    const bool is_lower = part == InputPart::Lower || part == InputPart::UnitLower;
    const bool is_unit = part == InputPart::UnitLower || part == InputPart::UnitUpper;
    const auto element = [&](index_t i, index_t j) {
      if (is_unit && i == j) return 1.0;
      return (is_lower ? j <= i : j >= i) ? at(*input, i, j) : 0.0;
    };
    double squares = 0, norm = 0, norm_of_transpose = 0;
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) squares += element(i, j) * element(i, j);

    expect_near(multiply<double>(*input, part, false, v, &norm), expected(n, v, element));
    expect_near(multiply<double>(*input, part, true, v, &norm_of_transpose),
                expected(n, v, [&](index_t i, index_t j) { return element(j, i); }));
    EXPECT_NEAR(norm, std::sqrt(squares), 1e-10);
    EXPECT_NEAR(norm_of_transpose, std::sqrt(squares), 1e-10);
  }
}

TEST(Elements, MatricesThatAreNotSquareAreFilledAndMultiplied) {
  const index_t m = 300, n = 17;
  const auto input = make_random(m, n, 5);
  const TiledMatrix<double> a("a", m, n, 16, uninitialized);
  fill(a, *input, [](index_t) {});
  const Vectors v = random_vectors(n, 3, 9), w = random_vectors(m, 3, 9);
  Vectors down(m, 3), up(n, 3);
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j)
      for (index_t c = 0; c < 3; ++c) {
        down(i, c) += at(*input, i, j) * v(j, c);
        up(j, c) += at(*input, i, j) * w(i, c);
      }

  expect_near(multiply<double>(*input, InputPart::All, false, v, nullptr), down);
  expect_near(multiply<double>(*input, InputPart::All, true, w, nullptr), up);
  expect_near(multiply(a, TilePart::All, v), down);
  expect_near(multiply(a, TilePart::AllTransposed, w), up);
}

TEST(Elements, TilesAreMultipliedWithVectors) {
  const index_t n = 45;
  const auto input = make_generated(false, n, 5);
  const TiledMatrix<double> a("a", n, n, 16, uninitialized);
  fill(a, *input, [](index_t) {});
  const Vectors v = random_vectors(n, 2, 9);
  const auto all = [&](index_t i, index_t j) { return at(*input, i, j); };
  const auto lower = [&](index_t i, index_t j) { return j <= i ? all(i, j) : 0; };

  expect_near(multiply(a, TilePart::All, v), expected(n, v, all));
  expect_near(multiply(a, TilePart::Lower, v), expected(n, v, lower));
  expect_near(multiply(a, TilePart::LowerTransposed, v),
              expected(n, v, [&](index_t i, index_t j) { return lower(j, i); }));
  expect_near(multiply(a, TilePart::Symmetric, v),
              expected(n, v, [&](index_t i, index_t j) { return all(std::max(i, j), std::min(i, j)); }));
}

}  // namespace
