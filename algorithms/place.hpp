// Places: where a launch runs.
//
//   on(Cuda{0}), on(queue)                       one part: a device, or one of its queues
//   across(Cuda{0}, Cuda{1}).weighted({2, 1})    several parts, with a weight each (across.hpp)
//   across(Threads{}, Cuda{0}).dynamic()         several devices that claim parts (sharing/dynamic.hpp)
//   across(devices).grid(2, 2)                   several devices, with a box of the work each (grid/grid.hpp)
//   streamed(place, 2_GiB).chunk(4096)           the parts of a place, through which arrays go in slices,
//                                                within a budget each (streaming/streamed_place.hpp)
//   place.named("axpy")                          with a label for its launches
//
// A place is a value: a list of parts (device or queue, weight, budget) and a label. Its options are checked
// where they are given, by the same functions for all places. The text of a label is kept by pointer and must
// live as long as the place; launches copy it if they need it longer.
//
// Each algorithm over declared accesses is one function over places:
//
//   launch(where, work, kernel, accesses...)                           launch.hpp
//   launch_reduce(where, work, kernel, into, accesses...)
//   launch_scan(where, work, kernel, into, accesses...)
//   streamed_iterate(where, [work,] steps, kernel, states...)          streaming/streamed_iterate.hpp
//   streamed_iterate_reduce(where, [work,] steps, kernel, into, ...)   streaming/streamed_iterate_reduce.hpp
//   skeletons::map(where, f, y, x...) and its like                     skeletons/
//
// and they run at these places:
//
//                           plain views   coherent arrays   steps   reducing steps
//   on                          x                x
//   across                                       x
//   across.dynamic                               x (no scans)
//   across.grid                                  x (no scans)
//   streamed(on)                                 x            x           x
//   streamed(across)                             x            x
//
// The rest does not compile, with one line that says what to do. A reduction has the same bits at all places
// of devices of one kind.
//
// A new kind of place specialises detail::PlaceTraits, and, if it is neither a list of parts nor streamed,
// the ways of launch.hpp, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <strata/devices/queue.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// The interface of a place of type W, for algorithms.
///
/// - `is_streamed`: arrays go through its parts in slices; the other members are then those of the place
/// below;
/// - `is_one_part`: it has one part, always;
/// - `label(w)`: the text, never null;
/// - `count(w)`: its parts;
/// - `visit(w, k, f)`: f(part k, as an On<D>).
template <class W>
struct PlaceTraits;

template <class D>
struct PlaceTraits<On<D>> {
  static constexpr bool is_streamed = false;
  static constexpr bool is_one_part = true;
  static const char* label(const On<D>& where) { return where.label; }
  static constexpr std::size_t count(const On<D>&) { return 1; }
  template <class F>
  static decltype(auto) visit(const On<D>& where, std::size_t, const F& f) {
    return f(where);
  }
};

/// Whether parts of the place are boxes: grid/grid.hpp.
template <class W>
inline constexpr bool is_grid = false;

}  // namespace detail

/// Where an algorithm over declared accesses runs: on(...), across(...), streamed(...).
template <class W>
concept Place = requires(const W& where) {
  detail::PlaceTraits<W>::is_streamed;
  detail::PlaceTraits<W>::label(where);
};

namespace detail {

template <Place Where>
const char* label_of(const Where& where) {
  return PlaceTraits<Where>::label(where);
}
/// The label of the place; `otherwise` if it has none.
template <Place Where>
const char* label_of(const Where& where, const char* otherwise) {
  const char* const label = PlaceTraits<Where>::label(where);
  return *label == 0 ? otherwise : label;
}
template <Place Where>
decltype(auto) visit_part(const Where& where, std::size_t k, const auto& f) {
  return PlaceTraits<Where>::visit(where, k, f);
}

/// Whether `W` is an on(...).
template <class W>
inline constexpr bool is_on_v = false;
template <class D>
inline constexpr bool is_on_v<On<D>> = true;

template <class...>
inline constexpr bool never = false;

template <class W>
inline constexpr bool is_queue_v = false;
template <class D>
inline constexpr bool is_queue_v<Queue<D>> = true;
/// A device or a queue, of which on(...) makes a place.
template <class W>
concept LacksOn = is_queue_v<W> || Device<W>;

/// A parameter of functions that only say what is wrong with a call: any argument or none. Each costs a
/// conversion by a constructor, so that a function of the program that can be called is taken.
struct AnyOrNone {
  AnyOrNone() = default;
  template <class T>
  AnyOrNone(const T&) {}
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
