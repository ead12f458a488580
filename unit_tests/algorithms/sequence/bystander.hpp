// Bystander: a user of plain arrays beside programs that fail.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>

#include "algorithms/sequence/mixing.hpp"

namespace sequence_testing {

/// Plain arrays on a device, on the queues that launches over coherent arrays use, too: whoever waits for a
/// queue there takes errors of others from it. What this thread waited for without an error is right.
class Bystander {
 public:
  Bystander(strata_tests::Random& random, int devices)
      : random_(random), device_(static_cast<int>(random(0, devices - 1))) {}

  void run() {
    for (int k = 0; k < 14; ++k) try {
        one_step();
      } catch (const Error&) {
        is_known_ = false;
      }
    wait_until_done();  // the devices have no memory of it when it is gone
  }

 private:
  using OnDevice = MDArray<Number, Emulated, rank<1>>;
  using OnHost = MDArray<Number, Serial, rank<1>>;
  struct AddTo {
    Number more;
    void operator()(auto i, const auto& x) const { x(i) += more; }
  };

  void one_step() {
    if (!is_known_) {
      const index_t n = random_(1, 60);
      sum_ = 0;
      on_host_ = create<OnHost>("of a bystander, on the host", n);
      on_device_ = create<OnDevice>("of a bystander", n, uninitialized, on(device_));
      deep_copy(on_device_, on_host_);
      is_known_ = true;
    }
    for (index_t launches = random_(1, 5); launches > 0; --launches) {
      const Number more = static_cast<Number>(random_(1, 100));
      parallel_for(on(device_), on_device_.extent(0), with(AddTo{more}, on_device_));
      sum_ += more;
    }
    if (random_(0, 1) == 0) wait(device_);
    deep_copy(on_host_, on_device_);
    for (index_t i = 0; i < on_host_.extent(0); ++i) ASSERT_EQ(on_host_(i), sum_);
  }
  void wait_until_done() const {
    for (bool again = true; again;) try {
        again = false;
        wait(device_);
      } catch (const Error&) {
        again = true;
      }
  }

  strata_tests::Random& random_;
  const Emulated device_;
  OnHost on_host_;
  OnDevice on_device_;
  bool is_known_ = false;
  Number sum_ = 0;  // in each element
};

}  // namespace sequence_testing
