// The kernels of given temperatures, of the state, and of what is reported of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/miniapps/thermal/assembly_kernels.hpp>
#include <strata/miniapps/thermal/heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The mark of a node whose temperature is not given; others have the number of the condition that gives it.
inline constexpr std::int32_t free_node = -1;

/// A row of the matrix, as the operations on rows below see it: entries [begin, end), by places in `entries`
/// and `values`.
template <class Entries, class Values>
struct MatrixRow {
  const Entries& entries;
  const Values& values;
  index_t begin, end;
  STRATA_FUNCTION index_t column(index_t k) const { return entries(k); }
  STRATA_FUNCTION decltype(auto) value(index_t k) const { return values(k); }
};

/// An operation on each row of a matrix that the device holds: operation(i, row, numbers...), and in a
/// reduction with its value. placed_kernels.hpp has the same for matrices in blocks.
template <class Operation>
struct EachRow : Operation {
  template <class RowMap, class Entries, class Values, class... Numbers>
  STRATA_FUNCTION void operator()(index_t i, const RowMap& row_map, const Entries& entries,
                                  const Values& values, Numbers&&... numbers) const {
    Operation::operator()(i, MatrixRow<Entries, Values>{entries, values, row_map(i), row_map(i + 1)},
                          numbers...);
  }
};

/// Condition `number` takes the listed nodes, with one temperature or those of a field.
template <class Value>
struct Give {
  std::int32_t number;
  Value value;
  STRATA_FUNCTION void operator()(auto i, auto list, auto conditions, auto given) const {
    const auto node = list(i);
    conditions(node) = number;
    if constexpr (std::is_arithmetic_v<Value>) given(node) = value;
    else given(node) = value(node);
  }
};

/// Takes the given temperatures out of the matrix and keeps it symmetric: a row of a given node is that of
/// the identity; a free row loses its columns of given nodes, and lift(i) is what they contribute. A row
/// writes itself only and reads marks, never other rows. With `has_film` lift(i) comes in as what convection
/// adds to the diagonal.
struct EliminateGiven {
  bool has_film;

  template <class Row, class Conditions, class Given, class Lift>
  STRATA_FUNCTION void operator()(index_t i, const Row& row, const Conditions& conditions, const Given& given,
                                  const Lift& lift) const {
    using T = typename Lift::value_type;
    const bool is_given = conditions(i) != free_node;
    const T film = has_film ? lift(i) : T(0);
    T sum = T(0);
    for (index_t k = row.begin; k < row.end; ++k) {
      const index_t j = row.column(k);
      if (is_given) {
        row.value(k) = j == i ? T(1) : T(0);
      } else if (conditions(j) != free_node) {
        sum += row.value(k) * given(j);
        row.value(k) = T(0);
      } else if (has_film && j == i) {
        row.value(k) += film;
      }
    }
    lift(i) = sum;
  }
};

/// The same for each row of a matrix that the device holds, bound to its arrays: with an index of a known
/// type, hosts go over rows in a plain loop, which is faster here than lanes.
template <class RowMap, class Entries, class Values, class Conditions, class Given, class Lift>
struct EliminateRows {
  using device_type = typename Lift::device_type;
  EliminateGiven eliminate;
  RowMap row_map;
  Entries entries;
  Values values;
  Conditions conditions;
  Given given;
  Lift lift;

  STRATA_FUNCTION void operator()(index_t i) const {
    eliminate(i, MatrixRow<Entries, Values>{entries, values, row_map(i), row_map(i + 1)}, conditions, given,
              lift);
  }
};
template <class... Views>
EliminateRows(EliminateGiven, Views...) -> EliminateRows<Views...>;

/// The right-hand side that belongs to it, and a first guess y that is right where it is given. Adds up the
/// squares of the part that belongs to free nodes.
struct ApplyGiven {
  STRATA_FUNCTION void operator()(auto i, auto conditions, auto given, auto lift, auto b, auto y,
                                  double& squares) const {
    const bool is_given = conditions(i) != free_node;
    const auto value = given(i), own = b(i) - lift(i), old = y(i);
    squares += is_given ? 0.0 : static_cast<double>(own) * static_cast<double>(own);
    b(i) = is_given ? value : own;
    y(i) = is_given ? value : old;
  }
};

/// The same for a change of a state that has the given temperatures: nothing changes there.
struct HoldGiven {
  STRATA_FUNCTION void operator()(auto i, auto conditions, auto b, auto y) const {
    using T = std::remove_cvref_t<decltype(b(i))>;
    const T own = b(i);
    b(i) = conditions(i) != free_node ? T(0) : own;
    y(i) = T(0);
  }
};

/// |b|^2
struct AddSquare {
  STRATA_FUNCTION void operator()(auto i, auto b, double& squares) const {
    const auto own = static_cast<double>(b(i));
    squares += own * own;
  }
};

/// T = given temperatures, where there are.
struct SetGiven {
  STRATA_FUNCTION void operator()(auto i, auto conditions, auto given, auto temperature) const {
    const auto value = given(i), old = temperature(i);
    temperature(i) = conditions(i) != free_node ? value : old;
  }
};
/// The same as a change of the time step that begins.
struct JumpToGiven {
  STRATA_FUNCTION void operator()(auto i, auto conditions, auto given, auto temperature, auto change) const {
    const auto value = given(i), old = temperature(i);
    const bool is_given = conditions(i) != free_node;
    temperature(i) = is_given ? value : old;
    change(i) = is_given ? value - old : std::remove_cvref_t<decltype(old)>(0);
  }
};

/// What a Newton step came to.
template <class T>
struct StepSize {
  T change;        // the greatest |dT|, as it would be without limits
  T temperature;   // the greatest |T|
  T conductivity;  // the least 1 + beta T
};

/// Kirchhoff's transformation undone (element_system.hpp): y is the change of T + beta T^2/2, which as a
/// whole gives T where (1 + beta T)^2 = (1 + beta T_old)^2 + 2 beta y. `change` adds up what the steps
/// change. `Frozen`: T += y, of a step at a frozen conductivity, but no node's conductivity falls below a
/// tenth of what it was.
template <class T, bool Frozen>
struct TakeStep {
  using value_type = StepSize<T>;
  T beta;

  STRATA_FUNCTION void operator()(index_t i, auto temperature, auto change, auto y, value_type& size) const {
    const T old = temperature(i), relative = T(1) + beta * old;
    T step, taken, next_relative;
    if constexpr (Frozen) {
      step = y(i);
      const bool falls = beta * step < T(-0.9) * relative;
      taken = falls ? T(-0.9) * relative / beta : step;
      // Held back by the limit again and again, it ends at rounding.
      const T least = sizeof(T) == 4 ? T(1e-5) : T(1e-13);
      next_relative = T(1) + beta * (old + taken);
      if (!(next_relative > least)) next_relative = T(0);
    } else {
      const T square = relative * relative + T(2) * beta * y(i);
      if (!(relative > T(0) && square > T(0))) {
        size.conductivity = T(0);  // NaN comes here, too
        return;
      }
      next_relative = std::sqrt(square);
      step = taken = T(2) * y(i) / (relative + next_relative);
    }
    const T next = old + taken;
    temperature(i) = next;
    change(i) += taken;
    join(size, {step < 0 ? -step : step, next < 0 ? -next : next, next_relative});
  }
  STRATA_FUNCTION static void init(value_type& size) { size = {T(0), T(0), T(1)}; }
  STRATA_FUNCTION static void join(value_type& size, const value_type& other) {
    if (!(other.change <= size.change)) size.change = other.change;  // lets NaN through
    if (other.temperature > size.temperature) size.temperature = other.temperature;
    if (!(other.conductivity >= size.conductivity)) size.conductivity = other.conductivity;
  }
};

/// Sums over the rows of free nodes, in double: of the squares of b - A y, of b, and of the sums of |a_ij
/// y_j|, to which rounding is in proportion.
struct ResidualSquares {
  double residual, right_hand_side, magnitude;
  STRATA_FUNCTION void operator+=(const ResidualSquares& other) {
    residual += other.residual;
    right_hand_side += other.right_hand_side;
    magnitude += other.magnitude;
  }
};
/// Of a row: b - A y, and the sum of |a_ij y_j|.
struct ResidualOfRow {
  double rest, magnitude;
};
template <class Row, class Field>
STRATA_FUNCTION ResidualOfRow residual_of_row(const Row& row, double own, const Field& y) {
  ResidualOfRow result{own, 0};
  for (index_t k = row.begin; k < row.end; ++k) {
    const double term = static_cast<double>(row.value(k)) * static_cast<double>(y(row.column(k)));
    result.rest -= term;
    result.magnitude += term < 0 ? -term : term;
  }
  return result;
}
struct TrueResidual {
  template <class Row>
  STRATA_FUNCTION void operator()(index_t i, const Row& row, const auto& conditions, const auto& b,
                                  const auto& y, ResidualSquares& squares) const {
    if (conditions(i) != free_node) return;
    const auto own = static_cast<double>(b(i));
    const ResidualOfRow of_row = residual_of_row(row, own, y);
    squares += {of_row.rest * of_row.rest, own * own, of_row.magnitude * of_row.magnitude};
  }
};

/// The greatest entry beside the diagonal over the diagonal, of the rows of free nodes.
struct GreatestCoupling {
  using value_type = double;
  static constexpr bool any_order = true;

  template <class Row>
  STRATA_FUNCTION void operator()(index_t i, const Row& row, const auto& conditions, double& greatest) const {
    if (conditions(i) != free_node) return;
    double diagonal = 0, most = 0;
    for (index_t k = row.begin; k < row.end; ++k) {
      const auto value = static_cast<double>(row.value(k));
      if (row.column(k) == i) diagonal = value;
      else if (value > most) most = value;
    }
    join(greatest, most / diagonal);
  }
  STRATA_FUNCTION static void init(double& greatest) { greatest = 0; }
  STRATA_FUNCTION static void join(double& greatest, const double& other) {
    if (!(other <= greatest)) greatest = other;  // lets NaN through
  }
};

/// The heat that flows in at the nodes of condition `number`: what is missing in the balance of those nodes.
struct HeatFlow {
  std::int32_t number;

  STRATA_FUNCTION void operator()(auto i, auto conditions, auto residual, double& sum) const {
    const double own = static_cast<double>(residual(i));
    sum -= conditions(i) == number ? own : 0.0;
  }
};

/// The least and the greatest number of a field.
struct FieldRange {
  using value_type = TemperatureRange;
  STRATA_FUNCTION void operator()(index_t i, auto field, value_type& r) const {
    const double own = static_cast<double>(field(i));
    join(r, {own, own});
  }
  STRATA_FUNCTION static void init(value_type& r) { r = {1e300, -1e300}; }
  STRATA_FUNCTION static void join(value_type& r, const value_type& other) {
    if (!(other.least >= r.least)) r.least = other.least;  // lets NaN through
    if (!(other.greatest <= r.greatest)) r.greatest = other.greatest;
  }
};

/// Integrals over the mesh, by the Gauss points: of 1, of the temperature, of source and sink of heat, of
/// what the change of the time step stores in a unit of time, and of its magnitude; and of the conductivity
/// and the capacity over the time step as the entries of the matrix have them, to whose products with
/// temperatures rounding is in proportion.
struct HeatIntegrals {
  double volume, temperature, source, sink, stored, stored_magnitude, conductivity, storage;
  STRATA_FUNCTION void operator+=(const HeatIntegrals& other) {
    volume += other.volume;
    temperature += other.temperature;
    source += other.source;
    sink += other.sink;
    stored += other.stored;
    stored_magnitude += other.stored_magnitude;
    conductivity += other.conductivity;
    storage += other.storage;
  }
};
struct Integrals {
  double beta, sink, rate;

  STRATA_FUNCTION void operator()(index_t e, const auto& nodes, const auto& coordinates, const auto& blocks,
                                  const auto& materials, const auto& temperature, const auto& change,
                                  HeatIntegrals& sum) const {
    ElementInput<double> element;
    read_element<StateTerm>(e, nodes, coordinates, blocks, materials, temperature, change, element);
    Metric<double> metric;
    measure(element.x, metric);
    double coefficients[8], state[8], changes[8];
    corners_to_points(element.temperature, coefficients, state);
    corners_to_points(element.change, coefficients, changes);
    const double conductivity = element.material[conductivity_column],
                 storage = rate * element.material[capacity_column];
    for (int q = 0; q < 8; ++q) {
      const double volume = metric.volume[q], t = state[q], relative = 1 + beta * t,
                   flow = metric.flow[0][q] + metric.flow[1][q] + metric.flow[2][q];
      sum += {volume,
              volume * t,
              volume * element.material[source_column],
              volume * sink * t * t,
              volume * storage * changes[q],
              volume * storage * (changes[q] < 0 ? -changes[q] : changes[q]),
              conductivity * (relative < 0 ? -relative : relative) * flow,
              storage * volume};
    }
  }
};

}  // namespace strata::inline STRATA_ABI::thermal
