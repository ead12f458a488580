// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <strata/miniapps/fem/files/confined_process.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

constexpr int failed_status = 101;

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif

// Memory, time, what is open already, and the end. Whatever else is asked for fails with EPERM, so that the
// library takes a file for one that it may not read.
constexpr std::array allowed_calls = {
    SYS_read,         SYS_write,          SYS_close,        SYS_lseek,       SYS_mmap,
    SYS_munmap,       SYS_mremap,         SYS_mprotect,     SYS_madvise,     SYS_brk,
    SYS_futex,        SYS_clock_gettime,  SYS_gettimeofday, SYS_getrandom,   SYS_rt_sigaction,
    SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_sigaltstack,  SYS_sched_yield, SYS_getpid,
    SYS_gettid,       SYS_exit,           SYS_exit_group};

bool deny_all_but_computing() {
  const auto statement = [](std::uint16_t code, std::uint32_t value) {
    return sock_filter{code, 0, 0, value};
  };
  const auto jump_where_equal = [](std::uint32_t value, std::size_t yes, std::size_t no) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint8_t>(yes),
                       static_cast<std::uint8_t>(no), value};
  };
  constexpr std::size_t calls = allowed_calls.size();
  std::array<sock_filter, calls + 5> filter{};
  std::size_t k = 0;
  filter[k++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  filter[k++] = jump_where_equal(architecture, 0, calls + 1);
  filter[k++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::size_t call = 0; call < calls; ++call)
    filter[k++] = jump_where_equal(static_cast<std::uint32_t>(allowed_calls[call]), calls - call, 0);
  filter[k++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  filter[k++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  sock_fprog program{static_cast<unsigned short>(k), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
bool deny_all_but_computing() { return false; }
#endif

// False where the parent has ended already.
bool end_with(pid_t parent) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  return getppid() == parent;
}

// `what` is of a type of its own in glibc, an int elsewhere.
void limit(auto what, rlim_t value, rlim_t more = 0) {
  const rlimit limits{value, value + more};
  setrlimit(what, &limits);
}

// Bytes of data that this process has mapped, as RLIMIT_DATA counts them; 0 where that is not known.
rlim_t mapped_data() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  for (int column = 0; column < 6; ++column) file >> pages;  // the sixth is data
  return file ? pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) : 0;
}

// What the other process does. It ends here, without destructors of what it has inherited.
[[noreturn]] void run(const ConfinedLimits& limits, int pipe, pid_t parent, const auto& work) {
  if (!end_with(parent)) _exit(failed_status);
  // Nothing is open but the pipe, as standard output.
  const int nowhere = open("/dev/null", O_RDWR);
  if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0 ||
      dup2(pipe, STDOUT_FILENO) < 0)
    _exit(failed_status);
#ifdef SYS_close_range
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
#endif
  limit(RLIMIT_CORE, 0);
  signal(SIGXCPU, SIG_DFL);
  limit(RLIMIT_CPU, static_cast<rlim_t>(std::ceil(limits.processor_seconds)), 1);
  if (const rlim_t mapped = mapped_data(); mapped > 0) limit(RLIMIT_DATA, mapped + limits.memory);
  signal(SIGPIPE, SIG_DFL);
  deny_all_but_computing();
  const auto write_all = [&](const std::string& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t written = write(STDOUT_FILENO, bytes.data() + done, bytes.size() - done);
      if (written < 0 && errno != EINTR) _exit(failed_status);
      if (written > 0) done += static_cast<std::size_t>(written);
    }
  };
  int status = failed_status;
  try {
    status = work(write_all);
  } catch (...) {
  }
  _exit(status);
}

using Clock = std::chrono::steady_clock;

double seconds_until(Clock::time_point time) {
  return std::chrono::duration<double>(time - Clock::now()).count();
}

std::string too_long(const ConfinedLimits& limits) {
  return "took longer than " + std::to_string(static_cast<long>(std::ceil(limits.wall_seconds))) + " s";
}

// Ended by force and waited for, unless it has ended by itself.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  ~Child() {
    if (ended_) return;
    kill(id_, SIGKILL);
    int status = 0;
    while (waitpid(id_, &status, 0) < 0 && errno == EINTR) continue;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Of a process that has closed its output, and so is about to end. Empty, with `status`, where it returned.
  std::string how_it_ended(const ConfinedLimits& limits, Clock::time_point until, int& status) {
    int state = 0;
    pid_t found = 0;
    while ((found = waitpid(id_, &state, WNOHANG)) <= 0) {
      if (found < 0 && errno != EINTR) return "ended unseen";  // where SIGCHLD is ignored
      if (seconds_until(until) <= 0) return too_long(limits);
      usleep(200);
    }
    ended_ = true;
    if (WIFSIGNALED(state)) return "ended by signal " + std::to_string(WTERMSIG(state));
    if (WEXITSTATUS(state) >= failed_status) return "ended with an error";
    status = WEXITSTATUS(state);
    return "";
  }

 private:
  pid_t id_;
  bool ended_ = false;
};

struct Descriptor {
  int number;
  ~Descriptor() { close(number); }
};

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// Why reading stopped before the end; empty at the end.
std::string read_output(int pipe, const ConfinedLimits& limits, Clock::time_point until,
                        std::string& output) {
  std::array<char, 65536> bytes;
  while (true) {
    const double left = seconds_until(until);
    pollfd ready{pipe, POLLIN, 0};
    const int found = left > 0 ? poll(&ready, 1, static_cast<int>(std::min(left, 1e6) * 1000) + 1) : 0;
    if (found == 0) {
      if (left > 0) continue;
      return too_long(limits);
    }
    const ssize_t got = found < 0 ? -1 : read(pipe, bytes.data(), bytes.size());
    if (got < 0 && errno != EINTR) fail("cannot read from another process");
    if (got == 0) return "";
    if (got < 0) continue;
    if (output.size() + static_cast<std::size_t>(got) > limits.output)
      return "gave more than " + std::to_string(limits.output) + " bytes";
    output.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

ConfinedResult run_confined(const ConfinedLimits& limits,
                            const std::function<int(const std::function<void(const std::string&)>&)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe");
  const Descriptor read_end{ends[0]};
  const pid_t parent = getpid();
  const pid_t id = fork();
  if (id == 0) {
    close(ends[0]);
    run(limits, ends[1], parent, work);
  }
  const int error = errno;
  close(ends[1]);
  errno = error;
  if (id < 0) fail("cannot start a process");
  Child child(id);
  ConfinedResult result;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(limits.wall_seconds));
  result.failure = read_output(read_end.number, limits, until, result.output);
  if (result.failure.empty()) result.failure = child.how_it_ended(limits, until, result.status);
  return result;
}

bool confinement_denies_files() {
  const auto result = run_confined({}, [](const auto&) {
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return file < 0 ? 0 : 1;
  });
  return result.status == 0;
}

}  // namespace strata::inline STRATA_ABI::fem::detail
