#include "daemon/sources/poll_position.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/crypto/digest.h"
#include "daemon/sources/report_extraction.h"
#include "daemon/sources/report_judgement.h"
#include "daemon/sources/source_json.h"
#include "sync/status_rules.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostCursorBytes = 8'192;
/// 32 bits: an edit is missed once in four billion times, and countless secrets have the same mark.
constexpr std::size_t kMarkDigits = 8;

std::optional<schema::UtcMillis> later(std::optional<schema::UtcMillis> a,
                                       std::optional<schema::UtcMillis> b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

/// The last believable time of the page, never in the future: what is dated there must not make us skip what
/// comes before it.
std::optional<schema::UtcMillis> latest_of(const std::vector<RawReport>& reports, schema::UtcMillis now) {
  std::optional<schema::UtcMillis> latest;
  for (const RawReport& report : reports) {
    const auto time = read_time(report[ReportField::occurred_at]);
    if (time && *time <= now && sync::time_fault(*time, now).empty()) latest = later(latest, time);
  }
  return latest;
}

/// What leads to the next page, by the setting `key`; empty: this was the last one. A sentence in `fault`
/// when the pointer finds what leads nowhere: taken for the end, it would hide all other pages for good.
std::string lead_in(const JsonValue& root, std::string_view key, const std::string& pointer,
                    std::string& fault) {
  const JsonValue* value = JsonPointer::parse(pointer)->in(root);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_array() && !value->is_object() && !value->boolean()) return text_of(*value);
  fault = fmt::format("{} ({}) finds {}; allowed: text or a number, and null or nothing on the last page",
                      key, pointer, value->kind_in_words());
  return {};
}

/// Empty: this was the last page. A sentence in `fault` when the page names another host.
std::string next_url(const SourcePlan& plan, const JsonValue& root, const std::string& url,
                     const WebAnswer& answer, std::string& fault) {
  const std::string& how = plan.settings.next;
  if (how.empty()) return {};
  const std::string reference = how == "link" ? next_link(answer.link) : lead_in(root, "next", how, fault);
  if (reference.empty()) return {};
  const std::string next = resolved_url(url, reference);
  if (next.empty() || next.size() > kMostCursorBytes)
    fault = "its link to the next page is no URL";
  else if (!same_origin(plan.settings.url, next))
    fault = "its link to the next page leads to another host";
  else if (next == url)
    fault = "its link to the next page leads to the same page";
  return fault.empty() ? next : std::string();
}

std::string too_many_in_words(const TooManyReports& many) {
  return "its page holds " + std::to_string(many.found) + " reports; allowed: at most " +
         std::to_string(kMaxReports) + " in one; have its url ask for smaller pages";
}

/// Half a surrogate pair, or a depth beyond ours, is JSON all the same.
std::string unread_in_words(const JsonFault& fault) {
  if (fault.code == "too_many_values" || fault.code == "too_long")
    return "its page is too large: " + fault.message + " Have its url ask for smaller pages.";
  const bool is_json = fault.code == "lone_surrogate" || fault.code == "too_deep";
  return (is_json ? "its page cannot be read: " : "no JSON: ") + fault.message;
}

}  // namespace

std::string to_text(const PollPosition& position) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!position.cursor.empty()) json["cursor"] = position.cursor;
  if (position.since) json["since"] = position.since->value;
  if (position.latest) json["latest"] = position.latest->value;
  if (!position.next.empty()) json["next"] = position.next;
  if (!position.etag.empty()) json["etag"] = position.etag;
  if (!position.etag_url.empty()) json["etag_url"] = position.etag_url;
  if (!position.settings.empty()) json["settings"] = position.settings;
  if (!position.proven.empty()) json["proven"] = position.proven;
  if (position.unread_pages > 0) json["unread_pages"] = position.unread_pages;
  if (!position.unread.empty()) json["unread"] = position.unread;
  if (position.told_to_wait) json["told_to_wait"] = true;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

PollPosition poll_position_from_text(const std::string& text) {
  PollPosition position;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return position;
  const auto word = [&](const char* name) {
    return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : std::string();
  };
  const auto time = [&](const char* name) {
    return json.contains(name) && json[name].is_number_integer()
               ? std::optional(schema::UtcMillis{json[name].get<std::int64_t>()})
               : std::nullopt;
  };
  position.cursor = word("cursor");
  position.since = time("since");
  position.latest = time("latest");
  position.next = word("next");
  position.etag = word("etag");
  position.etag_url = word("etag_url");
  position.settings = word("settings");
  position.proven = word("proven");
  if (json.contains("unread_pages") && json["unread_pages"].is_number_integer())
    position.unread_pages = json["unread_pages"].get<std::int64_t>();
  position.told_to_wait = json.value("told_to_wait", nlohmann::json()) == true;
  if (json.contains("unread") && json["unread"].is_array()) {
    for (const auto& mark : json["unread"]) {
      if (mark.is_string()) position.unread.push_back(mark.get<std::string>());
    }
  }
  return position;
}

std::string settings_mark(const SourcePlan& plan) {
  // All of them by name: a setting that is new does not compile until somebody has decided here whether a
  // feed is asked or read differently by it. Those that are not used below decide over what was read.
  const auto& [name, kind, preset, signature, signature_header, secrets, topic, external, may_set, fields,
               items, status_map, url, interval_seconds, cursor_pointer, cursor_parameter, since,
               overlap_seconds, next, headers, ca_file] = plan.settings;
  std::string all;
  const auto add = [&all](const std::string& text) { all += std::to_string(text.size()) + ":" + text; };
  for (const std::string& text : {url, cursor_pointer, cursor_parameter, since, next, ca_file, items})
    add(text);
  for (const FieldKey& one : kFieldKeys) add(fields.*one.pointer);
  add(plan.origin);
  add(std::to_string(interval_seconds));
  add(std::to_string(overlap_seconds));
  for (const auto& [header, secret] : headers) {
    add(header);
    add(secret.reveal());
  }
  return to_hex(hmac_sha256(plan.installation, all)).substr(0, kMarkDigits);
}

std::string pointers_mark(const SourcePlan& plan) {
  std::string all = plan.settings.items;
  for (const FieldKey& one : kFieldKeys) all += " " + plan.settings.fields.*one.pointer;
  return to_hex(sha256(all)).substr(0, kMarkDigits);
}

void take_settings(PollPosition& position, const std::string& mark) {
  if (position.settings == mark) return;
  position.settings = mark;
  position.etag.clear();
  position.etag_url.clear();
  position.next.clear();
  position.latest.reset();
}

std::string page_url(const SourcePlan& plan, const PollPosition& position) {
  const SourceSettings& settings = plan.settings;
  if (!position.next.empty() && same_origin(settings.url, position.next)) return position.next;
  if (!settings.cursor_parameter.empty() && !position.cursor.empty())
    return with_parameter(settings.url, settings.cursor_parameter, position.cursor);
  if (!settings.since.empty() && position.since) {
    const schema::UtcMillis from = *position.since - settings.overlap_seconds * schema::kSecondMillis;
    return with_parameter(settings.url, settings.since, schema::to_rfc3339(from));
  }
  return settings.url;
}

std::variant<PollPage, std::string> read_page(const SourcePlan& plan, const PollPosition& before,
                                              const std::string& url, const WebAnswer& answer,
                                              schema::UtcMillis now) {
  const auto read = read_source_json(answer.body);
  if (const auto* fault = std::get_if<JsonFault>(&read)) return unread_in_words(*fault);
  const JsonValue& root = std::get<JsonDocument>(read).root();
  auto extracted = extract_reports(root, plan);
  if (const auto* many = std::get_if<TooManyReports>(&extracted)) return too_many_in_words(*many);
  if (auto* why = std::get_if<std::string>(&extracted)) return std::move(*why);
  PollPage page;
  page.reports = std::move(std::get<std::vector<RawReport>>(extracted));
  page.after = before;
  page.after.latest = later(before.latest, latest_of(page.reports, now));
  std::string fault;
  page.after.next = next_url(plan, root, url, answer, fault);
  page.more = !page.after.next.empty();
  if (!plan.settings.cursor_pointer.empty()) {
    const std::string cursor = lead_in(root, "cursor.pointer", plan.settings.cursor_pointer, fault);
    if (cursor.size() > kMostCursorBytes)
      return "its cursor has more than " + std::to_string(kMostCursorBytes) + " bytes";
    page.more = !cursor.empty() && cursor != before.cursor && !page.reports.empty();
    if (!cursor.empty()) page.after.cursor = cursor;
  }
  if (!fault.empty()) return fault;
  const bool is_single = !page.more && before.next.empty();
  page.after.etag = is_single ? answer.etag : "";
  page.after.etag_url = is_single && !answer.etag.empty() ? url : "";
  if (!page.more) {
    page.after.since = later(before.since, page.after.latest);
    page.after.latest.reset();
  }
  return page;
}

}  // namespace giftsync::daemon
