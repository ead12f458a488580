// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/debugger.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Text in memory that is there from the start, as the program may be stopped in malloc.
class StaticText {
 public:
  const char* begin() {
    size_ = 0;
    text_[0] = '\0';
    return text_;
  }
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int count = std::vsnprintf(text_ + size_, sizeof text_ - size_, format, arguments);
    va_end(arguments);
    if (count > 0) size_ = std::min(sizeof text_ - 1, size_ + static_cast<std::size_t>(count));
  }

 private:
  char text_[16384] = {};
  std::size_t size_ = 0;
};
StaticText description;

void add_box(const Box& box) {
  description.add("[");
  for (int r = 0; r < box.rank(); ++r)
    description.add("%s%ld", r > 0 ? ", " : "", static_cast<long>(box.lower(r)));
  description.add("] to [");
  for (int r = 0; r < box.rank(); ++r)
    description.add("%s%ld", r > 0 ? ", " : "", static_cast<long>(box.upper(r)));
  description.add(")");
}

// Whether a memory has room for all of the box, whatever values.
bool has_room(CoherentState& array, MemoryId memory, const Box& box) {
  if (memory == host_memory) return true;
  if (static_cast<std::size_t>(memory) > array.instances()) return false;
  const ResidentRows mine = array.instance(memory).rows(), needed = array.shape.rows_of(box);
  return mine.begin < mine.end && mine.begin <= needed.begin && needed.end <= mine.end;
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::detail

const char* strata_describe_coherent_array(const void* state) {
  using namespace strata::detail;
  const char* const result = description.begin();
  auto& array = *static_cast<CoherentState*>(const_cast<void*>(state));
  description.add("\"%s\", %ld bytes an element", array.label.c_str(),
                  static_cast<long>(array.shape.element_bytes));
  Coherence& coherence = Coherence::get();
  const std::unique_lock lock(coherence.mutex, std::try_to_lock);
  if (!lock.owns_lock()) {
    description.add("; a thread is changing where values are: stop the program a little later");
    return result;
  }
  array.directory.map().visit(array.shape.domain, [&](const strata::Box& box, MemorySet current) {
    description.add("\n  ");
    add_box(box);
    description.add(":%s", current.empty() ? " never written" : "");
    const char* separator = " ";
    current.visit([&](MemoryId memory) {
      description.add("%s%s", separator, coherence.memories.name(memory).c_str());
      separator = ", ";
    });
    separator = "; old values in ";
    for (MemoryId memory = 0; !current.empty() && memory <= static_cast<MemoryId>(array.instances());
         ++memory) {
      if (current.contains(memory) || !has_room(array, memory, box)) continue;
      description.add("%s%s", separator, coherence.memories.name(memory).c_str());
      separator = ", ";
    }
  });
  return result;
}
