// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <strata/core/fill_lines.hpp>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace strata::inline STRATA_ABI::detail {

void fill_lines(char* dst, const char* line, std::size_t count, bool past_cache) {
#if defined(__x86_64__)
  if (past_cache) {
    __m128i part[4];
    std::memcpy(part, line, sizeof part);
    for (std::size_t k = 0; k < count; ++k, dst += line_bytes)
      for (int p = 0; p < 4; ++p) _mm_stream_si128(reinterpret_cast<__m128i*>(dst) + p, part[p]);
    _mm_sfence();
    return;
  }
#endif
  static_cast<void>(past_cache);
  char own[line_bytes];  // in registers: `line` might be a part of what is written
  std::memcpy(own, line, line_bytes);
  for (std::size_t k = 0; k < count; ++k, dst += line_bytes) std::memcpy(dst, own, line_bytes);
}

}  // namespace strata::inline STRATA_ABI::detail
