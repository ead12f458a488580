// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/host/control_group.hpp>
#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/common/settings.hpp>
#include <strata/miniapps/fem/gather_faces.hpp>
#include <strata/miniapps/fem/load_mesh.hpp>
#include <strata/miniapps/thermal/arrays_for.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>
#include <strata/miniapps/thermal/mesh_parts.hpp>
#include <strata/miniapps/thermal/placed_mesh.hpp>
#include <strata/miniapps/thermal/system.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Arrays>
MatrixGraph<Arrays> matrix_graph(const fem::Mesh<Arrays>& mesh) {
  const auto graph = fem::node_graph(mesh);
  return {graph, fem::element_slots(mesh, graph)};
}

template <class Arrays>
fem::NodeList<Arrays> selected_nodes(const fem::Mesh<Arrays>& mesh, const std::string& selector) {
  return fem::select_nodes(mesh, selector);
}

template <class Arrays>
fem::NodeAreas selected_areas(const fem::Mesh<Arrays>& mesh, const std::string& selector) {
  return fem::node_areas(fem::faces_on_host(mesh, fem::select_faces(mesh, selector)));
}

template <class Arrays>
fem::HostMesh mesh_on_host(const fem::Mesh<Arrays>& mesh) {
  return fem::download(mesh);
}

namespace {

template <class Device, class Mesh>
HeatSetup setup_of(const Device& device, const HeatRequest& request, const Mesh& mesh, double start) {
  HeatSetup setup;
  setup.device = miniapp::device_text(device);
  setup.type = request.type;
  setup.mesh = mesh.source;
  setup.nodes = mesh.node_count();
  setup.elements = mesh.element_count();
  setup.remarks = mesh.remarks;
  setup.shares_host_memory = Device::memory_space::host_accessible;
  setup.mesh_seconds = miniapp::now_seconds() - start;
  return setup;
}

// Of a host the memory is what its control group allows: OutOfMemory where a problem in core needs more than
// is left of it, as a process that takes more is killed.
template <class Mesh>
void require_allowed_memory(const Mesh& mesh, index_t number_bytes) {
  const index_t most = strata::detail::most_memory(), taken = strata::detail::resident_memory();
  // What each element gives, and where to; rows of 27 entries, and a dozen numbers of nodes.
  const index_t need = mesh.element_count() * (72 * number_bytes + 64 * 4) +
                       mesh.node_count() * (27 * (number_bytes + 4) + 12 * number_bytes);
  if (most > 0 && taken + need > most)
    throw OutOfMemory(
        "the problem needs " + string_from_bytes(need) + " of memory, beside " + string_from_bytes(taken) +
        " that are taken, and the control group of this process allows it " + string_from_bytes(most));
}

template <class T, class Where, class Mesh>
std::unique_ptr<Heat> make_at(const Where& where, const Mesh& mesh, const Problem& problem,
                              const HeatRequest& request, HeatSetup setup, index_t vectors = 0) {
  setup.graph_seconds = -miniapp::now_seconds();
  return make_heat_of<T>(make_system<T>(where, mesh, problem, request.solve, vectors), problem, request.solve,
                         setup);
}

// make(number) of the type of the fields.
template <class Make>
std::unique_ptr<Heat> make_of_type(const HeatRequest& request, const Make& make) {
  return request.type == "float" ? make(float()) : make(double());
}

// The bytes on the device of numbers of nodes: fields, workspace of the solver, x and the result of rows.
template <class T, class Device>
index_t vector_bytes(index_t nodes, const Problem& problem, const SolveSettings& settings) {
  constexpr index_t granule = 512;  // of memory
  const auto rounded = [](index_t bytes) { return (bytes + granule - 1) / granule * granule; };
  using Solver = linear::ConjugateGradients<linear::CrsMatrix<T, Device>>;
  const int vectors =
      HeatFields<Device, T>::field_count(problem) + Solver::vector_count(cg_options(settings)) + 2;
  return vectors * rounded(nodes * static_cast<index_t>(sizeof(T))) + rounded(4 * nodes) +
         rounded(static_cast<index_t>(problem.materials.size() * material_columns * sizeof(T))) + 5 * granule;
}

template <class Device>
std::unique_ptr<Heat> make_in_core(const Device& device, const HeatRequest& request) {
  const double start = miniapp::now_seconds();
  const auto mesh = fem::load_mesh<ArraysFor<Device>>(request.mesh, request.refinements, device);
  wait(device);
  if (Device::memory_space::host_accessible && placing_lack(request.solve).empty())
    require_allowed_memory(mesh, request.type == "float" ? 4 : 8);
  const HeatSetup setup = setup_of(device, request, mesh, start);
  const Problem problem = request.problem(mesh.block_names, mesh.block_ids);
  return make_of_type(request, [&](auto number) {
    return make_at<decltype(number)>(on(Queue<Device>(device)), mesh, problem, request, setup);
  });
}

// A mesh in parts or slices, and make(mesh, setup) of it; `what` is how the user asked for it.
template <class Device, class Make>
std::unique_ptr<Heat> make_placed(const Device& device, const HeatRequest& request, const char* what,
                                  bool keep_order, const Make& make) {
  if (const std::string lack = placing_lack(request.solve); !lack.empty())
    throw SettingError(std::string(what) + ": " + lack);
  const double start = miniapp::now_seconds();
  const PlacedMesh mesh = make_placed_mesh(
      request.mesh, request.refinements,
      {miniapp::memory_mode_for<Device>(request.memory), miniapp::any_main_for(device), keep_order});
  HeatSetup setup = setup_of(device, request, mesh.mesh, start);
  if (request.memory) describe_memory(mesh, setup);
  return make(mesh, std::move(setup), request.problem(mesh.mesh.block_names, mesh.mesh.block_ids));
}

// `reason` is why, where nobody asked for it.
template <class Device>
std::unique_ptr<Heat> make_streamed(const Device& device, const HeatRequest& request, index_t limit,
                                    const std::string& reason) {
  return make_placed(device, request, "a memory limit", false,
                     [&](const PlacedMesh& mesh, HeatSetup setup, const Problem& problem) {
                       if (!reason.empty()) setup.remarks.push_back(reason);
                       return make_of_type(request, [&](auto number) {
                         using T = decltype(number);
                         const index_t vectors = vector_bytes<T, Device>(mesh.nodes, problem, request.solve);
                         describe_streaming(mesh, limit, vectors, static_cast<index_t>(sizeof(T)), setup);
                         return make_at<T>(Streamed<On<Device>>{on(device), limit - vectors, {}}, mesh,
                                           problem, request, setup, vectors);
                       });
                     });
}

template <class Device>
std::unique_ptr<Heat> make_split(const Device& device, const HeatRequest& request) {
  // One is the one that was named.
  const std::vector<Device> devices =
      request.devices > 1 ? miniapp::first_devices(device, request.devices) : std::vector<Device>{device};
  return make_placed(
      device, request, request.devices > 1 ? "several devices" : "a memory mode", true,
      [&](const PlacedMesh& mesh, HeatSetup setup, const Problem& problem) {
        if (request.devices > 1) {
          setup.device = miniapp::place_text(across(devices));
          describe_parts(mesh, setup);
        }
        mesh.for_each_array([&](const auto& array) { miniapp::to_device(array, devices.front()); });
        const auto where = across(devices).weighted(part_sizes(mesh, devices.size()));
        return make_of_type(request, [&](auto number) {
          return make_at<decltype(number)>(where, mesh, problem, request, setup);
        });
      });
}

}  // namespace

template <class Device>
std::unique_ptr<Heat> make_heat(const Device& device, const HeatRequest& request) {
  if (request.devices > 1) return make_split(device, request);
  if (request.memory_limit > 0) return make_streamed(device, request, request.memory_limit, "");
  if (request.memory) return make_split(device, request);  // plain arrays have no mode
  std::size_t capacity = 0, used = 0;
  index_t limit = 0;
  try {
    return make_in_core(device, request);
  } catch (const OutOfMemory&) {
    if (!placing_lack(request.solve).empty()) throw;
    wait(device);
    if constexpr (Device::memory_space::host_accessible) {
      // Slices need half, as nothing is kept of what elements give. Of that a sixth is for numbers of nodes
      // and the slices, which elements and the matrix lie beside.
      capacity = static_cast<std::size_t>(strata::detail::limited_memory());
      used = static_cast<std::size_t>(strata::detail::resident_memory());
      limit = miniapp::memory_left(capacity, used) / 6;
    } else {
      capacity = device.backend().capacity();
      used = device.backend().used();
      limit = miniapp::memory_left(capacity, used);
    }
    if (limit <= 0) throw;
  }
  return make_streamed(device, request, limit, does_not_fit(device_name(device), capacity, used, limit));
}

using Device = STRATA_MINIAPP_DEVICE;
using Arrays = ArraysFor<Device>;
template MatrixGraph<Arrays> matrix_graph(const fem::Mesh<Arrays>&);
template fem::NodeList<Arrays> selected_nodes(const fem::Mesh<Arrays>&, const std::string&);
template fem::NodeAreas selected_areas(const fem::Mesh<Arrays>&, const std::string&);
template fem::HostMesh mesh_on_host(const fem::Mesh<Arrays>&);
template std::unique_ptr<Heat> make_heat(const Device&, const HeatRequest&);

}  // namespace strata::inline STRATA_ABI::thermal
