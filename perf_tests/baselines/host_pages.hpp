// Memory of the host whose pages lie on chosen NUMA nodes, without a Strata header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace perf {

/// The nodes that have memory, at least one.
const std::vector<int>& numa_nodes();
/// The node near a device such as "0000:1a:00.0"; -1: the system does not say.
int numa_node_of_pci(const std::string& bus_id);
/// On which nodes pages of memory lie, by samples: "node 0 50 %, node 1 50 %", or "not known".
std::string pages_by_node(const void* data, std::size_t bytes);
/// Seconds in which all threads of the host copy so many bytes from one array to another, least of `reps`;
/// each thread has touched its part first.
double host_copy_seconds(std::size_t bytes, int reps);

/// Zeroed memory in huge pages, where the system has such. A part of it has pages when it was touched or
/// placed.
class HostPages {
 public:
  explicit HostPages(std::size_t bytes);
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  /// Null: there is no memory.
  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// By the calling thread: near it, as long as there is room.
  void touch();
  /// By a policy of the system, or else by threads of the nodes that touch pages first. False: neither is
  /// allowed.
  bool place(std::size_t begin, std::size_t end, int node);
  bool interleave();

 private:
  char* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace perf
