// Figure 12 of the Kokkos Array paper: modified Gram-Schmidt by reductions that are finalized on the device.
// ERRATA.md lists what differs from print.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "paper.hpp"

namespace {
namespace paper {

using namespace strata;

// Reduction: result = dot( X(*,i) , Y(*,j) );
template <class Device>
class Dot {
 public:
  typedef Device device_type;
  typedef double value_type;
  MultiVector<double, Device> X, Y;
  int i, j;

  Dot(const MultiVector<double, Device>& arg_x, int arg_i) : X(arg_x), Y(arg_x), i(arg_i), j(arg_i) {}
  Dot(const MultiVector<double, Device>& arg_x, int arg_i, const MultiVector<double, Device>& arg_y,
      int arg_j)
      : X(arg_x), Y(arg_y), i(arg_i), j(arg_j) {}

  STRATA_FUNCTION
  void operator()(int iP, value_type& update) const { update += X(iP, i) * Y(iP, j); }
  STRATA_FUNCTION
  static void join(volatile value_type& update, volatile const value_type& input) { update += input; }
  STRATA_FUNCTION
  static void init(value_type& update) { update = 0; }
};

// Finalize: tmp = sqrt(result); R(i,i) = tmp ; tmp = 1 / tmp ;
template <class Device>
class Finalize_A {
 public:
  typedef Device device_type;
  Value<double, Device> tmp;
  MultiVector<double, Device> R;
  int i;

  Finalize_A(const Value<double, Device>& arg_tmp, const MultiVector<double, Device>& arg_r, int arg_i)
      : tmp(arg_tmp), R(arg_r), i(arg_i) {}

  STRATA_FUNCTION
  void operator()(double& result) const {
    *tmp = std::sqrt(result);
    R(i, i) = *tmp;
    *tmp = 1 / *tmp;
  }
};

// Finalize: R(i,j) = result ; tmp = - result ;
template <class Device>
class Finalize_B {
 public:
  typedef Device device_type;
  Value<double, Device> tmp;
  MultiVector<double, Device> R;
  int i, j;

  Finalize_B(const Value<double, Device>& arg_tmp, const MultiVector<double, Device>& arg_r, int arg_i,
             int arg_j)
      : tmp(arg_tmp), R(arg_r), i(arg_i), j(arg_j) {}

  STRATA_FUNCTION
  void operator()(const double& result) const {
    R(i, j) = result;
    *tmp = -result;
  }
};

// Q(*,i) *= tmp ;
template <class Device>
class Scale {
 public:
  typedef Device device_type;
  MultiVector<double, Device> Q;
  int i;
  Value<double, Device> tmp;

  Scale(const MultiVector<double, Device>& arg_q, int arg_i, const Value<double, Device>& arg_tmp)
      : Q(arg_q), i(arg_i), tmp(arg_tmp) {}

  STRATA_FUNCTION
  void operator()(int iP) const { Q(iP, i) *= *tmp; }
};

// Q(*,j) += tmp * Q(*,i);
template <class Device>
class Add {
 public:
  typedef Device device_type;
  MultiVector<double, Device> Q;
  int j;
  Value<double, Device> tmp;
  MultiVector<double, Device> P;
  int i;

  Add(const MultiVector<double, Device>& arg_q, int arg_j, const Value<double, Device>& arg_tmp,
      const MultiVector<double, Device>& arg_p, int arg_i)
      : Q(arg_q), j(arg_j), tmp(arg_tmp), P(arg_p), i(arg_i) {}

  STRATA_FUNCTION
  void operator()(int iP) const { Q(iP, j) += *tmp * P(iP, i); }
};

// Figure 12
template <class Device>
void gram_schmidt(MultiVector<double, Device> Q,  // Matrix
                  MultiVector<double, Device> R)  // Coefficients
{
  int K = static_cast<int>(Q.dimension(1));  // Number of vectors
  int N = static_cast<int>(Q.dimension(0));  // Length of vectors
  Value<double, Device> tmp = create_value<Value<double, Device>>();
  for (int i = 0; i < K; ++i) {
    // Reduction: result = dot( Q(*,i) , Q(*,i) );
    // Finalize: tmp = sqrt(result); R(i,i) = tmp ; tmp = 1 / tmp ;
    parallel_reduce(N, Dot(Q, i), Finalize_A(tmp, R, i));
    // Q(*,i) *= tmp ;
    parallel_for(N, Scale(Q, i, tmp));
    for (int j = i + 1; j < K; ++j) {
      // Reduction: result = dot( Q(*,i) , Q(*,j) );
      // Finalize: R(i,j) = result ; tmp = - result ;
      parallel_reduce(N, Dot(Q, i, Q, j), Finalize_B(tmp, R, i, j));
      // Q(*,j) += tmp * Q(*,i);
      parallel_for(N, Add(Q, j, tmp, Q, i));
    }
  }
}

}  // namespace paper

template <class Device>
class PaperGramSchmidt : public ::testing::Test {
 protected:
  using multivector = strata::MultiVector<double, Device>;

  // Columns far from parallel, so that modified Gram-Schmidt keeps full accuracy.
  static double element(int i, int k) { return std::sin(0.37 * i * (k + 1)) + (i % (k + 2) == 0 ? 1.5 : 0); }

  static void run(int n, int k) {
    const auto q_device = strata::create_multivector<multivector>(n, k);
    const auto r_device = strata::create_multivector<multivector>(k, k);
    const auto a = strata::create_mirror(q_device);
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < k; ++c) a(i, c) = element(i, c);
    strata::deep_copy(q_device, a);

    paper::gram_schmidt(q_device, r_device);

    const auto q = strata::create_mirror(q_device), r = strata::create_mirror(r_device);
    strata::deep_copy(q, q_device);
    strata::deep_copy(r, r_device);
    expect_orthonormal(q, n, k);
    expect_product(q, r, a, n, k);
  }

 private:
  template <class M>
  static void expect_orthonormal(const M& q, int n, int k) {
    for (int a = 0; a < k; ++a)
      for (int b = 0; b < k; ++b) {
        double dot = 0;
        for (int i = 0; i < n; ++i) dot += q(i, a) * q(i, b);
        EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-12) << "columns " << a << " and " << b << " of " << n;
      }
  }
  template <class M>
  static void expect_product(const M& q, const M& r, const M& a, int n, int k) {
    for (int c = 0; c < k; ++c) {
      EXPECT_GT(r(c, c), 0);
      for (int b = c + 1; b < k; ++b) EXPECT_EQ(r(b, c), 0);
    }
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < k; ++c) {
        double product = 0;
        for (int b = 0; b <= c; ++b) product += q(i, b) * r(b, c);
        ASSERT_NEAR(product, a(i, c), 1e-12) << "row " << i << ", column " << c;
      }
  }
};
TYPED_TEST_SUITE(PaperGramSchmidt, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(PaperGramSchmidt, Figure12GivesOrthonormalVectorsWhoseProductWithRIsTheMatrix) {
  this->run(1000, 8);
  this->run(4099, 3);
}

TYPED_TEST(PaperGramSchmidt, Figure12NormalisesASingleVector) {
  this->run(17, 1);
  this->run(1, 1);
}

}  // namespace
