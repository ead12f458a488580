// What a performance test found: a table for people, JSON for programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "common/options.hpp"
#include "common/timing.hpp"

namespace perf {

inline constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// One case. `value` is in `unit` and belongs to the median time; `ceiling` is the physical bound of `value`
/// on this machine, in the same unit, measured in the same run; `baseline_ratio` says how many times as fast
/// the case is as its baseline, which the program names. `none` where there is no such thing.
struct Result {
  std::string name;
  std::string device;
  strata::index_t n = 0;
  std::string type;
  Statistics time;
  double value = none;
  std::string unit;
  double ceiling = none;
  double baseline_ratio = none;
  double seconds_p99 = none;  // 99 of 100 calls took no longer, in the JSON only
};

/// GB/s (1e9 bytes) at the median.
inline double gigabytes_per_second(double bytes, const Statistics& time) { return bytes / time.median / 1e9; }

class Report {
 public:
  /// `program` names the JSON; `baseline` says what baseline_ratio compares with.
  Report(std::string program, std::string baseline);

  void add(Result result);
  /// A line under the table, and in the JSON.
  void note(std::string text);
  /// A result that is wrong makes the program fail.
  void check(bool correct, const std::string& what);

  /// Writes the JSON with what there is so far, if the options say so; whether that went well.
  bool save(const Options& options) const;
  /// Prints the table, writes the JSON if the options say so, and returns the program's exit status.
  int finish(const Options& options) const;

 private:
  void print() const;
  bool write(const std::string& path) const;

  std::string program_, baseline_;
  std::vector<Result> results_;
  std::vector<std::string> notes_;
  bool correct_ = true;
};

/// The machine in a line: processor and number of processors that this process may use.
std::string machine();
int processors();

/// Aligned columns; the first `text_columns` are left-aligned, the others right-aligned.
void print_table(const std::vector<std::vector<std::string>>& rows, std::size_t text_columns);
std::string fixed(double value, int digits);  // "-" for none
std::string duration(double seconds);         // "12.3 us"

}  // namespace perf
