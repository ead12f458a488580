// Conjugate gradients over several devices: the bits are those of one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>

#include <strata/algorithms/linear/conjugate_gradients_across.hpp>

#include "matrices.hpp"
#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using linear::CgOptions;
using linear::CgResult;
using linear::CgStatus;
using linear::Preconditioner;

// What of the entries the rows [begin, end) have.
struct EntriesOf {
  const std::vector<index_t>* row_map;
  ResidentRows operator()(ResidentRows rows) const {
    return {(*row_map)[static_cast<std::size_t>(rows.begin)], (*row_map)[static_cast<std::size_t>(rows.end)]};
  }
};

template <class T, class Entries, class Values, class X>
struct ProductsOfRow {
  const Entries& entries;
  const Values& values;
  const X& x;
  STRATA_FUNCTION T product(index_t k) const { return values(k) * x(entries(k)); }
};
template <class T>
struct Multiply {
  int group;
  template <class Begins, class Entries, class Values, class X>
  STRATA_FUNCTION void operator()(index_t i, const Begins& begins, const Entries& entries,
                                  const Values& values, const X& x, const auto& y) const {
    y(i) = linear::sum_of_row<T>(ProductsOfRow<T, Entries, Values, X>{entries, values, x}, begins(i),
                                 begins(i + 1), group);
  }
};
struct DiagonalOf {
  STRATA_FUNCTION void operator()(index_t i, const auto& begins, const auto& entries, const auto& values,
                                  const auto& d) const {
    d(i) = 0;
    for (index_t k = begins(i); k < begins(i + 1); ++k)
      if (entries(k) == i) d(i) = values(k);
  }
};
struct MagnitudesOf {
  STRATA_FUNCTION void operator()(index_t i, const auto& begins, const auto& values, const auto& s) const {
    s(i) = 0;
    for (index_t k = begins(i); k < begins(i + 1); ++k) s(i) += values(k) < 0 ? -values(k) : values(k);
  }
};

// A matrix in parts, whose entries reach `width` rows far.
template <class T, class D>
class SplitMatrix {
 public:
  using value_type = T;
  using device_type = D;
  using Vector = CoherentArray<T, rank<1>, LayoutRight>;

  SplitMatrix(const HostMatrix<T>& a, index_t width, const Across<D>& place)
      : host_(std::make_shared<HostMatrix<T>>(a)),
        width_(width),
        place_(place),
        begins_("begins", a.rows + 1),
        entries_("entries", static_cast<index_t>(a.entries.size())),
        values_("values", static_cast<index_t>(a.values.size())) {
    std::copy(a.row_map.begin(), a.row_map.end(), begins_.write().view().data());
    std::copy(a.entries.begin(), a.entries.end(), entries_.write().view().data());
    std::copy(a.values.begin(), a.values.end(), values_.write().view().data());
  }
  index_t rows() const { return host_->rows; }
  index_t columns() const { return host_->columns; }
  const Across<D>& place() const { return place_; }

  void multiply(auto& where, const Vector& x, const Vector& y) const {
    const int group = linear::row_group(rows(), static_cast<index_t>(host_->entries.size()));
    linear::launch_or_add("product", where, rows(), Multiply<T>{group}, in(begins_, halo(0, 1)),
                          in(entries_, of_rows()), in(values_, of_rows()), in(x, halo(width_, width_)),
                          out(y));
  }
  void diagonal(const Across<D>& where, const Vector& d) const {
    linear::launch_or_add("diagonal", where, rows(), DiagonalOf{}, in(begins_, halo(0, 1)),
                          in(entries_, of_rows()), in(values_, of_rows()), out(d));
  }
  void magnitudes(const Across<D>& where, const Vector& s) const {
    linear::launch_or_add("magnitudes", where, rows(), MagnitudesOf{}, in(begins_, halo(0, 1)),
                          in(values_, of_rows()), out(s));
  }

 private:
  Rows<EntriesOf> of_rows() const { return strata::rows(EntriesOf{&host_->row_map}); }

  std::shared_ptr<HostMatrix<T>> host_;
  index_t width_;
  Across<D> place_;
  CoherentArray<index_t, rank<1>, LayoutRight> begins_;
  CoherentArray<std::int32_t, rank<1>, LayoutRight> entries_;
  Vector values_;
};

template <class D>
class LinearCgAcross : public ::testing::Test {
 protected:
  static constexpr int most = 3;

  // The same host several times, or the first devices of a kind.
  static std::vector<Across<D>> places(index_t rows) {
    std::vector<Across<D>> all;
    for (int count = 1; count <= (runs_on_host_threads<D> ? most : std::min(most, D::count())); ++count) {
      std::vector<D> devices(static_cast<std::size_t>(count), D{});
      if constexpr (!runs_on_host_threads<D>)
        for (int k = 0; k < count; ++k) devices[static_cast<std::size_t>(k)] = D(k);
      all.push_back(across(devices));
      if (count == 1) continue;  // weights say nothing
      all.push_back(across(devices).weighted(reduction_sizes(rows, devices.size())));
      std::vector<double> sizes(devices.size(), 1);
      sizes[0] = 5;
      all.push_back(across(devices).weighted(sizes));
    }
    return all;
  }
  template <class T>
  static CoherentArray<T, rank<1>, LayoutRight> vector(const std::vector<T>& numbers) {
    CoherentArray<T, rank<1>, LayoutRight> array("vector", static_cast<index_t>(numbers.size()));
    std::copy(numbers.begin(), numbers.end(), array.write().view().data());
    return array;
  }
  template <class T>
  static std::vector<T> numbers(index_t n) {
    std::vector<T> all;
    for (index_t i = 0; i < n; ++i) all.push_back(static_cast<T>(small_number(i)));
    return all;
  }

  template <class T>
  static void expect_bits_of_one_device(const HostMatrix<T>& a, index_t width, const CgOptions& options) {
    const auto b = numbers<T>(a.rows);
    const auto one = make_vector<T, D>(a.rows, [](index_t i) { return i % 3; });
    const CgResult expected =
        linear::solve_cg(on_device<T, D>(a), make_vector<T, D>(a.rows, small_number), one, options);
    const auto numbers_of_one = values_of(one);
    for (const Across<D>& place : places(a.rows)) {
      const SplitMatrix<T, D> matrix(a, width, place);
      std::vector<T> guess;
      for (index_t i = 0; i < a.rows; ++i) guess.push_back(static_cast<T>(i % 3));
      const auto x = vector(guess);

      const CgResult found = linear::solve_cg(matrix, vector(b), x, options);

      EXPECT_EQ(found.status, expected.status) << place.places.size();
      EXPECT_EQ(found.iterations, expected.iterations) << place.places.size();
      EXPECT_TRUE(same_bits(found.residual, expected.residual)) << place.places.size();
      EXPECT_TRUE(same_bits(found.right_hand_side, expected.right_hand_side)) << place.places.size();
      const auto all = x.read();
      for (index_t i = 0; i < a.rows; ++i)
        ASSERT_TRUE(same_bits(all(i), numbers_of_one[static_cast<std::size_t>(i)]))
            << place.places.size() << " at " << i;
    }
  }
};
TYPED_TEST_SUITE(LinearCgAcross, TestDevices, DeviceName);

TYPED_TEST(LinearCgAcross, HasTheBitsOfOneDevice) {
  CgOptions options;
  this->template expect_bits_of_one_device<double>(poisson<double>(300), 1, options);
  this->template expect_bits_of_one_device<double>(poisson<double>(12, 13, 20), 12 * 13, options);
  this->template expect_bits_of_one_device<double>(poisson<double>(7), 1, options);
  options.relative_tolerance = 1e-4;
  this->template expect_bits_of_one_device<float>(poisson<float>(50, 60), 50, options);
}

TYPED_TEST(LinearCgAcross, PreconditionersHaveTheBitsOfOneDevice) {
  CgOptions options;
  for (const Preconditioner which : {Preconditioner::None, Preconditioner::Chebyshev}) {
    options.preconditioner = which;
    this->template expect_bits_of_one_device<double>(poisson<double>(12, 13, 20), 12 * 13, options);
  }
}

TYPED_TEST(LinearCgAcross, TheResultDoesNotDependOnHowOftenTheHostLooks) {
  CgOptions options;
  for (const int every : {1, 7, 200}) {  // 200: more than it takes
    options.check_every = every;
    this->template expect_bits_of_one_device<double>(poisson<double>(40, 30), 40, options);
  }
}

TYPED_TEST(LinearCgAcross, EndsAsOnOneDevice) {
  CgOptions few;
  few.max_iterations = 25;
  this->template expect_bits_of_one_device<double>(poisson<double>(900), 1, few);
  auto indefinite = poisson<double>(600);
  for (double& value : indefinite.values)
    if (value > 0) value = 1;
  this->template expect_bits_of_one_device<double>(indefinite, 1, {});
  auto infinite = poisson<double>(600);
  infinite.values[900] = std::numeric_limits<double>::infinity();
  this->template expect_bits_of_one_device<double>(infinite, 1, {});
}

TYPED_TEST(LinearCgAcross, SolvesAgainAndWithoutARightHandSide) {
  using D = TypeParam;
  const auto a = poisson<double>(40, 40);
  const SplitMatrix<double, D> matrix(a, 40, this->places(1600).back());
  linear::ConjugateGradients solver(matrix);
  const auto b = this->vector(this->template numbers<double>(1600));
  const auto x = this->vector(std::vector<double>(1600, 1));
  EXPECT_TRUE(solver.solve(b, x));
  CgOptions relaxed;
  relaxed.relative_tolerance = 1e-7;
  solver.set_options(relaxed);

  const CgResult again = solver.solve(b, x);
  const CgResult nothing = solver.solve(this->vector(std::vector<double>(1600, 0)), x);

  EXPECT_TRUE(again);
  EXPECT_EQ(again.iterations, 0);
  EXPECT_TRUE(nothing);
  EXPECT_EQ(nothing.residual, 0);
  const auto all = x.read();
  for (index_t i = 0; i < 1600; ++i) ASSERT_EQ(all(i), 0);
}

TYPED_TEST(LinearCgAcross, AFunctionMayBeThePreconditioner) {
  using D = TypeParam;
  const auto a = poisson<double>(40, 40);
  const SplitMatrix<double, D> matrix(a, 40, this->places(1600).back());
  linear::ConjugateGradients solver(matrix);
  using Vector = typename SplitMatrix<double, D>::Vector;
  int calls = 0;
  solver.set_preconditioner([&](const Across<D>&, const Vector& r, const Vector& z) {
    const auto from = r.read();
    const auto to = z.write();
    for (index_t i = 0; i < 1600; ++i) to(i) = from(i) / 4;
    ++calls;
  });
  const auto b = this->vector(this->template numbers<double>(1600));
  const auto x = this->vector(std::vector<double>(1600, 0));

  const CgResult result = solver.solve(b, x);

  EXPECT_TRUE(result);
  EXPECT_GE(calls, result.iterations);
  const auto all = x.read();
  EXPECT_LE(relative_residual(a, std::vector<double>(all.view().data(), all.view().data() + 1600),
                              this->template numbers<double>(1600)),
            1e-7);
}

TYPED_TEST(LinearCgAcross, SaysWhatDoesNotFit) {
  using D = TypeParam;
  const auto a = poisson<double>(40);
  const SplitMatrix<double, D> matrix(a, 1, this->places(40).back());
  const auto b = this->vector(std::vector<double>(39, 1)), x = this->vector(std::vector<double>(40, 1));
  const std::string text = message_of<ShapeMismatch>([&] { linear::solve_cg(matrix, b, x); });
  EXPECT_NE(text.find("ConjugateGradients: b"), std::string::npos) << text;
}

TEST(ReductionSizes, AreWhereSumsAreCut) {
  EXPECT_EQ(reduction_sizes(0, 3), std::vector<double>(3, 1)) << "weights that are all zero are refused";
  for (const index_t items : {1, 100, 512, 5000, 1000000, 10124352})
    for (const std::size_t devices : {1, 2, 3, 4, 8}) {
      const std::vector<double> sizes = reduction_sizes(items, devices);
      ASSERT_EQ(sizes.size(), devices);
      double sum = 0;
      for (std::size_t k = 0; k + 1 < devices; ++k) {
        sum += sizes[k];
        EXPECT_EQ(static_cast<index_t>(sum) % 512, 0);
      }
      EXPECT_EQ(sum + sizes.back(), static_cast<double>(items));
      if (items < 1000000) continue;
      for (const double size : sizes)
        EXPECT_NEAR(size, static_cast<double>(items) / static_cast<double>(devices),
                    static_cast<double>(items) / static_cast<double>(devices) / 16);
      // Cut so, sums are cut where they would be anyway.
      EXPECT_EQ(detail::reduction_groups({0, items}, devices, sizes, 512).size(),
                detail::reduction_groups({0, items}, devices, {}, 512).size());
    }
}

}  // namespace
