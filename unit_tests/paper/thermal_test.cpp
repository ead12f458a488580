// Figures 13 to 18 of the Kokkos Array paper: connectivity, matrix graph, element computations, gather
// assembly and boundary conditions of the implicit thermal conduction mini-application. ERRATA.md lists what
// differs from print.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "hex_mesh.hpp"

namespace {
namespace paper {

using namespace strata;
using strata_tests::nodes_per_element;

// Figure 13: the number of entries that are not the converse of element_node_identifier.
template <class Device>
int verify_converse(typename MDArray<int, Device>::HostMirror element_node_identifier,
                    typename MDArray<int, Device>::HostMirror node_element_offset,
                    typename MDArray<int, Device>::HostMirror node_element_identifier, int node_count) {
  int wrong = 0;
  // Converse relationship of connectivity arrays:
  for (int node_id = 0; node_id < node_count; ++node_id) {
    for (int i = node_element_offset(node_id); i < node_element_offset(node_id + 1); ++i) {
      int element_id = node_element_identifier(i, 0);
      int node_local = node_element_identifier(i, 1);
      wrong += !(node_id == element_node_identifier(element_id, node_local));
    }
  }
  return wrong;
}

void append(std::vector<int>& all, const std::set<int>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Figure 14
void matrix_graph(MDArray<int, Host> element_node_identifier, MDArray<int, Host> node_element_offset,
                  MDArray<int, Host> node_element_identifier, int node_count,
                  MultiVector<int, Host>& A_offset, MultiVector<int, Host>& A_col_ids) {
  A_offset = create_multivector<MultiVector<int, Host>>(node_count + 1);

  std::vector<int> A_col_ids_tmp;

  A_offset(0) = 0;
  // One matrix row per node in this mini-application problem
  for (int row_node = 0; row_node < node_count; ++row_node) {
    std::set<int> row_col_ids;
    // Loop over each element connected to this node
    for (int i = node_element_offset(row_node); i < node_element_offset(row_node + 1); ++i) {
      int element_id = node_element_identifier(i, 0);

      // Add matrix columns for row_node->element->col_node relations
      for (int k = 0; k < nodes_per_element; ++k) {
        int col_node = element_node_identifier(element_id, k);
        row_col_ids.insert(col_node);  // A sorted and unique set
      }
    }
    append(A_col_ids_tmp, row_col_ids);  // Sorted by node identifier

    A_offset(row_node + 1) = static_cast<int>(A_col_ids_tmp.size());
  }
  A_col_ids = create_multivector<MultiVector<int, Host>>(A_offset(node_count));
  for (int i = 0; i < A_offset(node_count); ++i)
    A_col_ids(i) = A_col_ids_tmp[static_cast<size_t>(i)];  // Copy
}

int find_index(MultiVector<int, Host> A_offset, MultiVector<int, Host> A_col_ids, int row_node,
               int column_node) {
  const int* const first = &A_col_ids(A_offset(row_node));
  const int* const last = first + (A_offset(row_node + 1) - A_offset(row_node));
  return static_cast<int>(std::lower_bound(first, last, column_node) - first) + A_offset(row_node);
}

// Figure 16
MDArray<int, Host> csr_map(MDArray<int, Host> element_node_identifier, int element_count,
                           MultiVector<int, Host> A_offset, MultiVector<int, Host> A_col_ids) {
  const int nodes_per_elem = nodes_per_element;

  MDArray<int, Host> element_CSR_map =
      create_mdarray<MDArray<int, Host>>(element_count, nodes_per_elem, nodes_per_elem);

  for (int elem_id = 0; elem_id < element_count; ++elem_id) {
    for (int i = 0; i < nodes_per_elem; ++i) {
      int row_node = element_node_identifier(elem_id, i);
      for (int j = 0; j < nodes_per_elem; ++j) {
        int column_node = element_node_identifier(elem_id, j);
        // Find 'index' in the sorted range such that:
        // A_offset(row_node) <= index < A_offset(row_node+1)
        // column_node == A_col_ids(index)
        // A log( NZ ) search where
        // NZ = A_offset(row_node+1)- A_offset(row_node)
        element_CSR_map(elem_id, i, j) = find_index(A_offset, A_col_ids, row_node, column_node);
      }
    }
  }
  return element_CSR_map;
}

// Stiffness of -div grad and load of a unit source for a trilinear hexahedron, by 2 x 2 x 2 Gauss points: the
// "extensive element computations" of figure 15.
template <class Scalar>
STRATA_FUNCTION void conduction(const double (&coordinates)[8][3], Scalar (&matrix)[8][8],
                                Scalar (&vector)[8]) {
  const double point[2] = {-0.57735026918962576, 0.57735026918962576};
  for (int i = 0; i < 8; ++i) {
    vector[i] = 0;
    for (int j = 0; j < 8; ++j) matrix[i][j] = 0;
  }
  for (int q = 0; q < 8; ++q) {
    double value[8], slope[8][3], jacobian[3][3] = {};
    for (int n = 0; n < 8; ++n) {
      double side[3], sign[3];
      for (int d = 0; d < 3; ++d) {
        sign[d] = 2 * strata_tests::hex_corner(n, d) - 1;
        side[d] = 1 + sign[d] * point[q >> d & 1];
      }
      value[n] = side[0] * side[1] * side[2] / 8;
      for (int d = 0; d < 3; ++d) slope[n][d] = sign[d] * side[(d + 1) % 3] * side[(d + 2) % 3] / 8;
      for (int d = 0; d < 3; ++d)
        for (int c = 0; c < 3; ++c) jacobian[d][c] += slope[n][d] * coordinates[n][c];
    }
    double cofactor[3][3];
    for (int d = 0; d < 3; ++d)
      for (int c = 0; c < 3; ++c)
        cofactor[d][c] = jacobian[(d + 1) % 3][(c + 1) % 3] * jacobian[(d + 2) % 3][(c + 2) % 3] -
                         jacobian[(d + 1) % 3][(c + 2) % 3] * jacobian[(d + 2) % 3][(c + 1) % 3];
    double volume = 0;
    for (int c = 0; c < 3; ++c) volume += jacobian[0][c] * cofactor[0][c];
    double gradient[8][3] = {};
    for (int n = 0; n < 8; ++n)
      for (int c = 0; c < 3; ++c)
        for (int d = 0; d < 3; ++d) gradient[n][c] += slope[n][d] * cofactor[d][c] / volume;
    for (int i = 0; i < 8; ++i) {
      vector[i] += static_cast<Scalar>(value[i] * volume);
      for (int j = 0; j < 8; ++j)
        for (int c = 0; c < 3; ++c)
          matrix[i][j] += static_cast<Scalar>(gradient[i][c] * gradient[j][c] * volume);
    }
  }
}

// Figure 15
template <typename Scalar, class Device>
class Element {
 public:
  typedef Device device_type;
  MDArray<int, Device> element_node_identifier;
  MDArray<double, Device> node_coordinates;
  MDArray<Scalar, Device> element_matrix, element_vector;

  STRATA_FUNCTION
  void operator()(int element_id) const {
    // Gather element's node coordinates from scattered
    // global-memory into contiguous local-memory:
    double coordinates[8][3];
    for (int j = 0; j < nodes_per_element; ++j) {
      int node_id = element_node_identifier(element_id, j);
      for (int d = 0; d <= 2; ++d) coordinates[j][d] = node_coordinates(node_id, d);
    }
    // Perform thermal conduction computations to populate
    // matrix and vector contributions in local-memory.
    Scalar matrix_contrib[8][8], vector_contrib[8];
    conduction(coordinates, matrix_contrib, vector_contrib);
    // Output matrix and vector contributions to global-memory:
    for (int i = 0; i <= 7; ++i) element_vector(element_id, i) = vector_contrib[i];
    for (int i = 0; i <= 7; ++i)
      for (int j = 0; j <= 7; ++j) element_matrix(element_id, i, j) = matrix_contrib[i][j];
  }
};

// Figure 17
template <typename Scalar, class Device>
class GatherAssemble {
 public:
  typedef Device device_type;
  enum { nodes_per_elem = 8 };
  MDArray<Scalar, Device> element_matrix, element_vector;
  MDArray<int, Device> element_CSR_map;
  MDArray<int, Device> node_element_offset, node_element_identifier;
  MultiVector<int, Device> A_offset, A_col_ids;
  MultiVector<Scalar, Device> A, b;

  STRATA_FUNCTION
  void operator()(int node_id) const {  // Iterate the sorted list of elements connected to this node.
    int iElemBeg = node_element_offset(node_id);
    int iElemEnd = node_element_offset(node_id + 1);
    for (int i = iElemBeg; i < iElemEnd; ++i) {
      int element_id = node_element_identifier(i, 0);
      int elem_row = node_element_identifier(i, 1);
      b(node_id) += element_vector(element_id, elem_row);
      for (int elem_col = 0; elem_col < nodes_per_elem; ++elem_col) {
        int index = element_CSR_map(element_id, elem_row, elem_col);
        A(index) += element_matrix(element_id, elem_row, elem_col);
      }
    }
  }
};

// Figure 18
template <typename Scalar, class Device>
class BoundaryConditions {
 public:
  typedef Device device_type;
  MultiVector<int, Device> bc_flags;
  MultiVector<Scalar, Device> bc_values;
  MultiVector<int, Device> A_offset, A_col_ids;
  MultiVector<Scalar, Device> A, b;  // Solving b = A*x

  STRATA_FUNCTION
  void operator()(int row) const {  // This thread has exclusive access to this row
    const int iBeg = A_offset(row), iEnd = A_offset(row + 1);
    if (bc_flags(row)) {
      // Set this row's equation to: bc_value = 1 * x
      b(row) = bc_values(row);
      for (int i = iBeg; i < iEnd; ++i) A(i) = row == A_col_ids(i) ? 1 : 0;
    } else {
      for (int i = iBeg; i < iEnd; ++i) {
        int column = A_col_ids(i);
        if (bc_flags(column)) {
          // Eliminate 'x' from the equation:
          b(row) -= bc_values(column) * A(i);
          A(i) = 0;
        }
      }
    }
  }
};

}  // namespace paper

using Dense = std::vector<std::vector<double>>;
using strata::Host;
using strata::MDArray;
using strata::MultiVector;
using strata_tests::copy_to;
using strata_tests::hex_corner;
using strata_tests::HexMesh;
using strata_tests::nodes_per_element;

// The system before boundary conditions, without a quadrature: the stiffness of a box is a sum of products of
// one-dimensional matrices, k = (1, -1; -1, 1) / h and m = (2, 1; 1, 2) h / 6.
void assemble_dense(const HexMesh& mesh, Dense& matrix, std::vector<double>& load) {
  const auto n = static_cast<std::size_t>(mesh.node_count);
  matrix.assign(n, std::vector<double>(n, 0));
  load.assign(n, 0);
  for (int e = 0; e < mesh.element_count; ++e) {
    double h[3];
    for (int d = 0; d < 3; ++d)
      h[d] = mesh.node_coordinates(mesh.element_node_identifier(e, 6), d) -
             mesh.node_coordinates(mesh.element_node_identifier(e, 0), d);
    for (int i = 0; i < nodes_per_element; ++i) {
      const auto row = static_cast<std::size_t>(mesh.element_node_identifier(e, i));
      load[row] += h[0] * h[1] * h[2] / 8;
      for (int j = 0; j < nodes_per_element; ++j) {
        double k[3], m[3];
        for (int d = 0; d < 3; ++d) {
          const bool same = hex_corner(i, d) == hex_corner(j, d);
          k[d] = (same ? 1 : -1) / h[d];
          m[d] = (same ? 2 : 1) * h[d] / 6;
        }
        matrix[row][static_cast<std::size_t>(mesh.element_node_identifier(e, j))] +=
            k[0] * m[1] * m[2] + m[0] * k[1] * m[2] + m[0] * m[1] * k[2];
      }
    }
  }
}

// Gaussian elimination without pivoting: the matrices here are diagonally safe.
std::vector<double> solve_dense(Dense a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t r = p + 1; r < n; ++r) {
      const double factor = a[r][p] / a[p][p];
      for (std::size_t c = p; c < n; ++c) a[r][c] -= factor * a[p][c];
      b[r] -= factor * b[p];
    }
  for (std::size_t r = n; r-- > 0;) {
    for (std::size_t c = r + 1; c < n; ++c) b[r] -= a[r][c] * b[c];
    b[r] /= a[r][r];
  }
  return b;
}

constexpr int nx = 3, ny = 2, nz = 4;

template <class Device>
class PaperThermal : public ::testing::Test {
 protected:
  const HexMesh brick = strata_tests::make_hex_mesh(nx, ny, nz);
  MultiVector<int, Host> A_offset, A_col_ids;
  MDArray<int, Host> element_CSR_map;

  // The ends of the brick in direction 0 are held at `end_value`.
  bool is_fixed(int node) const {
    const int plane = brick.grid[static_cast<std::size_t>(node)][0];
    return plane == 0 || plane == nx;
  }
  double end_value(int node) const { return brick.grid[static_cast<std::size_t>(node)][0] == 0 ? 2 : 5; }

  void SetUp() override {
    paper::matrix_graph(brick.element_node_identifier, brick.node_element_offset,
                        brick.node_element_identifier, brick.node_count, A_offset, A_col_ids);
    element_CSR_map = paper::csr_map(brick.element_node_identifier, brick.element_count, A_offset, A_col_ids);
  }

  // The system as the device computes it, in full storage; `fixed` applies figure 18.
  template <class Scalar>
  void assemble(bool fixed, Dense& matrix, std::vector<double>& load) const {
    using IntArray = MDArray<int, Device>;
    using IntVector = MultiVector<int, Device>;
    using ScalarArray = MDArray<Scalar, Device>;
    using ScalarVector = MultiVector<Scalar, Device>;
    const auto elements = copy_to<IntArray>(brick.element_node_identifier);
    const auto coordinates = copy_to<MDArray<double, Device>>(brick.node_coordinates);
    const auto offset = copy_to<IntVector>(A_offset), columns = copy_to<IntVector>(A_col_ids);
    const int entries = A_offset(brick.node_count);
    const auto element_matrix = strata::create_mdarray<ScalarArray>(brick.element_count, 8, 8);
    const auto element_vector = strata::create_mdarray<ScalarArray>(brick.element_count, 8);
    const auto A = strata::create_multivector<ScalarVector>(entries);
    const auto b = strata::create_multivector<ScalarVector>(brick.node_count);

    parallel_for(brick.element_count,
                 paper::Element<Scalar, Device>{elements, coordinates, element_matrix, element_vector});
    parallel_for(brick.node_count,
                 paper::GatherAssemble<Scalar, Device>{
                     element_matrix, element_vector, copy_to<IntArray>(element_CSR_map),
                     copy_to<IntArray>(brick.node_element_offset),
                     copy_to<IntArray>(brick.node_element_identifier), offset, columns, A, b});
    if (fixed) {
      const auto flags = strata::create_multivector<MultiVector<int, Host>>(brick.node_count);
      const auto values = strata::create_multivector<MultiVector<Scalar, Host>>(brick.node_count);
      for (int n = 0; n < brick.node_count; ++n) {
        flags(n) = is_fixed(n);
        values(n) = static_cast<Scalar>(end_value(n));
      }
      parallel_for(brick.node_count,
                   paper::BoundaryConditions<Scalar, Device>{
                       copy_to<IntVector>(flags), copy_to<ScalarVector>(values), offset, columns, A, b});
    }

    const auto host_A = strata_tests::on_host(A), host_b = strata_tests::on_host(b);
    const auto n = static_cast<std::size_t>(brick.node_count);
    matrix.assign(n, std::vector<double>(n, 0));
    load.assign(n, 0);
    for (int row = 0; row < brick.node_count; ++row) {
      load[static_cast<std::size_t>(row)] = static_cast<double>(host_b(row));
      for (int i = A_offset(row); i < A_offset(row + 1); ++i)
        matrix[static_cast<std::size_t>(row)][static_cast<std::size_t>(A_col_ids(i))] =
            static_cast<double>(host_A(i));
    }
  }

  void eliminate_dense(Dense& matrix, std::vector<double>& load) const {
    for (std::size_t row = 0; row < load.size(); ++row)
      for (std::size_t column = 0; column < load.size(); ++column) {
        if (is_fixed(static_cast<int>(row))) {
          matrix[row][column] = row == column;
          load[row] = end_value(static_cast<int>(row));
        } else if (is_fixed(static_cast<int>(column))) {
          load[row] -= matrix[row][column] * end_value(static_cast<int>(column));
          matrix[row][column] = 0;
        }
      }
  }

  static void expect_near(const Dense& a, const std::vector<double>& b, const Dense& expected_a,
                          const std::vector<double>& expected_b, double tolerance) {
    for (std::size_t r = 0; r < b.size(); ++r) {
      EXPECT_NEAR(b[r], expected_b[r], tolerance) << "row " << r;
      for (std::size_t c = 0; c < b.size(); ++c)
        ASSERT_NEAR(a[r][c], expected_a[r][c], tolerance) << "row " << r << ", column " << c;
    }
  }
};
TYPED_TEST_SUITE(PaperThermal, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(PaperThermal, Figure13FindsTheNodeToElementArraysConverse) {
  using Array = MDArray<int, TypeParam>;
  const HexMesh& mesh = this->brick;
  const auto elements = strata_tests::on_host(copy_to<Array>(mesh.element_node_identifier));
  const auto offsets = strata_tests::on_host(copy_to<Array>(mesh.node_element_offset));
  const auto entries = strata_tests::on_host(copy_to<Array>(mesh.node_element_identifier));
  std::set<std::pair<int, int>> all;
  for (int i = 0; i < offsets(mesh.node_count); ++i) all.insert({entries(i, 0), entries(i, 1)});

  EXPECT_EQ(paper::verify_converse<TypeParam>(elements, offsets, entries, mesh.node_count), 0);
  EXPECT_EQ(static_cast<int>(all.size()), mesh.element_count * nodes_per_element);

  entries(5, 1) = (entries(5, 1) + 1) % nodes_per_element;
  EXPECT_EQ(paper::verify_converse<TypeParam>(elements, offsets, entries, mesh.node_count), 1);
}

TYPED_TEST(PaperThermal, Figure14GivesTheGraphOfNodesThatShareAnElement) {
  const HexMesh& mesh = this->brick;
  const auto& offset = this->A_offset;

  ASSERT_EQ(offset(0), 0);
  for (int row = 0; row < mesh.node_count; ++row) {
    std::vector<int> expected;  // neighbours on the grid, by brute force
    for (int column = 0; column < mesh.node_count; ++column) {
      bool near = true;
      for (std::size_t d = 0; d < 3; ++d)
        near = near && std::abs(mesh.grid[static_cast<std::size_t>(row)][d] -
                                mesh.grid[static_cast<std::size_t>(column)][d]) <= 1;
      if (near) expected.push_back(column);
    }
    std::vector<int> found;
    for (int i = offset(row); i < offset(row + 1); ++i) found.push_back(this->A_col_ids(i));
    EXPECT_EQ(found, expected) << "row " << row;
  }
}

TYPED_TEST(PaperThermal, Figure16MapsElementEntriesToTheirPlaceInTheMatrix) {
  const HexMesh& mesh = this->brick;
  for (int e = 0; e < mesh.element_count; ++e)
    for (int i = 0; i < nodes_per_element; ++i)
      for (int j = 0; j < nodes_per_element; ++j) {
        const int row = mesh.element_node_identifier(e, i), index = this->element_CSR_map(e, i, j);
        ASSERT_GE(index, this->A_offset(row));
        ASSERT_LT(index, this->A_offset(row + 1));
        ASSERT_EQ(this->A_col_ids(index), mesh.element_node_identifier(e, j));
      }
}

TYPED_TEST(PaperThermal, Figures15And17AssembleTheSystemOfASerialReference) {
  Dense matrix, expected_matrix;
  std::vector<double> load, expected_load;
  assemble_dense(this->brick, expected_matrix, expected_load);

  this->template assemble<double>(false, matrix, load);
  this->expect_near(matrix, load, expected_matrix, expected_load, 1e-13);

  this->template assemble<float>(false, matrix, load);
  this->expect_near(matrix, load, expected_matrix, expected_load, 1e-5);
}

TYPED_TEST(PaperThermal, Figure18EliminatesBoundaryConditionsLikeASerialReference) {
  Dense matrix, expected_matrix;
  std::vector<double> load, expected_load;
  assemble_dense(this->brick, expected_matrix, expected_load);
  this->eliminate_dense(expected_matrix, expected_load);

  this->template assemble<double>(true, matrix, load);

  this->expect_near(matrix, load, expected_matrix, expected_load, 1e-13);
}

TYPED_TEST(PaperThermal, TheSystemHasTheExactSolutionOfConductionAlongTheBrick) {
  Dense matrix;
  std::vector<double> load;
  this->template assemble<double>(true, matrix, load);
  const double length = strata_tests::plane_position(0, nx);

  const std::vector<double> solution = solve_dense(matrix, load);

  // -T'' = 1, T(0) = 2, T(length) = 5; linear elements are exact at the nodes.
  for (int n = 0; n < this->brick.node_count; ++n) {
    const double x = this->brick.node_coordinates(n, 0);
    EXPECT_NEAR(solution[static_cast<std::size_t>(n)], 2 + 3 * x / length + x * (length - x) / 2, 1e-11);
  }
}

}  // namespace
