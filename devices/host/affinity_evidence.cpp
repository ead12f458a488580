// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <utility>

#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/affinity_evidence.hpp>

#if defined(__linux__)
#include <dlfcn.h>
#include <unistd.h>
#endif

namespace strata::inline STRATA_ABI::detail {

namespace {

bool is_wider(const std::vector<int>& wide, const std::vector<int>& narrow) {
  return wide.size() > narrow.size() && std::includes(wide.begin(), wide.end(), narrow.begin(), narrow.end());
}

std::string in_words(const AffinityEvidence& evidence, std::size_t known) {
  return evidence.variable + " is set, and the first thread is bound to " +
         std::to_string(evidence.now.size()) + " of at least " + std::to_string(known) + " processors; ";
}

}  // namespace

ProcessAffinity decide_affinity(const AffinityEvidence& evidence) {
  const auto& [at_start, now, parent, variable, openmp_processors, places] = evidence;
  if (!at_start.empty()) return {at_start, ""};
  if (variable.empty() || now.empty()) return {now, ""};
  const auto found = static_cast<std::size_t>(openmp_processors);
  if (found == 0) {
    if (!is_wider(parent, now)) return {now, ""};
    return {now,
            in_words(evidence, parent.size()) +
                "strata keeps to these. If they are not meant for the whole process, unset the variable"};
  }
  if (found <= now.size()) return {now, ""};
  for (const std::vector<int>& all : {places, parent})
    if (all.size() == found && is_wider(all, now)) return {all, ""};
  std::vector<int> some;
  std::set_union(places.begin(), places.end(), now.begin(), now.end(), std::back_inserter(some));
  return {some, in_words(evidence, found) + "strata uses the " + std::to_string(some.size()) +
                    " of OpenMP's places. For more, let OMP_PLACES name them all, or unset the variable"};
}

std::string binding_variable(const char* (*get)(const char* name)) {
  const std::pair<const char*, const char*> variables[] = {// and the value by which nothing is bound
                                                           {"OMP_PROC_BIND", "false"},
                                                           {"GOMP_CPU_AFFINITY", ""},
                                                           {"KMP_AFFINITY", "none"},
                                                           {"OMP_PLACES", ""}};
  for (const auto& [name, unbound] : variables) {
    const char* const text = get(name);
    if (text == nullptr || *text == 0) continue;
    std::string value = text;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (value != unbound) return std::string(name) + "=" + text;
    if (value == "false") return "";  // OMP_PLACES binds nothing then
  }
  return "";
}

#if defined(__linux__)

namespace {

template <class Function>
Function* loaded(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// What GNU's library found before it bound anything. LLVM's binds no thread before its first use, which a
// question would be.
void ask_openmp(AffinityEvidence& evidence) {
  const auto processors = loaded<int()>("omp_get_num_procs");
  const auto places = loaded<int()>("omp_get_num_places");
  const auto size_of = loaded<int(int)>("omp_get_place_num_procs");
  const auto read = loaded<void(int, int*)>("omp_get_place_proc_ids");
  if (processors == nullptr || places == nullptr || size_of == nullptr || read == nullptr ||
      loaded<void()>("__kmpc_fork_call") != nullptr)
    return;
  evidence.openmp_processors = processors();
  std::vector<int>& all = evidence.openmp_places;
  for (int k = 0; k < places(); ++k) {
    std::vector<int> place(static_cast<std::size_t>(size_of(k)));
    read(k, place.data());
    all.insert(all.end(), place.begin(), place.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

AffinityEvidence read_affinity_evidence() {
  AffinityEvidence evidence;
  evidence.at_start = start_affinity();
  evidence.now = processors_of_this_thread();
  if (!evidence.at_start.empty()) return evidence;
  evidence.variable = binding_variable([](const char* name) -> const char* { return std::getenv(name); });
  if (evidence.variable.empty()) return evidence;
  evidence.parent = processors_of(getppid());
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (static_cast<long>(evidence.now.size()) < online) ask_openmp(evidence);
  return evidence;
}

#else

AffinityEvidence read_affinity_evidence() { return {}; }

#endif

}  // namespace strata::inline STRATA_ABI::detail
