// Speeds from which plans are made, as far as they were measured in this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// Bytes a second that a thread of the host copies: devices of the host only do this and run kernels.
/// Measured once, in some milliseconds.
double host_copy_speed();

/// A figure that earlier runs found, by its name; 0: not known. Of kernels they are the seconds of a row and
/// step, and of a launch beside its rows, on this kind of device.
double known_figure(const std::string& name);
void learn_figure(const std::string& name, double value);

/// Bytes a second from and to the files of a disk (their stat's st_dev), together, as the last run found it
/// that only read them, only wrote them, or did both; 0: not known. Of small files the disk is often the
/// memory.
double known_file_rate(std::uint64_t disk, bool reads, bool writes);
void learn_file_rate(std::uint64_t disk, bool reads, bool writes, double rate);

}  // namespace strata::inline STRATA_ABI::detail::streaming
