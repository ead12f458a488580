// A device that does nothing, at once: what is left is the cost of the host's side.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <strata/devices/backend.hpp>

namespace perf {

class NullDevice final : public strata::detail::DeviceInstance {
 public:
  explicit NullDevice(int index) : index_(index), queue_(make_queue()) {}

  const char* device_name() const override { return "Null"; }
  int index() const override { return index_; }
  strata::SpaceId space() const override { return {"Null", index_}; }
  bool host_accessible() const override { return false; }
  strata::detail::Allocation* allocate(const strata::detail::AllocationRequest& request) override {
    blocks_.push_back(std::make_unique<char[]>(request.bytes));
    return strata::detail::make_allocation(
        blocks_.back().get(), request.bytes, space(), request.label,
        [](strata::detail::Allocation&) noexcept {}, nullptr);
  }
  strata::detail::QueueState& default_queue() override { return *queue_; }
  strata::detail::Ref<strata::detail::QueueState> create_queue() override { return make_queue(); }
  void wait_all() override {}

 private:
  struct Event final : strata::detail::EventState {
    bool complete() const override { return true; }
    void wait() override {}
  };
  struct Queue final : strata::detail::QueueState {
    explicit Queue(NullDevice& owner) : device(owner), event(new Event) {}
    strata::detail::DeviceInstance& instance() override { return device; }
    std::uint64_t id() const override { return 0; }
    void wait() override {}
    bool idle() const override { return true; }
    strata::detail::Ref<strata::detail::EventState> record() override { return event; }
    void wait_for(const strata::detail::Ref<strata::detail::EventState>&) override {}
    void copy(const strata::detail::CopySide&, const strata::detail::CopySide&, std::size_t) override {}
    void fill(const strata::detail::CopySide&, const void*, std::size_t) override {}
    NullDevice& device;
    strata::detail::Ref<strata::detail::EventState> event;
  };
  strata::detail::Ref<strata::detail::QueueState> make_queue() {
    return strata::detail::Ref<strata::detail::QueueState>(new Queue(*this));
  }

  int index_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  strata::detail::Ref<strata::detail::QueueState> queue_;
};

}  // namespace perf
