// Simulation: Dynamics whose fields of type T are coherent arrays, at a place: on(device), across(devices),
// or streamed(device, budget). Include it in files that nvcc compiles where there is Cuda.
//
// The loops of a step are declared once (step_loops.hpp), as a Sequence. In core nothing waits between
// outputs: a finalize functor sets the clock, in which failures are noted, too. Through slices the host keeps
// the clock (sliced_steps.hpp).
//
// Through slices, nodes and elements are stored in the order of a MeshOrder, elsewhere in that of the mesh,
// in which forces are summed at any place: what others see has the same bits. The mesh is made on the host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/bytes.hpp>
#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/explicit_dynamics/field_values.hpp>
#include <strata/miniapps/explicit_dynamics/make_fields.hpp>
#include <strata/miniapps/explicit_dynamics/sliced_steps.hpp>
#include <strata/miniapps/explicit_dynamics/step_loops.hpp>
#include <strata/miniapps/explicit_dynamics/sums.hpp>

namespace strata::inline STRATA_ABI::dynamics {

struct CopyClock {
  STRATA_FUNCTION void operator()(index_t, auto clocks, auto copy) const { copy() = clocks(0); }
};

template <class T, class Where>
class Simulation final : public Dynamics {
  static constexpr bool is_streamed = goes_through_slices<Where>;
  using D = DeviceOf<Where>;
  using Steps = Sequence<Where>;

 public:
  /// The body at rest and free of stress. Through slices these stay on the device for `steps_per_pass` steps;
  /// 0: as many as the plan finds fastest. OutOfMemory where the fields do not fit.
  Simulation(const Where& where, const fem::MeshOnHost& mesh, const Parameters& parameters,
             int steps_per_pass = 0)
      : where_(where),
        mesh_(mesh),
        parameters_(parameters),
        material_(parameters),
        steps_per_pass_(steps_per_pass),
        body_((check(parameters), make_fields<T, Where>(where, mesh, parameters))),
        regions_(regions_of<Where>(mesh, body_)),
        f_(body_.fields) {
    begin_fields<T, D>(where_, f_, parameters_, regions_);
    if (!is_streamed)
      for (LookInFlight& look : looks_) look.make();
  }

  std::string device() const override { return miniapp::place_text(where_); }
  std::string type() const override { return sizeof(T) == 4 ? "float" : "double"; }
  index_t node_count() const override { return mesh_.node_count(); }
  index_t element_count() const override { return mesh_.element_count(); }
  const Parameters& parameters() const override { return parameters_; }

  void fix(const std::string& selector, std::uint8_t directions) override {
    const auto nodes = fem::select_nodes_on_host(mesh_, selector);
    changing_nodes([&] {
      const auto fixed = f_.fixed.read_write();
      for (const std::int32_t node : nodes) {
        std::uint8_t& bits = fixed(place_of(body_.nodes, node));
        bits = static_cast<std::uint8_t>(bits | directions);
      }
      rest(fixed.view());
    });
  }
  void set_velocity(const std::string& selector, double x, double y, double z) override {
    const auto nodes = fem::select_nodes_on_host(mesh_, selector);
    changing_nodes([&] {
      const auto fixed = f_.fixed.read();
      {
        const auto velocity = f_.velocity.read_write();
        const double v[3] = {x, y, z};
        for (const std::int32_t node : nodes)
          for (int d = 0; d < 3; ++d) velocity(place_of(body_.nodes, node), d) = static_cast<T>(v[d]);
      }
      rest(fixed.view());
    });
  }

  void set(Field field, const std::vector<double>& values) override {
    switch (field) {
      case Field::Displacement:
        return put(f_.displacement, body_.nodes, values);
      case Field::Velocity:
        return put(f_.velocity, body_.nodes, values);
      case Field::Rotation:
        return put(f_.rotation, body_.elements, values);
      case Field::Stretch:
        return put(f_.stretch, body_.elements, values);
      case Field::Stress:
        return put(f_.stress, body_.elements, values);
      case Field::Hourglass:
        return put(f_.hourglass, body_.elements, values);
      default:
        fail_field("set");
    }
  }
  std::vector<double> get(Field field) override {
    switch (field) {
      case Field::Displacement:
        return values_of<double>(f_.displacement, body_.nodes);
      case Field::Velocity:
        return values_of<double>(f_.velocity, body_.nodes);
      case Field::Force:
        return values_of<double>(node_forces(), body_.nodes);
      case Field::Reaction:
        return values_of<double>(f_.reaction, body_.nodes);
      case Field::Mass:
        return values_of<double>(f_.mass, body_.nodes);
      case Field::VelocityGradient:
        if (!has_gradient_ || parameters_.fused) fail_field("get");
        return values_of<double>(f_.velocity_gradient, body_.elements);
      case Field::Rotation:
        return values_of<double>(f_.rotation, body_.elements);
      case Field::Stretch:
        return values_of<double>(f_.stretch, body_.elements);
      case Field::Stress:
        return values_of<double>(f_.stress, body_.elements);
      case Field::Cauchy:
        return values_of<double>(cauchy_stress(), body_.elements);
      case Field::Hourglass:
        return values_of<double>(f_.hourglass, body_.elements);
    }
    fail_field("get");
  }
  std::vector<double> coordinates() override { return values_of<double>(f_.coordinates, body_.nodes); }
  fem::HostMesh mesh() override { return fem::host_mesh_of(mesh_); }

  /// Through slices it returns when the steps are done, or one has failed.
  void advance(index_t steps) override {
    if constexpr (is_streamed) {
      if (clock_.failure != Failure::None || steps == 0) return;
      has_forces_ = parameters_.decides_each_step();
      has_gradient_ = false;
      sliced().advance(clock_, steps, [this] { return stable_dt(); });
    } else {
      for (index_t count = 0; steps > 0; steps -= count) {
        count = std::min<index_t>(steps, most_at_once);
        sequence().run(static_cast<int>(count));
      }
    }
  }
  void wait() override {
    const Clock now = clock();
    if (now.failure == Failure::None) return;
    SlowestElements<T> failed{};
    if constexpr (is_streamed) failed = sliced().failed();
    else failed = slowest_now();
    const std::int64_t id = failed.count > 0 ? mesh_.element_id(body_.order.element(failed.first)) : 0;
    fail_simulation({now, id, failed.count, static_cast<double>(failed.dt), device()});
  }
  index_t steps_at_once() override {
    if constexpr (is_streamed) return sliced().steps_at_once();
    else return 0;
  }
  std::string storage() const override {
    if constexpr (is_streamed)
      return "The fields are in the host's memory, as is the mesh, and go through " +
             string_from_bytes(where_.budget) + " of the device's in slices; nodes are stored in " +
             (body_.order.node_at.empty() ? "the mesh's own order" : "the order of reverse Cuthill-McKee") +
             ", where an element's lie within " + std::to_string(body_.order.width) + " rows." +
             (sliced_ ? sliced_->text() : std::string());
    else return {};
  }

  void impose(const std::vector<double>& displacement, const std::vector<double>& velocity,
              double dt) override {
    put(f_.displacement, body_.nodes, displacement);
    put(f_.velocity, body_.nodes, velocity);
    Clock now = clock();
    now.dt = dt;
    set_clock(now);
    if constexpr (is_streamed) show_clocks(f_.clocks, {{dt, 0}});
    release();
    Steps imposed("dynamics: imposed motion", where_);
    if (is_streamed) imposed.temporary(f_.stable_dt);
    add_elements(imposed, f_, parameters_, regions_);
    imposed.run(1);
    has_forces_ = has_gradient_ = true;
  }

  Clock clock() override {
    if constexpr (is_streamed) {
      return clock_;
    } else {
      miniapp::to_host(f_.clocks);
      return f_.clocks.read()(0);
    }
  }
  Energies energies() override {
    release();
    NodeTotals nodes;
    ElementTotals elements;
    sum(nodes, elements);
    return energies_of(nodes, elements);
  }

  void look() override {
    if constexpr (is_streamed) {
      Dynamics::look();
    } else {
      LookInFlight& look = looks_[looked_++ % 2];
      sum(look.nodes, look.elements);
      launch(on(miniapp::first_device(where_)).named("copy the clock"), 1, CopyClock{},
             in(f_.clocks, everything), out(look.clock, everything));
    }
  }
  Look seen() override {
    if constexpr (is_streamed) {
      return Dynamics::seen();
    } else {
      const LookInFlight& look = looks_[seen_++ % 2];
      return {look.clock.read()(), energies_of(look.nodes.read()(), look.elements.read()())};
    }
  }
  double stable_dt() override {
    release();
    std::vector<SlowestElements<T>> slowest;
    Steps steps("dynamics: stable steps", where_);
    if (is_streamed) steps.temporary(f_.stable_dt);
    steps.loop("stable steps", element_count(), StableStepKernel<T>{material_.modulus},
               fixed_row<8>(in(f_.nodes)), fixed_row<3>(in(f_.coordinates, regions_.nodes_of())),
               fixed_row<3>(in(f_.displacement, regions_.nodes_of())), in(f_.element_mass),
               out(f_.stable_dt));
    steps.loop_reduce("least step", element_count(), FindSlowest<T>{}, slowest, in(f_.stable_dt));
    steps.run(1);
    return static_cast<double>(slowest.at(0).dt);
  }

  std::vector<char> state() override {
    std::vector<char> bytes(sizeof(Clock));
    const Clock now = clock();
    std::memcpy(bytes.data(), &now, sizeof(Clock));
    for_each_state_array([&](const auto& array, const Places& places) {
      using V = typename std::decay_t<decltype(array)>::value_type;
      const std::vector<V> values = values_of<V>(array, places);
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
    Clock then;
    std::memcpy(&then, bytes.data(), sizeof(Clock));
    set_clock(then);
    for_each_state_array([&](const auto& array, const Places& places) {
      using V = typename std::decay_t<decltype(array)>::value_type;
      std::vector<V> values(static_cast<std::size_t>(array.size()));
      std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(V));
      begin += values.size() * sizeof(V);
      put(array, places, values);
    });
  }

  index_t bytes() const override { return bytes_of(f_, !is_streamed || parameters_.decides_each_step()); }
  const StreamReport& report() const override {
    if constexpr (is_streamed)
      if (sliced_) return sliced_->report();
    static const StreamReport none;
    return none;
  }

 private:
  static constexpr index_t most_at_once = index_t{1} << 20;

  // ---- the loops of a step

  Steps& sequence() {
    if (sequence_) return *sequence_;
    sequence_ = std::make_unique<Steps>("dynamics", where_);
    add_elements(*sequence_, f_, parameters_, regions_);
    add_least_step(*sequence_, f_, parameters_);
    add_nodes(*sequence_, f_, regions_);
    return *sequence_;
  }
  SlicedSteps<T, Where>& sliced() {
    if (!sliced_)
      sliced_ =
          std::make_unique<SlicedSteps<T, Where>>(where_, body_, regions_, parameters_, steps_per_pass_);
    return *sliced_;
  }
  // Buffers of the device, before something else needs them.
  void release() {
    if constexpr (is_streamed)
      if (sliced_) sliced_->release();
  }

  // ---- values

  void set_clock(const Clock& clock) {
    if constexpr (is_streamed) {
      clock_ = clock;
    } else {
      f_.clocks.write()(0) = clock;
      miniapp::to_device(f_.clocks, miniapp::first_device(where_));
    }
  }
  template <class A, class V>
  void put(const A& array, const Places& places, const std::vector<V>& values) {
    set_values(array, places, values);
    miniapp::to_device(array, miniapp::first_device(where_));
  }
  // What the host reads and writes of nodes in `change`.
  template <class F>
  void changing_nodes(const F& change) {
    miniapp::to_host(f_.fixed), miniapp::to_host(f_.velocity);
    change();
    const D& device = miniapp::first_device(where_);
    miniapp::to_device(f_.fixed, device), miniapp::to_device(f_.velocity, device);
  }
  SlowestElements<T> slowest_now() {
    SlowestElements<T> slowest{};
    launch_reduce(where_.named("find element"), element_count(), FindSlowest<T>{}, slowest, in(f_.stable_dt));
    return slowest;
  }
  // Nodes at rest where they are held.
  template <class V>
  void rest(const V& fixed) {
    const auto velocity = f_.velocity.read_write();
    for (index_t n = 0; n < node_count(); ++n)
      for (int d = 0; d < 3; ++d)
        if ((fixed(n) >> d & 1) != 0) velocity(n, d) = 0;
  }
  // Sums over the body so far, to variables or coherent values: these do not wait.
  template <class Nodes, class Elements>
  void sum(Nodes& nodes, Elements& elements) {
    launch_reduce(where_.named("sum nodes"), node_count(), SumNodes{}, nodes,
                  in(in_order(f_.mass, body_.nodes)), fixed_row<3>(in(in_order(f_.velocity, body_.nodes))),
                  in(in_order(f_.work, body_.nodes)), fixed_row<3>(in(in_order(f_.reaction, body_.nodes))));
    launch_reduce(where_.named("sum elements"), element_count(),
                  SumElements{parameters_.young, parameters_.poisson, parameters_.density}, elements,
                  in(in_order(f_.element_mass, body_.elements)),
                  fixed_row<6>(in(in_order(f_.stress, body_.elements))),
                  in(in_order(f_.hourglass_work, body_.elements)));
  }
  // What a step reads that an earlier one wrote.
  template <class F>
  void for_each_state_array(const F& call) {
    const Places &nodes = body_.nodes, &elements = body_.elements;
    call(f_.displacement, nodes), call(f_.velocity, nodes), call(f_.fixed, nodes);
    call(f_.work, nodes), call(f_.reaction, nodes);
    call(f_.rotation, elements), call(f_.stretch, elements), call(f_.stress, elements);
    call(f_.hourglass, elements), call(f_.hourglass_work, elements);
  }
  auto node_forces() {
    if (!has_forces_) fail_forces();
    release();
    const CoherentArray<double, rank<2>, LayoutRight> force(
        "node forces", node_count(), 3, uninitialized, home_of(where_), memory_mode_of<Where>(parameters_));
    launch(where_.named("sum forces"), node_count(), SumForcesKernel{}, in(f_.offsets, halo(0, 1)),
           in(f_.corners, regions_.corners_of()),
           fixed_row<3, 8>(in(f_.element_force, regions_.elements_of())), fixed_row<3>(out(force)));
    return force;
  }
  auto cauchy_stress() {
    release();
    const decltype(f_.stress) seen("Cauchy stress", element_count(), 6, uninitialized, home_of(where_),
                                   memory_mode_of<Where>(parameters_));
    launch(where_.named("turn stress"), element_count(), TurnStress<T>{}, fixed_row<9>(in(f_.rotation)),
           fixed_row<6>(in(f_.stress)), fixed_row<6>(out(seen)));
    return seen;
  }

  const Where where_;
  const fem::MeshOnHost mesh_;
  const Parameters parameters_;
  const Material<T> material_;
  const int steps_per_pass_;
  Body<T, D> body_;
  const MeshRegions regions_;
  Fields<T, CoherentArrays<D>>& f_;
  std::unique_ptr<Steps> sequence_;                // in core
  std::unique_ptr<SlicedSteps<T, Where>> sliced_;  // through slices
  // The host reads one while the device computes the next: each is copied.
  struct LookInFlight {
    CoherentArray<NodeTotals, rank<0>> nodes;
    CoherentArray<ElementTotals, rank<0>> elements;
    CoherentArray<Clock, rank<0>> clock;
    void make() {
      nodes = CoherentArray<NodeTotals, rank<0>>("sums of nodes", MemoryMode::Smart);
      elements = CoherentArray<ElementTotals, rank<0>>("sums of elements", MemoryMode::Smart);
      clock = CoherentArray<Clock, rank<0>>("clock", MemoryMode::Smart);
    }
  };
  LookInFlight looks_[2];
  std::size_t looked_ = 0, seen_ = 0;
  // Through slices.
  Clock clock_;
  bool has_forces_ = !is_streamed;    // those of the elements are where they can be read
  bool has_gradient_ = !is_streamed;  // likewise; steps through slices leave none
};

}  // namespace strata::inline STRATA_ABI::dynamics
