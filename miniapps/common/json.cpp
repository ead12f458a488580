// Everything that needs the JSON library, in the one file that pays for it.
// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include <strata/algorithms/build_info.hpp>
#include <strata/miniapps/common/config_file.hpp>
#include <strata/miniapps/common/report.hpp>

namespace strata::inline STRATA_ABI::miniapp {

namespace {

using Json = nlohmann::ordered_json;

std::string scalar_text(const Json& value, const std::string& path, const std::string& name) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  throw UsageError(path + ": \"" + name + "\" is neither text, a number, true or false, nor a list of such");
}

Json json_of(const OptionEntry& entry) {
  if (const auto* const* text = std::get_if<std::string*>(&entry.target)) return **text;
  if (const auto* const* number = std::get_if<double*>(&entry.target)) return **number;
  if (const auto* const* integer = std::get_if<index_t*>(&entry.target)) return **integer;
  if (const auto* const* flag = std::get_if<bool*>(&entry.target)) return **flag;
  return *std::get<std::vector<std::string>*>(entry.target);
}

Json json_of(const std::vector<Figure>& figures) {
  Json list = Json::array();
  for (const Figure& figure : figures)
    list.push_back({{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}});
  return list;
}

Json json_of(const RunReport& run) {
  Json json;
  json["device"] = run.device;
  json["type"] = run.type;
  json["mesh"] = {{"source", run.mesh.source},
                  {"nodes", run.mesh.nodes},
                  {"elements", run.mesh.elements},
                  {"refinements", run.mesh.refinements}};
  json["phases"] = Json::array();
  for (const Phase& phase : run.phases)
    json["phases"].push_back({{"name", phase.name}, {"seconds", phase.seconds}});
  json["results"] = json_of(run.results);
  json["figures"] = json_of(run.figures);
  json["checks"] = Json::array();
  for (const Check& check : run.checks)
    json["checks"].push_back({{"name", check.name},
                              {"value", check.value},
                              {"expected", check.expected},
                              {"tolerance", check.tolerance},
                              {"passed", check.passed}});
  json["notes"] = run.notes;
  json["files"] = run.files;
  if (!run.error.empty()) json["error"] = run.error;
  return json;
}

// Text of the user that is not UTF-8 becomes U+FFFD, not an error.
std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::vector<ConfigValue> read_config_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream contents;
  if (!file || !(contents << file.rdbuf()))
    throw UsageError(path + ": the file of parameters cannot be read");
  Json json;
  try {
    json = Json::parse(contents.str());
  } catch (const Json::exception& error) {
    throw UsageError(path + ": no JSON: " + error.what());
  }
  // A report has its parameters as a member.
  if (json.is_object() && json.contains("parameters") && json["parameters"].is_object())
    json = Json(json["parameters"]);
  if (!json.is_object())
    throw UsageError(path + ": parameters are an object, {\"mesh\": \"box:8x8x8\", ...}");
  std::vector<ConfigValue> values;
  for (const auto& [name, value] : json.items()) {
    if (name == "comment") continue;
    ConfigValue given{name, {}};
    if (value.is_array())
      for (const Json& element : value) given.texts.push_back(scalar_text(element, path, name));
    else given.texts.push_back(scalar_text(value, path, name));
    values.push_back(std::move(given));
  }
  return values;
}

std::string config_text(const std::vector<OptionEntry>& table) {
  Json json = Json::object();
  for (const OptionEntry& entry : table) json[entry.name] = json_of(entry);
  return dumped(json);
}

std::string Report::to_json() const {
  const BuildInfo& build = build_info();
  Json json;
  json["schema"] = report_schema;
  json["program"] = program_;
  json["version"] = build.version;
  json["commit"] = build.commit;
  json["compiler"] = build.compiler;
  json["machine"] = machine_text();
  json["parameters"] = Json::parse(parameters_);
  json["passed"] = passed();
  json["runs"] = Json::array();
  for (const RunReport& run : runs_) json["runs"].push_back(json_of(run));
  return dumped(json);
}

}  // namespace strata::inline STRATA_ABI::miniapp
