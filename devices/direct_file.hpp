// DirectFile: a file that a device reads and writes by itself, without the host's memory in between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Made by DeviceInstance::open_direct. Transfers are enqueued like copies. They see the bytes that other
/// descriptors of the file see, and bypass the page cache where the file system can. Wait for the queues
/// before the last reference goes.
class DirectFile : public RefCounted {
 public:
  /// Lengths and offsets of transfers are multiples of this many bytes.
  static constexpr index_t block = 4096;

  /// On `queue`, one of the instance's: `bytes` bytes from byte `offset` of the file on, to and from its
  /// memory. A failure poisons the queue, or is reported by check().
  virtual void read(QueueState& queue, void* to, std::size_t bytes, index_t offset) = 0;
  virtual void write(QueueState& queue, const void* from, std::size_t bytes, index_t offset) = 0;
  /// Throws FileError where one of the transfers that are done by now has failed: the first one. Kernels may
  /// have used what it did not read.
  virtual void check() {}
  /// After the queues were waited for: drops the errors of transfers so far.
  virtual void forget() {}
};

}  // namespace strata::inline STRATA_ABI::detail
