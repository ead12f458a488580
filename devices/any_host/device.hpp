// AnyHost: Serial, Threads or Tbb, whichever is chosen at run time. Code for it is compiled once for all
// three.
//
//   parallel_for(on(AnyHost(Serial{})), n, kernel);   // on the calling thread
//   parallel_for(on(AnyHost{}), n, kernel);           // on the process's default: the setting host_device
//
// It shares their memory and the layout of plain arrays: views of all four convert into each other. A launch
// that names no device and works on views of AnyHost runs on the default.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

#include <strata/core/layout_right.hpp>
#include <strata/devices/device.hpp>
#include <strata/devices/host/execution.hpp>
#include <strata/devices/host/kind.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI {

struct AnyHost;

namespace detail {

// Devices that launch as AnyHost does, and differ from each other in their HostKind.
template <class D>
concept HostType = !std::same_as<D, AnyHost> && std::same_as<typename D::execution, HostExecution> &&
                   requires(const D& device) {
  { device.host() } -> std::same_as<const HostKind&>;
};

/// The device that AnyHost{} stands for. NoSuchDevice where the setting names one that is not built in.
const HostKind& default_host();
/// Makes `host` the default; returns the host that set_default() was given before, or null.
const HostKind* exchange_default_host(const HostKind* host);

}  // namespace detail

/// A host device chosen at run time, as a handle. It has the members of the concept Device.
struct AnyHost {
  /// Memory, layout of plain arrays, index of kernels, launches and name, as the concept Device asks for.
  using memory_space = HostSpace;
  using layout = LayoutRight;
  using index_type = detail::HostIndex;
  using size_type = index_t;
  using execution = detail::HostExecution;
  static constexpr char name[] = "AnyHost";

  /// The default host device of the process: that of the last set_default(), without one that of the setting
  /// host_device. NoSuchDevice where that is not built in.
  AnyHost() : host_(&detail::default_host()) {}
  /// The same: there is one instance, 0; NoSuchDevice for another number.
  explicit AnyHost(int index);
  /// `device`: Serial{}, Threads{}, Tbb{}, or a user's device that launches as they do.
  template <detail::HostType D>
  AnyHost(const D& device) : host_(&device.host()) {}
  /// The host device of a launch (LaunchInfo::host).
  explicit AnyHost(const detail::HostKind& host) : host_(&host) {}

  /// Makes `device` the default of the process, from now on, for all threads.
  static void set_default(const AnyHost& device);

  /// One instance of each.
  static constexpr int count() { return 1; }
  static constexpr int index() { return 0; }
  detail::DeviceInstance& backend() const { return host_->backend(); }
  /// The device that this is: "Serial", "Threads" or "Tbb".
  const char* device_name() const { return host_->name; }

  /// The threads that a launch from the calling thread may use.
  int concurrency() const { return host_->concurrency(); }
  detail::Runner runner() const { return host_->runner(); }
  const detail::HostKind& host() const { return *host_; }

  /// Whether both are the same device.
  friend bool operator==(const AnyHost& a, const AnyHost& b) { return a.host_ == b.host_; }

 private:
  const detail::HostKind* host_;
};

namespace detail {

/// Makes a host device the default of the process while it lives, for all threads.
class DefaultHostScope {
 public:
  explicit DefaultHostScope(const AnyHost& device) : before_(exchange_default_host(&device.host())) {}
  ~DefaultHostScope() { exchange_default_host(before_); }
  DefaultHostScope(const DefaultHostScope&) = delete;
  DefaultHostScope& operator=(const DefaultHostScope&) = delete;

 private:
  const HostKind* before_;
};

}  // namespace detail

}  // namespace strata::inline STRATA_ABI
