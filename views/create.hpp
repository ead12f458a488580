// create: allocates an array and returns the first view of it.
//
//   auto x = create<MDArray<double, Threads, rank<2>>>("x", n, 3);               // zero-filled
//   auto y = create<MDArray<double, Emulated, rank<2>>>("y", n, 3, uninitialized, on(queue));
//
// Zero-filling runs on the device, where the threads that will work on the array touch it first. Without a
// queue it is complete on return; with one it is enqueued there, and until the queue was waited for only work
// on it may use the array.
//
// Errors: ExtentError (negative extents, overflow), OutOfMemory (lists the largest live allocations),
// RuntimeEnded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/queue.hpp>
#include <strata/views/copy.hpp>
#include <strata/views/mdarray.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

struct Uninitialized {};
/// Leaves the elements of a new array undefined.
inline constexpr Uninitialized uninitialized{};

namespace detail {

// `Given` extents must be all of an array's, or those that its type leaves open. Each message has the number,
// which is hard to find among a template's arguments.
template <int Given, int Rank, int Open>
constexpr void check_extents_given() {
  constexpr bool fits = Given == Rank || Given == Open;
  static_assert(fits || Open != 0,
                "strata: an array of this type takes no extents: you wrote some; write create<V>(label)");
  static_assert(
      fits || Open != 1,
      "strata: an array of this type takes 1 extent: you wrote none or more; write create<V>(label, n)");
  static_assert(fits || Open != 2,
                "strata: an array of this type takes 2 extents: you wrote more or fewer; write 2 numbers "
                "after the label");
  static_assert(fits || Open != 3,
                "strata: an array of this type takes 3 extents: you wrote more or fewer; write 3 numbers "
                "after the label");
  static_assert(fits || Open != 4,
                "strata: an array of this type takes 4 extents: you wrote more or fewer; write 4 numbers "
                "after the label");
  static_assert(fits || Open != 5,
                "strata: an array of this type takes 5 extents: you wrote more or fewer; write 5 numbers "
                "after the label");
  static_assert(fits || Open != 6,
                "strata: an array of this type takes 6 extents: you wrote more or fewer; write 6 numbers "
                "after the label");
  static_assert(fits || Open != 7,
                "strata: an array of this type takes 7 extents: you wrote more or fewer; write 7 numbers "
                "after the label");
  static_assert(fits || Open != 8,
                "strata: an array of this type takes 8 extents: you wrote more or fewer; write 8 numbers "
                "after the label");
}
// Of arrays of extents E; those whose rank is known at run time take any number up to the largest rank.
template <class E, int Given>
constexpr void check_extents() {
  if constexpr (E::has_dynamic_rank) {
    static_assert(Given <= E::max_rank_value || E::max_rank_value != 2,
                  "strata: an array of this type takes at most 2 extents");
    static_assert(Given <= E::max_rank_value || E::max_rank_value == 2,
                  "strata: an array takes at most as many extents as its type allows, which are 8 or fewer");
  } else {
    check_extents_given<Given, E::max_rank_value, E::dynamic_count>();
  }
}

// What may follow the extents.
template <class>
inline constexpr bool is_create_option = false;
template <>
inline constexpr bool is_create_option<Uninitialized> = true;
template <class D>
inline constexpr bool is_create_option<On<D>> = true;

template <class D>
struct CreateOptions {
  D device{};
  QueueState* queue = nullptr;
  bool fill = true;

  void set(Uninitialized) { fill = false; }
  template <class Other>
  void set(const On<Other>&) {
    static_assert(std::is_same_v<Other, D>,
                  "strata: create: on(...) names another device than the array's type");
  }
  template <class Option>
  void set(const Option&) {
    static_assert(!Device<Option>,
                  "strata: create: you wrote a device itself; write on(device), as in "
                  "create<V>(\"x\", n, on(device))");
    static_assert(
        is_create_option<Option> || Device<Option>,
        "strata: create: an argument is neither an extent (an integer) nor `uninitialized` nor on(...)");
  }
  void set(const On<D>& where) {
    device = where.device;
    queue = where.queue.get();
  }
};

// Allocates `span` elements laid out by `layout` (for messages) and zero-fills them.
Allocation* create_storage(DeviceInstance& instance, QueueState* queue, const char* label, index_t span,
                           std::size_t element_bytes, const LayoutDescriptor& layout, bool fill);

/// Throws the exception being handled; an ExtentError says what was to be created.
[[noreturn]] void rethrow_creating(const char* label, const index_t* extents, int count);

// A view of `span` elements of new storage; the view's address is `before` elements into it.
template <class V>
V create_with(const char* label, const typename V::mapping_type& mapping, index_t span,
              const CreateOptions<typename V::device_type>& options, index_t before = 0) {
  using T = typename V::value_type;
  const LayoutDescriptor layout = describe(mapping);
  const AllocationRef allocation(
      create_storage(options.device.backend(), options.queue, label, span, sizeof(T), layout, options.fill));
  return V(allocation, static_cast<T*>(allocation.get()->data) + before, mapping);
}

// An array with a mapping that the user made, whose offsets may be negative.
template <class V>
V create_mapped(const char* label, const typename V::mapping_type& mapping,
                const CreateOptions<typename V::device_type>& options) {
  index_t span = mapping.required_span_size(), before = 0;
  const LayoutDescriptor layout = describe(mapping);
  if (element_count(layout) > 0) {
    const OffsetBounds bounds = offset_bounds(layout);
    if (bounds.lowest < 0) before = -bounds.lowest;
    if (bounds.highest + 1 + before > span) span = bounds.highest + 1 + before;
  }
  return create_with<V>(label, mapping, span, options, before);
}

// Splits the arguments of create: first the extents, then the options.
template <class V, class First, class... Rest>
V create_from(const char* label, CreateOptions<typename V::device_type> options, const index_t* extents,
              int count, const First& first, const Rest&... rest);

template <class V>
V create_from(const char* label, const CreateOptions<typename V::device_type>& options,
              const index_t* extents, int count) {
  try {
    const typename V::mapping_type mapping{typename V::extents_type(extents, count)};
    return create_with<V>(label, mapping, mapping.required_span_size(), options);
  } catch (...) {
    rethrow_creating(label, extents, count);
  }
}

template <class V, class First, class... Rest>
V create_from(const char* label, CreateOptions<typename V::device_type> options, const index_t* extents,
              int count, const First& first, const Rest&... rest) {
  if constexpr (IndexLike<First>) {
    index_t more[max_rank + 1] = {};
    for (int r = 0; r < count; ++r) more[r] = extents[r];
    more[count] = static_cast<index_t>(first);
    return create_from<V>(label, options, more, count + 1, rest...);
  } else {
    options.set(first);
    return create_from<V>(label, options, extents, count, rest...);
  }
}

}  // namespace detail

/// A new array of type `V`, named `label` in messages and profiles. `arguments` are the run-time extents (or
/// all of them; another number does not compile), then, in any order, `uninitialized` and `on(device or
/// queue)`.
template <AnyView V, class... Arguments>
[[nodiscard]] V create(const char* label, const Arguments&... arguments) {
  static_assert(!std::is_const_v<typename V::element_type>,
                "strata: create makes arrays of non-const elements");
  // Other arguments are reported below.
  if constexpr (((IndexLike<Arguments> || detail::is_create_option<Arguments>)&&...))
    detail::check_extents<typename V::extents_type, (0 + ... + int{IndexLike<Arguments>})>();
  const index_t none[1] = {0};
  return detail::create_from<V>(label, {}, none, 0, arguments...);
}

/// A new array with a mapping that you made: padded or negative strides, offset ranges, a user-supplied
/// layout. The storage begins at the element of the lowest offset.
template <AnyView V, class... Options>
[[nodiscard]] V create(const char* label, const typename V::mapping_type& mapping,
                       const Options&... options) {
  detail::CreateOptions<typename V::device_type> chosen{};
  (chosen.set(options), ...);
  return detail::create_mapped<V>(label, mapping, chosen);
}

/// These do not compile: the label comes first, as a const char*.
template <AnyView V, class Label, class... Rest>
requires(!std::is_convertible_v<const Label&, const char*>) V create(const Label&, const Rest&...) {
  static_assert(!IndexLike<Label>,
                "strata: create: the label is missing: you wrote create<V>(n); write create<V>(\"x\", n)");
  static_assert(IndexLike<Label>,
                "strata: create: the label is not a const char*: you wrote create<V>(name, n) with another "
                "type, as std::string; write create<V>(name.c_str(), n)");
  return V();
}
template <AnyView V>
V create() {
  static_assert(!AnyView<V>,
                "strata: create: the label is missing: you wrote create<V>(); write create<V>(\"x\", n)");
  return V();
}
/// Nor does this: coherent arrays and arrays in files have constructors.
template <class V, class... Arguments>
requires requires { typename V::coherent_array_type; }
V create(const Arguments&...) {
  static_assert(!std::is_same_v<V, V>,
                "strata: create makes views: you wrote create<CoherentArray<...>>(\"x\", n); write "
                "CoherentArray<...> x(\"x\", n)");
  return V();
}

/// The paper's spellings (section 3.2): zero-filled arrays without a label (a value may have one).
template <AnyView V, class... I>
requires(IndexLike<I>&&...) [[nodiscard]] V create_mdarray(I... extents) { return create<V>("", extents...); }
/// The spelling of the paper's figure 5: create_mdarray<double, Device>(n, 10, 20).
template <class T, class Device, class... I>
requires(!AnyView<T> && (IndexLike<I> && ...)) [[nodiscard]] MDArray<T, Device> create_mdarray(I... extents) {
  return create<MDArray<T, Device>>("", extents...);
}
template <AnyView V, class... I>
requires(IndexLike<I>&&...) [[nodiscard]] V create_multivector(I... extents) {
  return create<V>("", extents...);
}
template <AnyView V>
[[nodiscard]] V create_value(const char* label = "") {
  return create<V>(label);
}

}  // namespace strata::inline STRATA_ABI
