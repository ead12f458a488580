// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

// ---- Balance

std::vector<double> Balance::shares(std::size_t devices) {
  learn();
  speeds_.resize(devices, 0);
  double known = 0;
  std::size_t measured = 0;
  for (const double speed : speeds_)
    if (speed > 0) {
      known += speed;
      ++measured;
    }
  const double guess = measured > 0 ? known / static_cast<double>(measured) : 1;
  const double sum = known + guess * static_cast<double>(devices - measured);
  std::vector<double> shares;
  // Every device gets some work: one that was slow once would never be measured again.
  constexpr double least = 1e-3;
  for (const double speed : speeds_) shares.push_back(std::max((speed > 0 ? speed : guess) / sum, least));
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= total;
  return shares;
}

void Balance::add(std::vector<Sample> samples) { open_.push_back(std::move(samples)); }

std::vector<double> Balance::speeds(std::size_t devices) {
  learn();
  speeds_.resize(devices, 0);
  return speeds_;
}

void Balance::note(const std::vector<double>& speeds) {
  if (speeds_.size() != speeds.size()) speeds_.assign(speeds.size(), 0);
  for (std::size_t k = 0; k < speeds.size(); ++k)
    if (speeds[k] > 0) learn(k, speeds[k]);
}

void Balance::learn(std::size_t device, double speed) {
  constexpr double weight_of_new = 0.5;
  double& known = speeds_[device];
  known = known > 0 ? (1 - weight_of_new) * known + weight_of_new * speed : speed;
}

void Balance::learn() {
  std::erase_if(open_, [&](const std::vector<Sample>& samples) {
    const auto done = [](const Sample& s) { return !s.end || s.end->complete(); };
    if (!std::all_of(samples.begin(), samples.end(), done)) return false;
    if (speeds_.size() != samples.size()) speeds_.assign(samples.size(), 0);
    for (std::size_t k = 0; k < samples.size(); ++k) {
      if (!samples[k].end || !samples[k].begin || samples[k].items == 0) continue;
      const double seconds = samples[k].end->seconds_since(*samples[k].begin);
      if (!(seconds > 0)) continue;
      learn(k, static_cast<double>(samples[k].items) / seconds);
    }
    return true;
  });
}

namespace detail {

std::vector<ResidentRows> split_range(index_t first, index_t last, std::size_t count,
                                      const std::vector<double>& weights, index_t align) {
  const index_t items = std::max<index_t>(last - first, 0);
  const auto parts = static_cast<index_t>(count);
  // Multiples are those of the global index.
  const auto rounded = [&](index_t cut) {
    const index_t down = cut >= 0 ? cut / align * align : -((-cut + align - 1) / align * align);
    return std::clamp(down, first, first + items);
  };
  double sum = 0;
  for (const double weight : weights) sum += weight;
  std::vector<ResidentRows> split;
  index_t begin = first;
  double part = 0;
  for (index_t k = 0; k < parts; ++k) {
    index_t end = first + items;
    if (k + 1 < parts) {
      if (weights.empty()) {
        // In whole tiles, or all but the last as many items.
        end = align > 1 ? rounded(first + (k + 1) * items / parts + align / 2)
                        : first + (k + 1) * (items / parts);
      } else {
        part += weights[static_cast<std::size_t>(k)];
        end = rounded(first + static_cast<index_t>(static_cast<double>(items) * (part / sum) + 0.5));
      }
      end = std::max(begin, end);
    }
    split.push_back({begin, end});
    begin = end;
  }
  return split;
}

void check_weights(const std::vector<double>& sizes, std::size_t devices) {
  double sum = 0;
  bool good = sizes.size() == devices;
  for (const double size : sizes) {
    good = good && size >= 0;
    sum += size;
  }
  if (!good || !(sum > 0))
    throw Error("across(...).weighted was given " + std::to_string(sizes.size()) + " sizes for " +
                std::to_string(devices) + " devices; give one a device, none negative and not all zero");
}

void add_samples(Balance& balance, const CoherentCall& call, const std::vector<SpreadPart>& parts,
                 std::size_t count) {
  std::vector<Balance::Sample> samples(count);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const CoherentCall::Timing timing = call.timing(static_cast<int>(p));
    samples[parts[p].place] = {parts[p].rows.end - parts[p].rows.begin, timing.begin, timing.end};
  }
  balance.add(std::move(samples));
}

std::vector<bool> flags_of(std::size_t count) { return std::vector<bool>(count); }

std::vector<SpreadPart> order_parts(const std::vector<ResidentRows>& split,
                                    const std::vector<bool>& is_host) {
  std::vector<SpreadPart> parts;
  for (const bool hosts : {false, true})
    for (std::size_t k = 0; k < split.size(); ++k)
      if (is_host[k] == hosts && split[k].begin < split[k].end) parts.push_back({k, split[k]});
  return parts;
}

void fail_no_devices() { throw NoSuchDevice("across was given no devices; give one or more"); }

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
