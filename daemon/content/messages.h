// daemon/content: the recipients' texts by language: one file per language in web/messages, compiled into the
// program. Pure; any thread.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/time.h"

namespace giftsync::content {

class Messages {
 public:
  using Values = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// `file` is the content of a messages file. Throws std::logic_error when it is malformed, since it is part
  /// of the program.
  Messages(std::string language, std::string_view file);

  /// "en": a language tag in lower case.
  const std::string& language() const { return language_; }
  /// The text of that key with {name} replaced by the values. A key that the language lacks is a bug.
  std::string text(std::string_view key, Values values = {}) const;
  /// The same as HTML; values are escaped and bidi-isolated (bdi).
  std::string html(std::string_view key, Values values = {}) const;
  /// "21 November 2026, 12:31 UTC"
  std::string date(UtcMillis time) const;

  const std::map<std::string, std::string, std::less<>>& all() const { return texts_; }

 private:
  const std::string& raw_text(std::string_view key) const;

  std::string language_;
  std::map<std::string, std::string, std::less<>> texts_;
};

/// All languages.
const std::vector<Messages>& all_messages();
/// Null when there are no messages in that language.
const Messages* find_messages(std::string_view language);
/// English when there are no messages in that language.
const Messages& messages_in(std::string_view language);
/// The available language that Accept-Language prefers (RFC 9110 12.5.4), else `fallback`.
const Messages& messages_for(std::string_view accept_language, std::string_view fallback);

// HTML escaping. Pure.

/// For text and for attributes in double quotes. Not the template library's escaping: it writes &apos;, which
/// old mail programs show literally.
std::string html_escaped(std::string_view text);

}  // namespace giftsync::content
