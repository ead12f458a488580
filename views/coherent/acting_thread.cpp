#include <string>

#include <strata/core/error.hpp>
#include <strata/views/coherent/acting_thread.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {
thread_local std::thread::id acts_for;  // none: for itself
thread_local bool in_task_function = false;
}  // namespace

std::thread::id acting_thread() {
  return acts_for == std::thread::id() ? std::this_thread::get_id() : acts_for;
}

ActingFor::ActingFor(std::thread::id thread) : before_(acts_for) { acts_for = thread; }
ActingFor::~ActingFor() { acts_for = before_; }

TaskFunctionScope::TaskFunctionScope() { in_task_function = true; }
TaskFunctionScope::~TaskFunctionScope() { in_task_function = false; }

void require_no_task_function(const char* what) {
  if (in_task_function)
    throw Error(std::string(what) +
                " over coherent arrays in the function of a task: it uses the views that it is given, and "
                "launches over them on its queue; what uses other arrays is a task of its own");
}

}  // namespace strata::inline STRATA_ABI::detail
