// A fit with static sharing: arrays of the device and of the host, a share of the iterations for each.
//
// Copied are, once, the vectors and the samples of the device's iterations (16 n + 8 m bytes), and in every
// repetition the number of candidates and these (4 bytes, and 8 for each). The study's program copies 24 m +
// 4 bytes more to the device in every repetition: room for parameters and results, which kernels here write
// without reading, and a counter, which is filled on the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/algorithms/parallel_for.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/common/places.hpp>
#include <strata/miniapps/ransac/device_kernels.hpp>
#include <strata/miniapps/ransac/host_share.hpp>
#include <strata/miniapps/ransac/league.hpp>
#include <strata/version.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/subview.hpp>
#include <strata/views/view_as.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/device.hpp>
#endif

namespace strata::inline STRATA_ABI::ransac {

/// The device of plain arrays of the host from and to which copies are fast.
template <class Device>
struct HomeOf {
  using type = Serial;
};
#if STRATA_HAS_CUDA
template <>
struct HomeOf<Cuda> {
  using type = CudaPinned;
};
#endif

/// Its arrays; run() is a repetition.
template <class Device>
class StaticFit {
  using Home = typename HomeOf<Device>::type;
  template <class T>
  using OnDevice = MDArray<T, Device, rank<1>>;
  template <class T>
  using OnHost = MDArray<T, Home, rank<1>>;

 public:
  StaticFit(const Device& device, const FitRequest& request)
      : device_(device),
        request_(request),
        problem_(*request.problem),
        end_of_host_(host_end(problem_.iterations(), request.alpha)) {
    const index_t n = std::ssize(problem_.vectors), mine = problem_.iterations() - end_of_host_;
    const auto copied = [&](const auto& array, const auto& values) {
      using T = typename std::remove_cvref_t<decltype(values)>::value_type;
      const auto home = create<OnHost<T>>("home", array.extent(0), uninitialized);
      std::copy_n(values.end() - array.extent(0), array.extent(0), home.data());
      deep_copy(array, home);
    };
    if (mine == 0) return;
    vectors_ = make<FlowVector>("vectors", n);
    samples_ = make<std::int32_t>("samples", 2 * mine);
    candidates_ = make<Candidate>("candidates", mine);
    found_ = make<std::int32_t>("found", 1);
    home_candidates_ = create<OnHost<Candidate>>("candidates, host", mine, uninitialized);
    home_found_ = create<OnHost<std::int32_t>>("found, host", 1, uninitialized);
    copied(vectors_, problem_.vectors);
    copied(samples_, problem_.samples);  // those of its iterations
  }

  void run(FitOutcome& outcome) {
    const index_t mine = problem_.iterations() - end_of_host_;
    const Teams league = league_of<Device>(request_, mine);
    const auto queue = default_queue(device_);
    if (mine > 0) {
      deep_copy(queue, found_, 0);
      const WorkOff<DealtOut> kernel{{0, mine, league.shape.league_size}, problem_.error, problem_.limit};
      parallel_for(
          on(device_).named("ransac: device"), league,
          with(kernel, read_only(vectors_), read_only(samples_), candidates_, found_, no_best_, no_best_));
    }
    HostFound host = work_off_dealt(request_.host, request_.threads, data_of(problem_), end_of_host_);
    outcome.candidates = std::move(host.candidates);
    outcome.host = host.share;
    outcome.device = {mine, mine > 0 ? league.shape.league_size : 0};
    if (mine > 0) {
      deep_copy(home_found_, found_);
      if (const index_t count = home_found_(0); count > 0) {
        deep_copy(subview(home_candidates_, range(0, count)), subview(candidates_, range(0, count)));
        for (index_t k = 0; k < count; ++k) {
          Candidate candidate = home_candidates_(k);
          candidate.iteration += static_cast<std::int32_t>(end_of_host_);
          outcome.candidates.push_back(candidate);
        }
      }
    }
    find_best(outcome);
  }
  /// Nothing is missing: the host has read all candidates.
  void complete(FitOutcome&) const {}
  std::uint64_t faults() const { return 0; }

 private:
  template <class T>
  OnDevice<T> make(const char* label, index_t size) {
    return create<OnDevice<T>>(label, size, uninitialized, on(device_));
  }

  Device device_;
  FitRequest request_;
  const Problem& problem_;
  index_t end_of_host_;
  OnDevice<FlowVector> vectors_;
  OnDevice<std::int32_t> samples_;
  OnDevice<Candidate> candidates_;
  OnDevice<std::int32_t> found_;
  OnDevice<std::int64_t> no_best_;
  OnHost<Candidate> home_candidates_;
  OnHost<std::int32_t> home_found_;
};

}  // namespace strata::inline STRATA_ABI::ransac
