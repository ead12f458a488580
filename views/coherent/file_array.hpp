// Coherent arrays that live in a file, so that they may be larger than memory and outlive the program.
//
//   auto x = file_array<double, rank<2>>("x.strata", n, 40);  // a new file, zeros
//   launch(on(Cuda{0}), n, Step{}, inout(x));                 // a coherent array as any other
//   save(x);                                                  // it is on the disk, and the file complete
//   auto y = open_file_array<double, rank<2>>("x.strata", for_reading);
//
// The array's memory of the host is a shared mapping of the file: the system reads pages that are touched,
// and writes changed ones back. In the file the elements, in the array's layout, follow a header of 4096
// bytes that describes them (views/coherent/file_header.hpp).
//
// A file is complete or incomplete. It is marked incomplete, on the disk, before the first element can
// change, and complete once all that was written is on the disk: by save(), and when the last handle is
// destroyed. The latter cannot throw: an error goes to stderr, and the file stays incomplete, as it does
// while an exception unwinds the stack and when the program crashes. A file that is open for writing cannot
// be opened a second time.
//
// Errors: FileError, with the path, what was found and what was expected. Running out of disk space is
// reported where a file is made or opened, and gets all its blocks (except on file systems that write to new
// blocks each time: btrfs, ZFS). A file that another program truncates ends the program (SIGBUS) where a view
// of it is being read; uses that begin later throw.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <typeinfo>

#include <strata/core/element_types.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/coherent/file_header.hpp>

namespace strata::inline STRATA_ABI {

/// For file_array: a file at the path is replaced.
struct Overwrite {};
/// As an argument.
inline constexpr Overwrite overwrite{};
/// For open_file_array: the file is not changed. Views for writing and launches that write throw. Several
/// processes may have the file open so.
struct ForReading {};
/// As an argument.
inline constexpr ForReading for_reading{};
/// For open_file_array: also a file whose writer was interrupted; any part that was not saved may be lost.
/// With for_reading, also one that is being written.
struct AllowIncomplete {};
/// As an argument.
inline constexpr AllowIncomplete allow_incomplete{};

namespace detail {

template <class T>
FileElement file_element() {
  using Kind = FileElement::Kind;
  constexpr Kind kind = std::is_same_v<T, bool>         ? Kind::Bool
                        : std::is_integral_v<T>         ? std::is_signed_v<T> ? Kind::Signed : Kind::Unsigned
                        : std::is_floating_point_v<T>   ? Kind::Float
                        : is_complex_v<T>               ? Kind::Complex
                        : std::is_same_v<T, half_t>     ? Kind::Half
                        : std::is_same_v<T, bfloat16_t> ? Kind::Bfloat
                                                        : Kind::Other;
  return {kind, static_cast<index_t>(sizeof(T)), kind == Kind::Other ? typeid(T).name() : ""};
}

// Layouts have the same name in checked builds and others; with 32-bit indices elements lie where they do
// with 64.
template <class L>
std::string layout_name(const L*) {
  return typeid(L).name();
}
inline std::string layout_name(const LayoutRight*) { return "right"; }
inline std::string layout_name(const LayoutLeft*) { return "left"; }
std::string tiled_name(int width);
template <int W>
std::string layout_name(const LayoutTiled<W>*) {
  return tiled_name(W);
}
template <class L>
std::string layout_name(const Index32<L>*) {
  return layout_name(static_cast<const L*>(nullptr));
}

/// The array that its type and the caller expect in a file.
struct FileArrayShape {
  FileElement element;
  std::string layout;
  bool contiguous_rows;
  int rank;
  index_t extents[max_rank + 1] = {};
  int extents_given = 0;
  bool overwrites = false, reads_only = false, allows_incomplete = false, is_uninitialized = false;

  void set(Overwrite) { overwrites = true; }
  void set(ForReading) { reads_only = true; }
  void set(AllowIncomplete) { allows_incomplete = true; }
  void set(Uninitialized) { is_uninitialized = true; }
  template <IndexLike I>
  void set(I extent) {
    if (extents_given < rank) extents[extents_given++] = static_cast<index_t>(extent);
  }
};
template <class T, int Rank, class LayoutType>
FileArrayShape file_array_shape() {
  return {file_element<T>(), layout_name(static_cast<const LayoutType*>(nullptr)),
          LayoutType::contiguous_rows, Rank};
}

/// A new file.
AllocationRef create_file(const std::string& path, const FileArrayShape& shape,
                          const LayoutDescriptor& layout);
/// An existing one; `shape` gets its extents.
AllocationRef open_file(const std::string& path, FileArrayShape& shape);
/// Throws FileError: no array has the extents that the file says.
[[noreturn]] void fail_file_extents(const std::string& path, const ExtentError& error);
/// Checks that the file has the size that the layout needs.
void check_file(const AllocationRef& storage, const LayoutDescriptor& layout);
/// The array whose memory of the host is the file's.
Ref<CoherentState> make_file_state(const AllocationRef& storage, const FileArrayShape& shape,
                                   const LayoutDescriptor& layout, bool current);
void save_file(const Ref<CoherentState>& array);

/// Makes handles of states, and gives the state of a handle.
struct FileArrays {
  template <class A>
  static A make(const typename A::mapping_type& mapping, const Ref<CoherentState>& state) {
    A array;
    array.mapping_ = mapping;
    array.state_ = state;
    return array;
  }
  template <class A>
  static const Ref<CoherentState>& state(const A& array) {
    return array.state_;
  }
};

}  // namespace detail

/// A new array in a new file. `arguments`: `rank` extents, then, in any order, `overwrite`, and
/// `uninitialized` (else it is zero, which costs nothing). FileError where there is a file already, no such
/// folder, no permission, or no room on the disk; ExtentError.
template <class T, index_t Rank, class LayoutType = CoherentLayout<Rank>, class... Arguments>
[[nodiscard]] CoherentArray<T, Rank, LayoutType> file_array(const std::string& path,
                                                            const Arguments&... arguments) {
  using Array = CoherentArray<T, Rank, LayoutType>;
  static_assert(
      ((!std::is_same_v<Arguments, ForReading> && !std::is_same_v<Arguments, AllowIncomplete>)&&...),
      "strata: file_array makes a new file; open_file_array opens one");
  detail::FileArrayShape shape = detail::file_array_shape<T, Array::rank, LayoutType>();
  detail::check_extents_given<(0 + ... + int{IndexLike<Arguments>}), Array::rank, Array::rank>();
  (shape.set(arguments), ...);
  typename Array::mapping_type mapping;
  try {
    mapping = typename Array::mapping_type(typename Array::extents_type(shape.extents, Array::rank));
  } catch (...) {
    detail::rethrow_creating(path.c_str(), shape.extents, Array::rank);
  }
  const LayoutDescriptor layout = mapping.describe();
  const detail::AllocationRef storage = detail::create_file(path, shape, layout);
  return detail::FileArrays::make<Array>(
      mapping, detail::make_file_state(storage, shape, layout, !shape.is_uninitialized));
}

/// The array of a file that file_array made, for reading and writing. `arguments`: none or all of the
/// extents, which the file then must have; in any order `for_reading`, `allow_incomplete`. FileError where
/// the file is not there, not such a file, or not complete; where it has another element type, rank, layout
/// or extents, or not the size that these need; or is open for writing elsewhere.
template <class T, index_t Rank, class LayoutType = CoherentLayout<Rank>, class... Arguments>
[[nodiscard]] CoherentArray<T, Rank, LayoutType> open_file_array(const std::string& path,
                                                                 const Arguments&... arguments) {
  using Array = CoherentArray<T, Rank, LayoutType>;
  static_assert(((!std::is_same_v<Arguments, Overwrite> && !std::is_same_v<Arguments, Uninitialized>)&&...),
                "strata: open_file_array opens a file that is there; file_array makes one");
  detail::FileArrayShape shape = detail::file_array_shape<T, Array::rank, LayoutType>();
  constexpr int given = (0 + ... + int{IndexLike<Arguments>});
  if constexpr (given != 0) detail::check_extents_given<given, Array::rank, Array::rank>();
  (shape.set(arguments), ...);
  const detail::AllocationRef storage = detail::open_file(path, shape);
  typename Array::mapping_type mapping;
  try {
    mapping = typename Array::mapping_type(typename Array::extents_type(shape.extents, Array::rank));
  } catch (const ExtentError& error) {
    detail::fail_file_extents(path, error);
  }
  const LayoutDescriptor layout = mapping.describe();
  detail::check_file(storage, layout);
  return detail::FileArrays::make<Array>(mapping, detail::make_file_state(storage, shape, layout, true));
}

/// When this returns, all of the array is in its file and on the disk, and the file is complete. Waits for
/// the work on the array, and copies to the host the values that only devices have. Other threads must not
/// launch on the array meanwhile. FileError where the array is in memory, was opened for_reading, or the disk
/// fails; also throws errors of work on the array.
template <class T, int Rank, class LayoutType>
void save(const BasicCoherentArray<T, Rank, LayoutType>& array) {
  detail::save_file(detail::FileArrays::state(array));
}

}  // namespace strata::inline STRATA_ABI
