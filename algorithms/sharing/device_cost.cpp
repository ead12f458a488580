// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <strata/algorithms/sharing/device_cost.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

namespace {

constexpr double weight_of_new = 0.5;

}  // namespace

// What is known of one size, with one more of nearly that size.
void DeviceCost::Sample::blend(index_t more_items, double more_seconds) {
  const double scaled =
      items > 0 ? seconds * static_cast<double>(more_items) / static_cast<double>(items) : more_seconds;
  seconds = (1 - weight_of_new) * scaled + weight_of_new * more_seconds;
  items = more_items;
}

void DeviceCost::add(index_t items, double measured) {
  if (items <= 0 || !(measured > 0)) return;
  // Within what was measured it foretells; beyond, nobody expects it to.
  if (large_.items > 0 && items <= 2 * large_.items) {
    const double wrong = std::min(1.0, std::abs(measured - seconds(items)) / measured);
    deviation_ = deviation_ == 1 ? wrong : (1 - weight_of_new) * deviation_ + weight_of_new * wrong;
  }
  // An item of a smaller part takes no less than one of a larger part: such was measured while the device was
  // held up, or cold.
  constexpr double less = 0.5;
  const bool is_outdated =
      items < large_.items &&
      measured / static_cast<double>(items) < less * large_.seconds / static_cast<double>(large_.items);
  if (is_outdated) large_ = small_ = {};
  if (large_.items == 0) {
    large_.blend(items, measured);
  } else if (items >= 2 * large_.items) {  // the line is through the sizes that are used, and a smaller one
    if (small_.items == 0 || items > 64 * small_.items) small_ = large_;
    large_ = {items, measured};
  } else if (2 * items > large_.items) {
    large_.blend(items, measured);
  } else if (small_.items == 0 || items < small_.items || 2 * small_.items > items) {
    small_.blend(items, measured);
  }
  fit();
}

void DeviceCost::guess(double speed) {
  if (!is_known() && speed > 0) speed_ = speed;
}

void DeviceCost::fit() {
  launch_ = 0;
  speed_ = static_cast<double>(large_.items) / large_.seconds;
  // That a smaller part took longer says nothing but that it was the first: of code that is not loaded yet.
  constexpr double longer = 1.1;
  if (small_.seconds > longer * large_.seconds) small_ = {};
  if (small_.items == 0 || large_.items < 2 * small_.items) return;
  const double more_items = static_cast<double>(large_.items - small_.items);
  const double more_seconds = large_.seconds - small_.seconds;
  constexpr double least = 0.02;  // of the time of a large part that its size makes: no speed is infinite
  const double by_size =
      std::max(more_seconds * static_cast<double>(large_.items) / more_items, least * large_.seconds);
  if (by_size >= large_.seconds) return;  // larger parts are not faster, an item
  launch_ = large_.seconds - by_size;
  speed_ = static_cast<double>(large_.items) / by_size;
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
