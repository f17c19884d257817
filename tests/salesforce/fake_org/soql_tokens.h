// The tokens of a SOQL text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace giftsync::tests::fake_org {

struct SoqlToken {
  enum class Kind { word, number, text, sign, end };
  Kind kind = Kind::end;
  std::string text;  ///< of a text: without quotes and escapes
  std::size_t at = 0;
};

/// The last one is the end. Throws ApiError MALFORMED_QUERY.
std::vector<SoqlToken> soql_tokens(std::string_view query);

}  // namespace giftsync::tests::fake_org
