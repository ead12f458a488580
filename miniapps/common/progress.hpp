// Progress: one line that says how far a run is. On a terminal the line is rewritten ten times a second at
// most; where the output goes to a file it is a line every few seconds; quiet, it is nothing.
//
//   Progress progress(progress_style(quiet), "steps", steps);
//   for (...)
//     if (progress.due(step)) progress.show(step, "t = 0.1, energy 3e2");  // the text is made when it is due
//   progress.finish();
//
// The line ends with steps a second and the time left. Used by one thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::miniapp {

enum class ProgressStyle {
  Quiet,     ///< nothing
  Lines,     ///< lines, for files and pipes
  Terminal,  ///< one line that changes
};

/// How to show progress on standard output.
ProgressStyle progress_style(bool quiet);

class Progress {
 public:
  /// `total` steps of a thing called `what`; 0: nobody knows how many. The rate counts from step `first`.
  Progress(ProgressStyle style, std::string what, index_t total, index_t first = 0);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether it is time for a line. Cheap.
  bool due(index_t step) const;
  /// Shows that `step` steps are done.
  void show(index_t step, const std::string& text);
  /// Ends the line.
  void finish();

 private:
  ProgressStyle style_;
  std::string what_;
  index_t total_, first_;
  double start_, last_shown_;
  std::size_t width_ = 0;
};

}  // namespace strata::inline STRATA_ABI::miniapp
