// The kernels of given temperatures, of the state, and of what is reported of it.
#pragma once

#include <cmath>

#include <strata/miniapps/thermal/assembly_kernels.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The mark of a node whose temperature is not given; others have the number of the condition that gives it.
inline constexpr std::int32_t free_node = -1;

/// Condition `number` takes the listed nodes.
template <class T>
struct GiveTemperature {
  std::int32_t number;
  T value;
  STRATA_FUNCTION void operator()(auto i, auto list, auto conditions, auto given) const {
    const auto node = list(i);
    conditions(node) = number;
    given(node) = value;
  }
};

/// The same with a temperature for each node.
template <class T, class Function>
struct GiveValues {
  std::int32_t number;
  Function function;
  STRATA_FUNCTION void operator()(index_t i, auto list, auto coordinates, auto conditions, auto given) const {
    const index_t node = list(i);
    conditions(node) = number;
    given(node) =
        static_cast<T>(function.value(coordinates(node, 0), coordinates(node, 1), coordinates(node, 2)));
  }
};

template <class T, class Function>
struct SetValues {
  Function function;
  STRATA_FUNCTION void operator()(index_t i, auto coordinates, auto temperature) const {
    temperature(i) = static_cast<T>(function.value(coordinates(i, 0), coordinates(i, 1), coordinates(i, 2)));
  }
};

/// Takes the given temperatures out of the matrix and keeps it symmetric: a row of a given node is that of
/// the identity; a free row loses its columns of given nodes, and lift(i) is what they contribute. A row
/// writes itself only and reads marks, never other rows.
template <class RowMap, class Entries, class Values, class Conditions, class Field>
struct EliminateGiven {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  RowMap row_map;
  Entries entries;
  Values values;
  Conditions conditions;
  Field given, lift;

  STRATA_FUNCTION void operator()(index_t i) const {
    const bool is_given = conditions(i) != free_node;
    T sum = T(0);
    for (index_t k = row_map(i); k < row_map(i + 1); ++k) {
      const index_t j = entries(k);
      if (is_given) {
        values(k) = j == i ? T(1) : T(0);
      } else if (conditions(j) != free_node) {
        sum += values(k) * given(j);
        values(k) = T(0);
      }
    }
    lift(i) = sum;
  }
};

template <class RowMap, class Entries, class Values, class Conditions, class Field>
EliminateGiven(RowMap, Entries, Values, Conditions, Field, Field)
    -> EliminateGiven<RowMap, Entries, Values, Conditions, Field>;

/// The right-hand side that belongs to it, and a first guess y that is right where it is given. Adds up the
/// square of the part that belongs to free nodes.
template <class Conditions, class Field>
struct ApplyGiven {
  using device_type = typename Field::device_type;
  using value_type = typename Field::value_type;
  Conditions conditions;
  Field given, lift, b, y;

  STRATA_FUNCTION void operator()(auto i, value_type& squares) const {
    const bool is_given = conditions(i) != free_node;
    const value_type value = given(i), own = b(i) - lift(i), old = y(i);
    squares += is_given ? value_type(0) : own * own;
    b(i) = is_given ? value : own;
    y(i) = is_given ? value : old;
  }
  STRATA_FUNCTION static void init(value_type& squares) { squares = 0; }
  STRATA_FUNCTION static void join(value_type& squares, const value_type& other) { squares += other; }
};

/// The same for a Newton step from a state that has the given temperatures: nothing changes there.
template <class Conditions, class Field>
struct HoldGiven {
  using device_type = typename Field::device_type;
  using value_type = typename Field::value_type;
  Conditions conditions;
  Field b, y;

  STRATA_FUNCTION void operator()(auto i, value_type& squares) const {
    const value_type own = conditions(i) != free_node ? value_type(0) : b(i);
    b(i) = own;
    y(i) = value_type(0);
    squares += own * own;
  }
  STRATA_FUNCTION static void init(value_type& squares) { squares = 0; }
  STRATA_FUNCTION static void join(value_type& squares, const value_type& other) { squares += other; }
};

/// y = b: the solution of a system without load, whose matrix couples no given nodes.
struct SetLoad {
  STRATA_FUNCTION void operator()(auto i, auto b, auto y) const { y(i) = b(i); }
};

/// T = given temperatures, where there are.
struct SetGiven {
  STRATA_FUNCTION void operator()(auto i, auto conditions, auto given, auto temperature) const {
    const auto value = given(i), old = temperature(i);
    temperature(i) = conditions(i) != free_node ? value : old;
  }
};

/// What a Newton step came to.
template <class T>
struct StepSize {
  T change;        // the greatest |dT|
  T temperature;   // the greatest |T|
  T conductivity;  // the least 1 + beta T
};

/// T += y / (1 + beta T): Kirchhoff's transformation undone (element_system.hpp).
template <class Field>
struct TakeStep {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  using value_type = StepSize<T>;
  Field temperature, y;
  T beta;

  STRATA_FUNCTION void operator()(index_t i, value_type& size) const {
    const T old = temperature(i), relative = T(1) + beta * old;
    const T change = y(i) / relative, next = old + change;
    temperature(i) = next;
    join(size, {change < 0 ? -change : change, next < 0 ? -next : next, T(1) + beta * next});
  }
  STRATA_FUNCTION static void init(value_type& size) { size = {T(0), T(0), T(1)}; }
  STRATA_FUNCTION static void join(value_type& size, const value_type& other) {
    if (!(other.change <= size.change)) size.change = other.change;  // lets NaN through
    if (other.temperature > size.temperature) size.temperature = other.temperature;
    if (!(other.conductivity >= size.conductivity)) size.conductivity = other.conductivity;
  }
};

/// |b - q|, q being A y.
template <class Field>
struct ResidualSquares {
  using device_type = typename Field::device_type;
  using value_type = double;
  Field b, q;
  STRATA_FUNCTION void operator()(auto i, double& squares) const {
    const double own = static_cast<double>(b(i)) - static_cast<double>(q(i));
    squares += own * own;
  }
  STRATA_FUNCTION static void init(double& squares) { squares = 0; }
  STRATA_FUNCTION static void join(double& squares, const double& other) { squares += other; }
};

/// The heat that flows in at the nodes of condition `number`: what is missing in the balance of those nodes.
template <class Conditions, class Field>
struct HeatFlow {
  using device_type = typename Field::device_type;
  using value_type = double;
  Conditions conditions;
  Field residual;
  std::int32_t number;

  STRATA_FUNCTION void operator()(auto i, double& sum) const {
    const double own = static_cast<double>(residual(i));
    sum -= conditions(i) == number ? own : 0.0;
  }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
};

/// The least and the greatest number of a field.
struct FieldExtremes {
  double least, greatest;
};
template <class Field>
struct FieldRange {
  using device_type = typename Field::device_type;
  using value_type = FieldExtremes;
  Field field;
  STRATA_FUNCTION void operator()(index_t i, value_type& r) const {
    const double own = static_cast<double>(field(i));
    join(r, {own, own});
  }
  STRATA_FUNCTION static void init(value_type& r) { r = {1e300, -1e300}; }
  STRATA_FUNCTION static void join(value_type& r, const value_type& other) {
    if (!(other.least >= r.least)) r.least = other.least;  // lets NaN through
    if (!(other.greatest <= r.greatest)) r.greatest = other.greatest;
  }
};

/// Integrals over the mesh: of 1, of the temperature, of source and sink of heat; by the Gauss points.
struct HeatIntegrals {
  double volume, temperature, source, sink;
};
template <class Arrays>
struct Integrals {
  using device_type = typename Arrays::device_type;
  using value_type = HeatIntegrals;
  Arrays in;
  double sink;

  STRATA_FUNCTION void operator()(index_t e, value_type& sum) const {
    ElementInput<double> element;
    read_element<StateTerm>(e, in.nodes, in.coordinates, in.blocks, in.materials, in.temperature, in.old,
                            element);
    Metric<double> metric;
    measure(element.x, metric);
    double coefficients[8], state[8];
    corners_to_points(element.temperature, coefficients, state);
    for (int q = 0; q < 8; ++q)
      join(sum,
           {metric.volume[q], metric.volume[q] * state[q], metric.volume[q] * element.material[source_column],
            metric.volume[q] * sink * state[q] * state[q]});
  }
  STRATA_FUNCTION static void init(value_type& sum) { sum = {0, 0, 0, 0}; }
  STRATA_FUNCTION static void join(value_type& sum, const value_type& other) {
    sum.volume += other.volume;
    sum.temperature += other.temperature;
    sum.source += other.source;
    sum.sink += other.sink;
  }
};

}  // namespace strata::inline STRATA_ABI::thermal
