#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <strata/miniapps/fem/files/partial_file.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".partial";

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether `name` is FILE.PID.partial, where FILE is `file`, or a state STEM_NUMBER.vtu of STEM.pvd.
bool is_partial_of(std::string_view name, const fs::path& file) {
  if (!name.ends_with(ending)) return false;
  name.remove_suffix(ending.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || !is_number(name.substr(dot + 1))) return false;
  name = name.substr(0, dot);
  if (name == file.filename().string()) return true;
  const std::string begin = file.stem().string() + "_";
  constexpr std::string_view state = ".vtu";
  if (file.extension() != ".pvd" || !name.starts_with(begin) || !name.ends_with(state)) return false;
  name.remove_prefix(begin.size());
  return name.size() > state.size() && is_number(name.substr(0, name.size() - state.size()));
}

void remove_unless_locked(const fs::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
  close(file);
}

// A run that looks whether the file is abandoned has the lock for a moment. Without a lock, on a file system
// that has none, nobody removes the file either; who has it longer is this process, with a second file for
// the place.
void take_lock(int file) {
  using namespace std::chrono_literals;
  for (int k = 0; k < 50 && flock(file, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR);
       ++k)
    std::this_thread::sleep_for(1ms);
}

// Whether the file that is open has a name still: another run may have removed it between its creation and
// its lock.
bool has_name(int file) {
  struct stat status {};
  return fstat(file, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

std::string behind_links(const std::string& path) {
  std::error_code none;
  const fs::path real = fs::weakly_canonical(path, none);
  return fs::is_symlink(path, none) && !real.empty() ? real.string() : path;
}

int create_partial(const std::string& path, std::string& name) {
  name = path + "." + std::to_string(getpid()) + std::string(ending);
  while (true) {
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return file;
    take_lock(file);
    if (has_name(file)) return file;
    close(file);
  }
}

void remove_abandoned_partials(const std::string& path) noexcept {
  try {
    const fs::path file = behind_links(path);
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (is_partial_of(entry->path().filename().string(), file)) remove_unless_locked(entry->path());
  } catch (const std::exception&) {  // out of memory: nothing that has to be done
  }
}

}  // namespace strata::inline STRATA_ABI::fem
