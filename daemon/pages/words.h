// daemon/pages: what recipients read, by language: one file each in web/words, part of the program. A further
// file is a further language. Pure; any thread.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/time.h"

namespace giftsync::daemon {

class Words {
 public:
  using Values = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// `file` is the text of a file of words. Throws std::logic_error when it is broken: it is ours.
  Words(std::string language, std::string_view file);

  /// "en": a language tag in lower case.
  const std::string& language() const { return language_; }
  /// The text of that key, with values in the place of their names in braces. A key that the language does
  /// not have is a bug.
  std::string text(std::string_view key, Values values = {}) const;
  /// The same as HTML; values are escaped, and set apart from the words around them (bdi).
  std::string html(std::string_view key, Values values = {}) const;
  /// "21 November 2026, 12:31 UTC"
  std::string date(schema::UtcMillis time) const;

  const std::map<std::string, std::string, std::less<>>& all() const { return texts_; }

 private:
  const std::string& of(std::string_view key) const;

  std::string language_;
  std::map<std::string, std::string, std::less<>> texts_;
};

/// Every language that there is, by its tag.
const std::vector<Words>& all_words();
/// Null when there are no words in that language.
const Words* find_words(std::string_view language);
/// English when there are no words in that language.
const Words& words_in(std::string_view language);
/// What the recipient likes best by their Accept-Language (RFC 9110 12.5.4) of what there is, else
/// `otherwise`.
const Words& words_for(std::string_view accept_language, std::string_view otherwise);

}  // namespace giftsync::daemon
