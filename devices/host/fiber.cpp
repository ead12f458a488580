// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>
#include <utility>

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/devices/host/fiber.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define STRATA_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRATA_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define STRATA_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRATA_FIBER_TSAN 1
#endif
#endif

#ifdef STRATA_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef STRATA_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace strata::inline STRATA_ABI::detail {

namespace {

// The two ends of the switch that is under way on this thread.
thread_local Fiber* leaving = nullptr;
thread_local Fiber* entering = nullptr;

// The head of the C++ ABI's __cxa_eh_globals, which is all there is to it.
struct ExceptionGlobals {
  void* handled;
  unsigned in_flight;
};

#if !STRATA_FIBER_UCONTEXT
// Stores the registers that a function must keep (System V ABI: rbx, rbp, r12 to r15, and the control words
// of the floating-point units) and the stack pointer in *save, and returns on the other stack.
[[gnu::naked, gnu::noinline]] void switch_stacks(void** /*save*/, void* /*load*/) {
  asm("pushq %rbp\n\t"
      "pushq %rbx\n\t"
      "pushq %r12\n\t"
      "pushq %r13\n\t"
      "pushq %r14\n\t"
      "pushq %r15\n\t"
      "subq $8, %rsp\n\t"
      "stmxcsr (%rsp)\n\t"
      "fnstcw 4(%rsp)\n\t"
      "movq %rsp, (%rdi)\n\t"
      "movq %rsi, %rsp\n\t"
      "ldmxcsr (%rsp)\n\t"
      "fldcw 4(%rsp)\n\t"
      "addq $8, %rsp\n\t"
      "popq %r15\n\t"
      "popq %r14\n\t"
      "popq %r13\n\t"
      "popq %r12\n\t"
      "popq %rbx\n\t"
      "popq %rbp\n\t"
      "ret");
}

// The stack of a fiber that switch_stacks will begin: control words, six registers, where it returns to, and
// for those who walk the stack an end of it.
void* first_stack_pointer(char* top, void (*start)()) {
  // With nine words, the stack at the start is as after a call: its pointer is 8 past a multiple of 16.
  constexpr int count = 9;
  auto** const words = reinterpret_cast<void**>(top) - count;
  std::memset(words, 0, count * sizeof(void*));
  asm volatile("stmxcsr (%0)\n\tfnstcw 4(%0)" : : "r"(words) : "memory");
  words[7] = reinterpret_cast<void*>(start);
  return words;
}
#endif

}  // namespace

Fiber::Fiber() {
#ifdef STRATA_FIBER_TSAN
  thread_sanitizer_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(void (*entry)(void*), void* argument) : entry_(entry), argument_(argument) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  mapping_bytes_ = stack_bytes + page;
  void* const memory =
      mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) {
    if (memory != MAP_FAILED) munmap(memory, mapping_bytes_);
    throw OutOfMemory("the system gives no memory for the stack of a team's member (" +
                      std::to_string(mapping_bytes_) + " bytes, in two mappings): ask for smaller teams");
  }
  mapping_ = static_cast<char*>(memory);
  bottom_ = mapping_ + page;
  bytes_ = stack_bytes;
#ifdef STRATA_FIBER_TSAN
  thread_sanitizer_ = __tsan_create_fiber(0);
#endif
#if STRATA_FIBER_UCONTEXT
  getcontext(&context_);
  context_.uc_stack.ss_sp = mapping_ + page;
  context_.uc_stack.ss_size = stack_bytes;
  context_.uc_link = nullptr;
  makecontext(&context_, start, 0);
#else
  stack_pointer_ = first_stack_pointer(mapping_ + mapping_bytes_, start);
#endif
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
#ifdef STRATA_FIBER_TSAN
  __tsan_destroy_fiber(thread_sanitizer_);
#endif
#ifdef STRATA_FIBER_ASAN
  __asan_unpoison_memory_region(bottom_, bytes_);
#endif
  munmap(mapping_, mapping_bytes_);
}

void Fiber::switch_to(Fiber& next) {
  auto* const globals = reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
  exceptions_ = {globals->handled, globals->in_flight};
  *globals = {next.exceptions_.handled, next.exceptions_.in_flight};
  leaving = this;
  entering = &next;
#ifdef STRATA_FIBER_ASAN
  __sanitizer_start_switch_fiber(&fake_stack_, next.bottom_, next.bytes_);
#endif
#ifdef STRATA_FIBER_TSAN
  __tsan_switch_to_fiber(next.thread_sanitizer_, 0);
#endif
#if STRATA_FIBER_UCONTEXT
  swapcontext(&context_, &next.context_);
#else
  switch_stacks(&stack_pointer_, next.stack_pointer_);
#endif
  arrived();
}

// On the new stack. The sanitizer reports where a thread's own stack is when it is left.
void Fiber::arrived() {
#ifdef STRATA_FIBER_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &leaving->bottom_, &leaving->bytes_);
#endif
}

void Fiber::start() {
  Fiber& self = *entering;
  self.arrived();
  self.entry_(self.argument_);
  __builtin_unreachable();
}

}  // namespace strata::inline STRATA_ABI::detail
