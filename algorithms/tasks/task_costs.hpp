// TaskCosts: how long tasks took, by device, label and bytes: what schedulers estimate with.
//
//   TaskCosts costs;
//   if (std::filesystem::exists("costs.txt")) costs.read("costs.txt");
//   options.costs = &costs;
//   graph.run(across(devices), options);
//   costs.write("costs.txt");
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Not thread safe: it is used by one run at a time.
class TaskCosts {
 public:
  /// A task of `label`, whose arrays have `bytes`, took `seconds` on a device of the kind `device` ("Cuda").
  void add(const std::string& device, const std::string& label, index_t bytes, double seconds);
  /// The mean of the measurements; -1 if there are none.
  double seconds(const std::string& device, const std::string& label, index_t bytes) const;
  /// The means by kind of device, of those that are known.
  std::map<std::string, double> seconds(const std::string& label, index_t bytes) const;
  /// How many were added.
  long count(const std::string& device, const std::string& label, index_t bytes) const;
  /// Whether nothing was added.
  bool empty() const { return means_.empty(); }

  /// Adds what a file has. FileError if it cannot be read, or was not written by write().
  void read(const std::string& path);
  /// Writes them as text, one per line. FileError.
  void write(const std::string& path) const;

 private:
  struct Key {
    std::string device, label;
    index_t bytes;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Mean {
    long count = 0;
    double seconds = 0;
  };
  std::map<Key, Mean> means_;
};

}  // namespace strata::inline STRATA_ABI
