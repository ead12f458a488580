// For debuggers: where the values of a coherent array are, as text. core/debugger/strata_gdb.py calls it by
// name in a program that is stopped; programs use CoherentArray::explain().
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What is known of a CoherentState: a line for each part, with the memories that have its values and those
/// that have old ones. The text holds until the next call. No lock is waited for: where a thread that is
/// stopped has it, the text says so, and nothing is read. Nothing is allocated for arrays of few parts.
extern "C" const char* strata_describe_coherent_array(const void* state);
