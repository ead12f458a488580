// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/build_info.hpp>
#include <strata/algorithms/device_list.hpp>
#include <strata/commit.hpp>
#include <strata/version.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/device.hpp>
#endif

namespace strata::inline STRATA_ABI {

namespace {

std::string compiler_text() {
#if defined(__clang__)
  return "clang++ " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

BuildInfo make_build_info() {
  BuildInfo info{STRATA_VERSION_STRING, STRATA_COMMIT, compiler_text(), checked_build, {}};
  AllDevices::for_each([&](auto device) { info.backends.emplace_back(decltype(device)::name); });
#if STRATA_HAS_CUDA
  info.backends.emplace_back(Cuda::name);  // which the list holds in the files of nvcc only
#endif
  return info;
}

}  // namespace

const BuildInfo& build_info() {
  static const auto* const info = new BuildInfo(make_build_info());
  return *info;
}

std::string version_text() {
  const BuildInfo& info = build_info();
  std::string text = "strata " + info.version + " (commit " + info.commit + ", " + info.compiler +
                     (info.checked ? ", checked): " : "): ");
  const char* separator = "";
  for (const std::string& name : info.backends) {
    text += separator + name;
    separator = ", ";
  }
  return text;
}

}  // namespace strata::inline STRATA_ABI
