// TransferCounters: the copies and allocations made to keep an array coherent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Bytes, and how often.
struct TransferCount {
  std::uint64_t bytes = 0;  ///< of the elements, without padding
  std::uint64_t count = 0;  ///< copies, or allocations

  /// One more, of so many bytes.
  void add(index_t more) {
    bytes += static_cast<std::uint64_t>(more);
    ++count;
  }
  /// And all of `other`.
  TransferCount& operator+=(const TransferCount& other) {
    bytes += other.bytes;
    count += other.count;
    return *this;
  }
};

/// What page faults of managed memory moved.
struct PageFaults {
  bool is_known = true;          ///< false where the driver does not report it; the rest is 0 then
  std::uint64_t count = 0;       ///< of faults
  std::uint64_t to_devices = 0;  ///< bytes of pages
  std::uint64_t to_host = 0;     ///< bytes of pages

  /// And all of `other`.
  PageFaults& operator+=(const PageFaults& other) {
    is_known = is_known && other.is_known;
    count += other.count;
    to_devices += other.to_devices;
    to_host += other.to_host;
    return *this;
  }
};

/// Of one array, or all. Copies count when they are enqueued.
struct TransferCounters {
  TransferCount host_to_device;  ///< copies
  TransferCount device_to_host;  ///< copies
  TransferCount peer;            ///< copies from device to device
  TransferCount
      same_device;          ///< copies within the memory of a device: where an array could not grow in place
  TransferCount allocated;  ///< of devices' memory: the bytes requested; for growth in place only the growth
  TransferCount
      prefetched_to_devices;  ///< managed memory: bytes that launches declared, where pages were elsewhere
  TransferCount prefetched_to_host;  ///< managed memory: likewise, before the host used them
  PageFaults faults;                 ///< managed memory: what moved otherwise

  /// Sums of several arrays.
  TransferCounters& operator+=(const TransferCounters& other) {
    host_to_device += other.host_to_device;
    device_to_host += other.device_to_host;
    peer += other.peer;
    same_device += other.same_device;
    allocated += other.allocated;
    prefetched_to_devices += other.prefetched_to_devices;
    prefetched_to_host += other.prefetched_to_host;
    faults += other.faults;
    return *this;
  }
  friend TransferCounters operator+(TransferCounters a, const TransferCounters& b) { return a += b; }
};

/// As a JSON object with the names of the fields.
std::string to_json(const TransferCounters& counters);

}  // namespace strata::inline STRATA_ABI
