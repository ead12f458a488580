// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
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

#if defined(__x86_64__)
namespace {

void stream_line(char* dst, const char* src) {
  __m128i part[4];
  std::memcpy(part, src, sizeof part);
  for (int p = 0; p < 4; ++p) _mm_stream_si128(reinterpret_cast<__m128i*>(dst) + p, part[p]);
}

}  // namespace
#endif

void copy_past_cache(char* dst, const char* src, std::size_t bytes) {
#if defined(__x86_64__)
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(dst) % line_bytes);
  std::memcpy(dst, src, before);
  const char* const end = src + bytes;
  dst += before;
  src += before;
  // Lines of several pages by turns, as processors fetch ahead in each page by itself.
  constexpr std::size_t page = 4096, pages = 4;
  for (; static_cast<std::size_t>(end - src) >= pages * page; src += pages * page, dst += pages * page)
    for (std::size_t k = 0; k < page; k += line_bytes)
      for (std::size_t q = 0; q < pages; ++q) stream_line(dst + q * page + k, src + q * page + k);
  for (; static_cast<std::size_t>(end - src) >= line_bytes; src += line_bytes, dst += line_bytes)
    stream_line(dst, src);
  _mm_sfence();
  bytes = static_cast<std::size_t>(end - src);
#endif
  std::memcpy(dst, src, bytes);
}

}  // namespace strata::inline STRATA_ABI::detail
