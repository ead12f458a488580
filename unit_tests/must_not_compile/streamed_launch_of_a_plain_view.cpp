// expect: streamed launches take coherent arrays
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/strata.hpp>

struct Double {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) *= 2; }
};
void launch_it(const strata::MDArray<double, strata::Serial, strata::rank<1>>& x) {
  using namespace strata;
  launch(streamed(Serial{}, 1000), 8, Double{}, inout(x));
}
