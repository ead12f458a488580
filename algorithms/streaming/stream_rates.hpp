// How fast things go that a plan is made by, as far as they were measured in this process.
#pragma once

#include <cstdint>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Bytes a second that a thread of the host copies, which is all that devices of the host do besides kernels.
/// Measured once, in some milliseconds.
double host_copy_speed();

/// The kernel's time for a row and step, as earlier runs found it on this kind of device; 0: not known.
double known_row_seconds(const std::string& kernel);
void learn_row_seconds(const std::string& kernel, double seconds);

/// Bytes a second from and to the files of a disk (their stat's st_dev), together, as the last run found it
/// that only read them, only wrote them, or did both; 0: not known. Of small files the disk is often the
/// memory.
double known_file_rate(std::uint64_t disk, bool reads, bool writes);
void learn_file_rate(std::uint64_t disk, bool reads, bool writes, double rate);

}  // namespace strata::inline STRATA_ABI::detail
