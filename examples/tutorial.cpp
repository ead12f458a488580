// The program of docs/tutorial.md: a net of springs that hangs and swings, with one kernel over springs and
// one over nodes. It runs on every device of the build and compares what comes out.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <strata/strata.hpp>

using namespace strata;

namespace {

void check(bool good) {
  if (good) return;
  std::puts("tutorial: energy is lost");
  std::exit(1);
}

// clang-format off
constexpr double stiffness = 1000, rest = 0.5, gravity = 10, dt = 0.002;
constexpr index_t width = 40, steps = 1000;

//! [net]
template <class Device>
struct Net {                                          // everything of the problem, in the memory of one device
  MDArray<double, Device, 2> x, v;                    // position and velocity of each node
  MDArray<double, Device, 2> force;                   // of each spring on its first node
  MDArray<std::int32_t, Device, 2> ends;              // the two nodes of each spring
  MDArray<std::int32_t, Device, rank<1>> first;       // the springs of node i:
  MDArray<std::int32_t, Device, rank<1>> springs;     // springs(first(i)) up to springs(first(i + 1) - 1)
};
//! [net]

//! [springs]
struct SpringForces {
  STRATA_FUNCTION void operator()(auto s, auto ends, auto x, auto force) const {
    const index_t a = ends(s, 0), b = ends(s, 1);
    const double dx = x(b, 0) - x(a, 0), dy = x(b, 1) - x(a, 1);
    const double length = std::sqrt(dx * dx + dy * dy);
    const double pull = stiffness * (length - rest) / length;
    force(s, 0) = pull * dx;                          // writes what belongs to spring s
    force(s, 1) = pull * dy;
  }
};
//! [springs]

//! [nodes]
struct MoveNodes {
  index_t held;                                       // the first nodes do not move
  STRATA_FUNCTION void operator()(auto i, auto first, auto springs, auto ends, auto force, auto x, auto v) const {
    double fx = 0, fy = -gravity;
    for (index_t k = first(i); k < first(i + 1); ++k) {
      const index_t s = springs(k);                   // always in the same order: always the same sum
      const double sign = ends(s, 0) == index_t(i) ? 1 : -1;
      fx += sign * force(s, 0);
      fy += sign * force(s, 1);
    }
    const double moves = index_t(i) < held ? 0 : 1;
    v(i, 0) += dt * moves * fx;
    v(i, 1) += dt * moves * fy;
    x(i, 0) += dt * v(i, 0);
    x(i, 1) += dt * v(i, 1);
  }
};
//! [nodes]

//! [energy]
struct NodeEnergy {
  STRATA_FUNCTION void operator()(auto i, auto x, auto v, double& sum) const {
    sum += (v(i, 0) * v(i, 0) + v(i, 1) * v(i, 1)) / 2 + gravity * x(i, 1);
  }
};

struct SpringEnergy {
  STRATA_FUNCTION void operator()(auto s, auto ends, auto x, double& sum) const {
    const index_t a = ends(s, 0), b = ends(s, 1);
    const double longer = std::hypot(x(b, 0) - x(a, 0), x(b, 1) - x(a, 1)) - rest;
    sum += stiffness * longer * longer / 2;
  }
};

template <class Device>
double energy(const Device& device, const Net<Device>& net) {
  double of_nodes = 0, of_springs = 0;
  parallel_reduce("nodes", on(device), net.x.extent(0), with(NodeEnergy{}, net.x, net.v), Sum(of_nodes));
  parallel_reduce("springs", on(device), net.ends.extent(0), with(SpringEnergy{}, net.ends, net.x), Sum(of_springs));
  return of_nodes + of_springs;
}
//! [energy]

//! [upload]
template <class Array, class T>
Array upload(const char* label, const std::vector<T>& values, index_t rows, const typename Array::device_type& device) {
  using OnHost = View<const T, Serial, typename Array::extents_type, LayoutRight>;  // of memory that `values` owns
  const auto array = create<Array>(label, rows, uninitialized, on(device));
  deep_copy(array, OnHost(values.data(), rows));      // to the device's memory, in the device's layout
  return array;
}
//! [upload]

// A square net that hangs on its first row of nodes.
template <class Device>
Net<Device> make_net(const Device& device) {
  std::vector<double> x;
  std::vector<std::int32_t> ends, first{0}, springs;
  std::vector<std::vector<std::int32_t>> of_node(width * width);
  const auto join = [&](index_t a, index_t b) {
    for (const index_t node : {a, b}) {
      of_node[static_cast<std::size_t>(node)].push_back(static_cast<std::int32_t>(ends.size() / 2));
    }
    ends.insert(ends.end(), {static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)});
  };
  for (index_t node = 0; node < width * width; ++node) {
    const index_t row = node / width, column = node % width;
    x.insert(x.end(), {rest * static_cast<double>(column), -rest * static_cast<double>(row)});
    if (column + 1 < width) join(node, node + 1);
    if (row + 1 < width) join(node, node + width);
  }
  for (const auto& list : of_node) {
    springs.insert(springs.end(), list.begin(), list.end());
    first.push_back(static_cast<std::int32_t>(springs.size()));
  }
  const index_t nodes = width * width, count = static_cast<index_t>(ends.size()) / 2;
  Net<Device> net;
  net.x = upload<decltype(net.x)>("x", x, nodes, device);
  net.v = create<decltype(net.v)>("v", nodes, on(device));
  net.force = create<decltype(net.force)>("force", count, on(device));
  net.ends = upload<decltype(net.ends)>("ends", ends, count, device);
  net.first = upload<decltype(net.first)>("first", first, nodes + 1, device);
  net.springs = upload<decltype(net.springs)>("springs", springs, 2 * count, device);
  return net;
}

//! [step]
template <class Device>
void enqueue_step(const Queue<Device>& queue, const Net<Device>& net) {
  parallel_for("spring forces", on(queue), net.ends.extent(0), with(SpringForces{}, net.ends, net.x, net.force));
  parallel_for("move nodes", on(queue), net.x.extent(0),
               with(MoveNodes{width}, net.first, net.springs, net.ends, net.force, net.x, net.v));
}
//! [step]

//! [run]
template <class Device>
std::vector<double> swing(const Device& device) {     // returns where the nodes are in the end
  const Net<Device> net = make_net(device);
  const double before = energy(device, net);
  Queue<Device> queue(device);
  const Graph<Device> step = record(queue, [&] { enqueue_step(queue, net); });
  for (index_t k = 0; k < steps; ++k) step.launch(queue);
  queue.wait();                                       // errors of kernels are thrown here

  const double after = energy(device, net);
  const auto x = create_mirror_and_copy(net.x);
  const index_t nodes = x.extent(0);
  std::printf("%-8s  lowest corner at %.9f, energy %.2f J, at first %.2f J\n", device_name(device), x(nodes - 1, 1), after, before);
  check(std::abs(after - before) < 100);
  std::vector<double> positions;
  for (index_t i = 0; i < nodes; ++i) positions.insert(positions.end(), {x(i, 0), x(i, 1)});
  return positions;
}
//! [run]

//! [compare]
int swing_everywhere() {
  const std::vector<double> expected = swing(Serial{});
  double most = 0;
  for (const std::string& name : device_names()) {    // "Threads", "Cuda:1": what this machine has
    // KernelDevices: `swing` is compiled once for all hosts.
    const auto positions = visit_device<KernelDevices>(name, [](auto device) { return swing(device); });
    for (std::size_t k = 0; k < expected.size(); ++k) most = std::max(most, std::abs(positions[k] - expected[k]));
  }
  std::printf("differences between devices: %.1e at most\n", most);
  return most < 1e-9 ? 0 : 1;
}
//! [compare]
// clang-format on

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, swing_everywhere); }
