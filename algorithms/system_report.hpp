// A report on the library and this machine, as text and as JSON: how the library was built, the devices with
// their memory, the settings and where their values come from. The program strata-info prints it; a program
// may write it to its log.
//
// Describing the devices starts every one of them, which takes seconds for a GPU and some of its memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// One instance of a device, or a type of device that is built in but cannot be used here.
struct DeviceDescription {
  std::string name;      ///< of its type, "Cuda"
  int instance = 0;      ///< its number
  std::string memory;    ///< the kind of memory that its arrays have, "Host"; empty where it cannot be used
  index_t capacity = 0;  ///< bytes of that memory for Strata and others, of a host as its control group
                         ///< limits it; 0: not known
  index_t used = 0;      ///< bytes of it that arrays of this process hold
  int threads = 0;       ///< host threads that a launch of the calling thread may use; 0 on accelerators
  std::string problem;   ///< why it cannot be used; empty where it can
};

/// The devices that are built in, one entry for each instance on this machine; those that cannot be used say
/// why. Starts them. Throws RuntimeEnded after the end of the runtime, SettingError for unreadable settings.
std::vector<DeviceDescription> describe_devices();

/// Version, devices and settings as lines of text. Throws as describe_devices does.
std::string system_report();

/// The same as a JSON object: version, commit, compiler, checked, backends, and lists of devices and settings
/// with the names of the fields of DeviceDescription and SettingDescription. Throws as describe_devices does.
std::string system_report_json();

}  // namespace strata::inline STRATA_ABI
