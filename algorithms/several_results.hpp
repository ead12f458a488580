// launch_reduce with several named reducers: the kernel becomes a functor whose value has a member for each
// of them, so that every way to launch needs to know one result only. See launch.hpp, where it is used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <strata/algorithms/finalize.hpp>
#include <strata/algorithms/kernel_parameters.hpp>
#include <strata/algorithms/reduction.hpp>

namespace strata::inline STRATA_ABI::detail {

// The types of all arguments but the last.
template <class List, class... A>
struct AllButLast;
template <class... Done, class Last>
struct AllButLast<TypeList<Done...>, Last> {
  using type = TypeList<Done...>;
};
template <class... Done, class First, class Second, class... Rest>
struct AllButLast<TypeList<Done...>, First, Second, Rest...>
    : AllButLast<TypeList<Done..., First>, Second, Rest...> {};

/// `kernel`, called with a reference to each member of the value instead of the value.
template <class K, class Sequence, class... R>
struct SeveralResults;
template <class K, std::size_t... I, class... R>
struct SeveralResults<K, std::index_sequence<I...>, R...> : JoinEach<std::index_sequence<I...>, R...> {
  using Base = JoinEach<std::index_sequence<I...>, R...>;
  using value_type = typename Base::value_type;
  K kernel;

  explicit SeveralResults(const K& k) : kernel(k) {}

  template <class... A>
  requires(sizeof...(A) > 1 &&
           is_callable<K, decltype(append(typename AllButLast<TypeList<>, A&&...>::type(),
                                          TypeList<typename R::value_type&...>()))>) STRATA_FUNCTION void
  operator()(A&&... arguments) const {
    using Others = typename AllButLast<TypeList<>, A&&...>::type;
    static_assert(!takes_by_value<K, typename R::value_type&...>(Others(), TypeList<>()),
                  "strata: launch_reduce: the kernel takes one of its values by value, so that what it adds "
                  "is lost: you wrote `double sum` or `auto sum`; write `double& sum` or `auto& sum`");
    spread([&](auto&&... all) { kernel(static_cast<decltype(all)&&>(all)...); }, arguments...);
  }

 private:
  template <class F, class First, class... Rest>
  STRATA_FUNCTION static void spread(const F& f, First& first, Rest&... rest) {
    if constexpr (sizeof...(Rest) == 0) f(slot<I>(first)...);
    else spread([&](auto&... more) { f(first, more...); }, rest...);
  }
};

template <class K, class Sequence, class... R>
struct KernelWithin<SeveralResults<K, Sequence, R...>> {
  using type = K;
};

// Stores each member in a value on the device.
template <class Sequence>
struct StoreSeveral;
template <std::size_t... I>
struct StoreSeveral<std::index_sequence<I...>> {
  template <class Values, class... V>
  STRATA_FUNCTION void operator()(const Values& values, const V&... targets) const {
    ((targets() = slot<I>(values)), ...);
  }
};

template <class R>
inline constexpr bool into_variable = std::is_pointer_v<typename R::target_type>;

template <std::size_t... I, class Values, class... R>
void store_each(std::index_sequence<I...>, const Values& values, const R&... reducers) {
  ((*reducers.target = slot<I>(values)), ...);
}

}  // namespace strata::inline STRATA_ABI::detail
