#include "daemon/pages/words.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "daemon/pages/html_text.h"
#include "daemon/settings/yaml_tree.h"
#include "embedded/giftsync_daemon.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::string_view kFolder = "web/words/";
constexpr std::string_view kEnding = ".yaml";
/// A header of more is nobody's browser.
constexpr std::size_t kMostRanges = 50;

/// `text` with each {name} given to `put`, everything else to `keep`.
template <class Keep, class Put>
void each_part(std::string_view text, Keep&& keep, Put&& put) {
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) return keep(text);
    keep(text.substr(0, open));
    put(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

std::string_view value_of(Words::Values values, std::string_view name) {
  for (const auto& [known, value] : values) {
    if (known == name) return value;
  }
  throw std::logic_error("no value for {" + std::string(name) + "}");
}

std::vector<Words> embedded_words() {
  std::vector<Words> all;
  for (const auto& [name, content] : embedded::giftsync_daemon_files) {
    if (!name.starts_with(kFolder)) continue;
    const std::size_t length = name.size() - kFolder.size() - kEnding.size();
    all.emplace_back(std::string(name.substr(kFolder.size(), length)), content);
  }
  return all;
}

/// "de-AT" is German.
const Words* words_of_range(std::string_view range) {
  for (std::string_view tag = range;; tag = tag.substr(0, tag.rfind('-'))) {
    if (const Words* found = find_words(tag)) return found;
    if (tag.find('-') == std::string_view::npos) return nullptr;
  }
}

/// "q=0.8" in thousandths; nothing is 1, what is no weight is 0.
int weight_of(std::string_view parameters) {
  const std::string text = schema::ascii_lower(schema::trimmed(parameters));
  if (text.empty()) return 1000;
  if (!text.starts_with("q=") || text.size() < 3) return 0;
  if (text[2] == '1') return 1000;
  if (text[2] != '0') return 0;
  const std::string digits = (text.size() > 4 ? text.substr(4, 3) : "") + "000";
  int weight = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + 3, weight);
  return error == std::errc() && end == digits.data() + 3 ? weight : 0;
}

}  // namespace

Words::Words(std::string language, std::string_view file) : language_(std::move(language)) {
  const YamlTree tree = read_yaml(std::string(file));
  if (!tree.faults.empty() || tree.root.kind != YamlNode::Kind::map)
    throw std::logic_error("the words of " + language_ + " are no YAML");
  for (const YamlEntry& entry : tree.root.entries) texts_[entry.key] = entry.value.text;
}

const std::string& Words::of(std::string_view key) const {
  const auto found = texts_.find(key);
  if (found == texts_.end()) throw std::logic_error("no words for " + std::string(key) + " in " + language_);
  return found->second;
}

std::string Words::text(std::string_view key, Values values) const {
  std::string text;
  each_part(
      of(key), [&](std::string_view part) { text += part; },
      [&](std::string_view name) { text += value_of(values, name); });
  return text;
}

std::string Words::html(std::string_view key, Values values) const {
  std::string html;
  each_part(
      of(key), [&](std::string_view part) { html += html_escaped(part); },
      [&](std::string_view name) { html += "<bdi>" + html_escaped(value_of(values, name)) + "</bdi>"; });
  return html;
}

std::string Words::date(schema::UtcMillis time) const {
  const std::string rfc3339 = schema::to_rfc3339(time);  // 2026-11-21T12:31:07.042Z
  std::string_view months = of("months");
  for (int month = std::stoi(rfc3339.substr(5, 2)); month > 1; --month)
    months.remove_prefix(months.find(' ') + 1);
  return text("date", {{"day", fmt::format("{}", std::stoi(rfc3339.substr(8, 2)))},
                       {"month", months.substr(0, months.find(' '))},
                       {"year", rfc3339.substr(0, 4)},
                       {"time", rfc3339.substr(11, 5)}});
}

const std::vector<Words>& all_words() {
  static const std::vector<Words> all = embedded_words();
  return all;
}

const Words* find_words(std::string_view language) {
  for (const Words& words : all_words()) {
    if (words.language() == language) return &words;
  }
  return nullptr;
}

const Words& words_in(std::string_view language) {
  const Words* found = find_words(language);
  return found != nullptr ? *found : *find_words("en");
}

const Words& words_for(std::string_view accept_language, std::string_view otherwise) {
  const Words* best = nullptr;
  int best_weight = 0;
  for (std::size_t ranges = 0; !accept_language.empty() && ranges < kMostRanges; ++ranges) {
    const std::string_view part = accept_language.substr(0, accept_language.find(','));
    accept_language.remove_prefix(std::min(part.size() + 1, accept_language.size()));
    const std::size_t semicolon = part.find(';');
    const std::string range = schema::ascii_lower(schema::trimmed(part.substr(0, semicolon)));
    const int weight = semicolon == std::string_view::npos ? 1000 : weight_of(part.substr(semicolon + 1));
    const Words* words = range == "*" ? &words_in(otherwise) : words_of_range(range);
    if (words == nullptr || weight <= best_weight) continue;
    best = words;
    best_weight = weight;
  }
  return best != nullptr ? *best : words_in(otherwise);
}

}  // namespace giftsync::daemon
