// What random problems of streamed steps draw.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <random>

#include "stream_kernels.hpp"

namespace stream_test {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  index_t operator()(index_t low, index_t high) {
    return low + static_cast<index_t>(random_() % static_cast<unsigned long>(high - low + 1));
  }
  // A part of [edge, n - edge), at times all of it.
  Range part(index_t n, index_t edge) {
    if ((*this)(0, 2) == 0) return range(edge, n - edge);
    const index_t begin = (*this)(edge, n - edge - 1);
    return range(begin, (*this)(begin + 1, n - edge));
  }

 private:
  std::mt19937 random_;
};

template <class Where>
Where with_options(Where where, Draw& draw, std::initializer_list<StreamScheduler> schedulers) {
  const auto chosen = schedulers.begin()[draw(0, static_cast<index_t>(schedulers.size()) - 1)];
  where = where.scheduler(chosen);
  if (draw(0, 1) == 0) where = where.steps_per_pass(static_cast<int>(draw(1, 4)));
  if (chosen != StreamScheduler::Automatic && chosen != StreamScheduler::EvenOdd && draw(0, 1) == 0)
    where = where.chunk(draw(1, 60));
  return where;
}

template <class Array, class... N>
Array filled(const char* label, N... extents) {
  const Array array(label, extents...);
  fill(array);
  return array;
}

}  // namespace stream_test
