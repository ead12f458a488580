// What the competitors in Kokkos share: its execution space for a place, and views of the race's memory. For
// files of kokkos/ alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/competitor.hpp"

#if __has_include(<Kokkos_Core.hpp>)  // for tools that look at every file
#include <Kokkos_Core.hpp>

namespace perf::with_kokkos {

template <class Data, class Space, class Layout = typename Space::array_layout>
using View = Kokkos::View<Data, Layout, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Kernels of many views, which Kokkos hands over in constant memory, waiting for the kernel before, where it
/// does not know that they do little.
template <class Policy>
auto light(const Policy& policy) {
  return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

inline void start() {
  static const bool started = [] {
    Kokkos::initialize();
    std::atexit([] { Kokkos::finalize(); });
    return true;
  }();
  static_cast<void>(started);
}

template <class Space>
struct Type {
  using type = Space;
};

/// What make(Type<Space>{}, name) returns, for the execution space of a place.
template <class Make>
Sweep sweep_in_space(KokkosPlace place, const Make& make) {
  start();
  switch (place) {
#if defined(KOKKOS_ENABLE_SERIAL)
    case KokkosPlace::Serial:
      return make(Type<Kokkos::Serial>{}, "Kokkos Serial");
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
    case KokkosPlace::Threads:
      return make(Type<Kokkos::OpenMP>{}, "Kokkos OpenMP");
#elif defined(KOKKOS_ENABLE_THREADS)
    case KokkosPlace::Threads:
      return make(Type<Kokkos::Threads>{}, "Kokkos Threads");
#endif
#if defined(KOKKOS_ENABLE_CUDA) && defined(__CUDACC__)
    case KokkosPlace::Cuda:
      return make(Type<Kokkos::Cuda>{}, "Kokkos Cuda");
#endif
    default:
      return {};
  }
}

/// The competitor that make(Type<Space>{}) returns.
template <class Make>
Sweep in_space(KokkosPlace place, const Make& make) {
  return sweep_in_space(place, [&](auto space, const char* name) -> Sweep { return {{name, make(space)}}; });
}

/// The race's arrays in the layout of an execution space. On a GPU they are the race's own memory. On a host
/// Kokkos lays the numbers of an element side by side where the race has tiles of elements: there they are
/// copies, which the competitor fetches and gives back when it is verified.
template <class Space>
class Arrays {
 public:
  static constexpr bool copied = std::is_same_v<typename Space::array_layout, Kokkos::LayoutRight>;

  /// The view of `rows` rows at `theirs`; `tile`: of how many rows a tile is on hosts, 1 for none.
  template <class Data, class Layout = typename Space::array_layout, class Number>
  View<Data, Space, Layout> add(Number* theirs, std::ptrdiff_t rows, int tile) {
    const auto n = static_cast<std::size_t>(rows);
    if constexpr (!copied) {
      return View<Data, Space, Layout>(theirs, n);
    } else {
      using Own = Kokkos::View<typename View<Data, Space, Layout>::non_const_data_type, Layout, Space>;
      const Own own("of the race", n);
      const auto count = static_cast<std::ptrdiff_t>(n > 0 ? own.size() / n : 0);
      const auto each = [=](const auto& copy) {
        for (std::ptrdiff_t i = 0; i < rows; ++i)
          for (std::ptrdiff_t k = 0; k < count; ++k)
            copy(own.data()[i * count + k], theirs[i / tile * (tile * count) + k * tile + i % tile]);
      };
      kept_->fetch.push_back([=] { each([](auto& mine, const auto& other) { mine = other; }); });
      if constexpr (!std::is_const_v<Number>)
        kept_->give_back.push_back([=] { each([](const auto& mine, auto& other) { other = mine; }); });
      return own;
    }
  }

  /// The competitor that works on these arrays.
  Competitor competitor(std::string name, std::function<void()> run) const {
    const auto all = [kept = kept_](std::vector<std::function<void()>> Kept::*copies) {
      return [=] {
        for (const auto& copy : (*kept).*copies) copy();
      };
    };
    // `run` uses what `kept` owns.
    return {std::move(name), [kept = kept_, run = std::move(run)] { run(); }, all(&Kept::fetch),
            all(&Kept::give_back)};
  }

 private:
  struct Kept {
    std::vector<std::function<void()>> fetch, give_back;
  };
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace perf::with_kokkos
#endif
