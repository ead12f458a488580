// View: the one template of all arrays of Strata. A view is a shared, shallow handle to elements in the
// memory of a device: copying it copies no element, and the last view of an allocation frees it. There are no
// containers.
//
//   View<T, Device, Extents, Layout, Access>
//
// Spellings: MDArray (mdarray.hpp), MultiVector, Value. Views of constant elements have a const T.
//
// Lifetime: freeing never waits; work queued on the device may still use the memory. Threads: distinct views
// of one allocation may be copied and destroyed by distinct threads. Inside kernels views are not counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/allocation.hpp>
#include <strata/core/check.hpp>
#include <strata/core/config.hpp>
#include <strata/core/extents.hpp>
#include <strata/core/layout.hpp>
#include <strata/views/access.hpp>

namespace strata::inline STRATA_ABI {

struct Serial;

template <class T, class Device, class Extents, class Layout, class Access>
class View;

/// Whether it is a View<...>.
template <class>
inline constexpr bool is_view_v = false;
template <class T, class D, class E, class L, class A>
inline constexpr bool is_view_v<View<T, D, E, L, A>> = true;

/// Any view.
template <class V>
concept AnyView = is_view_v<std::remove_cvref_t<V>>;

namespace detail {

// Where accesses outside an array go in checked builds.
template <class T>
struct DummyElement {
  alignas(T) static inline char storage[sizeof(T)] = {};
};
#if defined(__CUDACC__)
template <class T>
alignas(T) static __device__ char device_dummy[sizeof(T)];
#endif
template <class T>
STRATA_FUNCTION T* dummy_element() {
#if defined(__CUDA_ARCH__)
  return reinterpret_cast<T*>(device_dummy<T>);
#else
  return reinterpret_cast<T*>(DummyElement<T>::storage);
#endif
}

// For messages of the compiler: instantiated with the numbers of an access that has other than a view has
// dimensions, which the compiler names beside the text.
template <int N>
struct Indices;
template <int N>
struct Rank;
template <class Given, class Needed>
struct ElementAccess {
  static_assert(
      !std::is_same_v<Given, Given>,
      "strata: an element access needs as many indices as the view has dimensions: you wrote more or fewer; "
      "write x(i, j) for a view of rank 2, *x for one of rank 0 (how many: see ElementAccess<Indices<...>, "
      "Rank<...>> beside this)");
  static constexpr bool is_right = false;
};

// In checked builds a view may be used as long as the cell holds the number. Cells are never freed; they are
// used again with the next number.
struct UseTicket {
  const std::uint64_t* cell = nullptr;  // null: always
  std::uint64_t number = 0;
  STRATA_FUNCTION constexpr bool is_over() const {
    return cell != nullptr && *static_cast<const volatile std::uint64_t*>(cell) != number;
  }
};

// A view's share in its allocation: a counted reference, or nothing; and the ticket of a view that may
// expire.
template <bool Managed, bool Expires>
class Ownership {
 public:
  constexpr Ownership() = default;
  STRATA_FUNCTION explicit Ownership(const AllocationRef& allocation) : allocation_(allocation) {}
  STRATA_FUNCTION constexpr const AllocationRef& allocation() const { return allocation_; }

 private:
  AllocationRef allocation_;
};
template <>
class Ownership<false, false> {
 public:
  constexpr Ownership() = default;
  STRATA_FUNCTION constexpr explicit Ownership(const AllocationRef&) {}
  STRATA_FUNCTION static AllocationRef allocation() { return AllocationRef(); }
};
template <>
class Ownership<false, true> : public Ownership<false, false> {
 public:
  using Ownership<false, false>::Ownership;
  UseTicket ticket;
};
template <class Device, class Access>
using OwnershipOf = Ownership<is_managed_v<Access>, checked_build && !is_managed_v<Access> &&
                                                        Device::memory_space::host_accessible>;

// Whether two descriptions of arrays of the same extents give the same offsets.
constexpr bool same_offsets(const LayoutDescriptor& a, const LayoutDescriptor& b) {
  if (element_count(a) == 0) return true;
  const bool tiled = a.tile_log2 >= 0;
  bool same = a.shift == b.shift && a.tile_log2 == b.tile_log2;
  if (tiled) same = same && a.tile_stride == b.tile_stride && a.phase == b.phase;
  for (int r = 0; r < a.rank; ++r)
    if (a.extent[r] > 1) same = same && a.stride[r] == b.stride[r];
  return same;
}

// Whether a mapping of type M refuses some of those of type `From`, as their strides are not its own.
template <class M, class From>
constexpr bool may_refuse() {
  if constexpr (std::is_same_v<M, From>) return false;
  else if constexpr (requires { M::template may_refuse<From>; }) return M::template may_refuse<From>;
  else return false;
}

// The address `n` elements on, which may be that of no element.
template <class T>
STRATA_FUNCTION constexpr T* moved_by(T* address, index_t n) {
#if defined(__CUDA_ARCH__)
  return address + n;  // compilers know its memory
#else
  if (n == 0) return address;
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) +
                              static_cast<std::uintptr_t>(n) * sizeof(T));
#endif
}

template <class M>
concept HasBounds = requires(const M& m) {
  m.begin(0);
  m.end(0);
};

}  // namespace detail

/// A view of an array: T its elements, DeviceType where they are, ExtentsType their shape, LayoutType their
/// order in memory, AccessType the kind of access to one. MDArray, MultiVector and Value are its spellings.
template <class T, class DeviceType, class ExtentsType, class LayoutType, class AccessType = DefaultAccess>
class View : private detail::OwnershipOf<DeviceType, AccessType> {
  using Owner = detail::OwnershipOf<DeviceType, AccessType>;
  static_assert(is_extents_v<ExtentsType>, "strata: the shape of a view is Extents<...> or DynamicRank<N>");

 public:
  /// The parameters, types derived from them, and the names that the standard and the paper have for these.
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using device_type = DeviceType;
  using memory_space = typename DeviceType::memory_space;
  using size_type = typename DeviceType::size_type;
  using extents_type = ExtentsType;
  using layout_type = LayoutType;
  using access_type = AccessType;
  using mapping_type = typename LayoutType::template mapping<ExtentsType>;
  using index_type = typename mapping_type::index_type;
  using reference = typename AccessType::template reference<T>;
  /// An array in host memory with the same elements, shape and layout.
  using HostMirror = View<value_type, Serial, ExtentsType, LayoutType, DefaultAccess>;
  using const_type = View<const T, DeviceType, ExtentsType, LayoutType, AccessType>;
  /// The type of a non-owning view of the same array.
  using unmanaged_type =
      View<T, DeviceType, ExtentsType, LayoutType, typename detail::WithoutOwnership<AccessType>::type>;

  /// Whether this type may show a view of elements U in the memory of D, of a mapping M.
  template <class U, class D, class M>
  static constexpr bool can_show =
      std::is_convertible_v<U (*)[], T (*)[]>&& std::is_same_v<typename D::memory_space, memory_space> &&
      (std::is_same_v<M, mapping_type> || std::is_constructible_v<mapping_type, const M&>);

  static_assert(
      LayoutMapping<mapping_type>,
      "strata: the layout's mapping lacks extents(), required_span_size(), index_type or a constructor from "
      "extents");

  /// A null view.
  STRATA_FUNCTION constexpr View() : base_(nullptr), mapping_() {}

  /// A view of memory that the caller owns and keeps alive: `data` must be memory of the device.
  constexpr View(T* data, const mapping_type& mapping) : base_(base_of(data, mapping)), mapping_(mapping) {}
  template <class... I>
  requires(sizeof...(I) > 0 && (IndexLike<I> && ...) &&
           std::is_constructible_v<ExtentsType, I...>) constexpr explicit View(T* data, I... extents)
      : View(data, mapping_type(ExtentsType(extents...))) {}
  /// The same where the type fixes all extents.
  constexpr explicit View(T* data) requires(ExtentsType::dynamic_count == 0)
      : View(data, mapping_type(ExtentsType())) {}

  /// A view that shares the ownership of the allocation `owner`.
  STRATA_FUNCTION View(const detail::AllocationRef& owner, T* data, const mapping_type& mapping)
      : Owner(owner), base_(base_of(data, mapping)), mapping_(mapping) {}

  /// A view of the same elements: from non-const to const, between devices that share a memory, between kinds
  /// of access, from any strided layout to LayoutStrided, and of one dimension between LayoutLeft and
  /// LayoutRight.
  template <class U, class D, class L, class A>
  requires(can_show<U, D, typename L::template mapping<ExtentsType>> &&
           !detail::may_refuse<mapping_type, typename L::template mapping<ExtentsType>>()) STRATA_FUNCTION
      View(const View<U, D, ExtentsType, L, A>& other)
      : View(Same{}, other) {}
  /// To LayoutLeft or LayoutRight from other strides: LayoutError where they are not those of the layout.
  template <class U, class D, class L, class A>
  requires(can_show<U, D, typename L::template mapping<ExtentsType>>&&
               detail::may_refuse<mapping_type, typename L::template mapping<ExtentsType>>()) STRATA_FUNCTION
      explicit View(const View<U, D, ExtentsType, L, A>& other)
      : View(Same{}, other) {}

  /// The same, of an array whose type fixes more extents, or the rank: an MDArray<T, D, 3> is an
  /// MDArray<T, D, rank<2>> and an MDArray<T, D>.
  template <class U, class D, class E, class A>
  requires(detail::widens<E, ExtentsType>() &&
           can_show<U, D, typename LayoutType::template mapping<E>>) STRATA_FUNCTION
      View(const View<U, D, E, LayoutType, A>& other)
      : View(Same{}, other) {}
  /// The reverse: ExtentError where this type cannot have the shape.
  template <class U, class D, class E, class A>
  requires(detail::may_narrow<E, ExtentsType>() &&
           can_show<U, D, typename LayoutType::template mapping<E>>) STRATA_FUNCTION
      explicit View(const View<U, D, E, LayoutType, A>& other)
      : View(Same{}, other) {}

  /// The element at a multi-index. Checked builds check every index (see core/check.hpp). Where the rank is
  /// known at run time only, trailing indices may be left out: all of them with LayoutLeft (they are 0),
  /// those of extents of 1 with every layout.
  template <IndexLike... I>
  STRATA_FUNCTION constexpr reference operator()(I... i) const {
    if constexpr (ExtentsType::has_dynamic_rank)
      static_assert(sizeof...(I) <= ExtentsType::max_rank_value,
                    "strata: an element access has more indices than this view can have dimensions");
    else if constexpr (sizeof...(I) != ExtentsType::rank())
      static_cast<void>(
          detail::ElementAccess<detail::Indices<sizeof...(I)>, detail::Rank<ExtentsType::rank()>>::is_right);
    if constexpr (checked_build) {
      if (!in_bounds(i...)) [[unlikely]]
        return AccessType::at(static_cast<T*>(detail::dummy_element<value_type>()));
      if constexpr (!std::is_const_v<T> && sizeof(T) < detail::least_marked_bytes)
        if (!std::is_constant_evaluated()) detail::note_element<memory_space>(data() + mapping_(i...));
    }
    return AccessType::at(address_of(i...));
  }

  /// The element of a view of rank 1.
  template <IndexLike I>
  STRATA_FUNCTION constexpr reference operator[](I i) const {
    return (*this)(i);
  }

  /// The element of a view of rank 0.
  STRATA_FUNCTION constexpr reference operator*() const requires(ExtentsType::max_rank_value == 0) {
    return (*this)();
  }

  /// The number of dimensions, and the length of dimension r.
  STRATA_FUNCTION constexpr int rank() const { return mapping_.extents().rank(); }
  STRATA_FUNCTION constexpr index_t extent(int r) const { return mapping_.extents().extent(r); }
  /// The paper's name of extent().
  STRATA_FUNCTION constexpr size_type dimension(int r) const { return static_cast<size_type>(extent(r)); }
  /// The number of elements.
  STRATA_FUNCTION constexpr size_type size() const {
    index_t n = is_null() ? 0 : 1;
    for (int r = 0; r < rank(); ++r) n *= extent(r);
    return static_cast<size_type>(n);
  }
  /// The first index of dimension r, and one past the last: 0 and extent(r), but for offset views.
  STRATA_FUNCTION constexpr index_t begin(int r) const {
    if constexpr (detail::HasBounds<mapping_type>) return mapping_.begin(r);
    else return 0;
  }
  STRATA_FUNCTION constexpr index_t end(int r) const { return begin(r) + extent(r); }
  /// The distance, in elements, of neighbours along dimension r.
  STRATA_FUNCTION constexpr index_t stride(int r) const requires requires(const mapping_type& m) {
    m.stride(0);
  }
  { return mapping_.stride(r); }

  /// From multi-index to offset, and the shape.
  STRATA_FUNCTION constexpr const mapping_type& mapping() const { return mapping_; }
  STRATA_FUNCTION constexpr const extents_type& extents() const { return mapping_.extents(); }
  /// The address of the first resident element, in the device's memory.
  STRATA_FUNCTION constexpr T* data() const {
    if constexpr (holds_origin) return detail::moved_by(base_, -mapping_.shift());
    else return base_;
  }

  /// Whether this is not a null view.
  STRATA_FUNCTION constexpr explicit operator bool() const { return !is_null(); }
  /// Whether both view the same elements in the same way.
  template <class U, class D, class L, class A>
  constexpr bool operator==(const View<U, D, ExtentsType, L, A>& other) const {
    bool same = static_cast<const void*>(data()) == static_cast<const void*>(other.data()) &&
                mapping_.extents() == other.mapping().extents();
    for (int r = 0; same && r < rank(); ++r) same = begin(r) == other.begin(r);
    if constexpr (requires { mapping_.describe(), other.mapping().describe(); })
      same = same && detail::same_offsets(mapping_.describe(), other.mapping().describe());
    return same;
  }

  /// The name given at creation; empty for null and unmanaged views.
  const char* label() const {
    const detail::Allocation* const record = allocation().get();
    return record ? record->label : "";
  }
  /// How many views share the allocation; 0 for null and unmanaged views.
  long use_count() const { return allocation().use_count(); }
  using Owner::allocation;

  /// For the library: the address of the element at a multi-index as the calling thread may touch it, with
  /// nothing checked.
  template <class... I>
  STRATA_FUNCTION constexpr T* address_of(I... i) const {
    if constexpr (holds_origin) {
#if defined(__CUDA_ARCH__)
      if constexpr (requires { mapping_.address(base_, i...); })
        return mapping_.address(memory_space::resolve(base_), i...);
#endif
      return memory_space::resolve(base_) + mapping_.unshifted(i...);
    } else return memory_space::resolve(base_) + mapping_(i...);
  }
  /// For the library: the address that the element at index 0 has, or, of a slice, would have; and the view
  /// for which it is `origin`.
  STRATA_FUNCTION constexpr T* origin() const {
    if constexpr (!holds_origin && requires { mapping_.shift(); })
      return detail::moved_by(base_, mapping_.shift());
    else return base_;
  }
  STRATA_FUNCTION static View at_origin(const detail::AllocationRef& owner, T* origin,
                                        const mapping_type& mapping) {
    return View(AtOrigin{}, owner, origin, mapping);
  }
  /// For the library: sets until when, in checked builds, this view of memory that others own may be used.
  STRATA_FUNCTION constexpr void set_ticket([[maybe_unused]] const detail::UseTicket& its_ticket) {
    if constexpr (may_expire) this->ticket = its_ticket;
  }
  /// The same ticket, for views that are made of this one.
  STRATA_FUNCTION constexpr detail::UseTicket ticket_of_use() const {
    if constexpr (may_expire) return this->ticket;
    else return {};
  }

 private:
  // This does not compile: arrays are made by create. (Where T* is a const char*, such text is the data.)
  // Private, so that std::is_constructible says that there is none; compilers print the line of the comment.
  template <class C, class... Rest>
  requires(std::is_same_v<C, const char> && !std::is_same_v<T, C>)
      // clang-format off
      explicit View(C*, const Rest&...)  // strata: you wrote View z("z", n); write auto z = create<...>("z", n)
      // clang-format on
      : View() {
    static_assert(
        !std::is_same_v<C, const char>,
        "strata: a view with a label is made by create: you wrote Array z(\"z\", 100); write auto z = "
        "create<...>(\"z\", 100), with the type of the array in place of the dots");
  }

  struct Same {};
  template <class V>
  STRATA_FUNCTION View(Same, const V& other)
      : Owner(other.allocation()), base_(base_of(other)), mapping_(other.mapping()) {
    set_ticket(other.ticket_of_use());
  }

  // On GPUs a view holds the address of index 0, which a slice need not have: without the shift an access to
  // a line by an index of 32 bits is one instruction, and four with it. On hosts it holds that of the first
  // resident element: without the shift g++ made other vectors, with which gradients over LayoutRight
  // took 1.2 times as long.
  static constexpr bool holds_origin = ShiftedMapping<mapping_type> && requires {
    requires memory_space::views_hold_origin;
  };

  // As numbers, since compilers take what is some elements from an address for no null pointer.
  STRATA_FUNCTION constexpr bool is_null() const {
    if constexpr (holds_origin)
      if (!std::is_constant_evaluated())
        return reinterpret_cast<std::uintptr_t>(base_) ==
               static_cast<std::uintptr_t>(mapping_.shift()) * sizeof(T);
    return base_ == nullptr;
  }

  struct AtOrigin {};
  STRATA_FUNCTION View(AtOrigin, const detail::AllocationRef& owner, T* origin, const mapping_type& mapping)
      : Owner(owner), base_(origin), mapping_(mapping) {
    if constexpr (!holds_origin && requires { mapping.shift(); })
      base_ = detail::moved_by(origin, -mapping.shift());
  }
  STRATA_FUNCTION static constexpr T* base_of(T* data, const mapping_type& mapping) {
    if constexpr (holds_origin) return detail::moved_by(data, mapping.shift());
    else return data;
  }
  // Mappings with shifts keep them when they are converted.
  template <class V>
  STRATA_FUNCTION static constexpr T* base_of(const V& other) {
    if constexpr (!holds_origin) return other.data();
    else if constexpr (ShiftedMapping<typename V::mapping_type>) return other.origin();
    else return base_of(other.data(), mapping_type(other.mapping()));
  }

  static constexpr bool may_expire = requires(const Owner& owner) { owner.ticket; };
  // Whether begin <= i < end, where begin <= end: one comparison, as smaller indices wrap around.
  STRATA_FUNCTION static constexpr bool is_between(index_t begin, index_t i, index_t end) {
    const auto first = static_cast<std::uint64_t>(begin);
    return static_cast<std::uint64_t>(i) - first < static_cast<std::uint64_t>(end) - first;
  }
  // In checked builds; reports a bad access.
  template <class... I>
  STRATA_FUNCTION constexpr bool in_bounds(I... i) const {
    const index_t index[sizeof...(I) + 1] = {static_cast<index_t>(i)..., 0};
    const int count = sizeof...(I);
    // Trailing indices may be left out where the rank is known at run time only: those of extents of 1 (a
    // MultiVector of one vector), and where the left-most index is fastest all of them (its first vector).
    bool good = !is_null() && count <= rank();
    if constexpr (ExtentsType::has_dynamic_rank) {
      bool may_omit = false;
      if constexpr (requires(const mapping_type& m) { m.stride(0); }) may_omit = mapping_.stride(0) == 1;
      for (int r = count; r < rank(); ++r)
        good = good && (may_omit || extent(r) == 1) && begin(r) <= 0 && 0 < end(r);
    }
    int first = 0;
    if constexpr (requires(const mapping_type& m) { m.resident(); })
      if (rank() > 0 && count > 0) {  // rows that are resident are within the extents
        const ResidentRows rows = mapping_.resident();
        good = good && is_between(rows.begin, index[0], rows.end);
        first = 1;
      }
    for (int r = first; r < count && r < rank(); ++r) good = good && is_between(begin(r), index[r], end(r));
    bool over = false;
    if constexpr (may_expire) over = this->ticket.is_over();
    good = good && !over;
    if (!good) [[unlikely]]
      report_bad_access(data(), mapping_, over, static_cast<index_t>(i)...);
    return good;
  }
  // Not inlined, as a kernel has one for every access; by value, so that views stay in registers.
  template <class... I>
  [[gnu::noinline]] STRATA_FUNCTION static void report_bad_access(T* data, mapping_type mapping, bool over,
                                                                  I... i) {
    const auto begin = [&](int r) -> index_t {
      if constexpr (detail::HasBounds<mapping_type>) return mapping.begin(r);
      else return 0;
    };
    const index_t index[sizeof...(I) + 1] = {i..., 0};
    detail::BadAccess found;
    found.is_over = over;
    found.data = data;
    found.count = sizeof...(I);
    found.rank = mapping.extents().rank();
    for (int r = 0; r < found.count; ++r) found.index[r] = index[r];
    for (int r = 0; r < found.rank; ++r) {
      found.begin[r] = begin(r);
      found.end[r] = begin(r) + mapping.extents().extent(r);
    }
    found.resident_begin = found.rank > 0 ? found.begin[0] : 0;
    found.resident_end = found.rank > 0 ? found.end[0] : 0;
    bool is_whole = true;
    if constexpr (requires(const mapping_type& m) { m.resident(); }) {
      if (found.rank > 0) {
        const ResidentRows resident = mapping.resident();
        is_whole = resident.begin == found.resident_begin && resident.end == found.resident_end;
        found.resident_begin = resident.begin;
        found.resident_end = resident.end;
      }
    }
    if (is_whole) found.bytes = static_cast<std::size_t>(mapping.required_span_size()) * sizeof(T);
#if defined(__CUDA_ARCH__)
    detail::report_bad_access_on_device(found);
#else
    detail::report_bad_access(found);
#endif
  }

  T* base_;  // origin() where holds_origin, else data()
  mapping_type mapping_;

  // Last: compilers that stop at a failed assertion know the members by now.
  static_assert(
      std::is_trivially_copyable_v<T>,
      "strata: the elements of an array are trivially copyable, as devices copy their bytes: you wrote a "
      "class with a "
      "copy constructor, a destructor or virtual functions; write numbers or plain structs of numbers");
};

}  // namespace strata::inline STRATA_ABI
