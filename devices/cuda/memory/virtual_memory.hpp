// CudaReservation: addresses of one GPU, parts of which get memory as they are needed, by CUDA's virtual
// memory management. Private to this folder.
//
// Copies and kernels of its GPU, and of the GPUs it was opened to, reach the memory. The driver's functions
// are looked up at run time, so that nothing links to it. Not thread-safe: the owner locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaReservation {
 public:
  /// For an array of `bytes` on the GPU `device`; null where the GPU or its driver cannot do it, or has no
  /// such range of addresses.
  static std::unique_ptr<CudaReservation> make(int device, std::size_t bytes);
  /// Gives all back; nothing may use it any more.
  ~CudaReservation();
  CudaReservation(const CudaReservation&) = delete;
  CudaReservation& operator=(const CudaReservation&) = delete;

  void* data() const { return data_; }
  /// Memory is given in multiples of this many bytes.
  std::size_t granule() const { return granule_; }
  /// Bytes that have memory.
  std::size_t committed() const { return committed_; }
  /// The bytes that commit() with the same arguments would take from CUDA.
  std::size_t missing(std::size_t begin, std::size_t end) const;
  /// Gives memory to bytes [begin, end), which are reserved. False, with nothing changed, where there is not
  /// enough.
  bool commit(std::size_t begin, std::size_t end);
  /// Gives memory to bytes [0, period), and maps the same memory to the bytes after them, repeatedly.
  /// `period` is a multiple of repeat_granule(). False, with nothing changed, where there is not enough, or
  /// some byte has memory.
  bool commit_repeating(std::size_t period);
  /// The unit of commit_repeating()'s period on this GPU; 0: it cannot reserve addresses.
  static std::size_t repeat_granule(int device);
  /// Lets the GPU `other` reach the memory there is, and memory given later.
  void open_to(int other);

 private:
  struct Piece {
    std::size_t begin, bytes;
  };

  CudaReservation(int device, void* data, std::size_t bytes, std::size_t granule);
  std::size_t bytes_between(std::size_t first, std::size_t last) const;
  bool add_piece(std::size_t first, std::size_t last);
  bool map_piece(unsigned long long handle, std::size_t begin, std::size_t bytes);
  void drop_piece();
  template <class Visit>
  bool each_missing_run(std::size_t begin, std::size_t end, const Visit& visit) const;

  const int device_;
  char* const data_;
  const std::size_t bytes_;    // of addresses
  const std::size_t granule_;  // the last one may be shorter
  std::size_t committed_ = 0;
  std::vector<bool> has_memory_;  // by granule
  std::vector<Piece> pieces_;     // each was mapped as one
  std::vector<int> open_to_;      // this GPU, and those that reach its memory
};

}  // namespace strata::inline STRATA_ABI::detail
