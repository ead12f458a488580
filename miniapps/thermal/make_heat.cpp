// Compiled once for each device (strata_add_device_sources).
#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/fem/load_mesh.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>
#include <strata/miniapps/thermal/mesh_parts.hpp>

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
fem::HostMesh mesh_on_host(const fem::Mesh<Arrays>& mesh) {
  return fem::download(mesh);
}

template <class Device>
std::unique_ptr<Heat> make_heat(const Device& device, const HeatRequest& request) {
  using Arrays = ArraysFor<Device>;
  const double start = miniapp::now_seconds();
  const auto mesh = fem::load_mesh<Arrays>(request.mesh, request.refinements, device);
  wait(device);
  HeatSetup setup{Device::name,         request.type, mesh.source, mesh.node_count(),
                  mesh.element_count(), false,        0,           0,
                  mesh.remarks};
  if (Device::count() > 1) {
    setup.device += ':';
    setup.device += std::to_string(device.index());
  }
  setup.shares_host_memory = Device::memory_space::host_accessible;
  setup.mesh_seconds = miniapp::now_seconds() - start;
  const Problem problem = request.problem(mesh.block_names, mesh.block_ids);
  if (request.type == "float") return make_heat_of<float, Device>(mesh, problem, request.solve, setup);
  return make_heat_of<double, Device>(mesh, problem, request.solve, setup);
}

using Device = STRATA_MINIAPP_DEVICE;
using Arrays = ArraysFor<Device>;
template MatrixGraph<Arrays> matrix_graph(const fem::Mesh<Arrays>&);
template fem::NodeList<Arrays> selected_nodes(const fem::Mesh<Arrays>&, const std::string&);
template fem::HostMesh mesh_on_host(const fem::Mesh<Arrays>&);
template std::unique_ptr<Heat> make_heat(const Device&, const HeatRequest&);

}  // namespace strata::inline STRATA_ABI::thermal
