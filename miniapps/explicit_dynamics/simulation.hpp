// Simulation: Dynamics on a device, with fields of type T. Include it in files that nvcc compiles where there
// is Cuda.
//
// A step is recorded once as a graph, and so is a batch of them; advance() enqueues these. Nothing waits
// between outputs: time steps are set by a finalize functor, failures are noted in the clock, on the device.
#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <strata/devices/graph.hpp>
#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/explicit_dynamics/host_rows.hpp>
#include <strata/miniapps/explicit_dynamics/make_fields.hpp>
#include <strata/miniapps/explicit_dynamics/simulation_errors.hpp>
#include <strata/miniapps/explicit_dynamics/step_launches.hpp>
#include <strata/miniapps/explicit_dynamics/sums.hpp>
#include <strata/miniapps/fem/selector.hpp>
#include <strata/miniapps/fem/upload.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template <class T, class D>
class Simulation final : public Dynamics {
  using Arrays = DynamicsArrays<D>;
  using DeviceMesh = fem::Mesh<fem::PlainArrays<D>>;

 public:
  /// The body at rest and free of stress.
  Simulation(const DeviceMesh& mesh, const Parameters& parameters)
      : mesh_(mesh), parameters_(parameters), material_(parameters), queue_(mesh.device) {
    check(parameters);
    follow_default_queue();  // which makes the mesh
    f_ = make_fields<T>(mesh, queue_, parameters.density, parameters.fused);
    for (LookInFlight& look : looks_) {
      const auto here = on(array_device(mesh.device));
      look.nodes = create<decltype(look.nodes)>("sums of nodes", here);
      look.elements = create<decltype(look.elements)>("sums of elements", here);
      look.clock = create<decltype(look.clock)>("clock", here);
    }
  }

  std::string device() const override { return miniapp::device_text(mesh_.device); }
  std::string type() const override { return sizeof(T) == 4 ? "float" : "double"; }
  index_t node_count() const override { return mesh_.node_count(); }
  index_t element_count() const override { return mesh_.element_count(); }
  const Parameters& parameters() const override { return parameters_; }

  void fix(const std::string& selector, std::uint8_t directions) override {
    const auto nodes = fem::select_nodes(mesh_, selector);
    follow_default_queue();
    parallel_for("fix nodes", on(queue_), nodes.extent(0), with(FixKernel<T>{directions}, nodes, f_.fixed));
    parallel_for("stop fixed nodes", on(queue_), node_count(), with(RestKernel<T>{}, f_.fixed, f_.velocity));
    queue_.wait();
  }
  void set_velocity(const std::string& selector, double x, double y, double z) override {
    const auto nodes = fem::select_nodes(mesh_, selector);
    follow_default_queue();
    const SetVelocityKernel<T> kernel{static_cast<T>(x), static_cast<T>(y), static_cast<T>(z)};
    parallel_for("set velocity", on(queue_), nodes.extent(0), with(kernel, nodes, f_.velocity));
    parallel_for("stop fixed nodes", on(queue_), node_count(), with(RestKernel<T>{}, f_.fixed, f_.velocity));
    queue_.wait();
  }

  void set(Field field, const std::vector<double>& values) override {
    queue_.wait();
    switch (field) {
      case Field::Displacement:
        return upload(f_.displacement, values);
      case Field::Velocity:
        return upload(f_.velocity, values);
      case Field::Rotation:
        return upload(f_.rotation, values);
      case Field::Stretch:
        return upload(f_.stretch, values);
      case Field::Stress:
        return upload(f_.stress, values);
      case Field::Hourglass:
        return upload(f_.hourglass, values);
      default:
        fail_field("set");
    }
  }
  std::vector<double> get(Field field) override {
    queue_.wait();
    switch (field) {
      case Field::Displacement:
        return download(f_.displacement);
      case Field::Velocity:
        return download(f_.velocity);
      case Field::Force:
        return download(node_forces());
      case Field::Reaction:
        return download(f_.reaction);
      case Field::Mass:
        return download(f_.mass);
      case Field::VelocityGradient:
        return download(f_.velocity_gradient);
      case Field::Rotation:
        return download(f_.rotation);
      case Field::Stretch:
        return download(f_.stretch);
      case Field::Stress:
        return download(f_.stress);
      case Field::Cauchy:
        return download(cauchy_stress());
      case Field::Hourglass:
        return download(f_.hourglass);
    }
    fail_field("get");
  }
  std::vector<double> coordinates() override { return download(f_.coordinates); }
  fem::HostMesh mesh() override { return fem::download(mesh_); }

  void advance(index_t steps) override {
    if (!step_) {
      step_ = record(queue_, [&] { launch_step(on(queue_), f_, parameters_); });
      batch_ = record(queue_, [&] {
        for (index_t k = 0; k < batch_size; ++k) launch_step(on(queue_), f_, parameters_);
      });
    }
    for (; steps >= batch_size; steps -= batch_size) batch_.launch(queue_);
    for (; steps > 0; --steps) step_.launch(queue_);
  }
  void wait() override {
    queue_.wait();
    const Clock now = clock();
    if (now.failure != Failure::None) fail(now);
  }
  void impose(const std::vector<double>& displacement, const std::vector<double>& velocity,
              double dt) override {
    queue_.wait();
    upload(f_.displacement, displacement);
    upload(f_.velocity, velocity);
    Clock now = clock();
    now.dt = dt;
    deep_copy(f_.clock, now);
    launch_elements(on(queue_), f_, parameters_);
    queue_.wait();
  }

  Clock clock() override {
    queue_.wait();
    Clock now;
    deep_copy(now, f_.clock);
    return now;
  }
  Energies energies() override {
    NodeTotals nodes;
    ElementTotals elements;
    sum(nodes, elements);
    queue_.wait();
    return energies_of(nodes, elements);
  }

  void look() override {
    LookInFlight& look = looks_[looked_++ % 2];
    sum(look.nodes, look.elements);
    deep_copy(queue_, look.clock, f_.clock);
    look.taken = queue_.record();
  }
  // The copies to the host go by other queues: this one may be full of steps.
  Look seen() override {
    LookInFlight& look = looks_[seen_++ % 2];
    look.taken.wait();
    Clock now;
    NodeTotals nodes;
    ElementTotals elements;
    deep_copy(now, look.clock);
    deep_copy(nodes, look.nodes);
    deep_copy(elements, look.elements);
    return {now, energies_of(nodes, elements)};
  }
  double stable_dt() override {
    T least = 0;
    parallel_for("stable steps", on(queue_), element_count(),
                 with(StableStepKernel<T>{material_.modulus}, f_.nodes, f_.coordinates, f_.displacement,
                      f_.element_mass, f_.stable_dt));
    parallel_reduce("least step", on(queue_), element_count(), with(LeastStep<T>{}, f_.stable_dt), least);
    return static_cast<double>(least);
  }

  std::vector<char> state() override {
    queue_.wait();
    std::vector<char> bytes(sizeof(Clock));
    const Clock now = clock();
    std::memcpy(bytes.data(), &now, sizeof(Clock));
    for_each_state_array([&](const auto& array) {
      const auto values = host_values(array);
      const std::size_t begin = bytes.size(), size = values.size() * sizeof(values[0]);
      bytes.resize(begin + size);
      std::memcpy(bytes.data() + begin, values.data(), size);
    });
    return bytes;
  }
  void restore(const std::vector<char>& bytes) override {
    queue_.wait();
    std::size_t wanted = sizeof(Clock), begin = sizeof(Clock);
    for_each_state_array([&](const auto& array) {
      wanted +=
          static_cast<std::size_t>(array.size()) * sizeof(typename std::decay_t<decltype(array)>::value_type);
    });
    if (bytes.size() != wanted) fail_size("restore: bytes", bytes.size(), wanted);
    Clock then;
    std::memcpy(&then, bytes.data(), sizeof(Clock));
    deep_copy(f_.clock, then);
    for_each_state_array([&](const auto& array) {
      std::vector<typename std::decay_t<decltype(array)>::value_type> values(
          static_cast<std::size_t>(array.size()));
      std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(values[0]));
      begin += values.size() * sizeof(values[0]);
      set_rows(array, values);
    });
  }

 private:
  // Steps of a graph: enough that enqueueing graphs costs little.
  static constexpr index_t batch_size = 16;

  // What is enqueued from now on starts after what meshes have on the default queue.
  void follow_default_queue() { queue_.wait_for(default_queue(mesh_.device).record()); }

  // Sums over the body so far, to variables or Values: these do not wait.
  template <class Nodes, class Elements>
  void sum(Nodes& nodes, Elements& elements) {
    parallel_reduce("sum nodes", on(queue_), node_count(),
                    with(SumNodes{}, f_.mass, f_.velocity, f_.work, f_.reaction), nodes);
    parallel_reduce("sum elements", on(queue_), element_count(),
                    with(SumElements{parameters_.young, parameters_.poisson, parameters_.density},
                         f_.element_mass, f_.stress, f_.hourglass_work),
                    elements);
  }
  // What a step reads that an earlier one wrote.
  template <class F>
  void for_each_state_array(const F& call) {
    call(f_.displacement), call(f_.velocity), call(f_.fixed), call(f_.work), call(f_.reaction);
    call(f_.rotation), call(f_.stretch), call(f_.stress), call(f_.hourglass), call(f_.hourglass_work);
  }

  auto node_forces() {
    const auto force = created<typename Arrays::template node_array<double, 3>>("node forces", node_count(),
                                                                                queue_, mesh_.device);
    parallel_for("sum forces", on(queue_), node_count(),
                 with(SumForcesKernel{}, f_.offsets, f_.corners, f_.element_force, force));
    queue_.wait();
    return force;
  }
  auto cauchy_stress() {
    const auto seen = created<decltype(f_.stress)>("Cauchy stress", element_count(), queue_, mesh_.device);
    parallel_for("turn stress", on(queue_), element_count(),
                 with(TurnStress<T>{}, f_.rotation, f_.stress, seen));
    queue_.wait();
    return seen;
  }

  [[noreturn]] void fail(const Clock& now) {
    T least = 0;
    FoundElements found;
    parallel_reduce("least step", on(queue_), element_count(), with(LeastStep<T>{}, f_.stable_dt), least);
    const double limit = now.failure == Failure::Volume ? 0 : static_cast<double>(least);
    parallel_reduce("find element", on(queue_), element_count(), with(FindSlowElements{limit}, f_.stable_dt),
                    found);
    queue_.wait();
    const std::int64_t id = found.count > 0 ? mesh_.element_id(found.first) : 0;
    fail_simulation({now, id, found.count, static_cast<double>(least), device()});
  }

  DeviceMesh mesh_;
  Parameters parameters_;
  Material<T> material_;
  Queue<D> queue_;
  Fields<T, Arrays> f_;
  Graph<D> step_, batch_;
  struct LookInFlight {
    typename Arrays::template value<NodeTotals> nodes;
    typename Arrays::template value<ElementTotals> elements;
    typename Arrays::template value<Clock> clock;
    Event taken;
  };
  LookInFlight looks_[2];
  std::size_t looked_ = 0, seen_ = 0;
};

}  // namespace strata::inline STRATA_ABI::dynamics
