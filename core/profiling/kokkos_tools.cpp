// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>
#include <thread>
#include <unordered_map>

#include <strata/core/device_fence.hpp>
#include <strata/core/log.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/kokkos_tools.hpp>
#include <strata/core/profiling/kokkos_tools_library.hpp>

namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools {

namespace {

// Tools know the devices of Kokkos by these numbers.
std::uint32_t device_type(std::string_view device) {
  constexpr std::uint32_t serial = 0, cuda = 2, threads = 6;
  if (device == "Threads" || device == "Tbb") return threads;
  if (device == "Cuda" || device == "Emulated") return cuda;
  return serial;
}

// Eight bits of type, seven of the instance, seventeen of the queue: 0 is all of them, 1 the default one.
std::uint32_t device_id(const HookEvent& event) {
  constexpr std::uint64_t most_queues = 0x1ffff;
  const std::uint64_t queue = event.all_queues ? 0 : std::min(event.queue + 1, most_queues);
  return device_type(event.device) << 24 | (static_cast<std::uint32_t>(event.instance) & 0x7f) << 17 |
         static_cast<std::uint32_t>(queue);
}

// Some tools end the program at a name that Kokkos does not have.
SpaceHandle space_handle(SpaceId space) {
  constexpr const char* names[][2] = {
      {"Cuda", "Cuda"}, {"CudaManaged", "CudaUVM"}, {"CudaPinned", "CudaHostPinned"}, {"Emulated", "Cuda"}};
  SpaceHandle handle{};
  const auto* const name = std::find_if(std::begin(names), std::end(names),
                                        [&](auto& pair) { return std::strcmp(pair[0], space.kind) == 0; });
  std::strncpy(handle.name, name == std::end(names) ? "Host" : (*name)[1], sizeof handle.name - 1);
  return handle;
}

class Translator final : public Listener {
 public:
  explicit Translator(const Library& library) : library_(library), call_(library_.callbacks) {}

  const Library& library() const { return library_; }
  // Whether the library wants all devices to be waited for before this event.
  bool wants_fence(const HookEvent& event) const;
  void on_event(const HookEvent& event) override;

 private:
  void begin(Begin callback, const HookEvent& event, const char* name) {
    std::uint64_t id = event.id;  // some tools leave it alone
    if (callback != nullptr) callback(name, device_id(event), &id);
    ids_[event.id] = id;
  }
  void end(End callback, const HookEvent& event) {
    const auto id = ids_.find(event.id);
    if (id == ids_.end()) return;  // it began before the library was loaded
    if (callback != nullptr) callback(id->second);
    ids_.erase(id);
  }
  void push(const HookEvent& event) {
    ++regions_[std::this_thread::get_id()];
    if (call_.push_profile_region) call_.push_profile_region(event.label);
  }
  void pop() {
    const auto open = regions_.find(std::this_thread::get_id());
    if (open == regions_.end()) return;  // likewise
    if (--open->second == 0) regions_.erase(open);
    if (call_.pop_profile_region) call_.pop_profile_region();
  }
  void copy(const HookEvent& event) const;
  // The library's number of a section, which it may not have seen before.
  std::uint32_t section(const HookEvent& event);

  const Library library_;
  const Callbacks& call_;
  std::unordered_map<std::uint64_t, std::uint64_t> ids_;       // of events under way, by the event's
  std::unordered_map<std::thread::id, int> regions_;           // how many are open
  std::unordered_map<std::uint64_t, std::uint32_t> sections_;  // by the event's id
};

bool Translator::wants_fence(const HookEvent& event) const {
  switch (event.kind) {
    case EventKind::BeginFor:
    case EventKind::BeginInitialize:
    case EventKind::BeginGraph:
      return call_.begin_parallel_for != nullptr;
    case EventKind::EndFor:
    case EventKind::EndInitialize:
    case EventKind::EndGraph:
      return call_.end_parallel_for != nullptr;
    case EventKind::BeginReduce:
      return call_.begin_parallel_reduce != nullptr;
    case EventKind::EndReduce:
      return call_.end_parallel_reduce != nullptr;
    case EventKind::BeginScan:
      return call_.begin_parallel_scan != nullptr;
    case EventKind::EndScan:
      return call_.end_parallel_scan != nullptr;
    case EventKind::PushRegion:
      return call_.push_profile_region != nullptr;
    case EventKind::PopRegion:
      return call_.pop_profile_region != nullptr;
    default:
      return false;
  }
}

void Translator::copy(const HookEvent& event) const {
  const bool fill = event.source_data == nullptr;
  const SpaceHandle from = space_handle(fill ? SpaceId{"Host", 0} : event.source);
  call_.begin_deep_copy(space_handle(event.destination), event.label, event.destination_data, from,
                        fill ? "Scalar" : event.source_label, event.source_data, event.bytes);
}

std::uint32_t Translator::section(const HookEvent& event) {
  const auto [entry, is_new] = sections_.try_emplace(event.id, static_cast<std::uint32_t>(event.id));
  if (is_new && call_.create_profile_section) call_.create_profile_section(event.label, &entry->second);
  return entry->second;
}

void Translator::on_event(const HookEvent& event) {
  switch (event.kind) {
    case EventKind::BeginFor:
      begin(call_.begin_parallel_for, event, kernel_name(event));
      break;
    case EventKind::BeginReduce:
      begin(call_.begin_parallel_reduce, event, kernel_name(event));
      break;
    case EventKind::BeginScan:
      begin(call_.begin_parallel_scan, event, kernel_name(event));
      break;
    case EventKind::BeginGraph:
      begin(call_.begin_parallel_for, event, event.label);
      break;
    case EventKind::BeginInitialize: {
      const std::string name = "Kokkos::View::initialization [" + std::string(event.label) + "] via memset";
      begin(call_.begin_parallel_for, event, name.c_str());
      break;
    }
    case EventKind::EndFor:
    case EventKind::EndGraph:
    case EventKind::EndInitialize:
      end(call_.end_parallel_for, event);
      break;
    case EventKind::EndReduce:
      end(call_.end_parallel_reduce, event);
      break;
    case EventKind::EndScan:
      end(call_.end_parallel_scan, event);
      break;
    case EventKind::BeginFence:
      begin(call_.begin_fence, event, event.label);
      break;
    case EventKind::EndFence:
      end(call_.end_fence, event);
      break;
    case EventKind::BeginCopy:
      if (call_.begin_deep_copy) copy(event);
      ids_[event.id] = event.id;
      break;
    case EventKind::EndCopy:
      if (ids_.erase(event.id) != 0 && call_.end_deep_copy) call_.end_deep_copy();
      break;
    case EventKind::Allocate:
    case EventKind::Deallocate: {
      const bool born = event.kind == EventKind::Allocate;
      if (const DataEvent callback = born ? call_.allocate_data : call_.deallocate_data)
        callback(space_handle(event.destination), event.label, event.destination_data, event.bytes);
      break;
    }
    case EventKind::PushRegion:
      push(event);
      break;
    case EventKind::PopRegion:
      pop();
      break;
    case EventKind::Mark:
      if (call_.profile_event) call_.profile_event(event.label);
      break;
    case EventKind::CreateSection:
      section(event);
      break;
    case EventKind::StartSection:
      if (call_.start_profile_section) call_.start_profile_section(section(event));
      break;
    case EventKind::StopSection:
      if (call_.stop_profile_section) call_.stop_profile_section(section(event));
      break;
    case EventKind::DestroySection:
      if (call_.destroy_profile_section) call_.destroy_profile_section(section(event));
      sections_.erase(event.id);
      break;
    case EventKind::Metadata:
      if (call_.declare_metadata) call_.declare_metadata(event.label, event.value);
      break;
    case EventKind::DeviceTime:
      break;
  }
}

// Never destroyed: events may come until the very end of the process.
constinit Translator* translator = nullptr;

}  // namespace

void start(const std::string& libraries, const std::string& arguments, const std::string& origin) {
  if (translator != nullptr) {
    detail::log_message(LogLevel::Warning,
                        "the tools library \"%s\" (from %s) is not loaded: another one is, and a "
                        "program has one",
                        libraries.c_str(), origin.c_str());
    return;
  }
  const std::optional<Library> library = load(libraries, arguments, origin);
  if (!library) return;
  translator = new Translator(*library);
  if (library->fences)
    set_before_event([](const HookEvent& event) noexcept {
      if (translator->wants_fence(event))
        fence_devices("Kokkos::Tools::invoke_kokkosp_callback: Kokkos Profile Tool Fence");
    });
  add_listener(*translator);
}

bool started() { return translator != nullptr; }

void print_help() {
  if (translator != nullptr) print_help(translator->library());
}

void finish() {
  if (translator == nullptr) return;
  set_before_event(nullptr);
  remove_listener(*translator);
  if (const Plain last = translator->library().callbacks.finalize_library) last();
}

}  // namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools
