// FileStorage: the file in which a coherent array lives, for code that reads and writes parts of it by direct
// I/O.
//
// Mapping and direct I/O see the same bytes where these calls are made. What Linux does by itself (ext4, XFS,
// btrfs, tmpfs): a direct read first writes back what the page cache has changed there, mappings included; a
// direct write writes back and drops the pages before and after, also from mappings, so that the next touch
// reads the file. What it cannot drop is a page that another thread changes during the write: pages of the
// cache may be larger than 4096 bytes, and hold a part of the neighbour's. AsyncFile looks for such pages
// after each request, and writes what they should have into them (with cachestat(2), of Linux 6.5; before
// that, XFS alone had such pages). Other systems promise less.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include <strata/core/files/async_file.hpp>
#include <strata/views/coherent/file_header.hpp>

namespace strata::inline STRATA_ABI::detail {

class CoherentState;

class FileStorage {
 public:
  /// A file with a header, mapped. FileError.
  static FileStorage* create(const std::string& path, bool overwrites, const FileHeader& header);
  /// `header` gets that of the file.
  static FileStorage* open(const std::string& path, bool reads_only, bool allows_incomplete,
                           FileHeader& header);
  ~FileStorage();
  FileStorage(const FileStorage&) = delete;
  FileStorage& operator=(const FileStorage&) = delete;

  /// Reads and writes at offsets of the file.
  files::AsyncFile& file() { return file_; }
  const std::string& path() const { return file_.path(); }
  /// Where in the file the first element lies: a multiple of 4096. Those after it follow as in memory.
  index_t first_byte() const { return header_.data_offset; }
  /// Of all elements, as the layout places them.
  index_t data_bytes() const { return header_.data_bytes; }
  const FileHeader& header() const { return header_; }
  bool is_for_reading() const { return reads_only_; }
  /// The first element in the mapping.
  char* data() const { return map_ + header_.data_offset; }

  // Offsets and lengths are in bytes of the file, as AsyncFile takes them.

  /// Direct reads that begin later see what the host changed there through the mapping. Microseconds where
  /// nothing was changed. FileError.
  void before_direct_read(index_t first_byte, index_t bytes);
  /// The file is marked incomplete, on the disk, if it was not. FileError where it was opened for_reading.
  void before_direct_write(index_t first_byte, index_t bytes);

  /// Throws FileError where the file was truncated, or `writes` one that was opened for_reading.
  void check_use(bool writes) const;
  /// Elements may change from now on.
  void mark_incomplete();
  /// Writes all changes to the disk; then the file is complete. Nobody may change elements meanwhile.
  void complete();

  // For code that decides which files are in memory: hints to the system, which decides in the end.

  /// Reads all of the data into memory. FileError.
  void read_ahead();
  /// Writes changes to the disk. FileError: they are in memory, and the next attempt, or complete(), writes
  /// them, as far as the system keeps them.
  void write_back();
  /// Gives the memory back; the data stays in the file. Nobody may have views. Nothing is given back while
  /// changes could not be written.
  void give_memory_back();
  /// For tests: write_back() and complete() fail with errno `error` from now on; 0: they do not.
  void inject_write_error(int error) { injected_error_ = error; }

 private:
  FileStorage(const std::string& path, files::AsyncFile::Mode mode) : file_(path, mode) {}
  void lock(bool exclusive);
  void map();
  // Bytes of the file, from page to page.
  struct Part {
    index_t begin = 0, end = 0;
    bool operator==(const Part&) const = default;
  };
  void write_back(index_t first_byte, index_t bytes);
  int write_pages(Part part);
  Part changed_again();
  void write_header(FileHeader::State state);

  files::AsyncFile file_;
  FileHeader header_{};
  bool reads_only_ = false;
  char* map_ = nullptr;
  index_t mapped_ = 0;
  // The state in the header on the disk; Unknown where writing it failed.
  enum class OnDisk : unsigned char { BeingWritten, Complete, Unknown };
  std::mutex mutex_;  // of what changes it, and of unwritten_
  std::atomic<OnDisk> on_disk_ = OnDisk::BeingWritten;
  Part unwritten_;  // has all that could not be written
  std::atomic<int> injected_error_ = 0;
};

/// The file of an array, valid as long as the array; null of arrays in memory.
FileStorage* file_storage_of(const CoherentState& array);

}  // namespace strata::inline STRATA_ABI::detail
