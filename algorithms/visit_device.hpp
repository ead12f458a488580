// visit_device: calls a function with the device that has a given name, chosen at run time.
//
//   template <class Device> int run(const Device& device);          // the program, for any device
//   return visit_device([](auto device) { return run(device); });   // the one of --strata-device
//
// The names are those of the device types, in letters of either case, and for an instance other than the
// first its number: "threads", "Cuda", "Cuda:1" or "Cuda{1}". "" and "default" are the best device of the
// machine: Cuda where there is a GPU, else the host device of the setting host_device, by default Threads.
//
// The function is compiled for every device of the list, by default those of the build: as in every file,
// Cuda is among them only where nvcc compiles it (strata_add_kernels). visit_device<KernelDevices>(...) finds
// the same devices and compiles the function once for all hosts: it passes an AnyHost, which is Serial,
// Threads or Tbb as the name says, and the default of the process while the function runs. A shorter list
// compiles faster still: visit_device<DeviceList<AnyHost, Cuda>>(...). nvcc allows no kernel that is a lambda
// inside the generic lambda itself; call a function from it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <strata/algorithms/device_list.hpp>
#include <strata/version.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// A device type, for choosing one by name.
struct ListedDevice {
  const char* name;
  int (*count)();
  void (*require)(int instance);  // throws NoSuchDevice where there is no such instance
};
struct DeviceChoice {
  int type;  // in the list
  int instance;
};

/// Throws NoSuchDevice, which lists the devices, where `name` is none of the list and machine.
DeviceChoice choose_device(const std::string& name, const ListedDevice* list, int size);
/// The device of the setting `device`; errors name the setting.
DeviceChoice choose_device_of_setting(const ListedDevice* list, int size);
std::vector<std::string> names_of_devices(const ListedDevice* list, int size);

template <class D>
int count_of() {
  return D::count();
}
template <class D>
void require_instance(int instance) {
  static_cast<void>(D(instance));
}

// The names that stand for devices of type `D`, and the device of one of them.
template <class D>
struct NamedDevices {
  static constexpr int size = 1;
  static constexpr ListedDevice list[size] = {{D::name, count_of<D>, require_instance<D>}};
  static D make(int, int instance) { return D(instance); }
};
template <class... Hosts>
struct NamedHosts {
  static constexpr int size = sizeof...(Hosts);
  static constexpr ListedDevice list[size] = {{Hosts::name, count_of<Hosts>, require_instance<Hosts>}...};
  static AnyHost make(int number, int) {
    const HostKind* const kinds[size] = {&Hosts::host()...};
    return AnyHost(*kinds[number]);
  }
};
template <>
struct NamedDevices<AnyHost> : NamedHosts<Serial, Threads
#if STRATA_HAS_TBB
                                          ,
                                          Tbb
#endif
                                          > {
};

template <class First, class... Others>
struct CommonResult : std::common_type<First, Others...> {};
template <class First, class... Others>
requires(std::is_same_v<First, Others>&&...) struct CommonResult<First, Others...> {
  using type = First;
};

template <class F, class... D>
concept HasCommonResult = requires {
  typename CommonResult<decltype(std::declval<F&>()(std::declval<D>()))...>::type;
};

template <class Devices>
struct DeviceDispatch;
template <class... D>
struct DeviceDispatch<DeviceList<D...>> {
  static_assert(sizeof...(D) > 0, "strata: visit_device: the list of devices is empty");
  static constexpr int size = (NamedDevices<D>::size + ... + 0);

 private:
  struct List {
    ListedDevice devices[size];
  };
  static constexpr List make_list() {
    List all{};
    int at = 0;
    const auto add = [&](const ListedDevice& device) { all.devices[at++] = device; };
    const auto add_all = [&](const auto& named) {
      for (const ListedDevice& device : named) add(device);
    };
    (add_all(NamedDevices<D>::list), ...);
    return all;
  }
  static constexpr List names = make_list();

 public:
  static constexpr const ListedDevice* list = names.devices;

  template <class F>
  static decltype(auto) visit(DeviceChoice choice, F& f) {
    static_assert(HasCommonResult<F, D...>,
                  "strata: visit_device: what the function returns for the devices has no common type");
    if constexpr (HasCommonResult<F, D...>)
      return call<typename CommonResult<decltype(f(std::declval<D>()))...>::type, F, D...>(choice, f);
  }

 private:
  template <class R, class F, class First, class... Others>
  static R call(DeviceChoice choice, F& f) {
    using Named = NamedDevices<First>;
    if constexpr (sizeof...(Others) > 0)
      if (choice.type >= Named::size)
        return call<R, F, Others...>({choice.type - Named::size, choice.instance}, f);
    const First device = Named::make(choice.type, choice.instance);
    if constexpr (std::is_same_v<First, AnyHost>) {
      const DefaultHostScope scope(device);
      return static_cast<R>(f(First(device)));
    } else {
      return static_cast<R>(f(First(device)));
    }
  }
};

}  // namespace detail

/// Calls f(device) with the device of that name, and returns what f does (the common type, where that differs
/// between devices). NoSuchDevice, which lists what there is, for an unknown name, a device that this build
/// or file does not have, and an instance that this machine does not have.
template <class Devices = AllDevices, class F>
decltype(auto) visit_device(const std::string& name, F&& f) {
  using Dispatch = detail::DeviceDispatch<Devices>;
  return Dispatch::visit(detail::choose_device(name, Dispatch::list, Dispatch::size), f);
}

/// The same with the name that the setting `device` gives: option --strata-device, variable STRATA_DEVICE.
template <class Devices = AllDevices, class F>
requires(!std::is_convertible_v<F&&, std::string>) decltype(auto) visit_device(F&& f) {
  using Dispatch = detail::DeviceDispatch<Devices>;
  return Dispatch::visit(detail::choose_device_of_setting(Dispatch::list, Dispatch::size), f);
}

/// The names that visit_device finds on this machine: "Serial", "Threads", "Cuda:0", "Cuda:1" ...; numbered
/// where there are several instances.
template <class Devices = AllDevices>
std::vector<std::string> device_names() {
  using Dispatch = detail::DeviceDispatch<Devices>;
  return detail::names_of_devices(Dispatch::list, Dispatch::size);
}

}  // namespace strata::inline STRATA_ABI
