// See kokkos_cases.hpp. Written as a Kokkos program would be, for 3.4 and later: views of the memory that it
// is given, the default policies. No Strata header.
// SPDX-License-Identifier: Apache-2.0
#include "kokkos/kokkos_cases.hpp"

#include <cmath>
#include <cstdint>

#include "kokkos/spaces.hpp"

#if __has_include(<Kokkos_Core.hpp>)  // for tools that look at every file
#include <Kokkos_ScatterView.hpp>

namespace perf {

namespace {

using namespace with_kokkos;
template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <StreamOperation O, class T, class Space>
struct Stream {
  View<T*, Space> a;
  View<const T*, Space> b, c;
  T s;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    if constexpr (O == StreamOperation::Copy) a(i) = b(i);
    if constexpr (O == StreamOperation::Scale) a(i) = s * b(i);
    if constexpr (O == StreamOperation::Add) a(i) = b(i) + c(i);
    if constexpr (O == StreamOperation::Triad) a(i) = b(i) + s * c(i);
    if constexpr (O == StreamOperation::Fill) a(i) = s;
  }
};

template <class T, class Space, bool Dot>
struct Reduce {
  View<const T*, Space> x, y;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i, T& sum) const { sum += Dot ? x(i) * y(i) : x(i); }
};
template <class T, class Space>
struct ReduceRoot {
  View<const T*, Space> x, y;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i, T& sum) const { sum += x(i) * y(i); }
  KOKKOS_INLINE_FUNCTION void final(T& sum) const { sum = std::sqrt(sum); }
};

template <class T, class Space>
struct Scan {
  View<const T*, Space> x;
  View<T*, Space> y;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i, T& sum, bool is_final) const {
    sum += x(i);
    if (is_final) y(i) = sum;
  }
};

template <class T, class Space>
struct RowAverage {
  View<const T***, Space> x;
  View<T**, Space> y;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const int n1 = static_cast<int>(x.extent(1)), n2 = static_cast<int>(x.extent(2));
    for (int j = 0; j < n1; ++j) {
      T sum = 0;
      for (int k = 0; k < n2; ++k) sum += x(i, j, k);
      y(i, j) = sum / static_cast<T>(n2);
    }
  }
};

template <class T, class Space>
struct Stencil7 {
  View<const T***, Space> u;
  View<T***, Space> v;
  T a, b;
  KOKKOS_INLINE_FUNCTION void operator()(int i, int j, int k) const {
    v(i, j, k) = a * u(i, j, k) + b * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) +
                                       u(i, j, k - 1) + u(i, j, k + 1));
  }
};

template <class T, class Space>
using Sums = Kokkos::View<T*, typename Space::array_layout, typename Space::device_type>;
template <class T, class Space>
using Scatter = decltype(Kokkos::Experimental::create_scatter_view(Sums<T, Space>()));
template <class T, class Space>
struct Assemble {
  Scatter<T, Space> sum;
  View<const std::int32_t* [8], Space> node;
  View<const T*, Space> value;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t e) const {
    auto access = sum.access();
    const T own = value(e);
    for (int k = 0; k < 8; ++k) access(node(e, k)) += own;
  }
};

template <StreamOperation O, class T>
Sweep stream(KokkosPlace place, const StreamArrays<T>& x) {
  return in_space(place, [&](auto space) -> std::function<void()> {
    using Space = typename decltype(space)::type;
    const auto n = static_cast<std::size_t>(x.n);
    const Stream<O, T, Space> kernel{View<T*, Space>(x.a, n), View<const T*, Space>(x.b, n),
                                     View<const T*, Space>(x.c, n), x.s};
    return [=] {
      Kokkos::parallel_for(Range<Space>(0, x.n), kernel);
      Kokkos::fence();
    };
  });
}

}  // namespace

template <class T>
Sweep kokkos_stream(KokkosPlace place, StreamOperation operation, StreamArrays<T> arrays) {
  switch (operation) {
    case StreamOperation::Copy:
      return stream<StreamOperation::Copy>(place, arrays);
    case StreamOperation::Scale:
      return stream<StreamOperation::Scale>(place, arrays);
    case StreamOperation::Add:
      return stream<StreamOperation::Add>(place, arrays);
    case StreamOperation::Triad:
      return stream<StreamOperation::Triad>(place, arrays);
    case StreamOperation::Fill:
      return stream<StreamOperation::Fill>(place, arrays);
  }
  return {};
}

template <class T>
Sweep kokkos_reduce(KokkosPlace place, ReduceArrays<T> a) {
  return in_space(place, [&](auto space) -> std::function<void()> {
    using Space = typename decltype(space)::type;
    const auto n = static_cast<std::size_t>(a.n);
    const View<const T*, Space> x(a.x, n), y(a.y, a.y ? n : 0);
    if (a.into == ReduceInto::Root)
      return [=] {
        const View<T, Space> result(a.result);
        for (int c = 0; c < a.calls; ++c)
          Kokkos::parallel_reduce(Range<Space>(0, a.n), ReduceRoot<T, Space>{x, y}, result);
        Kokkos::fence();
      };
    return [=] {
      for (int c = 0; c < a.calls; ++c)
        if (a.y) Kokkos::parallel_reduce(Range<Space>(0, a.n), Reduce<T, Space, true>{x, y}, *a.result);
        else Kokkos::parallel_reduce(Range<Space>(0, a.n), Reduce<T, Space, false>{x, y}, *a.result);
    };
  });
}

template <class T>
Sweep kokkos_scan(KokkosPlace place, ScanArrays<T> a) {
  return in_space(place, [&](auto space) -> std::function<void()> {
    using Space = typename decltype(space)::type;
    const auto n = static_cast<std::size_t>(a.n);
    const Scan<T, Space> kernel{View<const T*, Space>(a.x, n), View<T*, Space>(a.y, n)};
    return [=] {
      Kokkos::parallel_scan(Range<Space>(0, a.n), kernel);
      Kokkos::fence();
    };
  });
}

template <class T>
Sweep kokkos_row_average(KokkosPlace place, RowAverageArrays<T> a) {
  return in_space(place, [&](auto space) -> std::function<void()> {
    using Space = typename decltype(space)::type;
    const RowAverage<T, Space> kernel{View<const T***, Space>(a.x, a.n, a.n1, a.n2),
                                      View<T**, Space>(a.y, a.n, a.n1)};
    return [=] {
      Kokkos::parallel_for(Range<Space>(0, a.n), kernel);
      Kokkos::fence();
    };
  });
}

template <class T>
Sweep kokkos_stencil7(KokkosPlace place, StencilArrays<T> s) {
  return in_space(place, [&](auto space) -> std::function<void()> {
    using Space = typename decltype(space)::type;
    const std::ptrdiff_t m = s.edge;
    const Stencil7<T, Space> kernel{View<const T***, Space>(s.u, m, m, m), View<T***, Space>(s.v, m, m, m),
                                    s.a, s.b};
    return [=] {
      Kokkos::parallel_for(Kokkos::MDRangePolicy<Space, Kokkos::Rank<3>>({1, 1, 1}, {m - 1, m - 1, m - 1}),
                           kernel);
      Kokkos::fence();
    };
  });
}

template <class T>
Sweep kokkos_scatter_add(KokkosPlace place, ScatterArrays<T> a) {
  return in_space(place, [&](auto space) -> std::function<void()> {
    using Space = typename decltype(space)::type;
    const View<const std::int32_t* [8], Space> node(a.node, a.elements);
    const View<const T*, Space> value(a.value, a.elements);
    Sums<T, Space> sum(a.sum, static_cast<std::size_t>(a.nodes));
    Scatter<T, Space> scatter(sum);
    return [=]() mutable {
      Kokkos::deep_copy(sum, T(0));
      scatter.reset_except(sum);
      Kokkos::parallel_for(Range<Space>(0, a.elements), Assemble<T, Space>{scatter, node, value});
      Kokkos::Experimental::contribute(sum, scatter);
      Kokkos::fence();
    };
  });
}

#define STRATA_PERF_FOR(T)                                                     \
  template Sweep kokkos_stream(KokkosPlace, StreamOperation, StreamArrays<T>); \
  template Sweep kokkos_reduce(KokkosPlace, ReduceArrays<T>);                  \
  template Sweep kokkos_row_average(KokkosPlace, RowAverageArrays<T>);         \
  template Sweep kokkos_stencil7(KokkosPlace, StencilArrays<T>);               \
  template Sweep kokkos_scatter_add(KokkosPlace, ScatterArrays<T>);
STRATA_PERF_FOR(float)
STRATA_PERF_FOR(double)
#undef STRATA_PERF_FOR
template Sweep kokkos_scan(KokkosPlace, ScanArrays<double>);
template Sweep kokkos_scan(KokkosPlace, ScanArrays<float>);
template Sweep kokkos_scan(KokkosPlace, ScanArrays<std::int64_t>);

}  // namespace perf
#endif
