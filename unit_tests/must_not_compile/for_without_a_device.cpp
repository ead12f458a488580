// expect: parallel_for: nothing says on which device: give `on\(device\)`
#include <strata/strata.hpp>

void nothing() {
  strata::parallel_for(10, [](int) {});
}
