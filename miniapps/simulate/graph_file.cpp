// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>

#include <strata/miniapps/simulate/graph_file.hpp>
#include <strata/miniapps/simulate/json_file.hpp>
#include <strata/miniapps/simulate/machine_file.hpp>

namespace strata::inline STRATA_ABI::simulate {

using nlohmann::json;

namespace {

int id_of(const std::map<std::string, int>& ids, const std::string& name, const std::string& where) {
  const auto id = ids.find(name);
  if (id == ids.end()) throw miniapp::UsageError(where + " names \"" + name + "\", which is not there");
  return id->second;
}

struct AccessKey {
  const char* name;
  AccessMode mode;
  bool commutes;
};
// For work of 0 that took seconds: any rate then takes no time but the one that these make.
constexpr double hardly_any_work = 1e-100;

constexpr AccessKey access_keys[] = {{"in", AccessMode::In, false},
                                     {"out", AccessMode::Out, false},
                                     {"inout", AccessMode::InOut, false},
                                     {"commute", AccessMode::InOut, true}};

}  // namespace

tasks::TaskDag read_graph(const std::string& path, MeasuredKernels* measured) {
  const json content = read_json(path);
  const std::string where = "\"" + path + "\"";
  tasks::TaskDag graph;
  std::map<std::string, int> arrays, known;
  for (const json& entry : value_of<json>(content, "arrays", where)) {
    const std::string name = value_of<std::string>(entry, "name", "an array of " + where);
    const std::string what = "the array \"" + name + "\" of " + where;
    const json bytes = value_of<json>(entry, "bytes", what);
    if (!arrays.emplace(name, graph.num_arrays()).second)
      throw miniapp::UsageError(what + " is there twice: arrays have names of their own");
    graph.add_array(name, bytes.is_string() ? memory_from_string(bytes.get<std::string>())
                                            : value_of<index_t>(entry, "bytes", what));
  }
  const json entries = value_of<json>(content, "tasks", where);
  for (const json& entry : entries) {
    const std::string name = value_of<std::string>(entry, "name", "a task of " + where);
    const std::string what = "the task \"" + name + "\" of " + where;
    std::vector<tasks::TaskAccess> accesses;
    for (const AccessKey& key : access_keys)
      for (const std::string& array : value_of<std::vector<std::string>>(entry, key.name, what, {}))
        accesses.push_back({id_of(arrays, array, what), key.mode, key.commutes});
    if (!known.emplace(name, graph.num_tasks()).second)
      throw miniapp::UsageError(what + " is there twice: tasks have names of their own");
    double work = value_of<double>(entry, "work", what);
    std::string kernel = value_of<std::string>(entry, "kernel", what, name);
    if (measured != nullptr && entry.contains("seconds")) {
      if (work == 0) work = hardly_any_work;
      const MeasuredKernel its{kernel, work, value_of<std::map<std::string, double>>(entry, "seconds", what)};
      for (const auto& [kind, seconds] : its.seconds)
        if (!(seconds > 0 && std::isfinite(seconds)))
          throw miniapp::UsageError(what + " took " + entry["seconds"].dump() +
                                    " s: times of tasks are more than 0");
      kernel += " of " + entry["work"].dump() + " in " + entry["seconds"].dump();
      measured->emplace(kernel, its);
    }
    graph.add_task(name, kernel, work, accesses);
  }
  for (const json& entry : entries) {
    const std::string name = value_of<std::string>(entry, "name", "a task");
    for (const std::string& before :
         value_of<std::vector<std::string>>(entry, "after", "the task \"" + name + "\" of " + where, {}))
      graph.add_dependency(id_of(known, before, "the task \"" + name + "\" of " + where), known.at(name));
  }
  graph.require_acyclic();
  return graph;
}

}  // namespace strata::inline STRATA_ABI::simulate
