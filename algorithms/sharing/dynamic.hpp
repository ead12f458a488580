// across(...).dynamic(): a launch that several devices share, each of which claims parts of the range until
// all is done. For devices whose speed is not known, or differs from part to part: with a host as one of
// them, for a machine whose host and GPUs all work.
//
//   const SharedReport report = launch(across(Threads{}, Cuda{0}).dynamic(), n, kernel, in(x), out(y));
//   launch_reduce(across(Cuda{0}, Cuda{1}).dynamic(), n, kernel, Sum(total), in(x));
//   launch(across(devices).adaptive(balance).dynamic(), ...)   // begins with the speeds of earlier launches
//   launch(across(a, b).weighted({1, 9}).dynamic(), ...)       // begins at such parts of the range
//
// Earlier launches of the kernel decide which devices take part (share_plan.hpp): no device slows the
// launch down, and one that is best alone gets a launch as on(device) makes. Where their times are not known,
// or were wrong, parts are claimed. The host claims them, by guided sizes (shared_claims.hpp), and launches
// each part separately: copies and places of arrays are those of any launch over coherent arrays, in every
// memory mode; arrays in MemoryMode::Explicit must be where they are read on all devices. Sharing pays where
// the work takes some milliseconds: docs/work_sharing.md.
//
// With DynamicOptions{.claimed_by = ClaimedBy::Kernels}, and all arrays in managed memory that hosts and
// kernels use at once, kernels claim for themselves: a shared launch is one kernel a device, and hosts claim
// from the same counter (claiming_launch.hpp). In reductions and checked builds the host claims nevertheless.
//
// A part writes its own rows: an array that is written may not be used beyond them (AccessConflict, before
// anything begins). A part of a reduction is whole nodes of its tree, so the bits of the result do not
// depend on who did what, as far as devices compute the same (contracted multiply-adds differ).
//
// Returns when all is done, and the report says who did it. One kernel object is launched by several threads
// at once: a factory is called by them. Other threads' uses of the arrays come before or after the launch.
//
// Failures: the parts of a device that fails are done by the others. Where they would read values that are
// lost (what an inout kernel may have overwritten, and no other memory has) the launch throws DataLost, with
// boxes and with the work items that were not done; where no device is left, the error of the first that
// failed. What a kernel on a host throws ends the launch and is thrown as it is; parts that other devices had
// begun complete.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/sharing/claiming_launch.hpp>
#include <strata/algorithms/sharing/shared_report.hpp>
#include <strata/algorithms/sharing/shared_run.hpp>

namespace strata::inline STRATA_ABI {

/// Several devices that claim parts of a launch, made by across(...).dynamic().
template <class... D>
struct SharedAcross {
  Across<D...> devices;    ///< with their weights or balance
  DynamicOptions options;  ///< how they claim

  /// The same as Across has.
  SharedAcross named(const char* text) const { return {devices.named(text), options}; }
  SharedAcross weighted(std::vector<double> sizes) const {
    return {devices.weighted(static_cast<std::vector<double>&&>(sizes)), options};
  }
  SharedAcross adaptive(Balance& kept) const { return {devices.adaptive(kept), options}; }
};

namespace detail {

template <class... D>
struct PlaceTraits<SharedAcross<D...>> {
  using Devices = PlaceTraits<Across<D...>>;
  static constexpr bool is_streamed = false;
  static constexpr bool is_one_part = false;
  static constexpr LaunchWay way = LaunchWay::Shared;
  static const char* label(const SharedAcross<D...>& where) { return where.devices.label; }
  static std::size_t count(const SharedAcross<D...>& where) { return Devices::count(where.devices); }
  template <class F>
  static decltype(auto) visit(const SharedAcross<D...>& where, std::size_t k, const F& f) {
    return Devices::visit(where.devices, k, f);
  }
};
template <class... D>
struct CompileAt<SharedAcross<D...>> : CompileAt<Across<D...>> {};

namespace sharing {

template <class Access>
void add_use(SharedWork& shared, const Access& access) {
  if (!access.array) fail_no_array();
  const auto part = [&access](ResidentRows items) {
    return part_of(access.region, access.array.domain(), items, access.array.label());
  };
  shared.uses.push_back({access.array.state(), Access::mode, part(shared.range), part});
}

// What does not depend on how a part is launched.
template <class Where, class R, class K, class... Accesses>
SharedWork shared_work(const char* label, const Where& where, const R& work, const K&,
                       const Accesses&... accesses) {
  check_options(where.options);
  SharedWork shared;
  shared.name = make_call<R, K>(label).name();
  shared.range = LeftMost<R>::of(work);
  shared.align = alignment_of_all<Accesses...>();
  shared.weights = where.devices.weights;
  shared.balance = where.devices.balance;
  shared.options = where.options;
  for (std::size_t k = 0; k < PlaceTraits<Where>::count(where); ++k)
    visit_part(where, k, [&](const auto& on) {
      shared.devices.push_back({&on.device.backend(), &queue_of(on)});
    });
  shared.check = [&where, label, &accesses...](const std::vector<SpreadPart>& parts) {
    CoherentCall call = make_call<R, K>(label);
    for (const SpreadPart& part : parts) {
      add_part_of(call, where, part.place);
      (declare(call, accesses, part.rows), ...);
    }
    call.check();
  };
  shared.kind = kind_of_launch(label, typeid(void (*)(R, K, Accesses...)).name());
  try {
    (add_use(shared, accesses), ...);
  } catch (const ShapeMismatch&) {
    shared.check({{0, shared.range}});  // names the launch
    throw;
  }
  return shared;
}

}  // namespace sharing

template <>
struct LaunchBy<LaunchWay::Shared> {
  template <class Where, class R, class K, class... Accesses>
  static SharedReport launch(const char* label, const Where& where, const R& work, const K& kernel,
                             const Accesses&... accesses) {
    if constexpr (check_launch<Where, R, K, Accesses...>())
      return launch_shared(label, where, work, kernel, accesses...);
    else return {};
  }

 private:
  template <class Where, class R, class K, class... Accesses>
  static SharedReport launch_shared(const char* label, const Where& where, const R& work, const K& kernel,
                                    const Accesses&... accesses) {
    check_all_fit<K>(label, work, accesses...);
    sharing::SharedWork shared = sharing::shared_work(label, where, work, kernel, accesses...);
    shared.launch = [&](std::size_t device, ResidentRows part) {
      CoherentCall call = make_call<R, K>(label);
      visit_part(where, device, [&](const auto& on) {
        call.add_part(on.device.backend(), queue_of(on));
        (declare(call, accesses, part), ...);
        call.is_one_of_several();
        call.prepare();
        launch_part(label, call, 0, on, true, part, work, kernel, accesses...);
      });
      return call.timing(0);
    };
    shared.undo = [](index_t) {};
    sharing::add_claiming(shared, label, where, work, kernel, accesses...);
    return sharing::run_shared(shared);
  }
};

namespace sharing {

// The parts of a shared reduction that are under way or done, by their first work item: the nodes of the tree
// that each has, and their values.
template <class T>
class SharedPartials {
 public:
  struct Part {
    std::vector<ReductionGroup> groups;
    CoherentArray<T, rank<1>> values;
  };
  /// Valid until the part is undone.
  const Part& add(ResidentRows range, ResidentRows items, index_t block) {
    Part part{groups_of_part(range, items, block), {}};
    part.values = CoherentArray<T, rank<1>>("partial results", static_cast<index_t>(part.groups.size()),
                                            MemoryMode::Smart, uninitialized);
    const std::lock_guard lock(mutex_);
    return parts_[items.begin] = static_cast<Part&&>(part);
  }
  void undo(index_t begin) {
    Part part;  // freed without the lock
    const std::lock_guard lock(mutex_);
    if (const auto found = parts_.find(begin); found != parts_.end()) {
      part = static_cast<Part&&>(found->second);
      parts_.erase(found);
    }
  }
  /// The joined value, as the only element of an array on the host.
  template <class Reducer>
  CoherentArray<T, rank<1>> join(const Reducer& reducer) const {
    std::vector<ReductionGroup> groups;
    for (const auto& [begin, part] : parts_)
      groups.insert(groups.end(), part.groups.begin(), part.groups.end());
    const CoherentArray<T, rank<1>> all("partial results", static_cast<index_t>(groups.size()),
                                        MemoryMode::Smart, uninitialized);
    {
      const auto to = all.write();
      index_t number = 0;
      for (const auto& [begin, part] : parts_) {
        const auto from = part.values.read();
        for (index_t g = 0; g < part.values.extent(0); ++g) to(number++) = from(g);
      }
    }
    const auto values = all.read_write();
    for (const Join& join : joins_of(groups)) reducer.join(values(join.a), values(join.b));
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<index_t, Part> parts_;
};

}  // namespace sharing

template <>
struct ReduceBy<LaunchWay::Shared> {
  template <class Where, class R, class K, class Into, class... Accesses>
  static SharedReport reduce(const char* label, const Where& where, const R& work, const K& kernel,
                             Into&& into, const Accesses&... accesses) {
    if constexpr (check_coherent_reduction<K, Into>() && check_parts<Where, Accesses...>())
      return reduce_shared(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
    else return {};
  }
  template <class Where, class... Rest>
  static void scan(const char*, const Where&, const Rest&...) {
    static_assert(never<Where>,
                  "strata: launch_scan(across(...).dynamic()): each part of a scan begins with the total of "
                  "those before it; take across(...) without dynamic()");
  }

 private:
  template <class Where, class R, class K, class Into, class... Accesses>
  static SharedReport reduce_shared(const char* label, const Where& where, const R& work, const K& kernel,
                                    Into&& into, const Accesses&... accesses) {
    using Reduction = ReductionOf<K, std::remove_cvref_t<Into>>;
    using T = typename Reduction::value_type;
    static_assert(!std::is_array_v<T>,
                  "strata: launch_reduce over several devices: values of run-time length are reduced on one "
                  "device");
    check_all_fit<K>(label, work, accesses...);
    sharing::SharedWork shared = sharing::shared_work(label, where, work, kernel, accesses...);
    const ResidentRows range = shared.range;
    if (range.begin >= range.end) {
      visit_part(where, 0, [&](const auto& on) {
        reduce_on_one(label, on, work, kernel, static_cast<Into&&>(into), accesses...);
      });
      return sharing::run_shared(shared);
    }
    constexpr index_t block = WorkOf<R>::rank == 1 ? reduction_block : 1;
    shared.align = block;
    shared.in_nodes = true;
    sharing::SharedPartials<T> partials;
    shared.launch = [&](std::size_t device, ResidentRows items) {
      const auto& part = partials.add(range, items, block);
      const ResidentRows all{0, static_cast<index_t>(part.groups.size())};
      CoherentCall call = make_call<R, K>(label);
      visit_part(where, device, [&](const auto& on) {
        call.add_part(on.device.backend(), queue_of(on));
        (declare(call, accesses, items), ...);
        declare(call, out(part.values), all);
        call.is_one_of_several();
        call.prepare();
        reduce_groups<T>(label, call, 0, on, work, kernel, into, part.groups.data(), all, true, accesses...);
      });
      return call.timing(0);
    };
    shared.undo = [&](index_t begin) { partials.undo(begin); };
    const SharedReport report = sharing::run_shared(shared);
    const auto reducer = Reduction::reducer(kernel, into);
    visit_part(where, 0, [&](const auto& on) {
      const SplitReduction<T> joined{{}, {}, {}, partials.join(reducer), {}};
      join_partials(label, on, reducer, joined, static_cast<Into&&>(into));
    });
    return report;
  }
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
