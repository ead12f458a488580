// Which processors a process may use, where the mask of a thread may be narrower. Reading the evidence and
// deciding are separate: the decision is a function of data.
//
// A mask narrower than the machine may be meant for the process (taskset, a batch system, a container), or
// for OpenMP only: where OMP_PROC_BIND or the like is set, the OpenMP library binds the first thread. The
// mask alone does not say which.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// What there is to know; processors ascend.
struct AffinityEvidence {
  std::vector<int> at_start = {};  ///< before any library was loaded; empty: not known
  std::vector<int> now = {};       ///< of the thread that loads Strata; empty: there are no masks here
  std::vector<int> parent = {};    ///< of the parent process; empty: not known
  std::string variable = {};  ///< "OMP_PROC_BIND=close": what lets OpenMP bind threads; empty: none is set
  int openmp_processors = 0;  ///< the size of the mask that GNU's OpenMP library found; 0: it is not there
  std::vector<int> openmp_places = {};  ///< the processors of all of its places
};

struct ProcessAffinity {
  std::vector<int> processors;
  std::string warning;  ///< empty unless the process may be allowed more than `processors`
};

/// The processors that the process may use. In this order: the mask at its start; where no variable is set,
/// the mask now; the places of GNU's OpenMP library, or the mask of the parent, if they have as many
/// processors as the library found; else the mask now and OpenMP's places, with a warning that names the
/// variable if there may be more processors.
ProcessAffinity decide_affinity(const AffinityEvidence& evidence);

/// Collects it; does not call OpenMP unless it may have bound the calling thread.
AffinityEvidence read_affinity_evidence();

/// The variable, with its value, by which `get` (std::getenv) lets an OpenMP library bind threads; or "".
std::string binding_variable(const char* (*get)(const char* name));

}  // namespace strata::inline STRATA_ABI::detail
