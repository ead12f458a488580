// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include <strata/core/allocation_report.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/backend.hpp>
#include <strata/devices/direct_file.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI::detail {

std::uint64_t next_queue_id() {
  static std::uint64_t id = 0;
  return __atomic_add_fetch(&id, 1, __ATOMIC_RELAXED);
}

Ref<DirectFile> DeviceInstance::open_direct(int, const char*, bool) { return {}; }

void QueueState::convert(const CopySide& destination, const CopySide& source, const Conversion&) {
  throw Error(std::string("deep_copy: ") + instance().device_name() + " does not convert elements: \"" +
              source.label + "\" and \"" + destination.label +
              "\" have two types; convert in a parallel_for, or between arrays of a host");
}

void QueueState::call_host(const Ref<HostCall>& call) {
  wait();
  call->run();
}

DeviceInstance* DeviceInstance::shared_memory(SharedMemory, const char*& reason) {
  reason = "it has no memory that its kernels and the host share";
  return nullptr;
}

bool DeviceInstance::has_system_atomics(SpaceId space, const char*& reason) const {
  // Of a host: it has them wherever it may touch memory.
  if (host_accessible() && (space.shared || std::string_view(space.kind) == HostSpace::kind)) return true;
  reason = "it shares no atomic operations on such memory with the host";
  return false;
}

char* DeviceInstance::address_in_kernels(char* host_address, SpaceId) const {
  return host_accessible() ? host_address : nullptr;
}

void ReservedMemory::require_reserved(std::size_t begin, std::size_t end) const {
  if (begin <= end && end <= size()) return;
  throw OutOfBounds("asked for memory for bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
                    ") of \"" + allocation().label + "\" on " + describe_space(allocation().space) +
                    "; reserved are [0, " + std::to_string(size()) + ")");
}

}  // namespace strata::inline STRATA_ABI::detail
