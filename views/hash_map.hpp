// HashMap: a map of fixed capacity that kernels insert into and look up in, on any device.
//
//   auto map = create<HashMap<index_t, int, Cuda>>("nodes", 100'000);   // zero values
//   in kernels:  const auto r = map.insert(key);                         // inserted, existing or full
//                if (!r.full()) atomic_fetch_add(&map.value(r.slot), 1);
//                const index_t s = map.find(key);                        // a slot, or -1
//   on hosts:    if (map.failed() > 0) map.rehash(2 * map.capacity());   // then insert the rest
//
// Slots: linear probing in a power of two of slots, each of which is free or has its key for good: an erased
// key keeps its slot until rehash() or clear(), and gets it back when it is inserted again. A key takes a
// slot by one compare-exchange, so that inserting, finding and erasing are lock-free and any number of
// threads may insert and find in one kernel: of those that insert one key, one gets `inserted`. Which slot a
// key gets depends on their order; which keys are in the map does not, as long as nothing is full. A kernel
// that erases keys does not insert them, nor use their values.
//
// Values: those of new keys are zero bytes, or what clear(initial) has set. Atomic operations may change them
// from the moment of the insertion, those of insert(key, value, operation) too; values that insert(key,
// value) or plain accesses write may be read by later kernels, and by the thread that wrote them. A set has
// void values: HashMap<Key, void, Device>.
//
// Keys: trivially copyable, of up to 16 bytes, each value with one pattern of bytes (integers, enumerations,
// pointers, structs of them without padding); compared and hashed by their bytes. So floating-point and
// complex numbers are refused: -0.0 is equal to 0.0 in another pattern, and a NaN is equal to nothing. Round
// them to integers, or take std::bit_cast where patterns are meant; structs with a half_t or bfloat16_t in
// them compile, and have patterns compared. 9 to 16 bytes need sm_90 on CUDA. With a hash and an equality of
// your own, two classes without data members whose operator() is a STRATA_FUNCTION, keys of up to 16 bytes
// may be of any type; keys that are equal have one hash, and the key whose bits are all set is equal to
// itself alone.
//
// A map is a handle: copies share its slots, rehash() gives new slots to the handle it is called on. Host
// functions are ordered after the device's default queue; wait for other queues first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <strata/views/atomic.hpp>
#include <strata/views/bitset.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/hash_key.hpp>
#include <strata/views/index_loop.hpp>
#include <strata/views/mirror.hpp>
#include <strata/views/multivector.hpp>
#include <strata/views/scatter_operations.hpp>
#include <strata/views/subview.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {
[[noreturn]] void fail_hash_capacity(const char* label, index_t capacity);
[[noreturn]] void fail_rehash(const char* label, index_t capacity, index_t keys);
[[noreturn]] void fail_null_map();

// Kernels; nvcc takes none that are private members.
template <class Map, class Total>
struct CountKeys {
  Map map;
  Total total;
  index_t stride;
  STRATA_FUNCTION void operator()(index_t first) const {
    index_t taken = 0;
    for (index_t slot = first; slot < map.slots(); slot += stride) taken += map.occupied(slot) ? 1 : 0;
    atomic_fetch_add(&*total, taken);
  }
};
template <class Map>
struct Reinsert {
  Map from, to;
  STRATA_FUNCTION void operator()(index_t slot) const {
    if (!from.occupied(slot)) return;
    if constexpr (Map::is_set) to.insert(from.key(slot));
    else to.insert(from.key(slot), from.value(slot));
  }
};

// The value of new keys of `from`, to the slots of `to` and as that of its new keys.
template <class Map>
struct InitialValues {
  Map from, to;
  STRATA_FUNCTION void operator()(index_t slot) const { to.set_initial(slot, from); }
};

// What is stored for a set.
struct NoValue {};

}  // namespace detail

/// The result of an insertion.
struct InsertResult {
  /// The three ways that an insertion may end.
  enum class Outcome : unsigned char { Inserted, Existing, Full };
  index_t slot;     ///< of the key; -1 where the map was full
  Outcome outcome;  ///< which of them it was

  /// The key is new, and this call put it there.
  STRATA_FUNCTION constexpr bool inserted() const { return outcome == Outcome::Inserted; }
  /// The key was there.
  STRATA_FUNCTION constexpr bool existing() const { return outcome == Outcome::Existing; }
  /// The key is not in the map: no slot was free where it may lie.
  STRATA_FUNCTION constexpr bool full() const { return outcome == Outcome::Full; }
};

/// A map of fixed capacity from keys to values in the memory of Device, which kernels fill and read without
/// locks; a set of keys where T is void. `Hash` and `Equal` are of the bytes of a key, or both your own.
template <class Key, class T, class Device, class Hash = detail::HashBytes, class Equal = detail::EqualBytes>
class HashMap {
  using Traits = detail::HashKey<Key, Hash, Equal>;
  using Word = typename Traits::Word;
  using Stored = std::conditional_t<std::is_void_v<T>, detail::NoValue, T>;
  template <class E>
  using Array = View<E, Device, RankExtents<1>, LayoutRight>;

 public:
  /// The parameters, and the map of the same keys in host memory.
  using key_type = Key;
  using mapped_type = T;
  using device_type = Device;
  using HostMirror = HashMap<Key, T, Serial, Hash, Equal>;
  /// Whether this is a set, without values.
  static constexpr bool is_set = std::is_void_v<T>;

  /// The slots in a row that a key may lie in, from its hash on: enough at three quarters of the slots taken
  /// (the longest run of taken slots is then about 27 ln(slots)), few enough to fail fast.
  static constexpr index_t longest_probe = 1024;

  /// A null map: every insertion fails.
  constexpr HashMap() = default;

  /// Use create<HashMap<...>>(label, capacity, device).
  HashMap(const char* label, index_t capacity, const Device& device)
      : table_slots_(slots_for(label, capacity)),
        keys_(create<Array<Word>>(label, table_slots_, uninitialized, on(device))),
        values_(create<Array<Stored>>(label, is_set ? 0 : table_slots_ + 2, on(device))),
        erased_(create<Bitset<Device>>(label, table_slots_, device)),
        notes_(create<Array<std::uint64_t>>(label, 2, on(device))) {
    deep_copy(keys_, Traits::none());
  }

  /// Puts `key` into the map, if it is not there and there is room.
  STRATA_FUNCTION InsertResult insert(const Key& key) const {
    using Outcome = InsertResult::Outcome;
    const Word word = Traits::word(key);
    if (Traits::is_none(word)) return insert_like_none();
    Word* const keys = Device::memory_space::resolve(keys_.data());
    index_t slot = first_slot(word);
    for (index_t probe = 0; probe < probes(); ++probe) {
      Word found = Traits::load(keys + slot);
      // A slot that was free may have been taken meanwhile, for this key too.
      if (Traits::is_none(found) && atomic_compare_exchange(keys + slot, found, word))
        return {slot, Outcome::Inserted};
      if (Traits::equal(found, word))
        return {slot, erased_.test(slot) && erased_.reset(slot) ? Outcome::Inserted : Outcome::Existing};
      slot = (slot + 1) & (table_slots_ - 1);
    }
    if (table_slots_ > 0) atomic_fetch_inc(&notes_(failures));
    return {-1, Outcome::Full};
  }
  /// The same; a new key gets `value`, or that of another thread which inserts the key at the same time. A
  /// key that exists keeps its value.
  STRATA_FUNCTION InsertResult insert(const Key& key, const Stored& value) const requires(!is_set) {
    const InsertResult result = insert(key);
    if (result.inserted()) values_(result.slot) = value;
    return result;
  }
  /// The same, joining `value` atomically to that of the key, new or not: by ScatterSum, and with another
  /// first value of new keys (see clear) by ScatterProd, ScatterMin or ScatterMax.
  template <class Operation>
  STRATA_FUNCTION InsertResult insert(const Key& key, const Stored& value, Operation) const
      requires(!is_set) {
    const InsertResult result = insert(key);
    if (!result.full())
      detail::Contribution<Stored, Operation, ScatterAtomic>(&values_(result.slot)).update(value);
    return result;
  }
  /// Removes `key`; whether it was there and this call removed it. Its value becomes that of new keys.
  STRATA_FUNCTION bool erase(const Key& key) const {
    const index_t slot = find(key);
    if (slot < 0) return false;
    const bool removed =
        slot == table_slots_ ? atomic_exchange(&notes_(none_taken), 0) != 0 : erased_.set(slot);
    if constexpr (!is_set)
      if (removed) values_(slot) = values_(initial_slot());
    return removed;
  }

  /// The slot of `key`, or -1. A key that another thread is inserting may be found or not.
  STRATA_FUNCTION index_t find(const Key& key) const {
    const Word word = Traits::word(key);
    if (Traits::is_none(word)) return occupied(table_slots_) ? table_slots_ : -1;
    Word* const keys = Device::memory_space::resolve(keys_.data());
    index_t slot = first_slot(word);
    for (index_t probe = 0; probe < probes(); ++probe) {
      const Word found = Traits::load(keys + slot);
      if (Traits::equal(found, word)) return erased_.test(slot) ? -1 : slot;
      if (Traits::is_none(found)) return -1;
      slot = (slot + 1) & (table_slots_ - 1);
    }
    return -1;
  }
  STRATA_FUNCTION bool contains(const Key& key) const { return find(key) >= 0; }

  /// Slots are numbered from 0 to slots() - 1; those that are not occupied have neither key nor value.
  STRATA_FUNCTION constexpr index_t slots() const { return table_slots_ > 0 ? table_slots_ + 1 : 0; }
  STRATA_FUNCTION bool occupied(index_t slot) const {
    if (slot == table_slots_) return slot > 0 && atomic_load(&notes_(none_taken)) != 0;
    return !Traits::is_none(Traits::load(&keys_(slot))) && !erased_.test(slot);
  }
  STRATA_FUNCTION Key key(index_t slot) const {
    return Traits::key(slot == table_slots_ ? Traits::none() : Traits::load(&keys_(slot)));
  }
  STRATA_FUNCTION Stored& value(index_t slot) const requires(!is_set) { return values_(slot); }

  /// The number of keys that certainly find room, erased ones counted: three quarters of the slots, at least
  /// what was asked for.
  STRATA_FUNCTION constexpr index_t capacity() const { return table_slots_ / 4 * 3; }
  STRATA_FUNCTION constexpr explicit operator bool() const { return table_slots_ > 0; }
  const char* label() const { return keys_.label(); }

  /// The number of keys. Counts them on the device and waits.
  index_t size() const {
    if (!*this) return 0;
    constexpr index_t counters = 4096;
    const auto count = create<Value<index_t, Device>>("HashMap::size", on(device()));
    const index_t stride = slots() < counters ? slots() : counters;
    detail::run_indices(device(), "HashMap::size", stride,
                        detail::CountKeys<HashMap, Value<index_t, Device>>{*this, count, stride});
    index_t result = 0;
    deep_copy(result, count);
    return result;
  }
  /// The number of insertions that found the map full since it was made, cleared or rehashed. Waits.
  index_t failed() const {
    if (!*this) return 0;
    using Note = typename Array<std::uint64_t>::value_type;
    Note both[2] = {};
    deep_copy(View<Note, Serial, RankExtents<1>, LayoutRight>(both, 2), notes_);
    return static_cast<index_t>(both[failures]);
  }
  /// Removes all keys; values become those of new keys.
  void clear() const {
    if (!*this) return;
    if constexpr (!is_set) {  // without a kernel: also where no compiler for the device is at work
      Stored initial = __builtin_bit_cast(Stored, std::array<std::byte, sizeof(Stored)>{});
      deep_copy(initial, subview(values_, initial_slot()));
      deep_copy(values_, initial);
    }
    remove_keys();
  }
  /// The same, and from now on the values of new keys of the map, in all its handles, begin as `initial`.
  void clear(const Stored& initial) const requires(!is_set) {
    if (!*this) return;
    deep_copy(values_, initial);
    remove_keys();
  }
  /// Gives this handle slots for `capacity` keys on the same instance, and moves all its keys and values, to
  /// other slots; those of erased keys become free. ExtentError where the keys would not fit; then, and on
  /// OutOfMemory, nothing has changed.
  void rehash(index_t capacity) {
    if (!*this) detail::fail_null_map();
    const index_t keys = size();
    if (slots_for(label(), capacity) / 4 * 3 < keys) detail::fail_rehash(label(), capacity, keys);
    HashMap larger(label(), capacity, device());
    if constexpr (!is_set) larger.take_initial_values("HashMap::rehash", *this, larger.initial_slot() + 1);
    detail::run_indices(device(), "HashMap::rehash", slots(), detail::Reinsert<HashMap>{*this, larger});
    if (larger.failed() > 0) detail::fail_rehash(label(), capacity, keys);
    *this = larger;
  }

 private:
  template <class, class, class, class, class>
  friend class HashMap;
  friend struct detail::InitialValues<HashMap>;
  template <class K, class V, class D, class H, class E>
  friend typename HashMap<K, V, D, H, E>::HostMirror create_mirror_and_copy(
      const HashMap<K, V, D, H, E>& map);
  template <class K, class V, class D, class S, class H, class E>
  friend void deep_copy(const HashMap<K, V, D, H, E>& destination, const HashMap<K, V, S, H, E>& source);

  // A key whose bits are all set looks like a free slot: it has a slot of its own, after the others.
  static constexpr int none_taken = 0, failures = 1;  // of notes_

  static index_t slots_for(const char* label, index_t capacity) {
    if (capacity < 0 || capacity > index_t{1} << 60) detail::fail_hash_capacity(label, capacity);
    index_t slots = 8;
    while (slots / 4 * 3 < capacity) slots *= 2;
    return slots;
  }
  STRATA_FUNCTION index_t probes() const {
    return table_slots_ < longest_probe ? table_slots_ : longest_probe;
  }
  STRATA_FUNCTION index_t first_slot(const Word& word) const {
    return static_cast<index_t>(Traits::hash(word) & static_cast<std::uint64_t>(table_slots_ - 1));
  }
  STRATA_FUNCTION InsertResult insert_like_none() const {
    if (table_slots_ == 0) return {-1, InsertResult::Outcome::Full};
    const bool first = atomic_exchange(&notes_(none_taken), 1) == 0;
    return {table_slots_, first ? InsertResult::Outcome::Inserted : InsertResult::Outcome::Existing};
  }
  // After those of the slots, values_ has the value of new keys.
  STRATA_FUNCTION index_t initial_slot() const { return table_slots_ + 1; }
  STRATA_FUNCTION void set_initial(index_t slot, const HashMap& from) const {
    values_(slot) = from.values_(from.initial_slot());
  }
  void take_initial_values(const char* name, const HashMap& from, index_t count) const {
    detail::run_indices(device(), name, count, detail::InitialValues<HashMap>{from, *this});
  }
  void remove_keys() const {
    deep_copy(keys_, Traits::none());
    erased_.reset_all();
    deep_copy(notes_, std::uint64_t{0});
  }
  Device device() const { return Device(keys_.allocation().get()->space.instance); }

  index_t table_slots_ = 0;
  Array<Word> keys_;
  Array<Stored> values_;
  Bitset<Device> erased_;
  Array<std::uint64_t> notes_;
};

/// A set of keys, of fixed capacity.
template <class Key, class Device, class Hash = detail::HashBytes, class Equal = detail::EqualBytes>
using HashSet = HashMap<Key, void, Device, Hash, Equal>;

/// Whether it is a HashMap<...>.
template <class>
inline constexpr bool is_hash_map_v = false;
template <class Key, class T, class Device, class Hash, class Equal>
inline constexpr bool is_hash_map_v<HashMap<Key, T, Device, Hash, Equal>> = true;

/// An empty map for at least `capacity` keys, named `label` in messages and profiles. Errors as for arrays.
template <class Map>
requires is_hash_map_v<Map>
[[nodiscard]] Map create(const char* label, index_t capacity,
                         const typename Map::device_type& device = typename Map::device_type()) {
  return Map(label, capacity, device);
}

/// The same map for use on the host: a copy with the same slots, or itself where the host can touch it.
template <class Key, class T, class Device, class Hash, class Equal>
[[nodiscard]] typename HashMap<Key, T, Device, Hash, Equal>::HostMirror create_mirror_and_copy(
    const HashMap<Key, T, Device, Hash, Equal>& map) {
  typename HashMap<Key, T, Device, Hash, Equal>::HostMirror host;
  host.table_slots_ = map.table_slots_;
  host.keys_ = create_mirror_and_copy(map.keys_);
  host.values_ = create_mirror_and_copy(map.values_);
  host.erased_ = create_mirror_and_copy(map.erased_);
  host.notes_ = create_mirror_and_copy(map.notes_);
  return host;
}

/// Makes `destination` a copy of `source`, with the same slots, and the same value of new keys; complete on
/// return. ShapeMismatch where they have not as many slots.
template <class Key, class T, class Device, class Source, class Hash, class Equal>
void deep_copy(const HashMap<Key, T, Device, Hash, Equal>& destination,
               const HashMap<Key, T, Source, Hash, Equal>& source) {
  deep_copy(destination.keys_, source.keys_);
  deep_copy(destination.values_, source.values_);
  deep_copy(destination.erased_, source.erased_);
  deep_copy(destination.notes_, source.notes_);
}

}  // namespace strata::inline STRATA_ABI
