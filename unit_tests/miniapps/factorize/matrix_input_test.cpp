// Where matrices come from: formulas, files and strata-thermal; and what is wrong with files.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/factorize/matrix_input.hpp>

#include "messages.hpp"
#include "miniapps/fem/files/allocation_limit.hpp"

namespace {

using namespace strata;
using namespace strata::factorize;
using strata_tests::expect_parts;
using strata_tests::message_of;

using Rows = std::vector<std::vector<double>>;

Rows values_of(const MatrixInput& input) {
  Rows rows;
  for (index_t i = 0; i < input.order(); ++i) {
    rows.emplace_back(static_cast<std::size_t>(input.order()));
    input.read(i, 0, input.order(), rows.back().data());
  }
  return rows;
}

// Whether any part of a row is what it is in the whole row.
void expect_parts_of_rows(const MatrixInput& input) {
  const Rows rows = values_of(input);
  const index_t n = input.order();
  for (index_t i = 0; i < n; ++i)
    for (index_t first = 0; first < n; first += 3)
      for (index_t count = 0; count <= n - first; count += 2) {
        std::vector<double> part(static_cast<std::size_t>(count) + 1, -77);
        input.read(i, first, count, part.data());
        for (index_t k = 0; k < count; ++k)
          ASSERT_EQ(part[static_cast<std::size_t>(k)],
                    rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(first + k)]);
        ASSERT_EQ(part.back(), -77) << "one too many was written";
      }
}

bool has_cholesky_factor(Rows a) {
  const std::size_t n = a.size();
  for (std::size_t k = 0; k < n; ++k) {
    if (!(a[k][k] > 0)) return false;
    for (std::size_t i = k + 1; i < n; ++i)
      for (std::size_t j = k + 1; j <= i; ++j) a[i][j] -= a[i][k] * a[j][k] / a[k][k];
  }
  return true;
}

class File {
 public:
  explicit File(const std::string& content, const std::string& name = "strata_factorize_test.mtx")
      : path_(testing::TempDir() + name) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string coordinate = "%%MatrixMarket matrix coordinate real ",
                  array = "%%MatrixMarket matrix array real ";

TEST(GeneratedMatrix, SpdIsSymmetricAndPositiveDefiniteOfAnyOrderAndSeed) {
  for (const index_t order : {1, 2, 3, 5, 7, 12, 30, 90})
    for (const index_t seed : {1, 2, 17, -4}) {
      const auto input = make_generated(true, order, seed);
      const Rows a = values_of(*input);
      for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
          ASSERT_EQ(a[i][j], a[j][i]);
          ASSERT_LT(std::abs(a[i][j]), 1.0 + 1e-15);
          ASSERT_EQ(a[i][j], static_cast<double>(static_cast<float>(a[i][j])));
        }
      EXPECT_EQ(a[0][0], 1 + std::ceil(2 * std::sqrt(static_cast<double>(order))));
      EXPECT_TRUE(has_cholesky_factor(a)) << order << ", " << seed;
      EXPECT_NO_THROW(input->require_symmetric());
    }
  expect_parts_of_rows(*make_generated(true, 9, 3));
}

// The largest singular value of the triangle on and below the diagonal, or of its inverse, by iteration.
double norm_of_triangle(const Rows& a, bool is_inverse) {
  const std::size_t n = a.size();
  std::vector<double> v(n, 1.0), w(n);
  double norm = 0;
  for (int round = 0; round < 100; ++round) {
    if (is_inverse) {  // v = L^-T L^-1 v
      for (std::size_t i = 0; i < n; ++i) {
        w[i] = v[i];
        for (std::size_t j = 0; j < i; ++j) w[i] -= a[i][j] * w[j];
        w[i] /= a[i][i];
      }
      for (std::size_t i = n; i-- > 0;) {
        v[i] = w[i];
        for (std::size_t j = i + 1; j < n; ++j) v[i] -= a[j][i] * v[j];
        v[i] /= a[i][i];
      }
    } else {  // v = L^T L v
      for (std::size_t i = 0; i < n; ++i) {
        w[i] = 0;
        for (std::size_t j = 0; j <= i; ++j) w[i] += a[i][j] * v[j];
      }
      for (std::size_t j = 0; j < n; ++j) {
        v[j] = 0;
        for (std::size_t i = j; i < n; ++i) v[j] += a[i][j] * w[i];
      }
    }
    double sum = 0;
    for (const double x : v) sum += x * x;
    norm = std::sqrt(std::sqrt(sum));
    for (double& x : v) x /= std::sqrt(sum);
  }
  return norm;
}

TEST(GeneratedMatrix, TrianglesOfSpdAreWellConditioned) {
  for (const index_t order : {2, 30, 100}) {
    const Rows whole = values_of(*make_generated(true, order, 1));
    EXPECT_LT(norm_of_triangle(whole, false) * norm_of_triangle(whole, true), 3) << order;

    const auto input = make_scaled_spd(order, 1);
    Rows scaled = values_of(*input);
    const double divisor = whole[0][0] / scaled[0][0];
    EXPECT_EQ(std::exp2(std::round(std::log2(divisor))), divisor);
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) ASSERT_EQ(scaled[i][j] * divisor, whole[i][j]);
      EXPECT_TRUE(0.5 < scaled[i][i] && scaled[i][i] <= 1);
      scaled[i][i] = 1;
    }
    EXPECT_LT(norm_of_triangle(scaled, false) * norm_of_triangle(scaled, true), 3) << order;
    expect_parts_of_rows(*input);
  }
}

TEST(GeneratedMatrix, NumbersAreScatteredAndOfTheSeed) {
  const Rows a = values_of(*make_generated(false, 200, 1)), b = values_of(*make_generated(false, 200, 2));
  double sum = 0, squares = 0, product = 0, neighbours = 0;
  for (std::size_t i = 0; i < 200; ++i)
    for (std::size_t j = 0; j < 200; ++j) {
      sum += a[i][j];
      squares += a[i][j] * a[i][j];
      product += a[i][j] * b[i][j];
      neighbours += a[i][j] * a[i][(j + 1) % 200];
    }
  // Of 40000 independent numbers in [-1, 1): five standard deviations.
  EXPECT_NEAR(sum / 40000, 0, 5 * 0.577 / 200);
  EXPECT_NEAR(squares / 40000, 1.0 / 3, 5 * 0.298 / 200);
  EXPECT_NEAR(product / 40000, 0, 5 * 0.333 / 200);
  EXPECT_NEAR(neighbours / 40000, 0, 5 * 0.333 / 200);
  EXPECT_EQ(a, values_of(*make_generated(false, 200, 1)));
  EXPECT_THROW(make_generated(false, 5, 1)->require_symmetric(), InputError);
}

TEST(MatrixMarket, CoordinatesAreTheElementsThatAreNotZero) {
  const File file(coordinate +
                  "general\n% a comment\n\n3 3 4\n1 1 4\n  3 1 -0.15D+1\r\n% another\n2 3 +7\n3 3 1\n");
  const auto input = make_matrix_market(file.path());
  EXPECT_EQ(values_of(*input), (Rows{{4, 0, 0}, {0, 0, 7}, {-1.5, 0, 1}}));
  expect_parts_of_rows(*input);
  expect_parts(message_of<InputError>([&] { input->require_symmetric(); }),
               {file.path() + ":8: the matrix is not symmetric", "(2, 3) is 7, (3, 2) is 0"});
}

TEST(MatrixMarket, SymmetricCoordinatesHaveMirrorImages) {
  const File file("%%MatrixMarket MATRIX Coordinate Integer Symmetric\n3 3 4\n1 1 4\n3 1 -2\n2 2 7\n3 3 1");
  const auto input = make_matrix_market(file.path());
  EXPECT_EQ(values_of(*input), (Rows{{4, 0, -2}, {0, 7, 0}, {-2, 0, 1}}));
  expect_parts_of_rows(*input);
  EXPECT_NO_THROW(input->require_symmetric());
}

TEST(MatrixMarket, ArraysGoColumnByColumn) {
  const File general(array + "general\n2 2\n1\n2\n3 4\n");
  const auto input = make_matrix_market(general.path());
  EXPECT_EQ(values_of(*input), (Rows{{1, 3}, {2, 4}}));
  expect_parts(message_of<InputError>([&] { input->require_symmetric(); }), {"(2, 1) is 2", "(1, 2) is 3"});
  const File symmetric(array + "symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
  const auto other = make_matrix_market(symmetric.path());
  EXPECT_EQ(values_of(*other), (Rows{{1, 2, 3}, {2, 4, 5}, {3, 5, 6}}));
  expect_parts_of_rows(*other);
  EXPECT_NO_THROW(other->require_symmetric());
}

TEST(MatrixMarket, WhatIsWrongIsSaidWithItsLine) {
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"", {":1: this is no file of MatrixMarket"}},
      {"1 2 3\n", {":1: this is no file of MatrixMarket"}},
      {"%%MatrixMarket vector array real general\n1\n", {":1: this is no file"}},
      {"%%MatrixMarket matrix list real general\n", {":1: the format is 'list'"}},
      {"%%MatrixMarket matrix array complex general\n", {":1: the elements are 'complex'"}},
      {"%%MatrixMarket matrix coordinate pattern general\n", {":1: the elements are 'pattern'"}},
      {"%%MatrixMarket matrix array real hermitian\n", {":1: the matrix is 'hermitian'"}},
      {array + "general\n", {":1: the line of the sizes lacks the number of rows"}},
      {array + "general\n\n2\n", {":3: the line of the sizes lacks the number of columns"}},
      {coordinate + "general\n2 2\n", {":2: the line of the sizes lacks the number of entries"}},
      {array + "general\n2 2 4\n1\n2\n3\n4\n", {":2: the line of the sizes has more"}},
      {array + "general\n2 x\n", {":2: expected the number of columns", "'x'"}},
      {array + "general\n-2 -2\n", {":2: the number of rows is negative"}},
      {array + "general\n2 3\n1\n2\n3\n4\n5\n6\n", {":2: the matrix has 2 rows and 3 columns"}},
      {array + "general\n0 0\n", {":2: the matrix has no rows"}},
      {array + "general\n99999999999 99999999999\n1\n", {":2:", "too large"}},
      {array + "general\n999999999999999999999 1\n1\n", {":2: expected the number of rows"}},
      {array + "general\n30000 30000\n1\n", {":2: 900000000 elements are announced"}},
      {coordinate + "general\n3 3 9000000000\n1 1 1\n", {":2: 9000000000 elements are announced"}},
      {array + "general\n2 2\n1.000000\n2.00000\n3.00000\n", {":5: the file ends after 3 of the 4 elements"}},
      {array + "general\n2 2\n1\n2\n3\n4\n5\n", {":7: there is more, '5'"}},
      {array + "general\n1 1\n1,5\n", {":3: expected an element, a number, and found '1,5'"}},
      {array + "general\n1 1\ninf\n", {":3: the element 'inf' is not finite"}},
      {array + "general\n1 1\n1e999\n", {":3: the element '1e999' is not finite"}},
      {coordinate + "general\n2 2 1\n1 1\n        \n", {":3: the line of an element lacks its value"}},
      {coordinate + "general\n2 2 1\n1 1 1 1\n", {":3: the line of an element has more"}},
      {coordinate + "general\n2 2 1\n0 1 1\n", {":3: the row of an element is 0"}},
      {coordinate + "general\n2 2 1\n1 3 1\n", {":3: the column of an element is 3"}},
      {coordinate + "general\n2 2 1\n1 1 nan\n", {":3: the element 'nan' is not finite"}},
      {coordinate + "general\n2 2 3\n1 1 1\n2 2 2\n1 1 3\n",
       {":5: the element (1, 1) is there twice", "line 3"}},
      {coordinate + "symmetric\n2 2 1\n1 2 1\n", {":3: the element (1, 2) is above the diagonal"}},
      {coordinate + "general\n1 1 1\n1 1 \x1b[31mred\n", {":3: expected an element", "'?[31mred'"}},
  };
  for (const auto& [text, parts] : cases) {
    const File file(text);
    const std::string message = message_of<InputError>([&] { make_matrix_market(file.path()); });
    EXPECT_TRUE(message.starts_with(file.path() + ":")) << message;
    for (const std::string& part : parts) expect_parts(message, {part});
  }
}

TEST(MatrixMarket, NumbersTooSmallForADoubleAreRounded) {
  const File file(array + "general\n1 1\n1e-400\n");
  EXPECT_EQ(values_of(*make_matrix_market(file.path()))[0][0], 0);
}

// What docs/security.md says of a file: by its bytes, whatever order it states.
void expect_cost_of_file(const std::string& text) {
  const File file(text);
  const std::size_t bytes = text.size();
  fem_files_testing::limit_memory(16 * bytes + (1 << 20));
  const double begin = miniapp::now_seconds();
  try {
    static_cast<void>(make_matrix_market(file.path()));
  } catch (const InputError&) {  // as cheap
  }
  const double seconds = miniapp::now_seconds() - begin;
  const std::size_t peak = fem_files_testing::peak_memory();
  fem_files_testing::limit_memory(0);
  EXPECT_LT(seconds, 2e-6 * static_cast<double>(bytes) + 0.05) << text.substr(0, 60);
  std::printf("%.60s...: %zu bytes, %.1f bytes of memory and %.1f ns a byte\n",
              text.substr(0, text.find('\n')).c_str(), bytes,
              static_cast<double>(peak) / static_cast<double>(bytes),
              1e9 * seconds / static_cast<double>(bytes));
}

TEST(MatrixMarket, CostsWhatItsBytesAllow) {
  constexpr index_t many = 100000;
  const std::string count = std::to_string(many), size = count + " " + count + " ";
  std::string diagonal, row, numbers, blank(1 << 20, '\n'), comments;
  for (index_t k = many; k > 0; --k) {  // the last rows first
    diagonal += std::to_string(k) + " " + std::to_string(k) + " 1.5\n";
    row += "9 " + std::to_string(k % 9 + 1) + " 1\n";
    numbers += "7\n";
    comments += "%\n";
  }
  expect_cost_of_file(coordinate + "symmetric\n" + size + count + "\n" + diagonal);
  expect_cost_of_file(coordinate + "general\n1000000000 1000000000 " + count + "\n" + diagonal);
  expect_cost_of_file(coordinate + "general\n9 9 " + count + "\n" + row);
  expect_cost_of_file(array + "general\n300 300\n" + numbers);
  expect_cost_of_file(array + "symmetric\n400 400\n" + numbers);
  expect_cost_of_file(array + "general\n1 1\n" + blank + "1");
  expect_cost_of_file(array + "general\n" + comments + "1 1\n1\n");
  expect_cost_of_file(array + "general\n1000000 1000000\n" + numbers);
  expect_cost_of_file(array + "general\n1 1\n" + std::string(1 << 20, '1'));
}

TEST(MatrixInput, FilesOfMatrixMarketAreKnownByContentOrEnding) {
  FactorizeRequest request;
  const File named(array + "general\n1 1\n5\n", "strata_factorize_test.dat");
  request.input = named.path();
  EXPECT_EQ(values_of(*make_input(request)), (Rows{{5}}));
  const File wrong("12345678", "strata_factorize_wrong.mtx");
  request.input = wrong.path();
  expect_parts(message_of<InputError>([&] { make_input(request); }), {"this is no file of MatrixMarket"});
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(RawMatrix, TheOrderIsThatOfTheSize) {
  const File doubles(bytes_of<double>({1, 2, 3, 4, 5, 6, 7, 8, 9}), "strata_factorize_test.raw");
  const auto input = make_raw(doubles.path(), true);
  EXPECT_EQ(values_of(*input), (Rows{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}));
  expect_parts_of_rows(*input);
  const File floats(bytes_of<float>({1, 2, 3, 4}), "strata_factorize_test.raw");
  EXPECT_EQ(values_of(*make_raw(floats.path(), false)), (Rows{{1, 2}, {3, 4}}));
}

TEST(RawMatrix, OtherSizesAreRefused) {
  const auto message = [](const std::string& content, bool is_double) {
    const File file(content, "strata_factorize_test.raw");
    return message_of<InputError>([&] { make_raw(file.path(), is_double); });
  };
  expect_parts(message("", true), {"the file is empty"});
  expect_parts(message(std::string(24, 'x'), true),
               {"24 bytes are no square matrix of numbers of type double"});
  expect_parts(message(std::string(16, 'x'), true), {"they are one of type float (--type)"});
  expect_parts(message(std::string(8, 'x'), false), {"they are one of type double (--type)"});
  expect_parts(message(std::string(7, 'x'), false), {"7 bytes"});
  expect_parts(message_of<InputError>([] { make_raw("/nonexistent", true); }), {"cannot be read"});
  expect_parts(message_of<InputError>([] { make_raw("/", true); }), {"this is no file"});
}

TEST(RawMatrix, AFileThatBecomesShorterIsAnError) {
  const File file(bytes_of<double>({1, 2, 3, 4}), "strata_factorize_test.raw");
  const auto input = make_raw(file.path(), true);
  std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << "12345678";
  double value = 0;
  input->read(0, 0, 1, &value);
  expect_parts(message_of<InputError>([&] { input->read(1, 0, 1, &value); }), {"has become shorter"});
}

// The rows of nodes without given temperatures sum to 0 where no neighbour has one.
TEST(ThermalMatrix, IsTheStiffnessOfTheMesh) {
  const auto input = make_thermal("box:2x2x6");
  ASSERT_EQ(input->order(), 3 * 3 * 7);
  const Rows a = values_of(*input);
  EXPECT_TRUE(has_cholesky_factor(a));
  EXPECT_NO_THROW(input->require_symmetric());
  int rows_of_zero_sum = 0;
  for (const std::vector<double>& row : a) {
    double sum = 0, most = 0;
    for (const double value : row) {
      sum += value;
      most = std::max(most, std::abs(value));
    }
    if (std::abs(sum) < 1e-12 * most) ++rows_of_zero_sum;
  }
  EXPECT_EQ(rows_of_zero_sum, 3 * 3 * 3);
  expect_parts(message_of<InputError>([] { make_thermal("nowhere.msh"); }), {"--mesh: ", "nowhere.msh"});
  expect_parts(message_of<InputError>([] { make_thermal("box:0x1x1"); }), {"--mesh: "});
}

}  // namespace
