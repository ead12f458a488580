// A timeline of the program as a file that chrome://tracing and ui.perfetto.dev open: kernels, copies, graphs
// and initialisations of arrays on one track for each queue, regions and waits on one for each thread, and
// the bytes held of each memory.
//
// Times are those of the host's steady clock, from the start of the trace. On host devices they are the times
// of the work. On asynchronous devices they are the times of the calls that enqueue it; times that such a
// device measures itself (Emulated: its virtual time) are on separate tracks, by its own clock.
//
// The file is written as the program goes: an event writes itself and all before it when a second has passed
// since the last write, or 64 KiB have come together. It is readable up to there if the program ends by a
// signal or by abort(); an uncaught exception completes it. A child of fork() writes nothing to it.
//
// The bytes held are approximate where other threads allocate or free at the moment that the trace begins.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Begins a trace, in `file`; "%p" in it stands for the number of the process. Ends one that is under way,
/// also of another thread: there is one at a time. The setting `trace` does the same at the first use of
/// Strata. A file that cannot be written is not an error: stderr says where the trace is written instead.
void start_trace(const std::string& file);
/// Completes the file. The end of the runtime does so too.
void stop_trace();

}  // namespace strata::inline STRATA_ABI
