// The exceptions of Strata: every failure is one of these; its message says what was asked, where, and what
// to do.
//
// Headers on the hot path do not include this file (it pulls in <string>); they call the out-of-line
// functions of <strata/core/fail.hpp>.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// The base of every exception that Strata throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An extent is negative, or their product overflows the index type of the layout.
class ExtentError : public Error {
  using Error::Error;
};

/// A layout cannot do what was asked of it (a slice that cuts a tile, a stride of an unstrided layout).
class LayoutError : public Error {
  using Error::Error;
};

/// An index lies outside its array; checked builds only.
class OutOfBounds : public Error {
  using Error::Error;
};

/// A STRATA_ASSERT failed in a kernel or on the host; checked builds only.
class AssertionFailed : public Error {
  using Error::Error;
};

/// Two arrays, or an array and a range, do not have the shapes that the call needs.
class ShapeMismatch : public Error {
  using Error::Error;
};

/// A kernel, copy or view was given an array that lives on another device or instance.
class WrongDevice : public Error {
  using Error::Error;
};

/// A device instance that does not exist, or a device that this build or machine does not have.
class NoSuchDevice : public Error {
  using Error::Error;
};

/// A memory cannot hold what was asked for; the message lists its largest live allocations.
class OutOfMemory : public Error {
  using Error::Error;
};

/// A copy between memories failed; source and destination are as before, or the message says what was lost.
class CopyError : public Error {
  using Error::Error;
};

/// A kernel could not be launched or failed on its device.
class KernelError : public Error {
  using Error::Error;
};

/// Two uses of a coherent array exclude each other: in one launch, or a launch and a host view.
class AccessConflict : public Error {
  using Error::Error;
};

/// A coherent array of an explicit memory mode was to be read where its current values are not: they are
/// copied by prefetch() and flush() only.
class NotCurrent : public Error {
  using Error::Error;
};

/// A launch or the host was to read elements that were never written, a launch did not write elements that it
/// declared out, or a kernel of streamed steps did not write all that it declared; checked builds only.
class NeverWritten : public Error {
  using Error::Error;
};

/// Work on coherent arrays failed, and values without another copy were lost; the message lists them.
class DataLost : public Error {
  using Error::Error;
};

/// A file cannot be created, opened, read or written, or is not what the call needs; the message has its path
/// and the system's error text.
class FileError : public Error {
  using Error::Error;
};

/// A setting has no such name or a value that cannot be read.
class SettingError : public Error {
  using Error::Error;
};

/// New work after the end of the runtime.
class RuntimeEnded : public Error {
  using Error::Error;
};

}  // namespace strata::inline STRATA_ABI
