#include <strata/miniapps/thermal/app.hpp>

namespace strata::inline STRATA_ABI::thermal {

std::string sweep_line(const miniapp::RunReport& report) {
  const auto elements = static_cast<double>(report.mesh.elements);
  const double compute = report.seconds_of("element contributions"),
               fill = report.seconds_of("fill of the matrix");
  double iterations = 0;
  for (const miniapp::Figure& result : report.results)
    if (result.name == "iterations") iterations = result.value;
  const double rate =
      iterations * static_cast<double>(report.mesh.nodes) / report.seconds_of("conjugate gradients");
  std::string line = report.device + "," + report.type + "," + std::to_string(report.mesh.elements) + "," +
                     std::to_string(report.mesh.nodes);
  for (const double value :
       {1e6 * compute / elements, 1e6 * fill / elements, elements / (compute + fill), iterations, rate})
    line += "," + miniapp::number_text(value);
  return line;
}

}  // namespace strata::inline STRATA_ABI::thermal
