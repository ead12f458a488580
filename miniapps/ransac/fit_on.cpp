// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include <strata/core/error.hpp>
#include <strata/core/profiling/counters.hpp>
#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/ransac/dynamic_fit.hpp>
#include <strata/miniapps/ransac/fit_on.hpp>
#include <strata/miniapps/ransac/static_fit.hpp>

namespace strata::inline STRATA_ABI::ransac {

namespace {

using miniapp::now_seconds;

// The bytes that work() copies between host and device.
template <class Work>
CopiedBytes copied_by(const char* device, const Work& work) {
  const auto total = [&] {
    CopiedBytes bytes;
    for (const CopyCount& copy : counters().copies) {
      if (copy.source.empty()) continue;  // a fill
      if (copy.destination == device && copy.source != device) bytes.to_device += copy.bytes;
      if (copy.source == device && copy.destination != device) bytes.to_host += copy.bytes;
    }
    return bytes;
  };
  start_counting();
  const CopiedBytes before = total();
  work();
  const CopiedBytes after = total();
  stop_counting();
  return {after.to_device - before.to_device, after.to_host - before.to_host};
}

// Repeats run() of a StaticFit or DynamicFit.
template <class Fit, class Device>
FitOutcome repeat(const Device& device, const FitRequest& request) {
  FitOutcome outcome;
  const char* const kind = Device::memory_space::kind;
  const double start = now_seconds();
  std::optional<Fit> fit;
  outcome.setup_copies = copied_by(kind, [&] { fit.emplace(device, request); });
  outcome.setup_seconds = now_seconds() - start;
  for (index_t k = 0; k < request.warm_up + request.repetitions; ++k) {
    const std::uint64_t before = fit->faults();
    const double begin = now_seconds();
    fit->run(outcome);
    if (k >= request.warm_up) outcome.seconds.push_back(now_seconds() - begin);
    outcome.faults = fit->faults() - before;
  }
  // Once more, as counting takes time. Its candidates are those that lie in the arrays.
  FitOutcome counted;
  outcome.copies = copied_by(kind, [&] { fit->run(counted); });
  fit->complete(counted);
  outcome.candidates = std::move(counted.candidates);
  finish(outcome);
  return outcome;
}

// UsageError where the tickets would be in memory in which they could be given twice.
template <class Device>
void require_shared_memory(const Device& device, const FitRequest& request) {
  try {
    const CoherentArray<std::int64_t, rank<1>> tickets("tickets", 1, request.memory, main_in(device));
    system_atomics(tickets, device, request.host);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw miniapp::UsageError(std::string("--mode dynamic: ") + error.what() +
                              "; --mode static shares nothing");
  }
}

}  // namespace

template <class Device>
FitOutcome fit_on(const Device& device, const FitRequest& request) {
  if constexpr (Device::memory_space::host_accessible) return fit_on_host(device, request);
  else if (request.sharing == Sharing::Static) return repeat<StaticFit<Device>>(device, request);
  else return require_shared_memory(device, request), repeat<DynamicFit<Device>>(device, request);
}

template FitOutcome fit_on(const STRATA_MINIAPP_DEVICE&, const FitRequest&);

}  // namespace strata::inline STRATA_ABI::ransac
