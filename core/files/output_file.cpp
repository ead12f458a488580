// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <strata/core/files/file_size_limit.hpp>
#include <strata/core/files/output_file.hpp>
#include <strata/core/log.hpp>

namespace strata::inline STRATA_ABI::detail::files {

std::string expand_path(const std::string& path) {
  std::string result = path;
  const std::string process = std::to_string(getpid());
  for (std::size_t at = result.find("%p"); at != std::string::npos; at = result.find("%p", at))
    result.replace(at, 2, process);
  return result;
}

OutputFile::OutputFile(std::string what, const std::string& path, std::string opening)
    : what_(std::move(what)), opening_(std::move(opening)), path_(expand_path(path)) {
  if (!open_asked()) fall_back(file_error_text(errno));
}

OutputFile::~OutputFile() { close_file(); }

bool OutputFile::open_asked() {
  file_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return file_ >= 0 && write_here(opening_);
}

bool OutputFile::open_fallback() {
  const char* const folder = std::getenv("TMPDIR");
  path_ = std::string(folder && *folder ? folder : "/tmp") + "/strata-" + what_ + "-" +
          std::to_string(getpid()) + "-XXXXXX.json";
  file_ = mkostemps(path_.data(), 5, O_APPEND | O_CLOEXEC);
  written_ = 0;
  return file_ >= 0 && write_here(opening_);
}

// All of it or, as far as the file system lets us, nothing: half a record would spoil the file. The next
// records go to where the file then ends (O_APPEND).
bool OutputFile::write_here(std::string_view text) {
  const FileSizeErrors errors;
  const std::string_view whole = text;
  while (!text.empty()) {
    const ssize_t count = ::write(file_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int reason = count == 0 ? ENOSPC : errno;
      static_cast<void>(!ftruncate(file_, static_cast<off_t>(written_)));
      errno = reason;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  written_ += whole.size();
  return true;
}

void OutputFile::fall_back(const std::string& reason) {
  const std::string asked = path_;
  const bool has_part = written_ > opening_.size();
  close_file();
  fallen_back_ = true;
  if (open_fallback()) {
    log_message(LogLevel::Error, "the %s cannot be written to \"%s\": %s; %s goes to \"%s\"", what_.c_str(),
                asked.c_str(), reason.c_str(), has_part ? "the rest" : "it", path_.c_str());
    return;
  }
  log_message(LogLevel::Error,
              "the %s cannot be written to \"%s\": %s; nor to \"%s\": %s (set TMPDIR to a "
              "folder with room)",
              what_.c_str(), asked.c_str(), reason.c_str(), path_.c_str(), file_error_text(errno).c_str());
  close_file();
}

void OutputFile::write(std::string_view records) {
  if (file_ >= 0 && write_here(records)) return;
  if (!fallen_back_) {
    fall_back(file_error_text(errno));
    if (file_ >= 0 && write_here(records)) return;
  }
  lost_ += records.size();
}

bool OutputFile::finish(std::string_view ending) {
  write(ending);
  // Some file systems say only now that there is no room.
  if (file_ >= 0 && close(std::exchange(file_, -1)) != 0) {
    log_message(LogLevel::Error, "the %s in \"%s\" may be incomplete: %s", what_.c_str(), path_.c_str(),
                std::strerror(errno));
    return false;
  }
  if (lost_ == 0) return true;
  log_message(LogLevel::Error, "%zu bytes of the %s are lost, there was no room for them", lost_,
              what_.c_str());
  return false;
}

void OutputFile::close_file() {
  if (file_ >= 0) close(std::exchange(file_, -1));
}

}  // namespace strata::inline STRATA_ABI::detail::files
