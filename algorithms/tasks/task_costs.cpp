// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/algorithms/tasks/text_file.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

namespace {
constexpr char opening[] = "strata task costs 1";
}

void TaskCosts::add(const std::string& device, const std::string& label, index_t bytes, double seconds) {
  Mean& mean = means_[{device, label, bytes}];
  ++mean.count;
  mean.seconds += (seconds - mean.seconds) / static_cast<double>(mean.count);
}

double TaskCosts::seconds(const std::string& device, const std::string& label, index_t bytes) const {
  const auto known = means_.find({device, label, bytes});
  return known == means_.end() ? -1 : known->second.seconds;
}

std::map<std::string, double> TaskCosts::seconds(const std::string& label, index_t bytes) const {
  std::map<std::string, double> found;
  for (auto first = means_.begin(); first != means_.end();) {  // of a device
    const std::string& device = first->first.device;
    if (const auto known = means_.find({device, label, bytes}); known != means_.end())
      found.emplace(device, known->second.seconds);
    first = means_.lower_bound({device + '\0', "", 0});
  }
  return found;
}

long TaskCosts::count(const std::string& device, const std::string& label, index_t bytes) const {
  const auto known = means_.find({device, label, bytes});
  return known == means_.end() ? 0 : known->second.count;
}

// A line: device, bytes, count, seconds, and the label, which may have spaces, to its end.
void TaskCosts::read(const std::string& path) {
  std::ifstream file(path);
  const std::string who = "the task costs \"" + path + "\"";
  if (!file) throw FileError(who + " cannot be read: " + std::strerror(errno));
  std::string line;
  if (!std::getline(file, line) || line != opening)
    throw FileError(who + ": the first line is not \"" + std::string(opening) +
                    "\": give a file that TaskCosts::write has written, or remove it");
  std::map<Key, Mean> means = means_;
  for (int number = 2; std::getline(file, line); ++number) {
    std::istringstream words(line);
    Key key;
    Mean mean;
    if (!(words >> key.device >> key.bytes >> mean.count >> mean.seconds) || words.get() != ' ' ||
        !std::getline(words, key.label) || key.bytes < 0 || mean.count < 1 || !(mean.seconds >= 0) ||
        std::isinf(mean.seconds))
      throw FileError(who + ", line " + std::to_string(number) +
                      ": expected device, bytes, count, seconds and label: remove the line, or the file");
    Mean& known = means[key];
    known.seconds =
        (known.seconds * static_cast<double>(known.count) + mean.seconds * static_cast<double>(mean.count)) /
        static_cast<double>(known.count + mean.count);
    known.count += mean.count;
  }
  means_ = std::move(means);
}

void TaskCosts::write(const std::string& path) const {
  std::string text = std::string(opening) + "\n";
  for (const auto& [key, mean] : means_) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.9g", mean.seconds);
    std::string label = key.label;
    for (char& c : label)
      if (c == '\n' || c == '\r') c = ' ';
    text += key.device + " " + std::to_string(key.bytes) + " " + std::to_string(mean.count) + " " + seconds +
            " " + label + "\n";
  }
  detail::write_text_file(path, "the task costs", text);
}

}  // namespace strata::inline STRATA_ABI
