// See miniapp_cases.hpp. Elements by the mini-app's kernel, a template over the views it gets; sums over rows
// by a work item each and, on a GPU, by teams as well, in the ways that Kokkos has for them.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kokkos/miniapp_cases.hpp"
#include "kokkos/spaces.hpp"

#if __has_include(<Kokkos_Core.hpp>)  // for tools that look at every file
#include <strata/miniapps/thermal/assembly_kernels.hpp>

namespace perf {

namespace {

using namespace with_kokkos;
namespace thermal = strata::thermal;

template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>;
// What is read through indices has the numbers of a row side by side on every device.
template <class Data, class Space>
using GatheredView = Kokkos::View<Data, Kokkos::LayoutRight, Space,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::RandomAccess>>;

template <class T, class Space>
struct Contributions {
  View<const std::int32_t* [8], Space> nodes;
  GatheredView<const double* [3], Space> coordinates;
  View<const std::int32_t*, Space> blocks;
  GatheredView<const T* [3], Space> materials;
  View<const T*, Space> temperature;  // which the linear problem does not read
  View<T* [8][8], Space> matrix;
  View<T* [8], Space> vector;

  KOKKOS_INLINE_FUNCTION void operator()(int e) const {
    thermal::ElementContributions<T, thermal::MatrixTerm, thermal::BlockSource>{}(
        e, nodes, coordinates, blocks, materials, temperature, temperature, matrix, vector);
  }
};

// What elements gave, and where it goes.
template <class T, class Space>
struct Assembly {
  View<const std::int32_t*, Space> offsets, corners;
  View<const std::uint64_t* [8], Space> slots;
  View<const std::int64_t*, Space> row_map;
  View<const T* [8][8], Space> matrix;
  View<const T* [8], Space> vector;
  View<T*, Space> values, b;

  /// Adds columns [first, first + Count) of a node's element to its row.
  template <int Count, class Row>
  KOKKOS_INLINE_FUNCTION void add_columns(std::int32_t corner, int first, const Row& row) const {
    const int e = corner >> 3, c = corner & 7;
    const std::uint64_t places = slots(e, c) >> (8 * first);
    T sums[Count];
    for (int j = 0; j < Count; ++j) sums[j] = row(places >> (8 * j) & 255) + matrix(e, c, first + j);
    for (int j = 0; j < Count; ++j) row(places >> (8 * j) & 255) = sums[j];
  }
  KOKKOS_INLINE_FUNCTION T load(std::int32_t corner) const { return vector(corner >> 3, corner & 7); }
};

template <class T, class Space>
struct FillRow {
  Assembly<T, Space> of;

  KOKKOS_INLINE_FUNCTION void operator()(int n) const {
    const std::int64_t begin = of.row_map(n);
    const int length = static_cast<int>(of.row_map(n + 1) - begin);
    T* const values = &of.values(begin);
    for (int k = 0; k < length; ++k) values[k] = T(0);
    T load = 0;
    for (int k = of.offsets(n); k < of.offsets(n + 1); ++k) {
      const std::int32_t corner = of.corners(k);
      of.template add_columns<8>(corner, 0, [=](std::uint64_t place) -> T& { return values[place]; });
      load += of.load(corner);
    }
    of.b(n) = load;
  }
};

// A team has neighbouring rows, and their sums in its scratch memory as they lie in the matrix; `Lanes` share
// the columns of a row.
template <class T, class Space, int Lanes>
struct FillRows {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using Scratch =
      Kokkos::View<T*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int rows = 64;

  Assembly<T, Space> of;
  int nodes, longest;

  Policy policy() const {
    return Policy((nodes + rows - 1) / rows, rows, Lanes)
        .set_scratch_size(0, Kokkos::PerTeam(Scratch::shmem_size(static_cast<std::size_t>(rows * longest))));
  }
  KOKKOS_INLINE_FUNCTION void operator()(const Member& member) const {
    const int first = member.league_rank() * rows, last = nodes - first < rows ? nodes : first + rows;
    const std::int64_t begin = of.row_map(first);
    const int count = static_cast<int>(of.row_map(last) - begin);
    const Scratch sums(member.team_scratch(0), static_cast<std::size_t>(rows * longest));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, count), [&](int k) { sums(k) = T(0); });
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, first, last), [&](int n) {
      T* const row = &sums(of.row_map(n) - begin);
      const auto place = [=](std::uint64_t k) -> T& { return row[k]; };
      T load = 0;
      for (int k = of.offsets(n); k < of.offsets(n + 1); ++k) {
        const std::int32_t corner = of.corners(k);
        if constexpr (Lanes == 1) {
          of.template add_columns<8>(corner, 0, place);
        } else {
          constexpr int columns = 8 / Lanes;
          Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Lanes), [&](int lane) {
            of.template add_columns<columns>(corner, columns * lane, place);
          });
        }
        load += of.load(corner);
      }
      Kokkos::single(Kokkos::PerThread(member), [&] { of.b(n) = load; });
    });
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, count),
                         [&](int k) { of.values(begin + k) = sums(k); });
  }
};

template <class Space>
struct LongestRow {
  View<const std::int64_t*, Space> row_map;
  KOKKOS_INLINE_FUNCTION void operator()(int n, int& longest) const {
    const int length = static_cast<int>(row_map(n + 1) - row_map(n));
    if (length > longest) longest = length;
  }
};

template <class T, class Space>
struct ProductRow {
  View<const std::int64_t*, Space> row_map;
  View<const std::int32_t*, Space> columns;
  View<const T*, Space> values;
  GatheredView<const T*, Space> p;
  View<T*, Space> q;

  KOKKOS_INLINE_FUNCTION void operator()(int n) const {
    const std::int64_t begin = row_map(n);
    const int length = static_cast<int>(row_map(n + 1) - begin);
    T sum = 0;
    for (int k = 0; k < length; ++k) sum += values(begin + k) * p(columns(begin + k));
    q(n) = sum;
  }
};

// A row by the lanes of a thread, in teams of 256 lanes.
template <class T, class Space>
struct ProductRows {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  ProductRow<T, Space> of;
  int nodes, rows, lanes;

  ProductRows(const ProductRow<T, Space>& row, int n, int lanes_of_row)
      : of(row), nodes(n), rows(256 / lanes_of_row), lanes(lanes_of_row) {}
  Policy policy() const { return Policy((nodes + rows - 1) / rows, rows, lanes); }
  KOKKOS_INLINE_FUNCTION void operator()(const Member& member) const {
    const int first = member.league_rank() * rows, last = nodes - first < rows ? nodes : first + rows;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, first, last), [&](int n) {
      const std::int64_t begin = of.row_map(n);
      const int length = static_cast<int>(of.row_map(n + 1) - begin);
      T sum = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(member, length),
          [&](int k, T& own) { own += of.values(begin + k) * of.p(of.columns(begin + k)); }, sum);
      Kokkos::single(Kokkos::PerThread(member), [&] { of.q(n) = sum; });
    });
  }
};

template <class T, class Space>
struct Dot {
  View<const T*, Space> p, q;
  KOKKOS_INLINE_FUNCTION void operator()(int i, T& sum) const { sum += p(i) * q(i); }
};

template <class T>
struct UpdateSums {
  T rz, rr;
};
template <class T, class Space>
struct Update {
  using value_type = UpdateSums<T>;
  View<const T*, Space> p, q, d, scalars;
  View<T*, Space> x, r;

  KOKKOS_INLINE_FUNCTION void operator()(int i, value_type& sums) const {
    const T alpha = scalars(alpha_scalar), own_r = r(i) - alpha * q(i);
    x(i) += alpha * p(i);
    r(i) = own_r;
    sums.rz += own_r * d(i) * own_r;
    sums.rr += own_r * own_r;
  }
  KOKKOS_INLINE_FUNCTION void init(value_type& sums) const { sums = {T(0), T(0)}; }
  KOKKOS_INLINE_FUNCTION void join(value_type& sums, const value_type& other) const {
    sums.rz += other.rz;
    sums.rr += other.rr;
  }
};

template <class T, class Space>
struct Direction {
  View<T*, Space> p;
  View<const T*, Space> r, d, scalars;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const { p(i) = d(i) * r(i) + scalars(beta_scalar) * p(i); }
};

template <class T, class Space>
class Cases {
 public:
  Cases(const ThermalArrays<T>& arrays, const char* name, int times)
      : a_(arrays),
        name_(name),
        times_(times),
        elements_(static_cast<int>(arrays.elements)),
        nodes_(static_cast<int>(arrays.nodes)) {}

  Sweep contributions() {
    const Contributions<T, Space> kernel{of_elements<const std::int32_t* [8]>(a_.element_nodes),
                                         GatheredView<const double* [3], Space>(a_.coordinates, rows(nodes_)),
                                         list(a_.blocks, elements_),
                                         GatheredView<const T* [3], Space>(a_.materials, 1),
                                         of_nodes(a_.x),
                                         of_elements<T* [8][8]>(a_.matrix),
                                         of_elements<T* [8]>(a_.vector)};
    Sweep sweep = {competitor("", [kernel, n = elements_] {
      Kokkos::parallel_for("element contributions", light(Range<Space>(0, n)), kernel);
    })};
    if constexpr (on_gpu)
      sweep.push_back(competitor(": small blocks", [kernel, n = elements_] {
        using SmallBlocks = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>, Kokkos::LaunchBounds<128, 3>>;
        Kokkos::parallel_for("element contributions", light(SmallBlocks(0, n)), kernel);
      }));
    return sweep;
  }

  Sweep fill() {
    const Assembly<T, Space> of{list(a_.offsets, nodes_ + 1),
                                list(a_.corners, std::ptrdiff_t{8} * elements_),
                                of_elements<const std::uint64_t* [8]>(a_.slots),
                                row_map(),
                                of_elements<const T* [8][8]>(static_cast<const T*>(a_.matrix)),
                                of_elements<const T* [8]>(static_cast<const T*>(a_.vector)),
                                list(a_.values, a_.entries),
                                list(a_.b, nodes_)};
    Sweep sweep = {competitor(on_gpu ? ": a thread a row" : "", [of, n = nodes_] {
      Kokkos::parallel_for("fill", Range<Space>(0, n), FillRow<T, Space>{of});
    })};
    if constexpr (on_gpu) {
      const int longest = longest_row();
      add_teams(sweep, ": teams", FillRows<T, Space, 1>{of, nodes_, longest});
      add_teams(sweep, ": teams of 2 lanes a row", FillRows<T, Space, 2>{of, nodes_, longest});
    }
    return sweep;
  }

  Sweep product() {
    const ProductRow<T, Space> of{row_map(), list(a_.columns, a_.entries), list(a_.values, a_.entries),
                                  GatheredView<const T*, Space>(a_.p, rows(nodes_)), list(a_.q, nodes_)};
    Sweep sweep = {competitor(on_gpu ? ": a thread a row" : "",
                              [of, n = nodes_] { Kokkos::parallel_for("product", Range<Space>(0, n), of); })};
    if constexpr (on_gpu)
      for (const int lanes : {4, 8, 16})
        add_teams(sweep, ": " + std::to_string(lanes) + " lanes a row",
                  ProductRows<T, Space>(of, nodes_, lanes));
    return sweep;
  }

  // Sums go to views, so that nothing waits for them.
  Sweep dot() {
    const View<T, Space> sum(a_.scalars + dot_scalar);
    return {competitor("", [sum, n = nodes_, kernel = Dot<T, Space>{of_nodes(a_.p), of_nodes(a_.q)}] {
      Kokkos::parallel_reduce("dot", Range<Space>(0, n), kernel, sum);
    })};
  }
  Sweep update() {
    static_assert(sizeof(UpdateSums<T>) == 2 * sizeof(T));
    const View<UpdateSums<T>, Space> sums(reinterpret_cast<UpdateSums<T>*>(a_.scalars + sums_scalar));
    const Update<T, Space> kernel{of_nodes(a_.p), of_nodes(a_.q),     of_nodes(a_.d),
                                  scalars(),      list(a_.x, nodes_), list(a_.r, nodes_)};
    return {competitor("", [sums, kernel, n = nodes_] {
      Kokkos::parallel_reduce("update", Range<Space>(0, n), kernel, sums);
    })};
  }
  Sweep direction() {
    const Direction<T, Space> kernel{list(a_.p, nodes_), of_nodes(a_.r), of_nodes(a_.d), scalars()};
    return {competitor(
        "", [kernel, n = nodes_] { Kokkos::parallel_for("direction", Range<Space>(0, n), kernel); })};
  }

 private:
  // Where small blocks and teams may be faster; on a host a team is a thread, to which a range gives as much.
  static constexpr bool on_gpu = !Arrays<Space>::copied;

  static std::size_t rows(std::ptrdiff_t n) { return static_cast<std::size_t>(n); }
  template <class Data, class Number>
  View<Data, Space> of_elements(Number* theirs) {
    return arrays_.template add<Data>(theirs, elements_, 8);
  }
  template <class Number>
  static View<Number*, Space> list(Number* numbers, std::ptrdiff_t n) {
    return View<Number*, Space>(numbers, rows(n));
  }
  View<const T*, Space> of_nodes(const T* vector) const { return list(vector, nodes_); }
  View<const T*, Space> scalars() const { return list<const T>(a_.scalars, thermal_scalars); }
  View<const std::int64_t*, Space> row_map() const { return list(a_.row_map, nodes_ + 1); }
  int longest_row() const {
    int longest = 0;
    Kokkos::parallel_reduce("longest row", Range<Space>(0, nodes_), LongestRow<Space>{row_map()},
                            Kokkos::Max<int>(longest));
    return longest;
  }

  template <class Launch>
  Competitor competitor(const std::string& variant, const Launch& launch) const {
    return arrays_.competitor(name_ + variant, [launch, times = times_] {
      for (int k = 0; k < times; ++k) launch();
      Kokkos::fence();
    });
  }
  template <class Kernel>
  void add_teams(Sweep& sweep, const std::string& variant, const Kernel& kernel) const {
    sweep.push_back(
        competitor(variant, [kernel] { Kokkos::parallel_for("teams", kernel.policy(), kernel); }));
  }

  ThermalArrays<T> a_;
  std::string name_;
  int times_, elements_, nodes_;
  Arrays<Space> arrays_;
};

}  // namespace

template <class T>
Sweep kokkos_thermal(KokkosPlace place, ThermalKernel kernel, const ThermalArrays<T>& arrays, int times) {
  return sweep_in_space(place, [&](auto space, const char* name) -> Sweep {
    Cases<T, typename decltype(space)::type> cases(arrays, name, times);
    switch (kernel) {
      case ThermalKernel::Contributions:
        return cases.contributions();
      case ThermalKernel::Fill:
        return cases.fill();
      case ThermalKernel::Product:
        return cases.product();
      case ThermalKernel::Dot:
        return cases.dot();
      case ThermalKernel::Update:
        return cases.update();
      case ThermalKernel::Direction:
        return cases.direction();
      case ThermalKernel::Scatter:
      case ThermalKernel::Fused:
      case ThermalKernel::Iteration:
        return {};
    }
    return {};
  });
}
template Sweep kokkos_thermal(KokkosPlace, ThermalKernel, const ThermalArrays<float>&, int);
template Sweep kokkos_thermal(KokkosPlace, ThermalKernel, const ThermalArrays<double>&, int);

}  // namespace perf
#endif
