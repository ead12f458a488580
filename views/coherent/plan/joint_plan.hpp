// JointPlan: several launches on several devices, one after the other, as one list of copies between memories
// and kernels, and which of these wait for which. Pure logic: no memory is touched, no device or
// thread is used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/core/box.hpp>
#include <strata/views/coherent/plan/directory.hpp>
#include <strata/views/coherent/plan/memory_links.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The use of an array by a part of a launch.
struct JointUse {
  int array;
  AccessMode mode;
  std::vector<Box> region;  // boxes that share no index
  std::vector<Box> early;   // of it, the boxes of the work items that may go first
};
/// The part of a launch that one device runs.
struct JointPart {
  int queue;  // of its kernel: a number of the caller's
  MemoryId memory;
  std::vector<JointUse> uses;
  bool has_early = false;  // some work items may go first
};
using JointLaunch = std::vector<JointPart>;

/// A queue of a plan.
struct JointQueue {
  enum class Kind : unsigned char { Kernels, Upload, Download, Peer } kind;
  int number;  // of kernels the caller's, of copies the memory's
  friend bool operator==(const JointQueue&, const JointQueue&) = default;
};

/// A copy, or the kernel of a part for all its work items, for those that go first, or for the rest of them.
struct JointOperation {
  enum class Kind : unsigned char { Copy, All, Early, Rest } kind;
  int queue;                   // the number of one of the plan's
  std::vector<int> after;      // operations on other queues, numbers of earlier ones, that it waits for
  bool is_awaited = false;     // by operations on other queues
  int launch = -1, part = -1;  // of a kernel
  int array = -1;              // of a copy
  Box box = {};
  MemoryId from = host_memory, to = host_memory;
};

struct JointPlan {
  std::vector<JointQueue> queues;
  int first_kernels = -1;  // the queue of the first kernel
  std::vector<JointOperation> operations;
  /// The changes of the directories: `copied` or `written`, in this order, lead from their state before to
  /// that after.
  struct Change {
    int array;
    MemoryId memory;
    Box box;
    bool is_copy;
    friend bool operator==(const Change&, const Change&) = default;
  };
  std::vector<Change> changes;
  /// Of an array in a memory: the boxes read that were there before, and the boxes written, also by copies.
  struct Touched {
    int array;
    MemoryId memory;
    std::vector<Box> read, written;
  };
  std::vector<Touched> touched;
  std::vector<Directory> before, after;
};

/// The plan of launches, each of which begins from the state that those before it leave. Arrays have a
/// directory and bytes of an element each. Parts of one launch may not write what others of it use.
JointPlan plan_jointly(const std::vector<JointLaunch>& launches, const std::vector<Directory>& directories,
                       const std::vector<index_t>& element_bytes, const MemoryLinks& links);

}  // namespace strata::inline STRATA_ABI::detail
