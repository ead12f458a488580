// Competitors of the operations of stream.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

enum class StreamOperation { Copy, Scale, Add, Triad, Fill };
/// The arrays that an operation reads and writes.
constexpr int stream_arrays(StreamOperation operation) {
  return operation == StreamOperation::Fill                                         ? 1
         : operation == StreamOperation::Add || operation == StreamOperation::Triad ? 3
                                                                                    : 2;
}

template <class T>
struct StreamArrays {
  T *a, *b, *c;
  T s;
  std::ptrdiff_t n;
};

/// a = b; a = s b; a = b + c; a = b + s c; a = s. For T = float and double.
template <class T>
Sweep stream_by_hand(HostPlace place, StreamOperation operation, StreamArrays<T> arrays);
template <class T>
Sweep stream_by_hand(CudaPlace place, StreamOperation operation, StreamArrays<T> arrays);

}  // namespace perf
