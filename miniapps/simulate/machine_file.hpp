// Machines from JSON: README.md has the format, machines/ those that there are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/algorithms/tasks/plan/machine.hpp>
#include <strata/miniapps/simulate/graph_file.hpp>

namespace strata::inline STRATA_ABI::simulate {

/// The first `devices` of the machine that a file describes, each with `memory` bytes; 0: with what the file
/// says. UsageError where the file cannot be understood or has fewer devices, TaskError where it describes no
/// machine. A device of a kind for which a kernel was measured takes as long; any other has the rates that
/// the file gives for the kernel.
tasks::Machine read_machine(const std::string& path, index_t devices, index_t memory,
                            const MeasuredKernels& measured = {});

/// Bytes from text as bytes_from_string reads it, and in kB, MB, GB and TB, which are powers of 1000.
/// UsageError.
index_t memory_from_string(const std::string& text);

}  // namespace strata::inline STRATA_ABI::simulate
