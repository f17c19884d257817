#include "daemon/sources/poll_position.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/crypto/digest.h"
#include "daemon/sources/report_extraction.h"
#include "daemon/sources/report_judgement.h"
#include "daemon/sources/source_json.h"
#include "schema/spelling.h"
#include "sync/status_rules.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostCursorBytes = 8'192;
/// 32 bits: an edit is missed once in four billion times, and countless secrets have the same mark.
constexpr std::size_t kMarkDigits = 8;
/// A poll by time that has nothing new asks for two pages: the overlap, and what comes after it.
constexpr std::size_t kMostSeenPages = 2;
/// A page of fewer is not one of those that hold no more: nobody makes them so small.
constexpr std::int64_t kFewestOnFullPage = 10;
/// A page that would fit a full one so many times is no full one, even where all pages differ a little.
constexpr std::int64_t kShortPages = 2;
/// A page of which less than one in so many is later than where it begins tells what was told. Where `since`
/// is cut to seconds, more than that is on a page again.
constexpr std::int64_t kFewBeyond = 10;

constexpr auto kDoubtWords = schema::spelling<PageDoubt>({{PageDoubt::none, "none"},
                                                          {PageDoubt::newest_first, "newest_first"},
                                                          {PageDoubt::nothing_later, "nothing_later"},
                                                          {PageDoubt::one_time, "one_time"},
                                                          {PageDoubt::ahead, "ahead"}});

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

/// Its pages do not name the next one: where it begins follows from their times.
bool goes_by_time(const SourcePlan& plan) {
  return !plan.settings.since.empty() && plan.settings.next.empty();
}

/// The changes of a page are wanted from there on; empty: from the beginning.
std::optional<schema::UtcMillis> wanted_from(const SourcePlan& plan, const PollPosition& position) {
  if (position.from || !position.since) return position.from;
  if (position.is_settled) return position.since;
  return *position.since - plan.settings.overlap_seconds * schema::kSecondMillis;
}

void take_latest(const SourcePlan& plan, PollPosition& position, std::optional<schema::UtcMillis> latest,
                 schema::UtcMillis asked_at) {
  if (!latest) return;
  position.latest = later(position.latest, latest);
  const std::int64_t close_seconds = std::max(plan.settings.overlap_seconds, plan.settings.interval_seconds);
  const bool is_close = *latest > asked_at - close_seconds * schema::kSecondMillis;
  if (is_close && !position.near_present) position.near_present = asked_at;
}

/// What a page by time says of where its feed stands.
struct Extent {
  std::optional<schema::UtcMillis> latest;
  std::int64_t count = 0;
  std::int64_t beyond = 0;  ///< how many of them are later than where it begins
};

Extent extent_of(const std::vector<RawReport>& reports, std::optional<schema::UtcMillis> latest,
                 std::optional<schema::UtcMillis> from) {
  const auto count = static_cast<std::int64_t>(reports.size());
  if (!from) return {latest, count, count};
  const auto beyond = std::count_if(reports.begin(), reports.end(), [&](const RawReport& report) {
    const auto time = read_time(report[ReportField::occurred_at]);
    return time && *time > *from;
  });
  return {latest, count, static_cast<std::int64_t>(beyond)};
}

/// Much shorter than a full page, or almost all of it was on the page before. What came of it meanwhile can
/// wait for the next run.
bool brings_little(const Extent& page, std::int64_t fullest) {
  return kShortPages * page.count < fullest || kFewBeyond * page.beyond < page.count;
}

/// Whether a page may have been cut, so that the run goes on from there: it brings something later than where
/// it begins. But in a feed in which something happens all the time there is always something later:
/// - However full the page: what is later than when the run came close to the present is the next run's.
/// - A run that has come close to the present ends with a page that is not full, and any run with one that
///   brings little. Only once it is past what is known, or the overlap could fill a page for ever.
bool may_be_cut(const SourcePlan& plan, const PollPosition& before, const PollPosition& after,
                const Extent& page) {
  const auto from = wanted_from(plan, before);
  if (!page.latest || (from && *page.latest <= *from)) return false;
  if (after.near_present && *page.latest >= *after.near_present) return false;
  if (before.since && *page.latest <= *before.since) return true;
  return !brings_little(page, after.fullest) && !(after.near_present && page.count < after.fullest);
}

bool is_full(const PollPosition& before, const std::vector<RawReport>& reports) {
  return static_cast<std::int64_t>(reports.size()) >= std::max(before.fullest, kFewestOnFullPage);
}

/// Between the time a page is asked from and the times on it, where the vendor cuts nothing.
constexpr std::int64_t kStepMillis = 2;

/// The time of a full page on which all have one time, that from which it was asked: others of that time are
/// out of reach, but not what comes behind it. Absent: the page is another.
std::optional<schema::UtcMillis> one_time_of(const SourcePlan& plan, const PollPosition& before,
                                             const std::vector<RawReport>& reports) {
  const auto from = wanted_from(plan, before);
  if (!from || !is_full(before, reports)) return std::nullopt;
  const auto time = read_time(reports.front()[ReportField::occurred_at]);
  if (!time || *time > *from || *time + kStepMillis < *from) return std::nullopt;
  const bool is_same = std::all_of(reports.begin(), reports.end(), [&](const RawReport& report) {
    return read_time(report[ReportField::occurred_at]) == time;
  });
  return is_same ? time : std::nullopt;
}

/// Behind `time`, whether `since` means "after" or "from". Who gives the same page again cuts to seconds.
schema::UtcMillis behind(schema::UtcMillis time, schema::UtcMillis asked_from) {
  return time + (asked_from > time ? schema::kSecondMillis + 1 : kStepMillis);
}

/// What is to be feared after this page. What was feared before stays until a page proves it wrong: what is
/// out of reach is so for good, and the next page does not show it.
PageDoubt doubt_after(const SourcePlan& plan, const PollPosition& before,
                      const std::vector<RawReport>& reports, std::optional<schema::UtcMillis> latest,
                      schema::UtcMillis now) {
  const auto count = static_cast<std::int64_t>(reports.size());
  if (is_full(before, reports)) {
    const auto first = read_time(reports.front()[ReportField::occurred_at]);
    const auto last = read_time(reports.back()[ReportField::occurred_at]);
    if (first && last && *first > *last && (!before.since || *last > *before.since))
      return PageDoubt::newest_first;
  }
  // A page that holds more proves that the one before was not full, or that pages are larger now.
  const bool is_of_lost_ones = before.doubt == PageDoubt::newest_first || before.doubt == PageDoubt::one_time;
  if (is_of_lost_ones && count <= before.fullest) return before.doubt;
  const auto from = wanted_from(plan, before);
  const bool leads_on = !from || (latest && *latest > *from);
  if (leads_on) return is_of_lost_ones ? PageDoubt::none : before.doubt;
  const bool is_ahead = std::any_of(reports.begin(), reports.end(), [now](const RawReport& report) {
    const auto time = read_time(report[ReportField::occurred_at]);
    return time && *time > now;
  });
  if (is_full(before, reports)) return is_ahead ? PageDoubt::ahead : PageDoubt::nothing_later;
  return count < before.fullest ? PageDoubt::none : before.doubt;
}

void forget_page(PollPosition& position, const std::string& url) {
  std::erase_if(position.seen, [&](const SeenPage& one) { return one.url == url; });
}

void remember_page(PollPosition& position, SeenPage page) {
  forget_page(position, page.url);
  if (page.etag.empty()) return;
  position.seen.push_back(std::move(page));
  if (position.seen.size() > kMostSeenPages) position.seen.erase(position.seen.begin());
}

PollPosition begun(const PollPosition& before, const PageTimes& times) {
  PollPosition position = before;
  if (!position.began_at) position.began_at = times.asked_at;
  return position;
}

/// What happened while the run went on, and was committed late, is for the next one to find: it counts its
/// overlap from where this one came close to the present, not from where it came to.
void end_run(const SourcePlan& plan, PollPosition& position, schema::UtcMillis now) {
  std::optional<schema::UtcMillis> last = position.latest;
  if (last && position.near_present) last = std::min(*last, *position.near_present);
  const auto since = later(position.since, last);
  const std::int64_t overlap_millis = plan.settings.overlap_seconds * schema::kSecondMillis;
  if (since != position.since || !position.since_at) {
    position.since_at = now;
    position.is_settled = false;
  } else if (position.began_at && *position.began_at >= *position.since_at + overlap_millis) {
    // What is out of reach may come into reach, if only within the overlap.
    position.is_settled = position.doubt == PageDoubt::none;
  }
  position.since = since;
  begin_run_anew(position);
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

std::string word_of(const nlohmann::json& json, const char* name) {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : std::string();
}

std::optional<schema::UtcMillis> time_of(const nlohmann::json& json, const char* name) {
  if (!json.contains(name) || !json[name].is_number_integer()) return std::nullopt;
  return schema::UtcMillis{json[name].get<std::int64_t>()};
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

/// Where a run by time goes on after a page that is read, known again as `seen`, and what is doubtful then.
void go_on_by_time(const SourcePlan& plan, const PollPosition& before, PollPage& page, SeenPage seen,
                   schema::UtcMillis now) {
  const auto from = wanted_from(plan, before);
  const Extent extent = extent_of(page.reports, seen.latest, from);
  page.after.fullest = std::max(before.fullest, extent.count);
  const auto one_time = one_time_of(plan, before, page.reports);
  if (one_time) {
    page.more = true;
    page.after.from = behind(*one_time, *from);
    page.after.doubt = PageDoubt::one_time;
    seen.etag.clear();  // unchanged, it would be taken for the end
  } else {
    page.more = may_be_cut(plan, before, page.after, extent);
    if (page.more) page.after.from = seen.latest;
    page.after.doubt = doubt_after(plan, before, page.reports, seen.latest, now);
  }
  remember_page(page.after, std::move(seen));
}

}  // namespace

std::string doubt_in_words(PageDoubt doubt) {
  if (doubt == PageDoubt::none) return {};
  // Without numbers and times: a sentence that differs is told again.
  if (doubt == PageDoubt::ahead)
    return "a page as full as any ends with changes dated in the future, and what comes behind them is read "
           "when this machine's clock gets there; see which of the two clocks is wrong";
  const std::string_view what =
      doubt == PageDoubt::newest_first
          ? "a page as full as any begins with the newest, so older ones that do not fit it are not read"
      : doubt == PageDoubt::one_time
          ? "a page as full as any holds changes of one very time, so others of that time are not read"
          : "a page as full as any has nothing later than the time it was asked from, so what "
            "does not fit it is not read";
  return fmt::format(
      "{}; unless all of them fit one page, have its url ask for larger pages, or set cursor or next", what);
}

std::string to_text(const PollPosition& position) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!position.cursor.empty()) json["cursor"] = position.cursor;
  if (position.since) json["since"] = position.since->value;
  if (position.since_at) json["since_at"] = position.since_at->value;
  if (position.is_settled) json["settled"] = true;
  if (position.began_at) json["began_at"] = position.began_at->value;
  if (position.latest) json["latest"] = position.latest->value;
  if (position.from) json["from"] = position.from->value;
  if (position.near_present) json["near_present"] = position.near_present->value;
  if (!position.next.empty()) json["next"] = position.next;
  for (const SeenPage& page : position.seen) {
    nlohmann::ordered_json seen{{"url", page.url}, {"etag", page.etag}};
    if (page.latest) seen["latest"] = page.latest->value;
    json["seen"].push_back(std::move(seen));
  }
  if (position.fullest > 0) json["fullest"] = position.fullest;
  if (position.doubt != PageDoubt::none) json["doubt"] = kDoubtWords.of(position.doubt);
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
  const auto word = [&](const char* name) { return word_of(json, name); };
  const auto time = [&](const char* name) { return time_of(json, name); };
  position.cursor = word("cursor");
  position.since = time("since");
  position.since_at = time("since_at");
  position.is_settled = json.value("settled", nlohmann::json()) == true;
  position.began_at = time("began_at");
  position.latest = time("latest");
  position.from = time("from");
  position.near_present = time("near_present");
  position.next = word("next");
  if (json.contains("seen") && json["seen"].is_array()) {
    for (const auto& page : json["seen"])
      remember_page(position, {word_of(page, "url"), word_of(page, "etag"), time_of(page, "latest")});
  }
  if (json.contains("fullest") && json["fullest"].is_number_integer())
    position.fullest = json["fullest"].get<std::int64_t>();
  position.doubt = kDoubtWords.read(word("doubt")).value_or(PageDoubt::none);
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
  position.seen.clear();
  position.fullest = 0;
  position.doubt = PageDoubt::none;
  position.is_settled = false;
  begin_run_anew(position);
}

void begin_run_anew(PollPosition& position) {
  position.next.clear();
  position.began_at.reset();
  position.latest.reset();
  position.from.reset();
  position.near_present.reset();
}

std::string page_url(const SourcePlan& plan, const PollPosition& position) {
  const SourceSettings& settings = plan.settings;
  if (!position.next.empty() && same_origin(settings.url, position.next)) return position.next;
  if (!settings.cursor_parameter.empty() && !position.cursor.empty())
    return with_parameter(settings.url, settings.cursor_parameter, position.cursor);
  const auto from = wanted_from(plan, position);
  if (settings.since.empty() || !from) return settings.url;
  // Where `since` means "after", others of the very time would be left out: a page may end between them.
  const std::int64_t before_millis = position.from ? 1 : 0;
  return with_parameter(settings.url, settings.since, schema::to_rfc3339(*from - before_millis));
}

const SeenPage* seen_page(const PollPosition& position, const std::string& url) {
  const auto found = std::find_if(position.seen.begin(), position.seen.end(),
                                  [&](const SeenPage& one) { return one.url == url; });
  return found == position.seen.end() ? nullptr : &*found;
}

std::variant<PollPage, std::string> read_page(const SourcePlan& plan, const PollPosition& before,
                                              const std::string& url, const WebAnswer& answer,
                                              const PageTimes& times) {
  const auto read = read_source_json(answer.body);
  if (const auto* fault = std::get_if<JsonFault>(&read)) return unread_in_words(*fault);
  const JsonValue& root = std::get<JsonDocument>(read).root();
  auto extracted = extract_reports(root, plan);
  if (const auto* many = std::get_if<TooManyReports>(&extracted)) return too_many_in_words(*many);
  if (auto* why = std::get_if<std::string>(&extracted)) return std::move(*why);
  PollPage page;
  page.reports = std::move(std::get<std::vector<RawReport>>(extracted));
  page.after = begun(before, times);
  const auto latest = latest_of(page.reports, times.now);
  take_latest(plan, page.after, latest, times.asked_at);
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
  if (goes_by_time(plan)) {
    go_on_by_time(plan, before, page, {url, answer.etag, latest}, times.now);
  } else {
    page.after.seen.clear();
    const bool is_single = !page.more && before.next.empty();
    if (is_single) remember_page(page.after, {url, answer.etag, latest});
  }
  if (!page.more) end_run(plan, page.after, times.now);
  return page;
}

PollPage empty_page(const SourcePlan& plan, const PollPosition& before, const PageTimes& times) {
  PollPage page;
  page.after = begun(before, times);
  if (!goes_by_time(plan)) page.after.seen.clear();
  end_run(plan, page.after, times.now);
  return page;
}

PollPage unchanged_page(const SourcePlan& plan, const PollPosition& before, const std::string& url,
                        const PageTimes& times) {
  PollPage page;
  page.after = begun(before, times);
  const SeenPage* const seen = seen_page(before, url);
  if (seen != nullptr && goes_by_time(plan)) {
    take_latest(plan, page.after, seen->latest, times.asked_at);
    page.more = may_be_cut(plan, before, page.after, {seen->latest, before.fullest, before.fullest});
    if (page.more) page.after.from = seen->latest;
  }
  if (!page.more) end_run(plan, page.after, times.now);
  return page;
}

}  // namespace giftsync::daemon
