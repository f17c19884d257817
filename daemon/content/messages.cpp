#include "daemon/content/messages.h"

#include <fmt/format.h>

#include <stdexcept>

#include "embedded/giftsync_daemon_content.h"
#include "platform/text.h"
#include "platform/yaml_document.h"

namespace giftsync::content {
namespace {

constexpr std::string_view kFolder = "web/messages/";
constexpr std::string_view kExtension = ".yaml";
/// No browser sends a longer header.
constexpr std::size_t kMaxRanges = 50;

/// Passes each {name} of `text` to `on_name` and everything else to `on_text`.
template <class OnText, class OnName>
void visit_parts(std::string_view text, OnText&& on_text, OnName&& on_name) {
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) return on_text(text);
    on_text(text.substr(0, open));
    on_name(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

std::string_view value_of(Messages::Values values, std::string_view name) {
  for (const auto& [known, value] : values) {
    if (known == name) return value;
  }
  throw std::logic_error("no value for {" + std::string(name) + "}");
}

std::vector<Messages> embedded_messages() {
  std::vector<Messages> all;
  for (const auto& [name, content] : embedded::giftsync_daemon_content_files) {
    if (!name.starts_with(kFolder)) continue;
    const std::size_t length = name.size() - kFolder.size() - kExtension.size();
    all.emplace_back(std::string(name.substr(kFolder.size(), length)), content);
  }
  return all;
}

/// "de-AT" is German.
const Messages* messages_of_range(std::string_view range) {
  for (std::string_view tag = range;; tag = tag.substr(0, tag.rfind('-'))) {
    if (const Messages* found = find_messages(tag)) return found;
    if (tag.find('-') == std::string_view::npos) return nullptr;
  }
}

/// "q=0.8" in thousandths; 1000 without a quality, 0 for an invalid one.
int quality_of(std::string_view parameters) {
  const std::string text = ascii_lower(trimmed(parameters));
  if (text.empty()) return 1000;
  if (!text.starts_with("q=") || text.size() < 3) return 0;
  if (text[2] == '1') return 1000;
  if (text[2] != '0') return 0;
  const std::string digits = (text.size() > 4 ? text.substr(4, 3) : "") + "000";
  return parse_number<int>(digits.substr(0, 3)).value_or(0);
}

}  // namespace

Messages::Messages(std::string language, std::string_view file) : language_(std::move(language)) {
  const YamlDocument document = read_yaml(std::string(file));
  if (!document.faults.empty() || document.root.kind != YamlNode::Kind::map)
    throw std::logic_error("the messages of " + language_ + " are not valid YAML");
  for (const YamlEntry& entry : document.root.entries) texts_[entry.key] = entry.value.text;
}

const std::string& Messages::raw_text(std::string_view key) const {
  const auto found = texts_.find(key);
  if (found == texts_.end())
    throw std::logic_error("no messages for " + std::string(key) + " in " + language_);
  return found->second;
}

std::string Messages::text(std::string_view key, Values values) const {
  std::string text;
  visit_parts(
      raw_text(key), [&](std::string_view part) { text += part; },
      [&](std::string_view name) { text += value_of(values, name); });
  return text;
}

std::string Messages::html(std::string_view key, Values values) const {
  std::string html;
  visit_parts(
      raw_text(key), [&](std::string_view part) { html += html_escaped(part); },
      [&](std::string_view name) { html += "<bdi>" + html_escaped(value_of(values, name)) + "</bdi>"; });
  return html;
}

std::string Messages::date(UtcMillis time) const {
  const std::string rfc3339 = to_rfc3339(time);  // 2026-11-21T12:31:07.042Z
  std::string_view months = raw_text("months");
  for (int month = std::stoi(rfc3339.substr(5, 2)); month > 1; --month)
    months.remove_prefix(months.find(' ') + 1);
  return text("date", {{"day", fmt::format("{}", std::stoi(rfc3339.substr(8, 2)))},
                       {"month", months.substr(0, months.find(' '))},
                       {"year", rfc3339.substr(0, 4)},
                       {"time", rfc3339.substr(11, 5)}});
}

const std::vector<Messages>& all_messages() {
  static const std::vector<Messages> all = embedded_messages();
  return all;
}

const Messages* find_messages(std::string_view language) {
  for (const Messages& messages : all_messages()) {
    if (messages.language() == language) return &messages;
  }
  return nullptr;
}

const Messages& messages_in(std::string_view language) {
  const Messages* found = find_messages(language);
  return found != nullptr ? *found : *find_messages("en");
}

const Messages& messages_for(std::string_view accept_language, std::string_view fallback) {
  const Messages* best = nullptr;
  int best_quality = 0;
  for (std::size_t ranges = 0; !accept_language.empty() && ranges < kMaxRanges; ++ranges) {
    const std::string_view part = accept_language.substr(0, accept_language.find(','));
    accept_language.remove_prefix(std::min(part.size() + 1, accept_language.size()));
    const std::size_t semicolon = part.find(';');
    const std::string range = ascii_lower(trimmed(part.substr(0, semicolon)));
    const int quality = semicolon == std::string_view::npos ? 1000 : quality_of(part.substr(semicolon + 1));
    const Messages* messages = range == "*" ? &messages_in(fallback) : messages_of_range(range);
    if (messages == nullptr || quality <= best_quality) continue;
    best = messages;
    best_quality = quality;
  }
  return best != nullptr ? *best : messages_in(fallback);
}

std::string html_escaped(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

}  // namespace giftsync::content
