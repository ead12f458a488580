// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>
#include <unordered_map>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define STRATA_HAS_NVTX 1
#else
#define STRATA_HAS_NVTX 0
#endif

#include <strata/core/profiling/event_name.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/cuda/nvtx.hpp>

namespace strata::inline STRATA_ABI::detail {

#if STRATA_HAS_NVTX

namespace {

bool asked_for() {
  if (settings().nvtx) return true;
  for (const SettingDescription& setting : describe_settings())
    if (setting.name == "nvtx" && setting.source != SettingSource::BuiltIn) return false;
  const char* const listener = secure_getenv("NVTX_INJECTION64_PATH");
  return listener != nullptr && *listener != '\0';
}

// Kinds have colours of their own in the profiler's picture.
std::uint32_t color_of(EventKind kind) {
  switch (kind) {
    case EventKind::BeginFor:
      return 0xff4c9f38;
    case EventKind::BeginReduce:
      return 0xff2f7ed8;
    case EventKind::BeginScan:
      return 0xff8e5bc0;
    case EventKind::BeginGraph:
      return 0xff1aadce;
    case EventKind::BeginFence:
      return 0xff999999;
    case EventKind::PushRegion:
    case EventKind::Mark:
    case EventKind::StartSection:
      return 0xffe0a800;
    default:
      return 0xffc0504d;  // of memory
  }
}

nvtxEventAttributes_t attributes(const HookEvent& event, const char* name) {
  nvtxEventAttributes_t result{};
  result.version = NVTX_VERSION;
  result.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  result.colorType = NVTX_COLOR_ARGB;
  result.color = color_of(event.kind);
  result.messageType = NVTX_MESSAGE_TYPE_ASCII;
  result.message.ascii = name;
  const std::uint64_t amount = event.bytes > 0 ? event.bytes : static_cast<std::uint64_t>(event.items);
  if (amount == 0) return result;
  result.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  result.payload.ullValue = amount;
  return result;
}

class Ranges final : public Listener {
 public:
  void on_event(const HookEvent& event) override {
    switch (event.kind) {
      case EventKind::BeginFor:
      case EventKind::BeginReduce:
      case EventKind::BeginScan:
      case EventKind::BeginCopy:
      case EventKind::BeginInitialize:
      case EventKind::BeginGraph:
      case EventKind::BeginFence:
      case EventKind::PushRegion: {
        const std::string name = profiling::event_name(event);
        const nvtxEventAttributes_t described = attributes(event, name.c_str());
        nvtxDomainRangePushEx(domain_, &described);
        return;
      }
      case EventKind::EndFor:
      case EventKind::EndReduce:
      case EventKind::EndScan:
      case EventKind::EndGraph:
      case EventKind::EndFence:
      case EventKind::PopRegion:
      case EventKind::EndInitialize:
      case EventKind::EndCopy:
        nvtxDomainRangePop(domain_);
        return;
      case EventKind::Mark: {
        const nvtxEventAttributes_t described = attributes(event, event.label);
        nvtxDomainMarkEx(domain_, &described);
        return;
      }
      case EventKind::StartSection: {
        const nvtxEventAttributes_t described = attributes(event, event.label);
        sections_[event.id] = nvtxDomainRangeStartEx(domain_, &described);
        return;
      }
      case EventKind::StopSection: {
        const auto begun = sections_.find(event.id);
        if (begun == sections_.end()) return;
        nvtxDomainRangeEnd(domain_, begun->second);
        sections_.erase(begun);
        return;
      }
      default:
        return;
    }
  }

 private:
  const nvtxDomainHandle_t domain_ = nvtxDomainCreateA("Strata");
  std::unordered_map<std::uint64_t, nvtxRangeId_t> sections_;  // those that run, by the event's id
};

}  // namespace

void start_nvtx() {
  if (!asked_for()) return;
  static Ranges* const ranges = new Ranges;  // to the very end of the process
  add_listener(*ranges);
}

#else

void start_nvtx() {}

#endif

}  // namespace strata::inline STRATA_ABI::detail
