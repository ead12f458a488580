// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/coherent/call_state.hpp>
#include <strata/views/coherent/coherent_call.hpp>

namespace strata::inline STRATA_ABI::detail {

CoherentCall::CoherentCall(const char* label, const char* kernel_type, const char* tag_type)
    : state_(&CallState::begin_call(label, kernel_type, tag_type)) {}
CoherentCall::~CoherentCall() { state_->end_call(); }

void CoherentCall::add_part(DeviceInstance& device, QueueState& queue, bool waits) {
  state_->add_part(device, queue, waits);
}
void CoherentCall::add_use(CoherentState& array, AccessMode mode, ArrayPart region, bool by_items) {
  state_->add_use(array, mode, static_cast<ArrayPart&&>(region), by_items);
}
void CoherentCall::fail_region(const ShapeMismatch& error) const {
  throw ShapeMismatch(std::string("launch of ") + name() + ": " + error.what());
}

void CoherentCall::prepare() { state_->prepare(); }
char* CoherentCall::base(int part, int use) const { return state_->base(part, use); }
ResidentRows CoherentCall::rows(int part, int use) const { return state_->rows(part, use); }
bool CoherentCall::is_link_bound(int part) const { return state_->is_link_bound(part); }
const char* CoherentCall::name() const { return state_->name(); }
bool CoherentCall::is_host(int part) const { return state_->is_host(part); }
void CoherentCall::begin(int part, bool timed) { state_->begin(part, timed); }
bool CoherentCall::begin_early(int part, const ArrayPart* regions, int uses, bool timed) {
  return state_->begin_early(part, {regions, static_cast<std::size_t>(uses)}, timed);
}
std::vector<UnwrittenBox> CoherentCall::unwritten(int part) const { return state_->unwritten(part); }
void CoherentCall::end(int part) { state_->end(part); }
void CoherentCall::copies_explicit_arrays() { state_->copies_explicit_arrays(); }
void CoherentCall::is_one_of_several() { state_->is_one_of_several(); }
void CoherentCall::shares_rows() { state_->shares_rows(); }
void CoherentCall::begins_at(const std::vector<ArrayPart>& regions) { state_->begins_at(regions); }
void CoherentCall::check() { state_->check(); }
void CoherentCall::retract(int part) { state_->retract(part); }
CoherentCall::Timing CoherentCall::timing(int part) const { return state_->timing(part); }

}  // namespace strata::inline STRATA_ABI::detail
