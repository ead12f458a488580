// Figures 6, 10 and 11 of the Kokkos Array paper: a parallel_for functor, a parallel_reduce functor in the
// three forms, and a finalization functor. ERRATA.md lists what differs from print.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "paper.hpp"

namespace {
namespace paper {

using namespace strata;

// Figure 6
template <class Device /* REQUIRED parameter */>
class ExampleParallelForFunctor {
 public:
  typedef Device device_type;  // REQUIRED typedef

  typedef MDArray<double, device_type> array_type;
  const array_type X, Y;  // Input and output arrays
  int n1, n2;             // constant input parameters

  STRATA_FUNCTION  // REQUIRED qualifier
      void
      operator()(int iP) const  // REQUIRED operator
  {
    // Average values from rank-3 array X into
    // the corresponding values of rank-2 array Y
    for (int i = 0; i < n1; ++i) {
      double tmp = 0;
      for (int j = 0; j < n2; ++j) {
        tmp += X(iP, i, j);
      }
      Y(iP, i) = tmp / n2;  // write only once
    }
  }
  // Construct functor with views to input and output arrays
  // and other useful parameters
  ExampleParallelForFunctor(const array_type& arg_x, const array_type& arg_y)
      : X(arg_x),
        Y(arg_y)  // view shallow copy
        ,
        n1(X.dimension(1)),
        n2(X.dimension(2)) {}
};

// Figure 10
template <class Device>
class ExampleReduceFunctor {
 public:
  typedef Device device_type;
  typedef struct {
    double cm[3], m;
  } value_type;

  typedef MDArray<double, Device> array_type;
  array_type mass, coord;

  STRATA_FUNCTION
  void operator()(int iP, value_type& update) const {
    const double m = mass(iP);
    for (int d = 0; d <= 2; ++d) update.cm[d] += m * coord(iP, d);
    update.m += m;
  }

  STRATA_FUNCTION
  static void join(volatile value_type& update, volatile const value_type& input) {
    for (int d = 0; d <= 2; ++d) update.cm[d] += input.cm[d];
    update.m += input.m;
  }

  STRATA_FUNCTION
  static void init(value_type& output) {
    for (int d = 0; d <= 2; ++d) output.cm[d] = 0;
    output.m = 0;
  }

  ExampleReduceFunctor(const array_type& arg_mass, const array_type& arg_coord)
      : mass(arg_mass), coord(arg_coord) {}
};

// Figure 11
template <class Device>
class ExampleFinalizeFunctor {
 public:
  typedef Device device_type;
  typedef typename ExampleReduceFunctor<Device>::value_type value_type;
  Value<value_type, Device> result;
  // REQUIRED reduction finalization operator
  STRATA_FUNCTION
  void operator()(const value_type& input) const { *result = input; }
  ExampleFinalizeFunctor(const Value<value_type, Device>& arg) : result(arg) {}
};

// The other spellings that section 7 of the design promises: join without volatile, finalize taking T&.
template <class Device>
class ReduceWithoutVolatile : public ExampleReduceFunctor<Device> {
 public:
  typedef typename ExampleReduceFunctor<Device>::value_type value_type;
  using ExampleReduceFunctor<Device>::ExampleReduceFunctor;

  STRATA_FUNCTION
  static void join(value_type& update, const value_type& input) {
    for (int d = 0; d <= 2; ++d) update.cm[d] += input.cm[d];
    update.m += input.m;
  }
};

template <class Device>
class FinalizeCenterOfMass {
 public:
  typedef Device device_type;
  typedef typename ExampleReduceFunctor<Device>::value_type value_type;
  Value<value_type, Device> result;

  STRATA_FUNCTION
  void operator()(value_type& input) const {
    for (int d = 0; d < 3; ++d) input.cm[d] /= input.m;
    *result = input;
  }
};

}  // namespace paper

template <class Device>
class PaperFunctors : public ::testing::Test {
 protected:
  using Array = strata::MDArray<double, Device>;
  using Sums = typename paper::ExampleReduceFunctor<Device>::value_type;

  struct Masses {
    Array mass, coord;
    Sums sums{{0, 0, 0}, 0};  // of a plain loop; exact, as all terms are small multiples of 1/8
  };
  static Masses make_masses(int n) {
    Masses r;
    r.mass = strata::create_mdarray<Array>(n);
    r.coord = strata::create_mdarray<Array>(n, 3);
    const auto mass = strata::create_mirror(r.mass);
    const auto coord = strata::create_mirror(r.coord);
    for (int i = 0; i < n; ++i) {
      mass(i) = 1 + i % 7;
      r.sums.m += mass(i);
      for (int d = 0; d < 3; ++d) {
        coord(i, d) = 0.125 * ((i * 13 + d * 5) % 101) - 3;
        r.sums.cm[d] += mass(i) * coord(i, d);
      }
    }
    strata::deep_copy(r.mass, mass);
    strata::deep_copy(r.coord, coord);
    return r;
  }
  static void expect_equal(const Sums& found, const Sums& expected) {
    EXPECT_EQ(found.m, expected.m);
    for (int d = 0; d < 3; ++d) EXPECT_EQ(found.cm[d], expected.cm[d]) << "coordinate " << d;
  }
};
TYPED_TEST_SUITE(PaperFunctors, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(PaperFunctors, Figure6AveragesTheLastDimension) {
  using namespace paper;
  using DeviceArray = MDArray<double, TypeParam>;
  const int nP = 1001, n1 = 4, n2 = 3;
  const DeviceArray myX = create_mdarray<DeviceArray>(nP, n1, n2), myY = create_mdarray<DeviceArray>(nP, n1);
  const auto x = create_mirror(myX);
  for (int i = 0; i < nP; ++i)
    for (int j = 0; j < n1; ++j)
      for (int k = 0; k < n2; ++k) x(i, j, k) = i + 10 * j + 3 * k;
  deep_copy(myX, x);

  // Call this functor nP times on the manycore device:
  parallel_for(nP, ExampleParallelForFunctor(myX, myY));

  const auto y = strata_tests::on_host(myY);
  for (int i = 0; i < nP; ++i)
    for (int j = 0; j < n1; ++j) ASSERT_EQ(y(i, j), i + 10 * j + 3) << i << ' ' << j;
}

TYPED_TEST(PaperFunctors, Figure10SumsMassesInTheReturnedForm) {
  using namespace paper;
  for (const int nP : {0, 1, 2, 511, 1025, 5003}) {
    const auto [mass, coord, expected] = this->make_masses(nP);

    // Call this functor nP times on the device:
    const auto sums = parallel_reduce(nP, ExampleReduceFunctor(mass, coord));

    this->expect_equal(sums, expected);
  }
}

TYPED_TEST(PaperFunctors, Figure11SumsIntoAnArgument) {
  using namespace paper;
  const size_t NP = 5003;
  const auto [mass, coord, expected] = this->make_masses(NP);
  typename TestFixture::Sums result;

  parallel_reduce(NP, ExampleReduceFunctor(mass, coord), result);

  this->expect_equal(result, expected);
}

TYPED_TEST(PaperFunctors, Figure11FinalizesOnTheDevice) {
  using namespace paper;
  const size_t NP = 5003;
  const auto [mass, coord, expected] = this->make_masses(NP);
  const auto result = create_value<Value<typename TestFixture::Sums, TypeParam>>();

  parallel_reduce(NP, ExampleReduceFunctor(mass, coord), ExampleFinalizeFunctor(result));

  this->expect_equal(*strata_tests::on_host(result), expected);
}

TYPED_TEST(PaperFunctors, JoinWithoutVolatileAndFinalizeByReferenceDoTheSame) {
  using namespace paper;
  const int nP = 5003;
  auto [mass, coord, expected] = this->make_masses(nP);
  const auto result = create_value<Value<typename TestFixture::Sums, TypeParam>>();

  parallel_reduce(nP, ReduceWithoutVolatile<TypeParam>(mass, coord), FinalizeCenterOfMass<TypeParam>{result});

  for (int d = 0; d < 3; ++d) expected.cm[d] /= expected.m;
  this->expect_equal(*strata_tests::on_host(result), expected);
}

}  // namespace
