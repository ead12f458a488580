// SPDX-License-Identifier: Apache-2.0
#include "common/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <sched.h>

#include <strata/commit.hpp>
#include <strata/version.hpp>

namespace perf {

namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

// The model of the first GPU, where NVIDIA's driver says; else empty.
std::string gpu_name() {
  std::error_code none_there;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none_there)) {
    std::ifstream info(gpu.path() / "information");
    for (std::string line; std::getline(info, line);)
      if (line.rfind("Model:", 0) == 0) return line.substr(line.find_first_not_of(" \t", 6));
  }
  return {};
}

std::string date() {
  const std::time_t seconds = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&seconds));
  return text;
}

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

}  // namespace

int processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string machine() { return processor_name() + ", " + std::to_string(processors()) + " processors"; }

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 1e-6) return fixed(seconds * 1e9, 1) + " ns";
  if (seconds < 1e-3) return fixed(seconds * 1e6, 2) + " us";
  if (seconds < 1) return fixed(seconds * 1e3, 2) + " ms";
  return fixed(seconds, 2) + " s";
}

void print_table(const std::vector<std::vector<std::string>>& rows, std::size_t text_columns) {
  std::vector<int> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c)
      width[c] = std::max(width[c], static_cast<int>(row[c].size()));
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(static_cast<std::size_t>(width[c]) - row[c].size(), ' ');
      line += (c ? "  " : "") + (c < text_columns ? row[c] + pad : pad + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

Report::Report(std::string program, std::string baseline)
    : program_(std::move(program)), baseline_(std::move(baseline)) {}

void Report::add(Result result) { results_.push_back(std::move(result)); }

void Report::note(std::string text) { notes_.push_back(std::move(text)); }

void Report::check(bool correct, const std::string& what) {
  if (correct) return;
  correct_ = false;
  std::fprintf(stderr, "%s: WRONG RESULT: %s\n", program_.c_str(), what.c_str());
}

bool Report::save(const Options& options) const { return options.json.empty() || write(options.json); }

int Report::finish(const Options& options) const {
  if (results_.empty()) {
    std::fprintf(stderr, "%s: nothing to measure on %s with --type %s\n", program_.c_str(),
                 options.device.c_str(), options.type.empty() ? "(all)" : options.type.c_str());
    return 2;
  }
  print();
  const bool written = save(options);
  return correct_ && written ? 0 : 1;
}

void Report::print() const {
  std::vector<std::vector<std::string>> rows = {
      {"case", "device", "type", "n", "median", "min", "p90", "value", "unit", "of ceiling", "of baseline"}};
  for (const Result& r : results_)
    rows.push_back({r.name, r.device, r.type, std::to_string(r.n), duration(r.time.median),
                    duration(r.time.min), duration(r.time.p90), fixed(r.value, 2), r.unit,
                    fixed(r.value / r.ceiling, 2), fixed(r.baseline_ratio, 2)});
  std::printf("%s on %s, Strata %s (%s)\n\n", program_.c_str(), machine().c_str(), STRATA_VERSION_STRING,
              STRATA_COMMIT);
  print_table(rows, 3);
  if (!baseline_.empty()) std::printf("\nbaseline: %s\n", baseline_.c_str());
  for (const std::string& line : notes_) std::printf("%s\n", line.c_str());
}

namespace {

// A record a line, so that a change of one is a change of one line.
std::string record_a_line(const nlohmann::json& all) {
  std::string text;
  for (const auto& [key, value] : all.items()) {
    text += (text.empty() ? "{\n " : ",\n ") + nlohmann::json(key).dump() + ": ";
    if (!value.is_array() || value.empty()) {
      text += value.dump();
      continue;
    }
    const char* before = "[\n  ";
    for (const auto& record : value) {
      text += before + record.dump();
      before = ",\n  ";
    }
    text += "\n ]";
  }
  return text + "\n}\n";
}

}  // namespace

bool Report::write(const std::string& path) const {
  nlohmann::json all;
  all["program"] = program_;
  all["date"] = date();
  all["commit"] = STRATA_COMMIT;
  all["machine"] = {{"cpu", processor_name()}, {"processors", processors()}, {"compiler", __VERSION__}};
  if (const std::string gpu = gpu_name(); !gpu.empty()) all["machine"]["gpu"] = gpu;
  all["baseline"] = baseline_;
  all["notes"] = notes_;
  all["correct"] = correct_;
  all["results"] = nlohmann::json::array();
  for (const Result& r : results_) {
    all["results"].push_back({{"case", r.name},
                              {"device", r.device},
                              {"n", r.n},
                              {"type", r.type},
                              {"seconds_median", number(r.time.median)},
                              {"seconds_min", number(r.time.min)},
                              {"seconds_p90", number(r.time.p90)},
                              {"value", number(r.value)},
                              {"unit", r.unit},
                              {"ceiling", number(r.ceiling)},
                              {"fraction_of_ceiling", number(r.value / r.ceiling)},
                              {"baseline_ratio", number(r.baseline_ratio)}});
    if (!std::isnan(r.seconds_p99)) all["results"].back()["seconds_p99"] = r.seconds_p99;
  }
  std::ofstream out(path);
  out << record_a_line(all);
  out.close();
  if (!out) std::fprintf(stderr, "%s: cannot write %s\n", program_.c_str(), path.c_str());
  return static_cast<bool>(out);
}

}  // namespace perf
