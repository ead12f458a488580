// Bitset: a fixed number of bits in the memory of a device, which any number of threads set and test in one
// kernel.
//
//   const auto seen = create<Bitset<Cuda>>("seen", n);          // all bits are 0
//   in kernels:  if (seen.set(i)) ...                           // this call changed it from 0 to 1
//                if (seen.test(i)) ...
//   on hosts:    const index_t many = seen.count();             // on the device; waits
//
// Each operation on a bit is one atomic operation on the 32 bits around it, relaxed, at device scope. Host
// functions are ordered after the device's default queue; wait for other queues first. A bitset is a handle:
// copies share its bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/views/atomic.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/index_loop.hpp>
#include <strata/views/mirror.hpp>
#include <strata/views/subview.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

[[noreturn]] void fail_bitset_size(const char* label, index_t size);

// Kernels; nvcc takes none that are private members.
template <class Words, class Total>
struct CountBits {
  Words words;
  Total total;
  index_t stride;
  STRATA_FUNCTION void operator()(index_t first) const {
    index_t found = 0;
    for (index_t w = first; w < words.extent(0); w += stride) {
#if defined(__CUDA_ARCH__)
      found += __popc(words(w));
#else
      found += __builtin_popcount(words(w));
#endif
    }
    atomic_fetch_add(&*total, found);
  }
};

}  // namespace detail

/// `size` bits, numbered from 0.
template <class Device>
class Bitset {
  template <class D>
  using Array = View<std::uint32_t, D, RankExtents<1>, LayoutRight>;

 public:
  /// The parameter, and the bitset in host memory.
  using device_type = Device;
  using HostMirror = Bitset<Serial>;

  /// A null bitset, of no bits.
  constexpr Bitset() = default;
  /// Use create<Bitset<...>>(label, size, device).
  Bitset(const char* label, index_t size, const Device& device)
      : size_(size), words_(create<Array<Device>>(label, words_of(label, size), on(device))) {}

  /// The number of bits.
  STRATA_FUNCTION constexpr index_t size() const { return size_; }
  STRATA_FUNCTION constexpr explicit operator bool() const { return static_cast<bool>(words_); }
  const char* label() const { return words_.label(); }

  /// Whether bit `i` is 1.
  STRATA_FUNCTION bool test(index_t i) const { return (atomic_load(word(i)) & mask(i)) != 0; }
  /// Sets bit `i` to 1, or to 0; returns whether this call changed it.
  STRATA_FUNCTION bool set(index_t i) const { return (atomic_fetch_or(word(i), mask(i)) & mask(i)) == 0; }
  STRATA_FUNCTION bool reset(index_t i) const { return (atomic_fetch_and(word(i), ~mask(i)) & mask(i)) != 0; }
  /// Inverts bit `i`; returns its new value.
  STRATA_FUNCTION bool flip(index_t i) const { return (atomic_fetch_xor(word(i), mask(i)) & mask(i)) == 0; }

  /// The first bit from `begin` on that is 1 (is 0), or -1. Other threads may change it at the same time.
  STRATA_FUNCTION index_t find_set(index_t begin = 0) const { return find(begin, 0); }
  STRATA_FUNCTION index_t find_unset(index_t begin = 0) const { return find(begin, ~std::uint32_t{0}); }

  /// The number of bits that are 1. Counts them on the device and waits.
  index_t count() const {
    if (size_ == 0) return 0;
    constexpr index_t counters = 4096;
    const Device device(words_.allocation().get()->space.instance);
    using Total = View<index_t, Device, Extents<>, LayoutRight>;
    const auto total = create<Total>("Bitset::count", on(device));
    const index_t stride = words_.extent(0) < counters ? words_.extent(0) : counters;
    detail::run_indices(device, "Bitset::count", stride,
                        detail::CountBits<Array<Device>, Total>{words_, total, stride});
    index_t result = 0;
    deep_copy(result, total);
    return result;
  }
  /// Sets all bits to 1, or to 0; complete on return.
  void set_all() const {
    if (size_ == 0) return;
    deep_copy(words_, ~std::uint32_t{0});
    if (size_ % 32 != 0)  // bits after the last stay 0, so that they are not counted
      deep_copy(subview(words_, range(size_ / 32, size_ / 32 + 1)), mask(size_) - 1);
  }
  void reset_all() const {
    if (size_ > 0) deep_copy(words_, std::uint32_t{0});
  }

 private:
  template <class>
  friend class Bitset;
  template <class D>
  friend typename Bitset<D>::HostMirror create_mirror_and_copy(const Bitset<D>& bits);
  template <class D, class S>
  friend void deep_copy(const Bitset<D>& destination, const Bitset<S>& source);

  static index_t words_of(const char* label, index_t size) {
    if (size < 0) detail::fail_bitset_size(label, size);
    return (size + 31) / 32;
  }
  STRATA_FUNCTION static constexpr std::uint32_t mask(index_t i) {
    return std::uint32_t{1} << (static_cast<std::uint64_t>(i) % 32);
  }
  STRATA_FUNCTION std::uint32_t* word(index_t i) const { return &words_(i / 32); }
  // `flipped`: the pattern of a word without a bit that is looked for.
  STRATA_FUNCTION index_t find(index_t begin, std::uint32_t flipped) const {
    for (index_t i = begin < 0 ? 0 : begin; i < size_;) {
      std::uint32_t left = (atomic_load(word(i)) ^ flipped) >> (i % 32);
      if (left == 0) {
        i = (i / 32 + 1) * 32;
        continue;
      }
      for (; (left & 1) == 0; left >>= 1) ++i;
      return i < size_ ? i : -1;
    }
    return -1;
  }

  index_t size_ = 0;
  Array<Device> words_;
};

/// Whether it is a Bitset<...>.
template <class>
inline constexpr bool is_bitset_v = false;
template <class Device>
inline constexpr bool is_bitset_v<Bitset<Device>> = true;

/// `size` bits that are 0. ExtentError for a negative size; errors as for arrays.
template <class B>
requires is_bitset_v<B>
[[nodiscard]] B create(const char* label, index_t size,
                       const typename B::device_type& device = typename B::device_type()) {
  return B(label, size, device);
}

/// The same bits for use on the host: a copy, or itself where the host can touch it.
template <class Device>
[[nodiscard]] typename Bitset<Device>::HostMirror create_mirror_and_copy(const Bitset<Device>& bits) {
  typename Bitset<Device>::HostMirror host;
  host.size_ = bits.size_;
  host.words_ = create_mirror_and_copy(bits.words_);
  return host;
}
/// Makes `destination` a copy of `source`; complete on return. ShapeMismatch if their sizes differ.
template <class Device, class Source>
void deep_copy(const Bitset<Device>& destination, const Bitset<Source>& source) {
  if (destination.size_ != source.size_)
    detail::fail_shapes("deep_copy of bitsets", destination.words_.label(), &destination.size_, 1,
                        source.words_.label(), &source.size_, 1);
  deep_copy(destination.words_, source.words_);
}

}  // namespace strata::inline STRATA_ABI
