// PartialFile: a file that is written under a temporary name and renamed to its path when it is complete; a
// file that was there before stays until then.
//
//   PartialFile file;
//   if (file.create("run.e") && file.write(text, bytes, 0) && file.place()) ...   // else errno says why
//
// FILE.XXXXXXXX.partial, eight letters and digits, is made anew: never a file or a link that was there, also
// where programs of two machines or containers, which may have the same process number, share the folder. It
// is locked (flock) by the process that writes it until it has its place or is removed, and the lock ends
// with the process, however that ends. So a process that gets the lock of a partial file may remove it; where
// a file system has no locks, nothing is removed. The folder is held open, so that it may be renamed.
//
// Not thread safe. Functions that fail return false, with the reason in errno.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::files {

/// A name for a partial file of `path`, another one at each call.
std::string partial_name(const std::string& path);

class PartialFile {
 public:
  /// Returns a name in the same folder as its argument.
  using Name = std::string (*)(const std::string& path);

  PartialFile() = default;
  /// Closes the file, and removes it unless it has its place.
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  /// A new file for the place `path`, or for where a link there leads, also where there is nothing yet, as a
  /// shell writes through links. ELOOP where links lead to no place. `name` is called until it returns a name
  /// that is not in use.
  [[nodiscard]] bool create(const std::string& path, Name name = partial_name);
  /// Continues the file that is at its place already, and locks it: EWOULDBLOCK where another process writes
  /// it.
  [[nodiscard]] bool open(const std::string& path);

  bool is_open() const { return file_ >= 0; }
  bool has_place() const { return has_place_; }
  std::uint64_t size() const;

  /// Writes all of the bytes at `offset`.
  [[nodiscard]] bool write(const void* data, std::size_t bytes, std::uint64_t offset);
  [[nodiscard]] bool cut(std::uint64_t bytes);
  /// After this, the data, and the name of a file at its place, survive a power failure.
  [[nodiscard]] bool sync();
  /// Renames the file to its place, whatever is there; it stays open and locked. False also where the file
  /// system only now reports that there was no room.
  [[nodiscard]] bool place();
  /// Ends it as the destructor does.
  void close() noexcept;

 private:
  bool create_locked(Name name);

  int folder_ = -1, file_ = -1;
  std::string name_, temporary_;  // in the folder
  bool has_place_ = false;
};

/// The path to which a link at `path` leads, also if nothing is there: files are put there, not in the place
/// of the link. `path` itself if it is not a link; for links in a circle one of them.
std::string follow_links(const std::string& path);

/// Whether a file could be made in the folder of `path`: makes one without a name, where the file system can,
/// so that none is left.
[[nodiscard]] bool can_create_beside(const std::string& path);

/// Removes the partial files of `path` that no process writes any more, and, for a .pvd file, those of its
/// states, STEM_NUMBER.vtu. Files that cannot be examined or removed stay.
void remove_abandoned_partials(const std::string& path) noexcept;

/// Takes the exclusive lock of a file. Tries for a moment, as a process that checks whether it is abandoned
/// holds it for one. EWOULDBLOCK where another holds it for longer; another error where there are no locks.
[[nodiscard]] bool take_file_lock(int file) noexcept;

/// Whether `name` in `folder` is the open file, and no link to it.
[[nodiscard]] bool is_name_of(int folder, const std::string& name, int file) noexcept;

}  // namespace strata::inline STRATA_ABI::detail::files
