// NotedWait: one thread waits for another, and not for an array: those that wait for arrays are to know of
// it, so that they find out where all wait for each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

class NotedWait {
 public:
  enum class Kind : unsigned char {
    Endless,   ///< as long as it takes
    UpToRings  ///< may be given up, where all wait for each other
  };
  /// From now on, until end(). `text`, for messages: "a thread waits for ...".
  NotedWait(std::thread::id waiting, std::thread::id other, Kind kind, std::string text);
  ~NotedWait() { end(); }
  NotedWait(const NotedWait&) = delete;
  NotedWait& operator=(const NotedWait&) = delete;

  /// Ends it; whether it was given up.
  bool end();

 private:
  std::uint64_t number_;
};

}  // namespace strata::inline STRATA_ABI::detail
