// Compiled once for each device (strata_add_miniapp).
#include <strata/miniapps/thermal/app.hpp>
#include <strata/miniapps/thermal/verify.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Device>
void run_tests(const Device& device, miniapp::RunReport& report) {
  report.timed("tests", [&] { report.checks = verify(device); });
}

template void run_tests<STRATA_MINIAPP_DEVICE>(const STRATA_MINIAPP_DEVICE&, miniapp::RunReport&);

}  // namespace strata::inline STRATA_ABI::thermal
