// StreamedSimulation: Dynamics whose fields are in the host's memory and go through a device in slices,
// within a budget of the device's memory. Include it in files that nvcc compiles where there is Cuda.
//
// The loops of a step are those of Simulation, over the same kernels; a Sequence does as many steps
// each time that a slice is on the device as pay. Where the time step is that of all elements (a stable one),
// they are done up to the reduction, the host sets the step, and the nodes of that step begin the next run.
// Forces then go home between runs; with a given step they never leave the device.
//
// Nodes and elements are stored in the order of a MeshOrder; what others see is in that of the mesh, and has
// the bits of a Simulation: forces of a node are summed in the order of the mesh's elements. The mesh is made
// on the host.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/core/bytes.hpp>
#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/explicit_dynamics/node_kernels.hpp>
#include <strata/miniapps/explicit_dynamics/simulation_errors.hpp>
#include <strata/miniapps/explicit_dynamics/step_launches.hpp>
#include <strata/miniapps/explicit_dynamics/streamed_arrays.hpp>
#include <strata/miniapps/explicit_dynamics/streamed_dynamics.hpp>
#include <strata/miniapps/explicit_dynamics/sums.hpp>
#include <strata/miniapps/fem/mesh_on_host.hpp>
#include <strata/miniapps/fem/mesh_order.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// The lengths of a step and of the one before, for kernels that take a clock.
struct StepTimes {
  double dt, prev_dt;
  STRATA_FUNCTION const StepTimes& operator*() const { return *this; }
};
/// A kernel that takes a clock, with the times of a step.
template <class Kernel>
struct AtTimes {
  Kernel kernel;
  StepTimes times;

  template <class Item, class... Views>
  STRATA_FUNCTION void operator()(Item item, const Views&... views) const {
    kernel(item, times, views...);
  }
};

/// The least stable step of all elements, -1 where one is inside out; the first of those elements, and how
/// many they are.
template <class T>
struct SlowestElements {
  T dt;
  index_t first, count;
};
template <class T>
struct FindSlowest {
  using value_type = SlowestElements<T>;
  static constexpr bool any_order = true;
  STRATA_FUNCTION void operator()(index_t e, auto stable_dt, value_type& slowest) const {
    const T dt = stable_dt(e);
    join(slowest, {dt > 0 ? dt : T(-1), e, 1});
  }
  STRATA_FUNCTION static void init(value_type& slowest) { slowest = {T(1e30), INT64_MAX, 0}; }
  STRATA_FUNCTION static void join(value_type& a, const value_type& b) {
    if (b.dt < a.dt) {
      a = b;
    } else if (b.dt == a.dt) {
      a.first = b.first < a.first ? b.first : a.first;
      a.count += b.count;
    }
  }
};

template <class T, class D>
class StreamedSimulation final : public StreamedDynamics {
  using Kind = StreamedArrays<D>;
  using F = Fields<T, Kind>;
  using Vectors = CoherentArray<double, 2, LayoutRight>;

 public:
  /// The body at rest and free of stress, within `budget` bytes of the device's memory; slices stay there for
  /// `steps_per_pass` steps (0: as many as the plan finds fastest).
  StreamedSimulation(const D& device, fem::MeshOnHost mesh, const Parameters& parameters, index_t budget,
                     int steps_per_pass)
      : device_(device),
        mesh_(std::move(mesh)),
        parameters_(parameters),
        material_(parameters),
        budget_(budget),
        steps_per_pass_(steps_per_pass),
        order_(fem::narrow_order(corners_of(mesh_), mesh_.node_count())),
        ranges_(fem::reordered(corners_of(mesh_), order_), mesh_.node_count()) {
    check(parameters);
    make_fields();
    begin_fields();
  }

  std::string device() const override { return miniapp::device_text(device_); }
  std::string type() const override { return sizeof(T) == 4 ? "float" : "double"; }
  index_t node_count() const override { return mesh_.node_count(); }
  index_t element_count() const override { return mesh_.element_count(); }
  const Parameters& parameters() const override { return parameters_; }

  void fix(const std::string& selector, std::uint8_t directions) override {
    const auto nodes = fem::select_nodes_on_host(mesh_, selector);
    const auto fixed = f_.fixed.read_write();
    for (const std::int32_t node : nodes) {
      std::uint8_t& bits = fixed(node_place(node));
      bits = static_cast<std::uint8_t>(bits | directions);
    }
    rest(fixed.view());
  }
  void set_velocity(const std::string& selector, double x, double y, double z) override {
    const auto nodes = fem::select_nodes_on_host(mesh_, selector);
    const auto fixed = f_.fixed.read();
    {
      const auto velocity = f_.velocity.read_write();
      const double v[3] = {x, y, z};
      for (const std::int32_t node : nodes)
        for (int d = 0; d < 3; ++d) velocity(node_place(node), d) = static_cast<T>(v[d]);
    }
    rest(fixed.view());
  }

  void set(Field field, const std::vector<double>& values) override {
    switch (field) {
      case Field::Displacement:
        return put(f_.displacement, nodes_, values);
      case Field::Velocity:
        return put(f_.velocity, nodes_, values);
      case Field::Rotation:
        return put(f_.rotation, elements_, values);
      case Field::Stretch:
        return put(f_.stretch, elements_, values);
      case Field::Stress:
        return put(f_.stress, elements_, values);
      case Field::Hourglass:
        return put(f_.hourglass, elements_, values);
      default:
        fail_field("set");
    }
  }
  std::vector<double> get(Field field) override {
    switch (field) {
      case Field::Displacement:
        return taken<double>(f_.displacement, nodes_);
      case Field::Velocity:
        return taken<double>(f_.velocity, nodes_);
      case Field::Force:
        return taken<double>(node_forces(), nodes_);
      case Field::Reaction:
        return taken<double>(f_.reaction, nodes_);
      case Field::Mass:
        return taken<double>(f_.mass, nodes_);
      case Field::VelocityGradient:
        if (!has_forces_ || parameters_.fused) fail_field("get");
        return taken<double>(f_.velocity_gradient, elements_);
      case Field::Rotation:
        return taken<double>(f_.rotation, elements_);
      case Field::Stretch:
        return taken<double>(f_.stretch, elements_);
      case Field::Stress:
        return taken<double>(f_.stress, elements_);
      case Field::Cauchy:
        return taken<double>(cauchy_stress(), elements_);
      case Field::Hourglass:
        return taken<double>(f_.hourglass, elements_);
    }
    fail_field("get");
  }
  std::vector<double> coordinates() override { return taken<double>(f_.coordinates, nodes_); }
  fem::HostMesh mesh() override { return fem::host_mesh_of(mesh_); }

  /// Returns when the steps are done, or one has failed.
  void advance(index_t steps) override {
    if (clock_.failure != Failure::None || steps == 0) return;
    if (parameters_.dt > 0) advance_given(steps);
    else advance_stable(steps);
  }
  void wait() override {
    if (clock_.failure == Failure::None) return;
    const std::int64_t id = failed_.count > 0 ? mesh_.element_id(order_.element(failed_.first)) : 0;
    fail_simulation({clock_, id, failed_.count, static_cast<double>(failed_.dt), device()});
  }
  index_t steps_at_once() override {
    constexpr index_t passes = 8;
    if (parameters_.dt > 0) return passes * planned_steps(most_planned);
    return std::max(parameters_.dt_every, passes);
  }
  std::string storage() const override;

  void impose(const std::vector<double>& displacement, const std::vector<double>& velocity,
              double dt) override {
    put(f_.displacement, nodes_, displacement);
    put(f_.velocity, nodes_, velocity);
    clock_.dt = dt;
    release();
    Sequence imposed("dynamics: imposed motion", where());
    imposed.temporary(f_.stable_dt);
    add_elements(imposed, [dt](index_t) { return StepTimes{dt, 0}; });
    imposed.run(1);
    has_forces_ = true;
  }

  index_t bytes() const override {
    index_t sum = 0;
    const auto add = [&](const auto&... arrays) {
      ((sum += arrays.size() * index_t{sizeof(typename std::decay_t<decltype(arrays)>::value_type)}), ...);
    };
    add(f_.coordinates, f_.nodes, f_.offsets, f_.corners, f_.displacement, f_.velocity, f_.mass, f_.fixed,
        f_.work, f_.reaction, f_.element_mass, f_.rotation, f_.stretch, f_.stress, f_.hourglass,
        f_.hourglass_work);
    if (!(parameters_.dt > 0)) add(f_.element_force);
    return sum;
  }
  const StreamReport& report() const override { return report_; }

  Clock clock() override { return clock_; }
  Energies energies() override;
  double stable_dt() override {
    release();
    std::vector<SlowestElements<T>> slowest;
    Sequence steps("dynamics: stable steps", where());
    steps.temporary(f_.stable_dt);
    steps.loop("stable steps", element_count(), StableStepKernel<T>{material_.modulus},
               fixed_row<8>(in(f_.nodes)), fixed_row<3>(in(f_.coordinates, nodes_of())),
               fixed_row<3>(in(f_.displacement, nodes_of())), in(f_.element_mass), out(f_.stable_dt));
    steps.loop_reduce("least step", element_count(), FindSlowest<T>{}, slowest, in(f_.stable_dt));
    steps.run(1);
    return static_cast<double>(slowest.at(0).dt);
  }

  std::vector<char> state() override {
    std::vector<char> bytes(sizeof(Clock));
    std::memcpy(bytes.data(), &clock_, sizeof(Clock));
    for_each_state_array([&](const auto& array, const Places& places) {
      using V = typename std::decay_t<decltype(array)>::value_type;
      const std::vector<V> values = taken<V>(array, places);
      const std::size_t begin = bytes.size(), size = values.size() * sizeof(V);
      bytes.resize(begin + size);
      std::memcpy(bytes.data() + begin, values.data(), size);
    });
    return bytes;
  }
  void restore(const std::vector<char>& bytes) override {
    std::size_t wanted = sizeof(Clock), begin = sizeof(Clock);
    for_each_state_array([&](const auto& array, const Places&) {
      wanted +=
          static_cast<std::size_t>(array.size()) * sizeof(typename std::decay_t<decltype(array)>::value_type);
    });
    if (bytes.size() != wanted) fail_size("restore: bytes", bytes.size(), wanted);
    std::memcpy(&clock_, bytes.data(), sizeof(Clock));
    for_each_state_array([&](const auto& array, const Places& places) {
      using V = typename std::decay_t<decltype(array)>::value_type;
      std::vector<V> values(static_cast<std::size_t>(array.size()));
      std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(V));
      begin += values.size() * sizeof(V);
      put(array, places, values);
    });
  }

 private:
  static constexpr int most_planned = 1 << 14;
  using Sequence = strata::Sequence<Streamed<D>>;
  using Places = std::vector<std::int32_t>;  // of nodes or elements; empty: their own numbers

  static fem::ElementCorners corners_of(const fem::MeshOnHost& mesh);
  void make_fields();
  void begin_fields();
  Streamed<On<D>> where() const { return streamed(device_, budget_); }
  index_t node_place(index_t node) const {
    return nodes_.empty() ? node : nodes_[static_cast<std::size_t>(node)];
  }

  // Regions.
  auto nodes_of() const {
    return strata::rows([this](ResidentRows elements) { return ranges_.nodes_of(elements); });
  }
  auto elements_of() const {
    return strata::rows([this](ResidentRows nodes) { return ranges_.elements_of(nodes); });
  }
  auto corners_of_nodes() const {
    return strata::rows([this](ResidentRows nodes) {
      return ResidentRows{offsets_[static_cast<std::size_t>(nodes.begin)],
                          offsets_[static_cast<std::size_t>(nodes.end)]};
    });
  }

  // ---- the loops of a step

  int loop_count() const { return parameters_.fused ? 3 : 5; }

  // `times(step)` are those that the elements see in a step of a run.
  template <class Times>
  void add_elements(Sequence& steps, const Times& times) {
    if (parameters_.update == Update::First) add_elements_by<Update::First>(steps, times);
    else add_elements_by<Update::Second>(steps, times);
  }
  template <Update U, class Times>
  void add_elements_by(Sequence& steps, const Times& times) {
    const index_t n = element_count();
    const auto at = [&]<class Kernel>(const Kernel& kernel) {
      return by_step([kernel, times](int step) { return AtTimes<Kernel>{kernel, times(step)}; });
    };
    if (parameters_.fused) {
      steps.loop("dynamics: elements", in_small_blocks(n), at(FusedKernel<T, U>{material_}),
                 fixed_row<8>(in(f_.nodes)), fixed_row<3>(in(f_.coordinates, nodes_of())),
                 fixed_row<3>(in(f_.displacement, nodes_of())), fixed_row<3>(in(f_.velocity, nodes_of())),
                 in(f_.element_mass), fixed_row<9>(inout(f_.rotation)), fixed_row<6>(inout(f_.stretch)),
                 fixed_row<6>(inout(f_.stress)), fixed_row<3, 4>(inout(f_.hourglass)),
                 inout(f_.hourglass_work), fixed_row<3, 8>(out(f_.element_force)), out(f_.stable_dt));
    } else {
      steps.loop("dynamics: gradient", in_small_blocks(n), at(GradientKernel<T>{}),
                 fixed_row<8>(in(f_.nodes)), fixed_row<3>(in(f_.coordinates, nodes_of())),
                 fixed_row<3>(in(f_.displacement, nodes_of())), fixed_row<3>(in(f_.velocity, nodes_of())),
                 fixed_row<9>(out(f_.velocity_gradient)), fixed_row<3, 4>(out(f_.mode_rates)));
      steps.loop("dynamics: rotation", in_small_blocks(n), at(RotationKernel<T, U>{}),
                 fixed_row<9>(in(f_.velocity_gradient)), fixed_row<9>(inout(f_.rotation)),
                 fixed_row<6>(inout(f_.stretch)), fixed_row<6>(out(f_.rate)));
      steps.loop("dynamics: force", in_small_blocks(n), at(ForceKernel<T>{material_}),
                 fixed_row<8>(in(f_.nodes)), fixed_row<3>(in(f_.coordinates, nodes_of())),
                 fixed_row<3>(in(f_.displacement, nodes_of())), in(f_.element_mass),
                 fixed_row<3, 4>(in(f_.mode_rates)), fixed_row<9>(in(f_.rotation)), fixed_row<6>(in(f_.rate)),
                 fixed_row<6>(inout(f_.stress)), fixed_row<3, 4>(inout(f_.hourglass)),
                 inout(f_.hourglass_work), fixed_row<3, 8>(out(f_.element_force)), out(f_.stable_dt));
    }
    steps.loop_reduce("dynamics: least step", n, FindSlowest<T>{}, slowest_, in(f_.stable_dt));
  }
  template <class Times>
  void add_nodes(Sequence& steps, const Times& times) {
    steps.loop("dynamics: nodes", launch_bounds<128, 4>(node_count()), by_step([times](int step) {
                 return AtTimes<NodeKernel<T>>{{}, times(step)};
               }),
               in(f_.offsets, halo(0, 1)), in(f_.corners, corners_of_nodes()),
               fixed_row<3, 8>(in(f_.element_force, elements_of())), in(f_.mass), in(f_.fixed),
               fixed_row<3>(inout(f_.velocity)), fixed_row<3>(inout(f_.displacement)), inout(f_.work),
               fixed_row<3>(inout(f_.reaction)));
  }

  Sequence& sequence() {
    if (sequence_) return *sequence_;
    sequence_ = std::make_unique<Sequence>(
        "dynamics", steps_per_pass_ > 0 ? where().steps_per_pass(steps_per_pass_) : where());
    Sequence& steps = *sequence_;
    steps.temporary(f_.stable_dt);
    if (!parameters_.fused) {
      steps.temporary(f_.velocity_gradient);
      steps.temporary(f_.mode_rates);
      steps.temporary(f_.rate);
    }
    if (parameters_.dt > 0) steps.temporary(f_.element_force);
    // Elements see the step that ended; the first ones of a run, the last step of the run before.
    add_elements(steps, [this](int step) {
      return step == 0 ? StepTimes{run_begin_.dt, run_begin_.prev_dt} : StepTimes{run_dt_, run_dt_};
    });
    add_nodes(steps, [this](int step) { return StepTimes{run_dt_, step == 0 ? run_prev_dt_ : run_dt_}; });
    return steps;
  }
  // Buffers of the device, before something else needs them.
  void release() {
    if (sequence_) sequence_->release();
  }
  int planned_steps(int steps) { return sequence().planned(steps).steps_per_pass; }

  // Moves the clock over one step, as SetNextTimeStep does it on the device. False where the step failed.
  bool set_next_step(const SlowestElements<T>& slowest) {
    SetNextTimeStep<Clock*>{&clock_, parameters_.dt, parameters_.safety, parameters_.collapse,
                            parameters_.dt_every}(slowest.dt);
    if (clock_.failure != Failure::None) failed_ = slowest;
    return clock_.failure == Failure::None;
  }

  void advance_given(index_t steps) {
    Sequence& sequence = this->sequence();
    has_forces_ = false;
    for (index_t done = 0; done < steps;) {
      const int count = static_cast<int>(std::min<index_t>(steps - done, most_planned));
      run_begin_ = clock_;
      run_dt_ = parameters_.dt;
      run_prev_dt_ = clock_.dt;
      sequence.begin_with(0);
      note(sequence.run(count));
      for (const SlowestElements<T>& slowest : slowest_)
        if (!set_next_step(slowest)) return;
      done += count;
    }
  }

  // A step of which the number is a multiple of dt_every waits for the least stable step of all elements.
  void advance_stable(index_t steps) {
    Sequence& sequence = this->sequence();
    const int loops = loop_count();
    has_forces_ = true;
    // The elements of the first step.
    run_begin_ = clock_;
    sequence.begin_with(0);
    note(sequence.run_loops(loops - 1));
    if (!set_next_step(slowest_.at(0))) return;
    for (index_t done = 0; done < steps;) {
      // The step that the clock shows waits for its nodes; so many have its length.
      const index_t every = parameters_.dt_every, of_length = every - (clock_.step - 1) % every;
      const index_t count = std::min({of_length, steps - done, index_t{most_planned}});
      run_begin_ = clock_;
      run_dt_ = clock_.dt;
      run_prev_dt_ = clock_.prev_dt;
      const bool is_last = done + count == steps;
      note(sequence.run_loops(static_cast<int>(is_last ? (count - 1) * loops + 1 : count * loops)));
      done += count;
      // Of the elements that were done behind nodes.
      for (const SlowestElements<T>& slowest : slowest_)
        if (!set_next_step(slowest)) return;
    }
  }

  void note(const StreamReport& report) { report_ = report; }

  // ---- arrays, in the order of the mesh

  // Nodes at rest where they are held.
  template <class V>
  void rest(const V& fixed) {
    const auto velocity = f_.velocity.read_write();
    for (index_t n = 0; n < node_count(); ++n)
      for (int d = 0; d < 3; ++d)
        if ((fixed(n) >> d & 1) != 0) velocity(n, d) = 0;
  }
  template <class A, class G>
  static void for_entries(const A& array, const Places& places, const G& call) {
    std::size_t number = 0;
    for (index_t i = 0; i < array.extent(0); ++i) {
      const index_t row = places.empty() ? i : places[static_cast<std::size_t>(i)];
      if constexpr (A::rank == 1) {
        call(number++, row);
      } else if constexpr (A::rank == 2) {
        for (index_t j = 0; j < array.extent(1); ++j) call(number++, row, j);
      } else {
        for (index_t j = 0; j < array.extent(1); ++j)
          for (index_t k = 0; k < array.extent(2); ++k) call(number++, row, j, k);
      }
    }
  }
  template <class V, class A>
  std::vector<V> taken(const A& array, const Places& places) const {
    std::vector<V> values(static_cast<std::size_t>(array.size()));
    const auto view = array.read();
    for_entries(array, places,
                [&](std::size_t n, auto... index) { values[n] = static_cast<V>(view(index...)); });
    return values;
  }
  template <class A, class V>
  void put(const A& array, const Places& places, const std::vector<V>& values) {
    if (values.size() != static_cast<std::size_t>(array.size()))
      fail_size("set: numbers", values.size(), static_cast<std::size_t>(array.size()));
    const auto view = array.write();
    for_entries(array, places, [&](std::size_t n, auto... index) {
      view(index...) = static_cast<typename A::value_type>(values[n]);
    });
  }
  // The array in the order of the mesh, which sums are made in.
  template <class A>
  A in_order(const A& array, const Places& places) const {
    if (places.empty()) return array;
    A result;
    if constexpr (A::rank == 1) result = A(array.label(), array.extent(0), uninitialized);
    else result = A(array.label(), array.extent(0), array.extent(1), uninitialized);
    const auto from = array.read();
    const auto to = result.write();
    for (index_t i = 0; i < array.extent(0); ++i) {
      const index_t row = places[static_cast<std::size_t>(i)];
      if constexpr (A::rank == 1) to(i) = from(row);
      else
        for (index_t j = 0; j < array.extent(1); ++j) to(i, j) = from(row, j);
    }
    return result;
  }
  template <class G>
  void for_each_state_array(const G& call) {
    call(f_.displacement, nodes_), call(f_.velocity, nodes_), call(f_.fixed, nodes_);
    call(f_.work, nodes_), call(f_.reaction, nodes_);
    call(f_.rotation, elements_), call(f_.stretch, elements_), call(f_.stress, elements_);
    call(f_.hourglass, elements_), call(f_.hourglass_work, elements_);
  }

  Vectors node_forces() {
    if (!has_forces_) fail_forces();
    release();
    const Vectors force("node forces", node_count(), 3, uninitialized, main_in(Kind::home()));
    launch(where().named("sum forces"), node_count(), SumForcesKernel{}, in(f_.offsets, halo(0, 1)),
           in(f_.corners, corners_of_nodes()), fixed_row<3, 8>(in(f_.element_force, elements_of())),
           fixed_row<3>(out(force)));
    return force;
  }
  auto cauchy_stress() {
    release();
    const decltype(f_.stress) seen("Cauchy stress", element_count(), 6, uninitialized, main_in(Kind::home()));
    launch(where().named("turn stress"), element_count(), TurnStress<T>{}, fixed_row<9>(in(f_.rotation)),
           fixed_row<6>(in(f_.stress)), fixed_row<6>(out(seen)));
    return seen;
  }

  D device_;
  fem::MeshOnHost mesh_;
  Parameters parameters_;
  Material<T> material_;
  index_t budget_;
  int steps_per_pass_;
  fem::MeshOrder order_;
  fem::MeshRanges ranges_;
  Places nodes_, elements_;            // where nodes and elements are
  std::vector<std::int32_t> offsets_;  // as f_.offsets
  F f_;
  Clock clock_;
  SlowestElements<T> failed_{};
  // Of the run that is under way: the clock at its begin, and the lengths of its steps and the one before.
  Clock run_begin_;
  double run_dt_ = 0, run_prev_dt_ = 0;
  std::vector<SlowestElements<T>> slowest_;
  std::unique_ptr<Sequence> sequence_;
  bool has_forces_ = false;  // those of the elements are with the host
  StreamReport report_;
};

template <class T, class D>
fem::ElementCorners StreamedSimulation<T, D>::corners_of(const fem::MeshOnHost& mesh) {
  fem::ElementCorners corners(static_cast<std::size_t>(mesh.element_count()));
  for (index_t e = 0; e < mesh.element_count(); ++e)
    for (int c = 0; c < 8; ++c)
      corners[static_cast<std::size_t>(e)][static_cast<std::size_t>(c)] = mesh.element_nodes(e, c);
  return corners;
}

template <class T, class D>
void StreamedSimulation<T, D>::make_fields() {
  nodes_ = fem::places_of(order_.node_at);
  elements_ = fem::places_of(order_.element_at);
  const index_t n = node_count(), e = element_count();
  const auto home = main_in(Kind::home());
  const auto make = [&]<class Array>(Array& array, const char* label, index_t rows, auto... extents) {
    array = Array(label, rows, extents..., home);
  };
  make(f_.coordinates, "coordinates", n, 3);
  make(f_.nodes, "element nodes", e, 8);
  make(f_.offsets, "offsets", n + 1);
  make(f_.corners, "corners", 8 * e);
  make(f_.displacement, "displacement", n, 3);
  make(f_.velocity, "velocity", n, 3);
  make(f_.mass, "mass", n);
  make(f_.fixed, "fixed", n);
  make(f_.work, "work", n);
  make(f_.reaction, "reaction", n, 3);
  make(f_.element_mass, "element mass", e);
  make(f_.rotation, "rotation", e, 9);
  make(f_.stretch, "stretch", e, 6);
  make(f_.stress, "stress", e, 6);
  make(f_.hourglass, "hourglass forces", e, 3, 4);
  make(f_.hourglass_work, "hourglass work", e);
  // Of these the host's memory is only touched where they are asked for.
  const auto make_untouched = [&]<class Array>(Array& array, const char* label, index_t rows,
                                               auto... extents) {
    array = Array(label, rows, extents..., uninitialized);
  };
  if (parameters_.dt > 0) make_untouched(f_.element_force, "element forces", e, 3, 8);
  else make(f_.element_force, "element forces", e, 3, 8);
  make_untouched(f_.stable_dt, "stable steps", e);
  if (!parameters_.fused) {
    make_untouched(f_.velocity_gradient, "velocity gradient", e, 9);
    make_untouched(f_.mode_rates, "hourglass rates", e, 3, 4);
    make_untouched(f_.rate, "rate of deformation", e, 6);
  }

  const auto coordinates = f_.coordinates.write();
  for (index_t place = 0; place < n; ++place)
    for (int d = 0; d < 3; ++d) coordinates(place, d) = mesh_.coordinates(order_.node(place), d);
  const auto nodes = f_.nodes.write();
  for (index_t place = 0; place < e; ++place)
    for (int c = 0; c < 8; ++c)
      nodes(place, c) = static_cast<std::int32_t>(node_place(mesh_.element_nodes(order_.element(place), c)));
  // Corners of a node in the order of the mesh's elements, in which forces are summed.
  const auto offsets = f_.offsets.write();
  const auto corners = f_.corners.write();
  std::int32_t next = 0;
  for (index_t place = 0; place < n; ++place) {
    offsets(place) = next;
    offsets_.push_back(next);
    const index_t node = order_.node(place);
    for (std::int32_t k = mesh_.node_offsets(node); k < mesh_.node_offsets(node + 1); ++k) {
      const std::int32_t corner = mesh_.node_corners(k), element = corner / 8;
      corners(next++) =
          8 * (elements_.empty() ? element : elements_[static_cast<std::size_t>(element)]) + corner % 8;
    }
  }
  offsets(n) = next;
  offsets_.push_back(next);
}

template <class T, class D>
void StreamedSimulation<T, D>::begin_fields() {
  Sequence begin("dynamics: begin", where());
  begin.loop("begin elements", element_count(), BeginElementKernel<T>{parameters_.density},
             fixed_row<8>(in(f_.nodes)), fixed_row<3>(in(f_.coordinates, nodes_of())), out(f_.element_mass),
             fixed_row<9>(out(f_.rotation)), fixed_row<6>(out(f_.stretch)));
  begin.loop("node masses", node_count(), NodeMassKernel<T>{}, in(f_.offsets, halo(0, 1)),
             in(f_.corners, corners_of_nodes()), in(f_.element_mass, elements_of()), out(f_.mass));
  begin.run(1);
}

template <class T, class D>
Energies StreamedSimulation<T, D>::energies() {
  release();
  NodeTotals nodes;
  ElementTotals elements;
  launch_reduce(where().named("sum nodes"), node_count(), SumNodes{}, nodes, in(in_order(f_.mass, nodes_)),
                fixed_row<3>(in(in_order(f_.velocity, nodes_))), in(in_order(f_.work, nodes_)),
                fixed_row<3>(in(in_order(f_.reaction, nodes_))));
  launch_reduce(where().named("sum elements"), element_count(),
                SumElements{parameters_.young, parameters_.poisson, parameters_.density}, elements,
                in(in_order(f_.element_mass, elements_)), fixed_row<6>(in(in_order(f_.stress, elements_))),
                in(in_order(f_.hourglass_work, elements_)));
  return energies_of(nodes, elements);
}

template <class T, class D>
std::string StreamedSimulation<T, D>::storage() const {
  return "The fields are in the host's memory, as is the mesh, and go through " + string_from_bytes(budget_) +
         " of the device's in slices; nodes are stored in " +
         (order_.node_at.empty() ? "the mesh's own order" : "the order of reverse Cuthill-McKee") +
         ", where an element's lie within " + std::to_string(order_.width) + " rows." +
         (report_.passes > 0 ? " The last run:\n" + report_.explain() : std::string());
}

}  // namespace strata::inline STRATA_ABI::dynamics
