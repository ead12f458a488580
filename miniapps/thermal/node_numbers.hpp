// NodeNumbers: what HeatFields has in the memory of a device, as loops at a place declare it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/miniapps/common/places.hpp>
#include <strata/miniapps/thermal/heat_fields.hpp>

namespace strata::inline STRATA_ABI::thermal {

struct CopyNumber {
  STRATA_FUNCTION void operator()(auto i, auto from, auto to) const { to(i) = from(i); }
};

/// Numbers of nodes, of which a view is in the memory of the first device of a place. Loops on that device
/// use the same memory; those on several have an array of their own, which is copied from it and back.
template <class Where, class T>
class NodeNumbers {
 public:
  using Device = miniapp::DeviceOf<Where>;
  using Field = NodeField<Device, T>;
  using Array = CoherentArray<T, rank<1>, LayoutRight>;

  /// Of so many nodes, before there is a view; options are those of coherent arrays.
  template <class... Options>
  NodeNumbers(const char* label, index_t nodes, const Options&... options)
      : array_(label, nodes, uninitialized, options...) {}
  void bind(const Field& field) {
    field_ = field;
    if constexpr (is_shared) array_ = Array::adopt(field.label(), field, MemoryMode::Smart);
  }
  /// For loops to declare, from bind() on the same one.
  const Array& array() const { return array_; }
  /// Loops that are enqueued after it see what the view has.
  void show(const On<Device>& where) const {
    if constexpr (!is_shared)
      launch(where.named("show numbers of nodes"), field_.extent(0), CopyNumber{}, in(field_), out(array_));
  }
  /// The view has what loops have written.
  void take(const On<Device>& where) const {
    if constexpr (!is_shared)
      launch(where.named("take numbers of nodes"), field_.extent(0), CopyNumber{}, in(array_), out(field_));
  }

 private:
  static constexpr bool is_shared = !std::is_same_v<Where, Across<Device>>;

  Field field_;
  Array array_;
};

/// Those of a heat problem.
template <class Where, class T>
struct LoopNumbers {
  NodeNumbers<Where, T> temperature, change, b, y, given, lift;
  NodeNumbers<Where, std::int32_t> conditions;

  template <class... Options>
  explicit LoopNumbers(index_t nodes, const Options&... options)
      : temperature("temperature", nodes, options...),
        change("change of temperature", nodes, options...),
        b("b", nodes, options...),
        y("y", nodes, options...),
        given("given temperature", nodes, options...),
        lift("lift", nodes, options...),
        conditions("conditions", nodes, options...) {}
  void bind(const HeatFields<miniapp::DeviceOf<Where>, T>& fields) {
    temperature.bind(fields.temperature);
    change.bind(fields.change);
    b.bind(fields.b);
    y.bind(fields.y);
    given.bind(fields.given);
    lift.bind(fields.lift);
    conditions.bind(fields.conditions);
  }
};

}  // namespace strata::inline STRATA_ABI::thermal
