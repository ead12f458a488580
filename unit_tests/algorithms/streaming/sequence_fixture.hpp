// Loops over the elements and the nodes of random meshes, for tests of sequences: the same in core, on plain
// vectors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/views/coherent/file_array.hpp>

#include "stream_kernels.hpp"

namespace sequence_test {

using namespace strata;
using Hash = std::uint64_t;
using stream_test::message_of;

STRATA_FUNCTION inline Hash mixed(Hash a, Hash b) {
  Hash x = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;
  x ^= x >> 29;
  return x * 0xbf58476d1ce4e5b9u;
}

// Elements of three nodes that lie close together, of any number for each node.
struct Mesh {
  index_t nodes, elements;
  std::vector<int> corners;            // 3 of each element
  std::vector<int> offsets, touching;  // the elements of each node, in order
  // For rows(f): the first node that elements from e on have, the end of those up to e; and the other way
  // round.
  std::vector<index_t> first_node, end_node, first_element, end_element;

  Mesh(index_t n, index_t e, index_t width, unsigned seed) : nodes(n), elements(e) {
    std::mt19937 random(seed);
    std::vector<std::vector<int>> of_node(static_cast<std::size_t>(n));
    for (index_t k = 0; k < e; ++k) {
      const index_t middle = k * n / e;
      for (int c = 0; c < 3; ++c) {
        const index_t away = static_cast<index_t>(random() % static_cast<unsigned>(2 * width + 1)) - width;
        const index_t node = std::clamp<index_t>(middle + away, 0, n - 1);
        corners.push_back(static_cast<int>(node));
        of_node[static_cast<std::size_t>(node)].push_back(static_cast<int>(k));
      }
    }
    offsets.push_back(0);
    for (const auto& list : of_node) {
      touching.insert(touching.end(), list.begin(), list.end());
      offsets.push_back(static_cast<int>(touching.size()));
    }
    first_node = least_from(
        e, n, [&](index_t k, index_t c) { return corners[at(3 * k + c)]; }, [](index_t) { return 3; });
    end_node = end_until(
        e, [&](index_t k, index_t c) { return corners[at(3 * k + c)]; }, [](index_t) { return 3; });
    const auto count = [&](index_t k) { return offsets[at(k + 1)] - offsets[at(k)]; };
    const auto element = [&](index_t k, index_t c) { return touching[at(offsets[at(k)] + c)]; };
    first_element = least_from(n, e, element, count);
    end_element = end_until(n, element, count);
  }

  auto nodes_of() const {
    return rows([this](ResidentRows items) {
      return items.begin < items.end ? ResidentRows{first_node[at(items.begin)], end_node[at(items.end - 1)]}
                                     : ResidentRows{0, 0};
    });
  }
  auto elements_of() const {
    return rows([this](ResidentRows items) {
      return items.begin < items.end
                 ? ResidentRows{first_element[at(items.begin)], end_element[at(items.end - 1)]}
                 : ResidentRows{0, 0};
    });
  }
  auto touching_of() const {
    return rows([this](ResidentRows items) {
      return ResidentRows{offsets[at(items.begin)], offsets[at(items.end)]};
    });
  }

  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

 private:
  template <class F, class C>
  static std::vector<index_t> least_from(index_t n, index_t none, const F& of, const C& count) {
    std::vector<index_t> least(at(n));
    index_t so_far = none;
    for (index_t k = n - 1; k >= 0; --k) {
      for (index_t c = 0; c < count(k); ++c) so_far = std::min<index_t>(so_far, of(k, c));
      least[at(k)] = so_far;
    }
    return least;
  }
  template <class F, class C>
  static std::vector<index_t> end_until(index_t n, const F& of, const C& count) {
    std::vector<index_t> end(at(n));
    index_t so_far = 0;
    for (index_t k = 0; k < n; ++k) {
      for (index_t c = 0; c < count(k); ++c) so_far = std::max<index_t>(so_far, of(k, c) + 1);
      end[at(k)] = so_far;
    }
    return end;
  }
};

struct Elements {
  Hash step;
  STRATA_FUNCTION void operator()(auto e, auto corners, auto x, auto state, auto force) const {
    Hash value = mixed(state(e), step);
    for (int c = 0; c < 3; ++c) value = mixed(value, x(corners(e, c)));
    state(e) = value;
    force(e) = mixed(value, 5);
  }
};
struct Nodes {
  STRATA_FUNCTION void operator()(auto n, auto offsets, auto touching, auto force, auto x) const {
    Hash value = x(n);
    for (int k = offsets(n); k < offsets(index_t(n) + 1); ++k) value = mixed(value, force(touching(k)));
    x(n) = value;
  }
};
// Of which the bits depend on the order of additions.
struct SumOfForces {
  STRATA_FUNCTION void operator()(auto e, auto force, double& sum) const {
    sum += static_cast<double>(static_cast<Hash>(force(e)) >> 11) * 1e-3;
  }
};
struct LeastForce {
  using value_type = Hash;
  static constexpr bool any_order = true;
  STRATA_FUNCTION void operator()(auto e, auto force, Hash& least) const { join(least, force(e)); }
  STRATA_FUNCTION static void init(Hash& least) { least = ~Hash{0}; }
  STRATA_FUNCTION static void join(Hash& least, const Hash& other) { least = other < least ? other : least; }
};

// The arrays of a run, with the same values each time.
struct Arrays {
  CoherentArray<Hash, rank<1>> x, state, force;
  CoherentArray<int, rank<2>> corners;
  CoherentArray<int, rank<1>> offsets, touching;

  explicit Arrays(const Mesh& mesh)
      : x("x", mesh.nodes),
        state("state", mesh.elements),
        force("force", mesh.elements, uninitialized),
        corners("corners", mesh.elements, 3),
        offsets("offsets", mesh.nodes + 1),
        touching("touching", std::max<index_t>(static_cast<index_t>(mesh.touching.size()), 1)) {
    const auto all_x = x.write(), all_state = state.write();
    for (index_t k = 0; k < mesh.nodes; ++k) all_x(k) = mixed(static_cast<Hash>(k), 1);
    for (index_t k = 0; k < mesh.elements; ++k) all_state(k) = mixed(static_cast<Hash>(k), 2);
    const auto all_corners = corners.write();
    for (index_t k = 0; k < mesh.elements; ++k)
      for (index_t c = 0; c < 3; ++c) all_corners(k, c) = mesh.corners[Mesh::at(3 * k + c)];
    const auto all_offsets = offsets.write(), all_touching = touching.write();
    for (std::size_t k = 0; k < mesh.offsets.size(); ++k)
      all_offsets(static_cast<index_t>(k)) = mesh.offsets[k];
    for (std::size_t k = 0; k < mesh.touching.size(); ++k)
      all_touching(static_cast<index_t>(k)) = mesh.touching[k];
  }
};

// What the loops change, in files.
inline void move_to_files(Arrays& arrays, const std::string& x, const std::string& state) {
  const auto move = [](CoherentArray<Hash, rank<1>>& array, const std::string& path) {
    const CoherentArray<Hash, rank<1>> in_file = file_array<Hash, rank<1>>(path, array.extent(0));
    {
      const auto from = array.read();
      const auto to = in_file.write();
      for (index_t k = 0; k < array.extent(0); ++k) to(k) = from(k);
    }
    array = in_file;
  };
  move(arrays.x, x);
  move(arrays.state, state);
}

// The same on vectors.
struct InCore {
  const Mesh& mesh;
  std::vector<Hash> x, state, force;
  std::vector<double> sums;
  std::vector<Hash> least;

  explicit InCore(const Mesh& m) : mesh(m), force(Mesh::at(m.elements)) {
    for (index_t k = 0; k < m.nodes; ++k) x.push_back(mixed(static_cast<Hash>(k), 1));
    for (index_t k = 0; k < m.elements; ++k) state.push_back(mixed(static_cast<Hash>(k), 2));
  }
  void elements(int step) {
    for (std::size_t e = 0; e < state.size(); ++e) {
      Hash value = mixed(state[e], static_cast<Hash>(step));
      for (std::size_t c = 0; c < 3; ++c) value = mixed(value, x[Mesh::at(mesh.corners[3 * e + c])]);
      state[e] = value;
      force[e] = mixed(value, 5);
    }
    least.push_back(*std::min_element(force.begin(), force.end()));
  }
  void nodes() {
    for (std::size_t n = 0; n < x.size(); ++n)
      for (int k = mesh.offsets[n]; k < mesh.offsets[n + 1]; ++k)
        x[n] = mixed(x[n], force[Mesh::at(mesh.touching[Mesh::at(k)])]);
  }
};

// The loops: elements, nodes.
template <class Where>
void add_loops(Sequence<Where>& steps, const Mesh& mesh, const Arrays& a, int first_step = 0) {
  steps.loop("elements", mesh.elements,
             by_step([first_step](int step) { return Elements{static_cast<Hash>(first_step + step)}; }),
             in(a.corners), in(a.x, mesh.nodes_of()), inout(a.state), out(a.force));
  steps.loop("nodes", mesh.nodes, Nodes{}, in(a.offsets, halo(0, 1)), in(a.touching, mesh.touching_of()),
             in(a.force, mesh.elements_of()), inout(a.x));
}

inline void expect_same(const Arrays& a, const InCore& expected, const std::string& what) {
  ASSERT_EQ(stream_test::values(a.x), expected.x) << what;
  ASSERT_EQ(stream_test::values(a.state), expected.state) << what;
}

}  // namespace sequence_test
