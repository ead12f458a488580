// The C interface of Kokkos Tools, as far as Strata calls it: layouts and signatures, which are fixed by the
// libraries that exist. Any symbol may be missing from a library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools {

/// The version of the interface that is passed to init_library: year, month, day.
inline constexpr std::uint64_t interface_version = 20240906;

extern "C" {

struct DeviceInfo {
  std::size_t device_id;
};

/// The name of a memory, padded with zeros.
struct SpaceHandle {
  char name[64];
};

struct ToolSettings {
  bool requires_global_fencing;
  bool padding[255];
};

/// The functions that a tool may call.
struct ToolProgrammingInterface {
  void (*fence)(std::uint32_t device_id);
  void (*padding[31])();
};

using InitLibrary = void (*)(int load_sequence, std::uint64_t version, std::uint32_t devices, DeviceInfo*);
using RequestToolSettings = void (*)(std::uint32_t count, ToolSettings*);
using ProvideToolProgrammingInterface = void (*)(std::uint32_t count, ToolProgrammingInterface);
using ParseArgs = void (*)(int argc, char** argv);
using PrintHelp = void (*)(char* program);
using Plain = void (*)();
using Begin = void (*)(const char* name, std::uint32_t device_id, std::uint64_t* id);
using End = void (*)(std::uint64_t id);
using Named = void (*)(const char* name);
using CreateSection = void (*)(const char* name, std::uint32_t* id);
using UseSection = void (*)(std::uint32_t id);
using DataEvent = void (*)(SpaceHandle, const char* label, const void* data, std::uint64_t bytes);
using BeginDeepCopy = void (*)(SpaceHandle destination, const char* destination_label, const void* to,
                               SpaceHandle source, const char* source_label, const void* from,
                               std::uint64_t bytes);
using DeclareMetadata = void (*)(const char* key, const char* value);

}  // extern "C"

static_assert(sizeof(SpaceHandle) == 64);
static_assert(sizeof(ToolSettings) == 256);
static_assert(sizeof(ToolProgrammingInterface) == 32 * sizeof(void*));

// X(type, name): the function kokkosp_NAME of a library.
// clang-format off
#define STRATA_KOKKOS_TOOLS_CALLBACKS(X)                              \
  X(InitLibrary, init_library)                                        \
  X(Plain, finalize_library)                                          \
  X(RequestToolSettings, request_tool_settings)                       \
  X(ProvideToolProgrammingInterface, provide_tool_programming_interface) \
  X(ParseArgs, parse_args)                                            \
  X(PrintHelp, print_help)                                            \
  X(Begin, begin_parallel_for)                                        \
  X(End, end_parallel_for)                                            \
  X(Begin, begin_parallel_reduce)                                     \
  X(End, end_parallel_reduce)                                         \
  X(Begin, begin_parallel_scan)                                       \
  X(End, end_parallel_scan)                                           \
  X(Begin, begin_fence)                                               \
  X(End, end_fence)                                                   \
  X(Named, push_profile_region)                                       \
  X(Plain, pop_profile_region)                                        \
  X(CreateSection, create_profile_section)                            \
  X(UseSection, start_profile_section)                                \
  X(UseSection, stop_profile_section)                                 \
  X(UseSection, destroy_profile_section)                              \
  X(Named, profile_event)                                             \
  X(DataEvent, allocate_data)                                         \
  X(DataEvent, deallocate_data)                                       \
  X(BeginDeepCopy, begin_deep_copy)                                   \
  X(Plain, end_deep_copy)                                             \
  X(DeclareMetadata, declare_metadata)
// clang-format on

/// The functions of one library; null where it has none.
struct Callbacks {
#define STRATA_CALLBACK(type, name) type name = nullptr;
  STRATA_KOKKOS_TOOLS_CALLBACKS(STRATA_CALLBACK)
#undef STRATA_CALLBACK
};

}  // namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools
