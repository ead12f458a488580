// DirectFile: a file that a device reads and writes by itself, without the host's memory in between.
#pragma once

#include <cstddef>

#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Made by DeviceInstance::open_direct. Transfers are enqueued like copies; their bytes are those that
/// other descriptors of the file see, past the page cache where the file system can. Who drops it has waited
/// for the queues.
class DirectFile : public RefCounted {
 public:
  /// In multiples of so many bytes, at such offsets.
  static constexpr index_t block = 4096;

  /// On `queue`, one of the instance's: `bytes` bytes from byte `offset` of the file on, to and from its
  /// memory. A failure poisons the queue, or is reported by check().
  virtual void read(QueueState& queue, void* to, std::size_t bytes, index_t offset) = 0;
  virtual void write(QueueState& queue, const void* from, std::size_t bytes, index_t offset) = 0;
  /// Throws FileError where one of the transfers that are done by now has failed: the first one. Kernels may
  /// have used what it did not read.
  virtual void check() {}
  /// When the queues were waited for: nothing is reported of transfers so far.
  virtual void forget() {}
};

}  // namespace strata::inline STRATA_ABI::detail
