// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <vector>

#include <dlfcn.h>

#include <strata/core/device_fence.hpp>
#include <strata/core/log.hpp>
#include <strata/core/profiling/kokkos_tools_library.hpp>

namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools {

namespace {

// The number of the device is ignored, as Kokkos does: everything is waited for.
void fence_for_tool(std::uint32_t) {
  fence_devices("Kokkos::Tools::Experimental::Impl::tool_invoked_fence: Tool Requested Fence");
}

Callbacks find_callbacks(void* handle) {
  Callbacks found;
#define STRATA_FIND(type, name) found.name = reinterpret_cast<type>(dlsym(handle, "kokkosp_" #name));
  STRATA_KOKKOS_TOOLS_CALLBACKS(STRATA_FIND)
#undef STRATA_FIND
  return found;
}

bool has_any(const Callbacks& callbacks) {
#define STRATA_HAS(type, name) \
  if (callbacks.name != nullptr) return true;
  STRATA_KOKKOS_TOOLS_CALLBACKS(STRATA_HAS)
#undef STRATA_HAS
  return false;
}

// Called once. Never freed: a tool may keep the pointers.
void pass_arguments(const Callbacks& callbacks, const std::string& arguments) {
  static auto* const words = new std::vector<std::string>{program_invocation_name};
  std::istringstream text(arguments);
  for (std::string word; text >> word;) words->push_back(word);
  static auto* const pointers = new std::vector<char*>;
  for (std::string& word : *words) pointers->push_back(word.data());
  pointers->push_back(nullptr);
  callbacks.parse_args(static_cast<int>(words->size()), pointers->data());
}

}  // namespace

std::optional<Library> load(const std::string& libraries, const std::string& arguments,
                            const std::string& origin) {
  // Filters read the variable themselves and open what follows them.
  const std::string path = libraries.substr(0, libraries.find(';'));
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    detail::log_message(LogLevel::Warning,
                        "the tools library \"%s\" (from %s) cannot be loaded, the program goes on "
                        "without it: %s",
                        path.c_str(), origin.c_str(), reason ? reason : "no reason given");
    return std::nullopt;
  }
  Library library{find_callbacks(handle)};
  const Callbacks& call = library.callbacks;
  if (!has_any(call))
    detail::log_message(LogLevel::Warning,
                        "the tools library \"%s\" (from %s) has no function of Kokkos Tools "
                        "(kokkosp_...): it will see nothing",
                        path.c_str(), origin.c_str());
  if (call.init_library) call.init_library(0, interface_version, 0, nullptr);
  ToolSettings wanted{true, {}};
  if (call.request_tool_settings) call.request_tool_settings(1, &wanted);
  library.fences = wanted.requires_global_fencing;
  if (call.provide_tool_programming_interface)
    call.provide_tool_programming_interface(1, ToolProgrammingInterface{fence_for_tool, {}});
  if (call.parse_args) pass_arguments(call, arguments);
  return library;
}

void print_help(const Library& library) {
  if (library.callbacks.print_help) library.callbacks.print_help(program_invocation_name);
}

}  // namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools
