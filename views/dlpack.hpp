// DLPack: arrays handed to and taken from other libraries (NumPy, PyTorch, CuPy, JAX) without a copy, in the
// form of DLPack 1.x. DLPack's own header is not needed; it may be included before or after this one.
//
//   DLPackTensor t = to_dlpack(x);                     // shares the ownership of x
//   PyCapsule_New(t.release(), "dltensor_versioned", ...);
//
//   const auto y = from_dlpack<MDArray<double, Cuda, rank<2>>>(DLPackTensor(managed));
//
// Ownership: a tensor is one share in the memory, given up by its deleter, from any thread. An array exported
// lives as long as its tensor, and a tensor imported as long as the last view of it. Unmanaged views own
// nothing: the code that exports one keeps the memory alive.
//
// Memory: the host's, that of a GPU (Cuda), pinned (CudaPinned) and managed (CudaManaged). Emulated has
// memory that no other library can reach: WrongDevice. Host views also take pinned and managed tensors.
//
// Order: nothing here waits for what another library has under way, and no library waits for Strata's queues.
// Wait for the device before an array in its memory is handed over, and for the other library's stream before
// a tensor is used. The thread that destroys the last view of a tensor in the memory of a GPU waits for that
// GPU's default queue, as its owner may then reuse the memory; wait for other queues, and for launches of
// graphs, beforehand.
//
// Layouts have strides: tiled ones are refused by the compiler. An import accepts the strides that its type
// can have: LayoutStrided anything, LayoutRight and LayoutLeft also rows and columns with gaps between them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/allocation.hpp>
#include <strata/core/complex.hpp>
#include <strata/core/element_types.hpp>
#include <strata/core/error.hpp>
#include <strata/core/layout_strided.hpp>
#include <strata/views/copy.hpp>
#include <strata/views/view.hpp>

/// DLPack's structure, as its header defines it.
struct DLManagedTensorVersioned;

namespace strata::inline STRATA_ABI {

/// A DLPack tensor does not fit the view to be made of it: another element type, constant elements, another
/// version of DLPack.
class DLPackError : public Error {
  using Error::Error;
};

/// The owner of one DLPack tensor, or of none: calls its deleter in the end.
class DLPackTensor {
 public:
  /// None.
  constexpr DLPackTensor() noexcept = default;
  /// Takes ownership of a tensor of another library.
  constexpr explicit DLPackTensor(DLManagedTensorVersioned* tensor) noexcept : tensor_(tensor) {}
  constexpr DLPackTensor(DLPackTensor&& other) noexcept : tensor_(other.release()) {}
  DLPackTensor& operator=(DLPackTensor&& other) noexcept {
    DLPackTensor(static_cast<DLPackTensor&&>(other)).swap(*this);
    return *this;
  }
  ~DLPackTensor() {
    if (tensor_ != nullptr) drop(tensor_);
  }

  /// The tensor, which stays here; null after release().
  constexpr DLManagedTensorVersioned* get() const noexcept { return tensor_; }
  /// Releases the tensor: the code that gets it must call its deleter.
  [[nodiscard]] constexpr DLManagedTensorVersioned* release() noexcept {
    DLManagedTensorVersioned* const tensor = tensor_;
    tensor_ = nullptr;
    return tensor;
  }
  /// Whether there is a tensor.
  constexpr explicit operator bool() const noexcept { return tensor_ != nullptr; }

 private:
  static void drop(DLManagedTensorVersioned* tensor) noexcept;
  constexpr void swap(DLPackTensor& other) noexcept {
    DLManagedTensorVersioned* const tensor = tensor_;
    tensor_ = other.tensor_;
    other.tensor_ = tensor;
  }

  DLManagedTensorVersioned* tensor_ = nullptr;
};

namespace detail {

// DLPack's codes of element types.
enum class DLPackCode : unsigned char { Int = 0, Unsigned = 1, Float = 2, Brain = 4, Complex = 5, Bool = 6 };

template <class T>
constexpr bool has_dlpack_code() {
  return (std::is_arithmetic_v<T> && !std::is_same_v<T, long double>) || is_short_float_v<T> ||
         is_complex_v<T> || (ForeignComplex<T> && sizeof(T) <= 16);
}
template <class T>
constexpr DLPackCode dlpack_code() {
  if constexpr (std::is_same_v<T, bool>) return DLPackCode::Bool;
  else if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? DLPackCode::Int : DLPackCode::Unsigned;
  else if constexpr (std::is_same_v<T, bfloat16_t>) return DLPackCode::Brain;
  else if constexpr (std::is_floating_point_v<T> || is_short_float_v<T>) return DLPackCode::Float;
  else return DLPackCode::Complex;
}

/// What dlpack.cpp needs to know of a type of views.
struct DLPackElements {
  DLPackCode code;
  std::size_t bytes;
  std::size_t alignment;
  bool constant;
};

/// An array with strides: element 0 is `shift` elements after the address that its view holds.
struct DLPackShape {
  int rank = 0;
  index_t extent[max_rank] = {};
  index_t stride[max_rank] = {};
  index_t shift = 0;
};

template <class V>
constexpr DLPackElements dlpack_elements() {
  using T = typename V::value_type;
  return {dlpack_code<T>(), sizeof(T), alignof(T), std::is_const_v<typename V::element_type>};
}

template <class M>
concept HasStrides = requires(const M& m) {
  m.stride(0);
  m.shift();
};

template <class V>
constexpr bool check_dlpack_type() {
  constexpr bool known = has_dlpack_code<typename V::value_type>(),
                 strided = HasStrides<typename V::mapping_type>;
  static_assert(known,
                "strata: DLPack has no such elements: they are integers, bool, half_t, bfloat16_t, float, "
                "double or complex numbers of float and double");
  static_assert(strided,
                "strata: the layout of the view has no strides, which a DLPack tensor needs: copy the array "
                "to one of LayoutRight, LayoutLeft or LayoutStrided");
  return known && strided;
}

template <class V>
DLPackShape dlpack_shape(const typename V::mapping_type& mapping) {
  DLPackShape shape;
  shape.rank = mapping.extents().rank();
  shape.shift = mapping.shift();
  for (int r = 0; r < shape.rank; ++r) {
    shape.extent[r] = mapping.extents().extent(r);
    shape.stride[r] = mapping.stride(r);
    if constexpr (HasBounds<typename V::mapping_type>) shape.shift += mapping.begin(r) * shape.stride[r];
  }
  return shape;
}

// The memory, and the instance, that the elements of a view are in.
template <class V>
SpaceId dlpack_space(const V& view) {
  SpaceId space = typename V::device_type().backend().space();
  if constexpr (!V::memory_space::host_accessible)
    space.instance =
        instance_of(space, view.data(), describe(view.mapping()), sizeof(typename V::value_type));
  return space;
}

/// `record` owns the elements; null: the owner is not known. `space` is the memory they are in.
DLManagedTensorVersioned* make_dlpack(const void* data, const Allocation* record, SpaceId space,
                                      const DLPackElements& elements, const DLPackShape& shape);

/// The elements of a tensor: element 0 is at `data`, in the memory of an instance of the view's device.
struct DLPackSource {
  DLPackShape shape;
  void* data;
  int instance;
};
/// Checks a tensor against what the type of a view says: elements, rank (-1: any), kind of memory.
DLPackSource read_dlpack(DLManagedTensorVersioned* tensor, const char* label, const DLPackElements& elements,
                         int rank, const char* kind);
/// A record that owns `tensor` from now on.
Allocation* adopt_dlpack(DLPackTensor& tensor, const char* label, const DLPackSource& source,
                         std::size_t element_bytes, DeviceInstance& instance);
/// Whether the mapping has the strides of the tensor wherever they matter.
bool same_strides(const DLPackShape& mapping, const DLPackShape& tensor);
[[noreturn]] void fail_dlpack_strides(const char* label, const DLPackShape& mapping,
                                      const DLPackShape& tensor);

template <class L>
inline constexpr bool takes_any_strides = false;
template <>
inline constexpr bool takes_any_strides<LayoutStrided> = true;
template <>
inline constexpr bool takes_any_strides<Index32<LayoutStrided>> = true;

// The mapping of type V's that has the strides of the tensor.
template <class V>
typename V::mapping_type dlpack_mapping(const DLPackShape& tensor, const char* label) {
  using Mapping = typename V::mapping_type;
  using E = typename V::extents_type;
  const E extents(tensor.extent, tensor.rank);
  if constexpr (takes_any_strides<typename V::layout_type>) {
    return Mapping(extents, tensor.stride);
  } else {
    const Mapping dense(extents);
    const DLPackShape wanted = dlpack_shape<V>(dense);
    if (same_strides(wanted, tensor)) return dense;
    // With gaps the leading stride, between rows or between columns, is one of the first two.
    if constexpr (std::is_constructible_v<Mapping, const E&, ResidentRows, index_t>)
      for (int r = 0; r < 2 && r < tensor.rank; ++r) {
        if (tensor.stride[r] < dense.leading_stride()) continue;
        const Mapping padded(extents, ResidentRows{0, tensor.extent[0]}, tensor.stride[r]);
        if (same_strides(dlpack_shape<V>(padded), tensor)) return padded;
      }
    fail_dlpack_strides(label, wanted, tensor);
  }
}

}  // namespace detail

/// A tensor that shows the elements of `view` and shares their ownership; a view of const elements gives a
/// read-only one. Offset views count from 0 there. WrongDevice for memory that DLPack does not know,
/// OutOfBounds for a slice that does not hold all rows of its array, DLPackError for a null view. Tiled
/// layouts, layouts of one's own without strides, atomic access and structs are refused by the compiler.
template <AnyView V>
[[nodiscard]] DLPackTensor to_dlpack(const V& view) {
  static_assert(!std::is_same_v<typename V::unmanaged_type::access_type, Unmanaged<AtomicAccess>>,
                "strata: to_dlpack: other libraries would not access the elements atomically");
  if constexpr (detail::check_dlpack_type<V>()) {
    const detail::Allocation* const record = view.allocation().get();
    const SpaceId space = record ? record->space : detail::dlpack_space(view);
    return DLPackTensor(detail::make_dlpack(view.data(), record, space, detail::dlpack_elements<V>(),
                                            detail::dlpack_shape<V>(view.mapping())));
  }
}

/// A view of type `V` of the elements of `tensor`, which it owns from now on; where that fails, `tensor` is
/// as before. `label` names the array in messages and profiles. DLPackError where the element type is
/// another, V's elements may be written and the tensor's may not (or has a stride of 0), or the version of
/// DLPack is unknown; ExtentError where rank or fixed extents differ; LayoutError where the strides or the
/// alignment do not fit V; WrongDevice where the memory is another; NoSuchDevice.
template <AnyView V>
[[nodiscard]] V from_dlpack(DLPackTensor&& tensor, const char* label = "dlpack") {
  static_assert(is_managed_v<typename V::access_type>,
                "strata: from_dlpack: an unmanaged view cannot own the tensor");
  if constexpr (detail::check_dlpack_type<V>()) {
    using E = typename V::extents_type;
    using D = typename V::device_type;
    constexpr detail::DLPackElements elements = detail::dlpack_elements<V>();
    const detail::DLPackSource source = detail::read_dlpack(
        tensor.get(), label, elements, E::has_dynamic_rank ? -1 : E::max_rank_value, V::memory_space::kind);
    const auto mapping = detail::dlpack_mapping<V>(source.shape, label);
    const detail::AllocationRef owner(
        detail::adopt_dlpack(tensor, label, source, elements.bytes, D(source.instance).backend()));
    const index_t first = detail::dlpack_shape<V>(mapping).shift;
    return V(owner, static_cast<typename V::value_type*>(source.data) - first, mapping);
  }
}

}  // namespace strata::inline STRATA_ABI
