// Contests: a case on one device against the best of each sweep of competitors and the memory's bandwidth, in
// one race, every competitor verified.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <strata/strata.hpp>
#if STRATA_HAS_CUDA && defined(__CUDACC__)
#include <strata/devices/cuda/control.hpp>

#include "common/cuda_check.hpp"
#endif

#include "common/competitor.hpp"
#include "common/devices.hpp"
#include "common/report.hpp"

namespace perf {

/// A question to a device. Times are GB/s of `bytes` where it says how many, microseconds for each of `calls`
/// otherwise.
struct Case {
  std::string name;
  strata::index_t n = 0;
  double bytes = 0;
  int calls = 1;              ///< pieces of work in a run
  std::function<void()> run;  ///< by Strata; done when it returns
  /// The fastest of them is the baseline; others (a library, Kokkos) have a line of their own.
  Sweep baseline = {};
  std::string baseline_name = "by hand";
  std::vector<Sweep> others = {};
  /// Whether the last run's result is right, of which `clear` leaves nothing.
  std::function<bool()> correct = {};
  std::function<void()> clear = {};
};

/// The cases of one device and type. Part of what does not depend on the device.
class ContestBase {
 public:
  ContestBase(const Options& options, Report& report, std::string device, std::string type)
      : options_(options), report_(report), device_(std::move(device)), type_(std::move(type)) {}

  /// Verifies all competitors, picks the best of each sweep, runs the race and reports.
  void measure(const Case& question);

 protected:
  void set_ceiling(Ceiling ceiling) { ceiling_ = std::move(ceiling); }

 private:
  Competitor best(const Case& question, const Sweep& sweep);
  void verify(const Case& question, const Competitor& competitor);

  const Options& options_;
  Report& report_;
  std::string device_, type_;
  Ceiling ceiling_;
};

/// The stream of the default queue; in files that nvcc compiles.
CudaPlace default_cuda_place();
CudaPlace separate_cuda_place();
#if STRATA_HAS_CUDA && defined(__CUDACC__)
inline CudaPlace default_cuda_place() {
  return {strata::cuda::native_stream(strata::default_queue(strata::Cuda{}))};
}
/// A stream that Strata does not know, for code by hand; its work is not ordered with that of the default
/// queue. A queue whose stream is handed out never knows again that it has nothing to do, so that its small
/// launches and copies, and waits for the device, take longer than in a program without code by hand.
inline CudaPlace separate_cuda_place() {
  static const cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    cuda_check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
  }();
  return {stream};
}
#endif

template <class D>
class Contest : public ContestBase {
 public:
  /// `bytes`: the memory that a case uses, and so the triad that bounds it; 0 for none.
  Contest(const Options& options, Report& report, const char* type, double bytes)
      : ContestBase(options, report, D::name, type) {
    constexpr double most = 1.6e9;
    if constexpr (is_machine<D>) team_ = std::make_unique<PlainTeam>(team_size<D>());
    if (bytes > 0) set_ceiling(triad_ceiling(place(), std::min(bytes, most)));
  }

  auto place() const {
    if constexpr (is_machine<D>) return HostPlace{team_.get()};
    else return default_cuda_place();
  }

 private:
  std::unique_ptr<PlainTeam> team_;
};

/// Calls f(D{}) for the devices asked for whose speed is a machine's: not for Emulated, whose time is
/// virtual.
template <class F>
void for_each_real_device(const Options& options, F&& f) {
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (!std::is_same_v<D, strata::Emulated>) f(device);
    else if (options.device == D::name) std::puts("left out: Emulated, whose time is virtual");
  });
}

template <class D>
constexpr KokkosPlace kokkos_place() {
  return !is_machine<D>                      ? KokkosPlace::Cuda
         : std::is_same_v<D, strata::Serial> ? KokkosPlace::Serial
                                             : KokkosPlace::Threads;
}

/// A size for hosts, and one for GPUs, whose memory is larger and faster.
template <class D>
constexpr strata::index_t size_for(const Options& options, strata::index_t host, strata::index_t gpu) {
  return options.n > 0 ? options.n : is_machine<D> ? host : gpu;
}

/// Whether expected(i...) holds for all elements of the first, the middle and the last few rows of a view.
template <class V, class F>
bool rows_hold(const V& view, strata::index_t rows, const F& holds) {
  const strata::index_t n = view.extent(0), few = std::min(rows, n);
  for (const strata::index_t begin : {strata::index_t{0}, (n - few) / 2, n - few}) {
    const auto part = [&] {
      const auto some = strata::range(begin, begin + few);
      if constexpr (V::extents_type::max_rank_value == 1) return strata::subview(view, some);
      else if constexpr (V::extents_type::max_rank_value == 2)
        return strata::subview(view, some, strata::everything);
      else return strata::subview(view, some, strata::everything, strata::everything);
    }();
    const auto host = strata::create_mirror_and_copy(part);
    for (strata::index_t i = 0; i < few; ++i)
      if (!holds(host, i, begin + i)) return false;
  }
  return true;
}

}  // namespace perf
