// CoherentArray: one logical array with partial copies in the memories of the host and of devices. Launches
// that declare how they use it (algorithms/launch.hpp) and the host find current values wherever they are;
// only missing values are copied.
//
//   CoherentArray<double, rank<1>> x("x", n), y("y", n);
//   x.write()(0) = 1;                                             // the host, by a scoped view
//   launch(across(Cuda{0}, Cuda{1}), n, axpy{2.0}, in(x), inout(y));
//   double first = y(0);                                          // waits, and copies one element
//
// A handle: copies share the array, the last one frees it. After Dastgeer and Kessler, IJPP 44 (2016), with
// regions in place of whole copies.
//
// Threads: all functions may be called from any thread. A host view excludes, for its box, views and launches
// that conflict with it: those of other threads wait for its end, those of its own thread throw. Layout: the
// same in every memory. The default for rank 2 and more is LayoutTiled<8>; choose LayoutRight where kernels
// run over several indices, the last one fastest. With LayoutLeft devices hold all of the array, and parts
// are packed to be copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_left.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/core/layout_tiled.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>
#include <strata/views/coherent/element_reference.hpp>
#include <strata/views/coherent/home.hpp>
#include <strata/views/coherent/host_access.hpp>
#include <strata/views/create.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {
struct FileArrays;

// From rank<R> to R. An integer counts as the rank, so that the error below is the only one.
template <index_t N>
struct CoherentRank {
  static constexpr bool is_rank = N <= rank_code;
  static_assert(is_rank,
                "strata: the rank of a coherent array is written rank<R>: CoherentArray<T, rank<2>>, "
                "file_array<T, rank<2>>(...): you wrote a number R; write rank<R>");
  static constexpr int value = static_cast<int>(is_rank ? rank_code - N : N);
};
}  // namespace detail

/// The layout of coherent arrays of `rank<R>` where none is given.
template <index_t Rank>
using CoherentLayout =
    std::conditional_t<(detail::CoherentRank<Rank>::value <= 1), LayoutRight, LayoutTiled<8>>;

/// The device for which the host's memory of an array is allocated. A host: plain memory, in modes that use
/// it; with Threads, its threads touch large arrays first. An accelerator: its pinned or managed memory, in
/// modes that use such (by default that of the first GPU).
template <class D>
struct MainIn {
  D device;  ///< a host or an accelerator
};
/// As an argument of CoherentArray's constructor.
template <Device D>
constexpr MainIn<D> main_in(const D& device) {
  static_assert(
      std::is_same_v<typename detail::FamilyOf<typename D::memory_space>::type, typename D::memory_space>,
      "strata: main_in: you wrote CudaPinned or CudaManaged; write MemoryMode::Pinned or "
      "MemoryMode::Managed in place of main_in(...)");
  return {device};
}

/// A view of a box of a coherent array for the host, which excludes conflicting uses as long as it lives.
/// Indices are those of the array. `T` is const where it is for reading.
template <class T, class E, class L>
class HostView {
 public:
  /// The view of it.
  using view_type = View<T, Serial, E, L, Unmanaged<DefaultAccess>>;

  /// Made by CoherentArray; moved, not copied.
  HostView(detail::HostUseScope&& scope, const view_type& view, const Box& box)
      : scope_(static_cast<detail::HostUseScope&&>(scope)), view_(view), box_(box) {
    if constexpr (checked_build) view_.set_ticket(scope_.ticket());
  }
  /// Moving transfers the use: the end of a view that was moved from has no effect.
  HostView(HostView&&) = default;
  HostView& operator=(HostView&&) = default;

  /// The element at an index of the box. Other indices, and use after end(), are undefined behaviour; checked
  /// builds throw OutOfBounds (of indices they check the row only).
  template <IndexLike... I>
  T& operator()(I... i) const {
    check_use();
    return view_(i...);
  }
  template <IndexLike I>
  T& operator[](I i) const {
    check_use();
    return view_(i);
  }
  /// The element of an array of rank 0.
  T& operator*() const requires(E::max_rank_value == 0) {
    check_use();
    return view_();
  }

  /// Valid until the end of this, as are its copies; checked builds throw OutOfBounds at a later use.
  const view_type& view() const {
    check_use();
    return view_;
  }
  /// The box that it shows.
  const Box& box() const { return box_; }
  /// Ends it before its scope does.
  void end() { scope_.end(); }

 private:
  void check_use() const {
    if constexpr (checked_build) scope_.check_use();
  }

  detail::HostUseScope scope_;
  view_type view_;
  Box box_;
};

/// What CoherentArray<T, rank<Rank>, LayoutType> is, for templates that find out the rank:
/// `template <class T, int Rank, class L> void f(const BasicCoherentArray<T, Rank, L>& x)`.
template <class T, int Rank, class LayoutType>
class BasicCoherentArray {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "strata: the elements of a coherent array are trivially copyable and not const");
  static_assert(Rank >= 0 && Rank <= max_rank, "strata: a coherent array has rank 0 to 8");

 public:
  /// The parameters, and types derived from them.
  using value_type = T;
  using layout_type = LayoutType;
  using coherent_array_type = BasicCoherentArray;
  using extents_type = typename detail::DynamicExtentsOf<Rank>::type;
  using mapping_type = typename LayoutType::template mapping<extents_type>;
  static constexpr int rank = Rank;
  /// Views of it on `D`, as kernels get them.
  template <class U, class D, class Access = DefaultAccess>
  using view_type = View<U, D, extents_type, LayoutType, Unmanaged<Access>>;
  static_assert(
      requires(const mapping_type& m) { m.describe(); },
      "strata: the layout of a coherent array must describe its strides");

  /// No array.
  BasicCoherentArray() = default;
  /// A new array named `label`: `arguments` are the Rank extents, then, in any order, `uninitialized` (else
  /// it is zero, and the host has it), main_in(device), a MemoryMode or prefer(mode) (else the setting
  /// `memory`). Throws ExtentError, OutOfMemory, and Error where the machine does not have the mode. Another
  /// number of extents does not compile.
  template <class... Arguments>
  explicit BasicCoherentArray(const char* label, const Arguments&... arguments) {
    Options options;
    index_t extents[max_rank + 1] = {};
    [[maybe_unused]] int count = 0;
    (set(options, extents, count, arguments), ...);
    detail::check_extents_given<(0 + ... + int{is_extent<Arguments>}), Rank, Rank>();
    make(label, extents, options);
  }
  /// An array in the user's memory: `view` shows all of it, in the layout of this type, in memory of the host
  /// or of a device, and has the current values. Memory that the view does not own must outlive the array.
  /// The last handle brings the values back to it (unless it is destroyed by an exception, or the mode is an
  /// explicit one), and waits until they are there. Before that, `flush` copies them if it is memory of the
  /// host. The mode is that of the setting `memory` where the memory can be in it, and otherwise Smart.
  /// Throws LayoutError where the view is a part of an array.
  template <AnyView V>
  static BasicCoherentArray adopt(const char* label, const V& view) {
    return adopt_in(label, view, nullptr);
  }
  /// The same in a mode. Throws Error where the memory cannot be in it.
  template <AnyView V>
  static BasicCoherentArray adopt(const char* label, const V& view, MemoryMode mode) {
    return adopt_in(label, view, &mode);
  }

  /// Whether there is an array. Without one, functions that need it throw Error.
  explicit operator bool() const { return static_cast<bool>(state_); }
  const char* label() const { return detail::label_of(needed()); }
  index_t extent(int r) const { return mapping_.extents().extent(r); }
  /// The number of elements.
  index_t size() const { return domain().size(); }
  const extents_type& extents() const { return mapping_.extents(); }
  const mapping_type& mapping() const { return mapping_; }
  /// How it lies in memory.
  MemoryMode memory_mode() const { return detail::mode_of(needed()); }
  /// All its indices.
  Box domain() const { return detail::domain_of(needed()); }

  /// Views of a box, or of all, for the host. They copy values that the host lacks, wait for the work that
  /// touches the box and for no other, and exclude conflicting uses while they live. write() copies nothing:
  /// all of the box must be written. Throw what the work threw, AccessConflict (on a thread that has a view
  /// which excludes this one), ShapeMismatch, NeverWritten (checked builds).
  HostView<const T, extents_type, LayoutType> read() const { return read(domain()); }
  HostView<const T, extents_type, LayoutType> read(const Box& box) const {
    return host_view<const T>(box, AccessMode::In);
  }
  HostView<T, extents_type, LayoutType> write() const { return write(domain()); }
  HostView<T, extents_type, LayoutType> write(const Box& box) const {
    return host_view<T>(box, AccessMode::Out);
  }
  HostView<T, extents_type, LayoutType> read_write() const { return read_write(domain()); }
  HostView<T, extents_type, LayoutType> read_write(const Box& box) const {
    return host_view<T>(box, AccessMode::InOut);
  }

  /// One element, for the host.
  template <IndexLike... I>
  ElementReference<BasicCoherentArray> operator()(I... i) const {
    if constexpr (sizeof...(I) != Rank)
      static_cast<void>(detail::ElementAccess<detail::Indices<sizeof...(I)>, detail::Rank<Rank>>::is_right);
    const index_t index[sizeof...(I) + 1] = {static_cast<index_t>(i)..., 0};
    return {*this, index};
  }

  /// Copies the current values to the host, which has them when this returns. Throws what the work on the
  /// array threw, AccessConflict where the calling thread has a view that writes, NeverWritten (checked
  /// builds), Error without an array.
  void flush() const { detail::flush(state_, domain()); }
  /// Copies the current values of the box to the device; returns when that is enqueued. Mapped and implicit
  /// arrays have no copies: nothing is done. Throws ShapeMismatch where the box is not in the array,
  /// OutOfMemory, also of the budget, and otherwise as flush().
  template <Device D>
  void prefetch(const Box& box, const D& device) const {
    detail::prefetch(needed(), box, device.backend());
  }
  /// Which memories have, or will have, current values of the parts of a box.
  std::vector<Residence> where(const Box& box) const { return detail::where(needed(), box); }
  /// The bytes and numbers of copies and allocations so far.
  TransferCounters counters() const { return detail::counters_of(needed()); }
  /// Lines of text for people: the layout, which memories have which parts, and the copies so far.
  std::string explain() const { return detail::explain(needed()); }

  /// Whether both are the same array.
  friend bool operator==(const BasicCoherentArray& a, const BasicCoherentArray& b) {
    return a.state_ == b.state_;
  }

  /// For launches.
  const detail::Ref<detail::CoherentState>& state() const { return state_; }

 private:
  detail::CoherentState& needed() const {
    if (!state_) [[unlikely]]
      detail::fail_no_array();
    return *state_;
  }

  friend class ElementReference<BasicCoherentArray>;
  friend struct detail::FileArrays;
  struct Options {
    detail::HomeRequest home;
    bool fill = true;
  };

  template <class A>
  static constexpr bool is_extent = IndexLike<A> && !std::is_enum_v<A>;
  template <class A>
  static void set(Options& options, index_t* extents, int& count, const A& argument) {
    if constexpr (is_extent<A>) {
      if (count == Rank) return;  // does not compile
      extents[count++] = static_cast<index_t>(argument);
    } else if constexpr (std::is_same_v<A, Uninitialized>) {
      options.fill = false;
    } else if constexpr (std::is_same_v<A, MemoryMode>) {
      options.home.set(argument, false);
    } else if constexpr (std::is_same_v<A, PreferredMemoryMode>) {
      options.home.set(argument.mode, true);
    } else {
      static_assert(
          requires { argument.device.backend(); },
          "strata: CoherentArray: an argument is neither an extent (an integer) nor `uninitialized`, "
          "main_in(device), a MemoryMode or prefer(mode)");
      options.home.device = &argument.device.backend();
    }
  }

  void make(const char* label, const index_t* extents, const Options& options) {
    try {
      mapping_ = mapping_type(extents_type(extents, Rank));
    } catch (...) {
      detail::rethrow_creating(label, extents, Rank);
    }
    detail::drop_leftovers();
    const LayoutDescriptor layout = mapping_.describe();
    state_ = detail::create_coherent(label, layout, mapping_.required_span_size(), sizeof(T),
                                     LayoutType::contiguous_rows, options.fill, options.home);
  }

  template <class V>
  static BasicCoherentArray adopt_in(const char* label, const V& view, const MemoryMode* asked) {
    static_assert(
        std::is_same_v<typename V::element_type, T> && std::is_same_v<typename V::layout_type, LayoutType>,
        "strata: adopt: the view must have the element type and the layout of the coherent array");
    if (view.rank() != Rank) detail::fail_rank(view.rank(), Rank, "CoherentArray::adopt");
    index_t extents[max_rank + 1] = {};
    for (int r = 0; r < Rank; ++r) extents[r] = view.extent(r);
    BasicCoherentArray array;
    array.mapping_ = mapping_type(extents_type(extents, Rank));
    const LayoutDescriptor whole = array.mapping_.describe();
    if (!detail::same_offsets(view.mapping().describe(), whole))
      detail::fail_layout("CoherentArray::adopt: the view is a part of an array; give all of it",
                          view.extent(0), 0);
    const detail::CopySide side = detail::copy_side(view, whole);
    const MemoryMode mode = detail::mode_of_adopted(label, side.space, asked);
    if constexpr (V::memory_space::host_accessible) {
      array.state_ = detail::make_coherent(label, whole, sizeof(T), LayoutType::contiguous_rows, side,
                                           view.allocation(), true, mode);
      detail::adopt_host_memory(*array.state_);
    } else {
      array.make(label, extents, {{.mode = mode, .is_given = true}, false});
      detail::adopt_device_memory(*array.state_, side, view.allocation());
    }
    return array;
  }

  template <class U>
  HostView<U, extents_type, LayoutType> host_view(const Box& box, AccessMode mode) const {
    detail::check_file_use(needed(), detail::writes(mode));
    detail::HostUseScope scope(state_, box, mode);
    if (detail::writes(mode)) detail::mark_file_incomplete(*state_);
    return {static_cast<detail::HostUseScope&&>(scope),
            detail::view_of_rows<view_type<U, Serial>>(
                mapping_, detail::main_base(*state_),
                box.rank() == 0 ? ResidentRows{0, 1} : ResidentRows{box.lower(0), box.upper(0)}),
            box};
  }

  template <AccessMode Mode>
  T element(const index_t* index, const T* value) const {
    const Box box = detail::box_of_element(index, Rank);
    detail::check_file_use(needed(), detail::writes(Mode));
    const detail::HostUseScope scope(state_, box, Mode);
    if (detail::writes(Mode)) detail::mark_file_incomplete(*state_);
    T* const address =
        reinterpret_cast<T*>(detail::main_base(*state_)) + detail::offset_of(mapping_.describe(), index);
    if constexpr (Mode == AccessMode::Out) *address = *value;
    return *address;
  }

  mapping_type mapping_;
  detail::Ref<detail::CoherentState> state_;
};

/// A coherent array of `T`, trivially copyable, with `rank<R>`: R extents, known at run time, from 0 (a
/// value) to 8.
template <class T, index_t Rank, class LayoutType = CoherentLayout<Rank>>
using CoherentArray = BasicCoherentArray<T, detail::CoherentRank<Rank>::value, LayoutType>;

namespace coherent {

/// Of all coherent arrays, from the beginning or the last reset on.
TransferCounters counters();
/// Sets them to 0.
void reset_counters();
/// The bytes that coherent arrays may hold of the device's memory; by default all of its capacity. What they
/// hold beyond it now stays until a use needs more memory there: then the least recently used are evicted
/// until the budget is met.
template <Device D>
void set_budget(const D& device, index_t bytes) {
  detail::set_budget(device.backend(), bytes);
}
/// The budget set last, or the capacity.
template <Device D>
index_t budget(const D& device) {
  return detail::budget_of(device.backend());
}
/// The bytes of the device's memory that coherent arrays hold now.
template <Device D>
index_t resident_bytes(const D& device) {
  return detail::resident_bytes(device.backend());
}

}  // namespace coherent
}  // namespace strata::inline STRATA_ABI
