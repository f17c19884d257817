// Text from outside as it is shown: valid UTF-8 without a control or invisible character.
#include <utf8.h>

#include <nlohmann/json.hpp>

#include "platform/text.h"
#include "platform/visible_text.h"
#include "tests/fuzz/fuzz.h"

namespace giftsync::fuzz {
namespace {

void require_visible(std::string_view shown, std::string_view kept, std::string_view promise) {
  require(utf8::is_valid(shown.begin(), shown.end()), promise, shown);
  for (auto at = shown.begin(); at != shown.end();) {
    const char32_t c = utf8::unchecked::next(at);
    require(!is_invisible(c) || (c < 0x80 && kept.find(static_cast<char>(c)) != std::string_view::npos),
            promise, shown);
  }
}

/// The one word that a POSIX shell makes of it; only quotes and backslashes are known here.
std::string shell_reads(std::string_view word) {
  std::string text;
  bool is_quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'')
      is_quoted = !is_quoted;
    else if (word[i] == '\\' && !is_quoted)
      text += word[++i];
    else
      text += word[i];
    require(is_quoted || word[i] == '\'' || is_ascii_letter_or_digit(word[i]) ||
                std::string_view("@%_-+=:,./").find(word[i]) != std::string_view::npos,
            "what is outside of quotes means itself", word);
  }
  require(!is_quoted, "quotes are closed", word);
  return text;
}

void check_quotes(const std::string& text) {
  const std::string quoted = in_quotes(text);
  require_visible(quoted, "", "a quoted text is visible");
  require(quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"', "it is in quotes", quoted);
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    require(quoted[i] != '"', "quotes inside are escaped", quoted);
    if (quoted[i] == '\\') ++i;
  }
}

void check_json(const std::string& text) {
  const std::string json = nlohmann::json(text).dump();
  const std::string shown = visible_json(json);
  require_visible(shown, "", "JSON is visible");
  require(nlohmann::json::parse(shown) == text, "visible JSON means the same", shown);
}

void check_lengths(const std::string& text) {
  const std::string_view cut = truncated(text, 10);
  require(text.starts_with(cut) && count_code_points(cut) <= 10, "a text is cut to its length");
  const std::string_view visible = without_leading_invisible(text);
  require(text.ends_with(visible) && without_leading_invisible(visible) == visible, "it begins visibly");
  require(trimmed(trimmed(text)) == trimmed(text), "trimming once is enough");
}

}  // namespace
}  // namespace giftsync::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace giftsync;
  const std::string text = fuzz::text_of(bytes, size);
  const std::string shown = visible_text(text);
  fuzz::require_visible(shown, "", "shown text is visible");
  fuzz::require(visible_text(shown) == shown, "shown text stays as it is", shown);
  fuzz::require_visible(visible_text(text, "\n\t"), "\n\t", "only kept characters stay");
  fuzz::check_quotes(text);
  fuzz::check_lengths(text);
  fuzz::require(fuzz::shell_reads(shell_word(text)) == text, "a shell reads the word again",
                shell_word(text));
  if (is_storable_text(text)) {
    fuzz::check_json(text);
    fuzz::require(is_storable_text(lower_case(text)) && is_storable_text(upper_case(text)),
                  "case keeps UTF-8");
    fuzz::require(lower_case(lower_case(text)) == lower_case(text), "lower case stays lower case");
  }
  fuzz::require(!is_plain_line(text) || is_storable_text(text), "a plain line is text");
  return 0;
}
