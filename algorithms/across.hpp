// across: several devices that share the work of a launch, and how it is split among them.
//
//   across(Cuda{0}, Cuda{1})                            in equal parts
//   across(devices)                                     a std::vector of devices of one kind
//   across(Cuda{0}, Threads{}).weighted({0.9, 0.1})     in parts of these sizes
//   across(Cuda{0}, Threads{}).adaptive(balance)        by the speed measured so far
//   across(Cuda{0}, Threads{}).dynamic()                in parts that devices claim: sharing/dynamic.hpp
//   across(devices).grid(2, 2)                          in boxes: grid/grid.hpp
//
// Parts are runs of left-most indices in the order of the devices. Each device works on its default queue;
// parts of hosts run on the calling thread and its helpers, after the others were enqueued.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/launch_hints.hpp>
#include <strata/algorithms/place.hpp>
#include <strata/algorithms/policy.hpp>
#include <strata/core/layout.hpp>
#include <strata/core/variant.hpp>
#include <strata/devices/queue.hpp>

namespace strata::inline STRATA_ABI {

/// The speeds of devices that share work, kept by the user from launch to launch. Devices not measured yet
/// count as equally fast. Kernels are timed on their queues; the times are read when the next launch is
/// split, without waiting for them.
class Balance {
 public:
  /// Shares in the order of the devices, which sum to 1.
  std::vector<double> shares(std::size_t devices);

  /// A measurement of a launch on one device: its items, and the events around its kernel.
  struct Sample {
    index_t items;                          ///< of the device
    detail::Ref<detail::EventState> begin;  ///< before its kernel, timed
    detail::Ref<detail::EventState> end;    ///< after it
  };
  /// The samples of a launch, one a device; they count when all are complete.
  void add(std::vector<Sample> samples);

  /// Items a second of each device, as measured so far; 0: not measured.
  std::vector<double> speeds(std::size_t devices);
  /// Speeds that a launch has measured itself; 0: not measured. They count at once.
  void note(const std::vector<double>& speeds);

 private:
  void learn();
  void learn(std::size_t device, double speed);
  std::vector<double> speeds_;  // items a second
  std::vector<std::vector<Sample>> open_;
};

namespace detail {

/// The part [begin, end) of a range that each device has: `count` parts of [first, last), cut at multiples of
/// `align`. Without weights each has the same number of items, rounded down, and the last one the rest.
std::vector<ResidentRows> split_range(index_t first, index_t last, std::size_t count,
                                      const std::vector<double>& weights, index_t align);
/// Throws Error unless there is one for each device, none negative and not all zero.
void check_weights(const std::vector<double>& sizes, std::size_t devices);

}  // namespace detail

// sharing/dynamic.hpp
struct DynamicOptions;
template <class... D>
struct SharedAcross;
// grid/grid_place.hpp
template <int Cuts, class... D>
struct GridAcross;

/// Several devices, of the kinds `D`, made by `across`.
template <class... D>
struct Across {
  std::vector<Variant<On<D>...>> places;  ///< the parts, in order
  std::vector<double> weights;            ///< empty: equal
  Balance* balance = nullptr;             ///< null: as weights say
  const char* label = "";                 ///< of launches there, in messages and profiles

  /// With a label for the launches there. The text is kept by pointer and must live as long as the place.
  Across named(const char* text) const {
    Across result = *this;
    result.label = text;
    return result;
  }

  /// In parts of these sizes, which need not sum to 1. Throws Error unless there is one for each device, none
  /// negative and not all zero.
  Across weighted(std::vector<double> sizes) const {
    detail::check_weights(sizes, places.size());
    Across result = *this;
    result.weights = static_cast<std::vector<double>&&>(sizes);
    return result;
  }
  /// In parts by the speed of the devices in earlier launches with this balance, which must outlive this.
  Across adaptive(Balance& kept) const {
    Across result = *this;
    result.balance = &kept;
    return result;
  }
  /// Devices claim parts until all is done: sharing/dynamic.hpp. Weights say where each begins, a balance how
  /// fast they were, and learns.
  auto dynamic() const {
    constexpr bool is_included = requires { sizeof(SharedAcross<D...>); };
    static_assert(is_included, "strata: across(...).dynamic() needs <strata/algorithms/sharing/dynamic.hpp>");
    if constexpr (is_included) return SharedAcross<D...>{*this, {}};
  }
  auto dynamic(const DynamicOptions& options) const { return SharedAcross<D...>{*this, options}; }
  /// Parts are boxes: grid(p0, p1) of p0 x p1 devices, grid(p0, p1, p2) of p0 x p1 x p2, the last index
  /// counting fastest. Error unless there are as many devices.
  auto grid(index_t p0, index_t p1) const { return grid_of<2>(p0, p1); }
  auto grid(index_t p0, index_t p1, index_t p2) const { return grid_of<3>(p0, p1, p2); }

 private:
  template <int Cuts, class... N>
  auto grid_of(N... parts) const {
    constexpr bool is_included = requires { sizeof(GridAcross<Cuts, D...>); };
    static_assert(is_included, "strata: across(...).grid(...) needs <strata/algorithms/grid/grid.hpp>");
    if constexpr (is_included) return GridAcross<Cuts, D...>::of(*this, {parts...});
  }
};

namespace detail {

template <class All, class... D>
struct UniqueDevices {
  using type = All;
};
template <class... U, class First, class... Rest>
struct UniqueDevices<Across<U...>, First, Rest...> {
  using type = typename UniqueDevices<
      std::conditional_t<(std::is_same_v<First, U> || ...), Across<U...>, Across<U..., First>>,
      Rest...>::type;
};
[[noreturn]] void fail_no_devices();

template <class... D>
struct PlaceTraits<Across<D...>> {
  static constexpr bool is_streamed = false;
  static constexpr bool is_one_part = false;
  static const char* label(const Across<D...>& where) { return where.label; }
  static std::size_t count(const Across<D...>& where) { return where.places.size(); }
  template <class F>
  static decltype(auto) visit(const Across<D...>& where, std::size_t k, const F& f) {
    return visit_as<F, D...>(where.places[k], f);
  }

 private:
  template <class F, class First, class... Rest>
  static decltype(auto) visit_as(const Variant<On<D>...>& part, const F& f) {
    if constexpr (sizeof...(Rest) > 0)
      if (!part.template holds<On<First>>()) return visit_as<F, Rest...>(part, f);
    return f(part.template as<On<First>>());
  }
};
/// The sizes of the parts that were asked for; none: equal ones.
template <class Where>
std::vector<double> weights_asked_for(const Where& where) {
  if constexpr (requires { where.weights; }) return where.weights;
  else return {};
}
template <class Where>
constexpr Balance* balance_of(const Where& where) {
  if constexpr (requires { where.balance; }) return where.balance;
  else return nullptr;
}
/// The same, or as the balance has measured.
template <class Where>
std::vector<double> weights_of(const Where& where) {
  Balance* const balance = balance_of(where);
  return balance != nullptr ? balance->shares(PlaceTraits<Where>::count(where)) : weights_asked_for(where);
}

}  // namespace detail

/// Over the devices, each once, in this order.
template <Device... D>
requires(sizeof...(D) > 0) typename detail::UniqueDevices<Across<>, D...>::type across(const D&... devices) {
  typename detail::UniqueDevices<Across<>, D...>::type places;
  (places.places.push_back(on(devices)), ...);
  return places;
}
/// Throws NoSuchDevice if `devices` is empty.
template <Device D>
Across<D> across(const std::vector<D>& devices) {
  if (devices.empty()) detail::fail_no_devices();
  Across<D> places;
  for (const D& device : devices) places.places.push_back(on(device));
  return places;
}

namespace detail {

/// The left-most indices of a range, and the range with others.
template <class R>
struct LeftMost {
  static ResidentRows of(const R& n) { return {0, static_cast<index_t>(n)}; }
  static Range part(const R&, ResidentRows rows) { return range(rows.begin, rows.end); }
};
template <>
struct LeftMost<Range> {
  static ResidentRows of(const Range& r) { return {r.first, r.last}; }
  static Range part(Range r, ResidentRows rows) {
    r.first = rows.begin;
    r.last = rows.end;
    return r;
  }
};
template <int Rank>
struct LeftMost<MDRange<Rank>> {
  static ResidentRows of(const MDRange<Rank>& r) { return {r.lower[0], r.upper[0]}; }
  static MDRange<Rank> part(MDRange<Rank> r, ResidentRows rows) {
    r.lower[0] = rows.begin;
    r.upper[0] = rows.end;
    return r;
  }
};
template <class R, class Static>
struct LeftMost<Hinted<R, Static>> {
  static ResidentRows of(const Hinted<R, Static>& w) { return LeftMost<R>::of(w.work); }
  static auto part(const Hinted<R, Static>& w, ResidentRows rows) {
    const auto mine = LeftMost<R>::part(w.work, rows);
    return Hinted<std::remove_const_t<decltype(mine)>, Static>{mine, w.hints};
  }
};
template <class Tag, class R>
struct LeftMost<Tagged<Tag, R>> {
  static ResidentRows of(const Tagged<Tag, R>& t) { return LeftMost<R>::of(t.work); }
  static auto part(const Tagged<Tag, R>& t, ResidentRows rows) {
    return tagged<Tag>(LeftMost<R>::part(t.work, rows));
  }
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
