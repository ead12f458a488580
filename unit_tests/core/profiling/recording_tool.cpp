// A library for the C interface of Kokkos Tools that writes each call as a line of a file. It includes
// nothing of Strata or Kokkos: the layouts are written down here once more, so that a change of Strata's is
// found.
//
// RECORDING_FILE names the file. RECORDING_NO_FENCES=1: the tool asks for no fences. RECORDING_IDS=keep: it
// leaves the numbers of kernels alone; else it counts from 1000. An event "fence, please" makes it call the
// fence that it was given.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct DeviceInfo {
  std::size_t device_id;
};
struct SpaceHandle {
  char name[64];
};
struct ToolSettings {
  bool requires_global_fencing;
  bool padding[255];
};
struct ToolProgrammingInterface {
  void (*fence)(std::uint32_t);
  void (*padding[31])();
};

std::FILE* file() {
  static std::FILE* const opened = [] {
    const char* const path = std::getenv("RECORDING_FILE");
    std::FILE* const out = path ? std::fopen(path, "w") : stderr;
    if (out == nullptr) std::abort();
    return out;
  }();
  return opened;
}

std::atomic<int> callers{0};
thread_local int depth = 0;
ToolProgrammingInterface actions;
std::uint64_t next_id = 1000;

// Calls may nest on one thread, but never come from two at once.
struct Call {
  Call() {
    if (depth++ == 0 && callers.fetch_add(1) != 0) std::fputs("two threads at once\n", file());
  }
  ~Call() {
    if (--depth == 0) callers.fetch_sub(1);
    std::fflush(file());
  }
};

void begin(const char* what, const char* name, std::uint32_t device, std::uint64_t* id) {
  const Call call;
  const char* const ids = std::getenv("RECORDING_IDS");
  const bool keep = ids != nullptr && std::strcmp(ids, "keep") == 0;
  if (!keep) *id = next_id++;
  std::fprintf(file(), "begin %s|%s|%u.%u.%u|%" PRIu64 "\n", what, name, device >> 24, device >> 17 & 0x7f,
               device & 0x1ffff, *id);
}
void end(const char* what, std::uint64_t id) {
  const Call call;
  std::fprintf(file(), "end %s|%" PRIu64 "\n", what, id);
}

// The rest of a name must be zeros.
const char* checked(const SpaceHandle& space) {
  const std::size_t length = strnlen(space.name, sizeof space.name);
  for (std::size_t i = length; i < sizeof space.name; ++i)
    if (space.name[i] != 0) return "garbage behind a name";
  return length < sizeof space.name ? space.name : "a name without an end";
}

}  // namespace

extern "C" {

void kokkosp_init_library(const int sequence, const std::uint64_t version, const std::uint32_t count,
                          DeviceInfo* devices) {
  const Call call;
  std::fprintf(file(), "init|%d|%" PRIu64 "|%u|%s\n", sequence, version, count, devices ? "devices" : "null");
}
void kokkosp_request_tool_settings(const std::uint32_t count, ToolSettings* settings) {
  const Call call;
  std::fprintf(file(), "settings|%u|%d\n", count, settings->requires_global_fencing);
  const char* const none = std::getenv("RECORDING_NO_FENCES");
  if (none != nullptr && *none == '1') settings->requires_global_fencing = false;
}
void kokkosp_provide_tool_programming_interface(const std::uint32_t count, ToolProgrammingInterface given) {
  const Call call;
  actions = given;
  bool zero = true;
  for (const auto padding : given.padding) zero = zero && padding == nullptr;
  std::fprintf(file(), "interface|%u|%s|%s\n", count, given.fence ? "fence" : "null",
               zero ? "zeros" : "garbage");
}
void kokkosp_parse_args(int argc, char** argv) {
  const Call call;
  const char* const slash = std::strrchr(argv[0], '/');
  std::fprintf(file(), "args|%d|%s", argc, slash ? slash + 1 : argv[0]);
  for (int i = 1; i < argc; ++i) std::fprintf(file(), "|%s", argv[i]);
  std::fprintf(file(), "%s\n", argv[argc] == nullptr ? "" : "|no null at the end");
}
void kokkosp_print_help(char*) { std::puts("help of the recording tool"); }
void kokkosp_finalize_library() {
  const Call call;
  std::fputs("finalize\n", file());
}

void kokkosp_begin_parallel_for(const char* name, const std::uint32_t device, std::uint64_t* id) {
  begin("for", name, device, id);
}
void kokkosp_end_parallel_for(const std::uint64_t id) { end("for", id); }
void kokkosp_begin_parallel_reduce(const char* name, const std::uint32_t device, std::uint64_t* id) {
  begin("reduce", name, device, id);
}
void kokkosp_end_parallel_reduce(const std::uint64_t id) { end("reduce", id); }
void kokkosp_begin_parallel_scan(const char* name, const std::uint32_t device, std::uint64_t* id) {
  begin("scan", name, device, id);
}
void kokkosp_end_parallel_scan(const std::uint64_t id) { end("scan", id); }
void kokkosp_begin_fence(const char* name, const std::uint32_t device, std::uint64_t* id) {
  begin("fence", name, device, id);
}
void kokkosp_end_fence(const std::uint64_t id) { end("fence", id); }

void kokkosp_push_profile_region(const char* name) {
  const Call call;
  std::fprintf(file(), "push|%s\n", name);
}
void kokkosp_pop_profile_region() {
  const Call call;
  std::fputs("pop\n", file());
}
void kokkosp_create_profile_section(const char* name, std::uint32_t* id) {
  const Call call;
  *id = 77;
  std::fprintf(file(), "create section|%s\n", name);
}
void kokkosp_start_profile_section(const std::uint32_t id) {
  const Call call;
  std::fprintf(file(), "start section|%u\n", id);
}
void kokkosp_stop_profile_section(const std::uint32_t id) {
  const Call call;
  std::fprintf(file(), "stop section|%u\n", id);
}
void kokkosp_destroy_profile_section(const std::uint32_t id) {
  const Call call;
  std::fprintf(file(), "destroy section|%u\n", id);
}
void kokkosp_profile_event(const char* name) {
  const Call call;
  std::fprintf(file(), "event|%s\n", name);
  if (std::strcmp(name, "fence, please") == 0) actions.fence(0);
}
void kokkosp_declare_metadata(const char* key, const char* value) {
  const Call call;
  std::fprintf(file(), "metadata|%s|%s\n", key, value);
}

void kokkosp_allocate_data(const SpaceHandle space, const char* label, const void* data,
                           const std::uint64_t bytes) {
  const Call call;
  std::fprintf(file(), "allocate|%s|%s|%s|%" PRIu64 "\n", checked(space), label, data ? "data" : "null",
               bytes);
}
void kokkosp_deallocate_data(const SpaceHandle space, const char* label, const void* data,
                             const std::uint64_t bytes) {
  const Call call;
  std::fprintf(file(), "deallocate|%s|%s|%s|%" PRIu64 "\n", checked(space), label, data ? "data" : "null",
               bytes);
}
void kokkosp_begin_deep_copy(const SpaceHandle to, const char* to_label, const void*, const SpaceHandle from,
                             const char* from_label, const void*, const std::uint64_t bytes) {
  const Call call;
  std::fprintf(file(), "begin copy|%s|%s|%s|%s|%" PRIu64 "\n", checked(to), to_label, checked(from),
               from_label, bytes);
}
void kokkosp_end_deep_copy() {
  const Call call;
  std::fputs("end copy\n", file());
}

}  // extern "C"
