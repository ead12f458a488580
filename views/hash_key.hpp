// How a HashMap keeps a key: as one word of 4, 8 or 16 bytes, which a compare-exchange can set. The word of
// a free slot has all bits set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI::detail {

struct alignas(16) HashWords {
  std::uint64_t low, high;
};

/// The hash and the equality of keys that are compared by their bytes.
struct HashBytes {};
struct EqualBytes {};

template <class Key, class Hash = HashBytes, class Equal = EqualBytes>
class HashKey {
  static_assert(std::is_trivially_copyable_v<Key> && sizeof(Key) <= 16,
                "strata: the keys of a HashMap are trivially copyable and of at most 16 bytes");
  static constexpr bool by_bytes = std::is_same_v<Hash, HashBytes>;
  static_assert(
      by_bytes == std::is_same_v<Equal, EqualBytes>,
      "strata: a HashMap takes a hash and an equality of its keys, or neither: keys that are equal have "
      "one hash");
  // Numbers of 2 bytes are classes of an integer, which hides from the trait that two patterns are zero.
  static_assert(
      !by_bytes ||
          (std::has_unique_object_representations_v<Key> && !std::numeric_limits<Key>::has_quiet_NaN),
      "strata: the keys of a HashMap are compared by their bytes: no padding, no floating-point numbers "
      "(-0.0 is equal to 0.0, and a NaN to nothing): take std::bit_cast to an integer, round to one, or give "
      "the map a hash and an equality");

 public:
  using Word = std::conditional_t<sizeof(Key) <= 4, std::uint32_t,
                                  std::conditional_t<sizeof(Key) <= 8, std::uint64_t, HashWords>>;

  STRATA_FUNCTION static Word word(const Key& key) {
    Word word{};
    __builtin_memcpy(&word, &key, sizeof(Key));
    return word;
  }
  STRATA_FUNCTION static Key key(const Word& word) {
    union {  // keys need no default constructor
      char bytes[sizeof(Key)];
      Key key;
    } result = {};
    __builtin_memcpy(&result, &word, sizeof(Key));
    return result.key;
  }

  STRATA_FUNCTION static constexpr Word none() {
    if constexpr (wide) return {~std::uint64_t{0}, ~std::uint64_t{0}};
    else return static_cast<Word>(~Word{0});
  }
  STRATA_FUNCTION static constexpr bool is_none(const Word& word) { return same(word, none()); }
  /// Whether `found`, of a slot, is the key `wanted`.
  STRATA_FUNCTION static constexpr bool equal(const Word& found, const Word& wanted) {
    if constexpr (by_bytes) return same(found, wanted);
    else return !is_none(found) && Equal()(key(found), key(wanted));
  }

  /// The word of a slot that other threads may be setting.
  STRATA_FUNCTION static Word load(Word* slot) {
#if !defined(__CUDA_ARCH__)
    if constexpr (wide) {
      // An atomic load of 16 bytes costs as much as an exchange, so the halves are loaded separately. A slot
      // is set once: if both halves are those of a free slot, it was free when the first was read; if neither
      // is, they are those of its key; otherwise one of them may be old.
      const Word word{atomic_load(&slot->low), atomic_load(&slot->high)};
      if ((~word.low == 0) == (~word.high == 0)) return word;
    }
#endif
    return atomic_load(slot);
  }

  /// Well-mixed bits of all bits of the key (the finaliser of MurmurHash3, once for each 8 bytes).
  STRATA_FUNCTION static constexpr std::uint64_t hash(const Word& word) {
    if constexpr (!by_bytes) return mix(static_cast<std::uint64_t>(Hash()(key(word))));
    else if constexpr (wide) return mix(mix(word.low) ^ (word.high + 0x9e3779b97f4a7c15U));
    else return mix(word);
  }

 private:
  STRATA_FUNCTION static constexpr bool same(const Word& a, const Word& b) {
    if constexpr (wide) return a.low == b.low && a.high == b.high;
    else return a == b;
  }
  static constexpr bool wide = sizeof(Key) > 8;

  STRATA_FUNCTION static constexpr std::uint64_t mix(std::uint64_t bits) {
    bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdU;
    bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53U;
    return bits ^ (bits >> 33);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
