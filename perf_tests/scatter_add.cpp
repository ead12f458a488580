// What does assembly cost? Elements of a cube of hexahedra add to their 8 nodes: through a scatter view, and
// through atomics, against the same by hand, and against nodes that gather from elements sorted beforehand.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/scatter_add.hpp"

#include <vector>

#include "common/contest.hpp"
#include "kokkos/kokkos_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T, class D>
using Vector = strata::MDArray<T, D, strata::rank<1>>;
template <class D>
using Nodes = strata::MDArray<std::int32_t, D, 8>;

// A cube of `edge`^3 elements, and which elements each node has.
struct Mesh {
  index_t edge, elements, nodes;
  std::vector<std::int32_t> first, element;

  explicit Mesh(index_t m) : edge(m), elements(m * m * m), nodes((m + 1) * (m + 1) * (m + 1)) {
    first.resize(static_cast<std::size_t>(nodes) + 1);
    element.resize(static_cast<std::size_t>(8 * elements));
    for (index_t e = 0; e < elements; ++e)
      for (int k = 0; k < 8; ++k) ++first[node(e, k) + 1];
    for (std::size_t v = 0; v < static_cast<std::size_t>(nodes); ++v) first[v + 1] += first[v];
    std::vector<std::int32_t> at(first.begin(), first.end() - 1);
    for (index_t e = 0; e < elements; ++e)
      for (int k = 0; k < 8; ++k)
        element[static_cast<std::size_t>(at[node(e, k)]++)] = static_cast<std::int32_t>(e);
  }
  std::size_t node(index_t e, int k) const {
    const index_t x = e % edge + (k & 1), y = e / edge % edge + (k >> 1 & 1), z = e / edge / edge + (k >> 2);
    return static_cast<std::size_t>((z * (edge + 1) + y) * (edge + 1) + x);
  }
};
template <class T>
T value_of(index_t e) {
  return static_cast<T>(1 + e % 7);
}

template <class Scatter, class D>
struct Assemble {
  using device_type = D;
  Scatter sum;
  decltype(strata::read_only(Nodes<D>())) node;
  decltype(strata::read_only(Vector<typename Scatter::value_type, D>())) value;
  STRATA_FUNCTION void operator()(index_t e) const {
    const auto own = value(e);
    for (int k = 0; k < 8; ++k) sum(node(e, k)) += own;
  }
};

template <class T, class D>
class Assembly {
 public:
  Assembly(const Options& options, Report& report, const char* type, const Mesh& mesh)
      : mesh_(mesh),
        node_(strata::create<Nodes<D>>("node", mesh.elements)),
        value_(strata::create<Vector<T, D>>("value", mesh.elements)),
        sum_(strata::create<Vector<T, D>>("sum", mesh.nodes)),
        first_(copy_of("first", mesh.first)),
        element_(copy_of("element", mesh.element)),
        contest_(options, report, type, bytes()) {
    const auto nodes = strata::create_mirror_view(node_);
    const auto values = strata::create_mirror_view(value_);
    for (index_t e = 0; e < mesh.elements; ++e) {
      values(e) = value_of<T>(e);
      for (int k = 0; k < 8; ++k) nodes(e, k) = static_cast<std::int32_t>(mesh.node(e, k));
    }
    strata::deep_copy(node_, nodes);
    strata::deep_copy(value_, values);

    measure("scatter view", strata::scatter_view(sum_), own_way(), others());
    if constexpr (is_machine<D>)
      measure("scatter view of atomics",
              strata::scatter_view<strata::ScatterSum, strata::ScatterAtomic>(sum_),
              scatter_by_atomics(contest_.place(), arrays()), {});
  }

 private:
  // Connectivity and values once, each node cleared and written.
  double bytes() const {
    return static_cast<double>(mesh_.elements) * (8 * 4 + sizeof(T)) +
           2.0 * sizeof(T) * static_cast<double>(mesh_.nodes);
  }
  static Vector<std::int32_t, D> copy_of(const char* label, const std::vector<std::int32_t>& from) {
    const auto to = strata::create<Vector<std::int32_t, D>>(label, static_cast<index_t>(from.size()));
    const auto host = strata::create_mirror_view(to);
    for (index_t i = 0; i < to.extent(0); ++i) host(i) = from[static_cast<std::size_t>(i)];
    strata::deep_copy(to, host);
    return to;
  }
  ScatterArrays<T> arrays() const {
    return {node_.data(), value_.data(), sum_.data(),    mesh_.elements,
            mesh_.nodes,  first_.data(), element_.data()};
  }
  // What scatter views do on the device, by hand.
  Sweep own_way() const {
    if constexpr (is_machine<D>) return scatter_duplicated(contest_.place(), arrays());
    else return scatter_by_atomics(contest_.place(), arrays());
  }
  std::vector<Sweep> others() const {
    return {gather_by_node(contest_.place(), arrays()), kokkos_scatter_add(kokkos_place<D>(), arrays())};
  }

  template <class Scatter>
  void measure(const char* name, const Scatter& scatter, Sweep baseline, std::vector<Sweep> others) {
    const Assemble<Scatter, D> kernel{scatter, strata::read_only(node_), strata::read_only(value_)};
    contest_.measure({.name = name,
                      .n = mesh_.elements,
                      .bytes = bytes(),
                      .run =
                          [&] {
                            strata::deep_copy(strata::default_queue(D{}), sum_, T(0));
                            strata::parallel_for(mesh_.elements, kernel);
                            strata::contribute(scatter);
                            strata::wait(D{});
                          },
                      .baseline = std::move(baseline),
                      .others = std::move(others),
                      .correct = [&] { return correct(); },
                      .clear = [&] { strata::deep_copy(sum_, T(-1)); }});
  }
  bool correct() const {
    return rows_hold(sum_, 4096, [&](const auto& host, index_t at, index_t v) {
      T expected = 0;
      for (std::int32_t k = mesh_.first[static_cast<std::size_t>(v)];
           k < mesh_.first[static_cast<std::size_t>(v) + 1]; ++k)
        expected += value_of<T>(mesh_.element[static_cast<std::size_t>(k)]);
      return host(at) == expected;
    });
  }

  const Mesh& mesh_;
  Nodes<D> node_;
  Vector<T, D> value_, sum_;
  Vector<std::int32_t, D> first_, element_;
  Contest<D> contest_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "Sums into the nodes of n x n x n elements: scatter views, atomics, gathers.");
  Report report("scatter_add",
                "the same by hand: a copy for each thread on hosts, atomics where the case has them");
  for_each_real_device(options, [&](auto device) {
    using D = decltype(device);
    const Mesh mesh(size_for<D>(options, 100, 200));
    for_each_type(options, [&](auto zero, const char* type) {
      Assembly<decltype(zero), D>(options, report, type, mesh);
    });
  });
  report.note(
      "Each time the sums are cleared first. Gathering takes its order from a sort that is not timed.");
  return report.finish(options);
}
