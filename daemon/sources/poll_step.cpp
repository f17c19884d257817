#include "daemon/sources/poll_step.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "platform/digest.h"
#include "platform/logging.h"
#include "platform/text.h"

namespace giftsync::sources {

namespace {

constexpr std::size_t kMaxPagesPerRound = 100;
constexpr int kMaxRedirects = 3;
/// This many identical pages in a row, each with a next one: the feed ignores the request's parameters and
/// has no end (SRC-43).
constexpr std::size_t kMaxIdenticalPages = 20;
/// The pause after a round without news. A long list that is read again still comes to its end; an endless
/// feed costs ten requests a second.
constexpr std::int64_t kNoNewEventsPauseMillis = 10 * kSecondMillis;
/// The position of a poll by time after a whole round (SRC-48).
constexpr std::string_view kMoreAfterInterval =
    "100 pages were read, as many as in one interval; it continues after the interval";
/// A round that takes longer reports its progress before its end (SRC-54).
constexpr std::int64_t kProgressReportMillis = 5 * kSecondMillis;

/// Follows redirects on the same host.
HttpGetResponse fetch_page(const CompiledSource& source, const PollCursor& cursor_state, std::string url,
                           const HttpGet& fetch, const std::function<bool()>& keep_going) {
  HttpGetRequest request;
  request.ca_file = source.settings.ca_file;
  request.headers = {"Accept: application/json"};
  for (const auto& [header, secret] : source.settings.headers)
    request.headers.push_back(header + ": " + secret.reveal());
  if (const CachedPage* const cached_page = find_cached_page(cursor_state, url))
    request.headers.push_back("If-None-Match: " + cached_page->etag);
  HttpGetResponse response;
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    request.url = url;
    response = fetch(request, keep_going);
    if (response.status < 300 || response.status > 399 || response.status == 304) return response;
    const auto target = within_origin(source.settings.url, resolve_url(url, response.location));
    if (!target) {
      response.error = "it redirects " + target.error();
      return response;
    }
    url = *target;
  }
  response.error = fmt::format("it redirects more than {} times", kMaxRedirects);
  return response;
}

/// A poll by time that finds no time on a page requests the same page again (SRC-42).
bool cannot_advance(const CompiledSource& source, const std::vector<sync::ClassifiedEvent>& classified) {
  return !source.settings.since.empty() &&
         std::all_of(classified.begin(), classified.end(), [](const sync::ClassifiedEvent& event) {
           return event.faulty_fields.empty() || event.faulty_fields.contains(sync::EventField::occurred_at);
         });
}

/// A wrong pointer and a feed of one page look the same here; only the admin can distinguish them.
std::string completeness_warning(const CompiledSource& source, const PollCursor& cursor_state) {
  const std::string setting = continuation_setting(source);
  const bool has_read_any = !cursor_state.verified_pointers.empty();
  if (!has_read_any || cursor_state.found_by == setting) return {};
  return fmt::format(
      "no {} was found so far at {}, so only the first page is read; that is right for a feed that fits one "
      "page",
      source.settings.next.empty() ? "cursor" : "link", setting);
}

/// A refusal that concerns the request itself, not its credentials or the moment.
bool is_refusal(int status) {
  constexpr std::array kOthers{401, 403, 407, 408, 425, 429};
  return status >= 400 && status < 500 && std::find(kOthers.begin(), kOthers.end(), status) == kOthers.end();
}

/// A page that was stored.
struct IngestedPage {
  std::string url;
  std::string digest;           ///< empty: it has no events
  bool has_new_events = false;  ///< else the store knew all of them
};

/// Shows a feed without end (SRC-43).
class RoundProgress {
 public:
  void add(const IngestedPage& page) {
    ++pages_;
    if (page.has_new_events) urls_since_new_event_.clear();
    if (!page.has_new_events) ++pages_without_new_events_;
    urls_since_new_event_.insert(page.url);
    const bool is_identical = !page.has_new_events && !page.digest.empty() &&
                              page.digest == last_digest_;  // an empty page does not count
    identical_pages_ = is_identical ? identical_pages_ + 1 : 1;
    last_digest_ = page.digest;
  }

  bool has_new_events() const { return pages_without_new_events_ < pages_; }
  /// No page since the last news was read from that URL.
  bool is_cycle(const std::string& next_url) const { return urls_since_new_event_.contains(next_url); }
  std::size_t identical_pages() const { return identical_pages_; }

 private:
  std::size_t pages_ = 0;
  std::set<std::string> urls_since_new_event_;
  std::size_t pages_without_new_events_ = 0;
  std::string last_digest_;
  std::size_t identical_pages_ = 0;
};

/// One round. The functions that return bool say whether another page follows in it; those that end it return
/// false.
class PollRound {
 public:
  PollRound(const CompiledSource& source, const PollContext& context, const std::function<bool()>& keep_going)
      : source_(source), context_(context), keep_going_(keep_going) {}

  PollStats run() {
    const auto claim =
        context_.store.sources.claim(name(), context_.owner, kPollLeaseMillis, context_.clock());
    if (!claim) return stats_;
    stats_.claimed = true;
    began_at_ = context_.clock();
    failures_ = claim->failures;
    revision_ = claim->revision;
    cursor_state_ = parse_poll_cursor(claim->cursor_state);
    apply_config_fingerprint(cursor_state_, config_fingerprint(source_));
    bool has_next = true;
    while (has_next && stats_.pages < kMaxPagesPerRound)
      has_next = keep_going_() ? poll_page() : release_claim(context_.clock(), failures_);
    if (has_next) end_full_round();
    return stats_;
  }

 private:
  const std::string& name() const { return source_.settings.name; }
  std::int64_t interval_millis() const { return source_.settings.interval_seconds * kSecondMillis; }

  /// The stored position was refused: the page is asked for at the feed's beginning.
  bool begins_again() const { return cursor_state_.refusals == kMaxRefusals; }

  bool poll_page() {
    PollCursor beginning;
    // The refused position is stored until the beginning was read.
    const PollCursor& before = begins_again() ? beginning = started_again(cursor_state_) : cursor_state_;
    const std::string url = page_url(source_, before);
    const UtcMillis requested_at = context_.clock();
    const HttpGetResponse response = fetch_page(source_, before, url, context_.fetch, keep_going_);
    const PageTimestamps times{requested_at, context_.clock()};
    if (!keep_going_() && response.status == 0) return release_claim(context_.clock(), failures_);
    if (response.status == 304) {  // nothing to store except the run's progress
      PollPage page = unchanged_page(source_, before, url, times);
      cursor_state_ = std::move(page.after);
      return page.has_more || complete_run({}, serialize(cursor_state_));
    }
    if (response.status == 204) return ingest_page(empty_page(source_, before, times), {});
    if (response.status != 200) return back_off_after_failure(response);
    auto page = read_page(source_, before, url, response, times);
    if (!page) return back_off(SourceState::invalid, page.error());
    std::vector<sync::ClassifiedEvent> classified =
        context_.ingestor.classify_events(source_, page->events, context_.clock());
    if (are_all_unreadable(classified)) return accept_unreadable(std::move(*page), std::move(classified));
    if (!classified.empty()) {
      if (is_any_readable(classified)) page->after.verified_pointers = pointers_fingerprint(source_);
      page->after.consecutive_unreadable_pages = 0;
      page->after.unreadable_fingerprints.clear();
    }
    return ingest_page(std::move(*page), std::move(classified));
  }

  /// A page without a readable event. Before the pointers are verified the pointers are probably wrong, and
  /// continuing would skip the whole feed. Afterwards it is an exception, up to kMaxUnreadablePages in a row
  /// (SRC-41).
  bool accept_unreadable(PollPage page, std::vector<sync::ClassifiedEvent> classified) {
    const auto describe = [&](const std::string& action) {
      return describe_unreadable(classified, source_, action);
    };
    const std::vector<std::string> fingerprints = event_fingerprints(classified);
    const bool is_known = is_known_unreadable(cursor_state_, fingerprints);
    const std::int64_t pages_before = cursor_state_.consecutive_unreadable_pages;
    if (cursor_state_.verified_pointers != pointers_fingerprint(source_))
      return back_off(SourceState::invalid, describe("and the page is requested again"));
    if (!is_known && pages_before >= kMaxUnreadablePages)
      return back_off(SourceState::invalid,
                      describe(fmt::format("like those of the {} pages before it, which are quarantined; the "
                                           "page is requested again",
                                           pages_before)));
    if (is_known && page.fault.empty() && cannot_advance(source_, classified))
      return wait_for_interval(SourceState::invalid,
                               describe("and without their times the poll cannot continue past them"));
    if (!is_known) record_unreadable_page(page.after, fingerprints);
    const std::string warning = describe("so they are quarantined and the poll continues");
    return ingest_page(std::move(page), std::move(classified), warning);
  }

  /// `warning` is the log line when events are quarantined; empty: the default one.
  bool ingest_page(PollPage page, std::vector<sync::ClassifiedEvent> classified,
                   const std::string& warning = {}) {
    const UtcMillis now = context_.clock();
    IngestedPage ingested{begins_again() ? source_.settings.url : page_url(source_, cursor_state_),
                          classified.empty() ? "" : page_digest(classified), false};
    const store::InboundBatch::Advance advance{context_.owner, revision_, serialize(page.after)};
    const store::IngestResult result =
        context_.ingestor.ingest(source_, std::move(classified), {{}, advance, warning}, now).result;
    if (result.kind == store::IngestResult::Kind::superseded) return false;
    if (result.kind == store::IngestResult::Kind::over_limit)
      return back_off(SourceState::over_limit,
                      "too many events are orphaned or quarantined; see giftsyncctl source list");
    ++stats_.pages;
    ++revision_;
    stats_.accepted += result.accepted;
    stats_.duplicates += result.duplicates;
    stats_.orphaned += result.orphaned;
    stats_.quarantined += result.quarantined;
    cursor_state_ = std::move(page.after);
    if (!page.fault.empty())
      return back_off(pages_by_time(source_) ? SourceState::failing : SourceState::invalid, page.fault);
    failures_ = 0;
    ingested.has_new_events = result.accepted + result.orphaned + result.gifts + result.quarantined > 0;
    progress_.add(ingested);
    if (!page.has_more) return complete_run(page.warning);
    if (ingested.has_new_events && now >= began_at_ + kProgressReportMillis)
      context_.health_monitor.record_page(name(), now);
    return may_continue_run();
  }

  /// A feed without news and without end waits for the next interval.
  bool may_continue_run() {
    std::string reason;
    if (progress_.is_cycle(page_url(source_, cursor_state_))) {
      // The cycle may skip news: the next round begins the run again.
      restart_run(cursor_state_);
      cursor_state_.cursor.clear();
      cursor_state_.order = {};
      reason = "its pages form a cycle: the next page was read just before";
    } else if (progress_.identical_pages() >= kMaxIdenticalPages) {
      reason = fmt::format("it has no end: {} pages in a row are identical and each names a next page",
                           progress_.identical_pages());
    }
    return reason.empty() ||
           wait_for_interval(SourceState::invalid, reason + "; it is requested again after the interval",
                             serialize(cursor_state_));
  }

  bool complete_run(const std::string& warning, std::optional<std::string> cursor_state = std::nullopt) {
    return wait_for_interval(SourceState::ok,
                             warning.empty() ? completeness_warning(source_, cursor_state_) : warning,
                             std::move(cursor_state));
  }

  void end_full_round() {
    const UtcMillis now = context_.clock();
    if (pages_by_time(source_)) {
      wait_for_interval(SourceState::ok, std::string(kMoreAfterInterval));
    } else if (!progress_.has_new_events()) {
      release_claim(now + std::min(interval_millis(), kNoNewEventsPauseMillis), 0);
    } else {
      stats_.has_more = true;
      context_.health_monitor.record_page(name(), now);
      release_claim(now, 0);
    }
  }

  /// The interval has jitter in both directions.
  bool wait_for_interval(SourceState state, const std::string& reason,
                         std::optional<std::string> cursor_state = std::nullopt) {
    const UtcMillis now = context_.clock();
    context_.health_monitor.set_state(name(), state, reason, now);
    const double jitter = 1 - kMaxPollJitter + 2 * kMaxPollJitter * context_.random();
    const auto wait = static_cast<std::int64_t>(static_cast<double>(interval_millis()) * jitter);
    return release_claim(now + wait, 0, std::move(cursor_state));
  }

  bool back_off_after_failure(const HttpGetResponse& response) {
    std::string reason = !response.error.empty()
                             ? response.error
                             : fmt::format("it answered with HTTP status {}", response.status);
    const bool is_refused =
        is_refusal(response.status) && page_url(source_, cursor_state_) != source_.settings.url;
    const bool is_within_run = !cursor_state_.next.empty() || cursor_state_.from;
    if (is_refused && is_within_run)
      restart_run(cursor_state_);  // the page's URL may have expired: the next round begins the run again
    else if (is_refused)
      reason += count_refusal();
    return back_off(SourceState::failing, reason, retry_after_millis(response.retry_after, context_.clock()),
                    is_refused);
  }

  /// Looks at the stored position (SRC-65). Returns what follows from it, as the end of a sentence.
  std::string count_refusal() {
    cursor_state_.refusals = std::min(cursor_state_.refusals + 1, kMaxRefusals + 1);
    if (cursor_state_.refusals < kMaxRefusals) return {};
    if (cursor_state_.refusals > kMaxRefusals)
      return fmt::format(
          " although the feed was begun again; compare url, cursor and since with what the vendor allows; "
          "giftsyncctl source reset-cursor {} begins it once more",
          name());
    log_event(source_line(LogEvent::source_begun_again, name(),
                          fmt::format(": its stored position was refused {} times, so it is read from its "
                                      "beginning; known changes have no effect",
                                      kMaxRefusals)));
    return " to the stored position again; the next request begins the feed again";
  }

  /// `has_new_cursor`: the cursor has changed and is stored.
  bool back_off(SourceState state, const std::string& reason,
                std::optional<std::int64_t> requested_millis = std::nullopt, bool has_new_cursor = false) {
    const UtcMillis now = context_.clock();
    context_.health_monitor.set_state(name(), state, reason, now);
    std::int64_t wait = poll_back_off_millis(interval_millis(), ++failures_);
    wait += static_cast<std::int64_t>(static_cast<double>(wait) * kMaxPollJitter * context_.random());
    const bool has_retry_after = requested_millis && *requested_millis > wait;
    if (has_retry_after) wait = *requested_millis;
    if (std::exchange(cursor_state_.has_retry_after, has_retry_after) != has_retry_after)
      has_new_cursor = true;
    return release_claim(now + wait, failures_,
                         has_new_cursor ? std::optional(serialize(cursor_state_)) : std::nullopt);
  }

  bool release_claim(UtcMillis next_attempt_at, std::int64_t failures,
                     std::optional<std::string> cursor_state = std::nullopt) {
    context_.store.sources.release_claim(name(), context_.owner,
                                         {next_attempt_at, failures, std::move(cursor_state)});
    return false;
  }

  const CompiledSource& source_;
  const PollContext& context_;
  const std::function<bool()>& keep_going_;
  PollStats stats_;
  PollCursor cursor_state_;
  std::int64_t revision_ = 0;
  std::int64_t failures_ = 0;
  UtcMillis began_at_;
  RoundProgress progress_;
};

}  // namespace

PollStats poll_step(const CompiledSource& source, const PollContext& context,
                    const std::function<bool()>& keep_going) {
  return PollRound(source, context, keep_going).run();
}

namespace {

/// The longest accepted Retry-After.
constexpr std::int64_t kMaxRetryAfterMillis = kDayMillis;

std::int64_t max_back_off_millis(std::int64_t interval_millis) {
  return std::max(interval_millis, kHourMillis);
}

/// The longest wait that the rules allow a poll in this state.
std::int64_t max_wait_millis(const CompiledSource& source, const store::SourceSchedule& wait) {
  const std::int64_t interval = source.settings.interval_seconds * kSecondMillis;
  const std::int64_t max_wait = wait.failures > 0 ? max_back_off_millis(interval) : interval;
  const std::int64_t with_jitter =
      max_wait + static_cast<std::int64_t>(static_cast<double>(max_wait) * kMaxPollJitter) + 1;  // rounding
  const bool has_retry_after = wait.failures > 0 && parse_poll_cursor(wait.cursor_state).has_retry_after;
  return has_retry_after ? std::max(with_jitter, kMaxRetryAfterMillis) : with_jitter;
}

/// The wait was computed under settings that were edited since; reschedule_if_reconfigured() handles it.
bool has_changed_config(const CompiledSource& source, const store::SourceSchedule& wait) {
  const std::string fingerprint = parse_poll_cursor(wait.cursor_state).config_fingerprint;
  return !fingerprint.empty() && fingerprint != config_fingerprint(source);
}

/// Null when the source is not a poll or has no wait.
const store::SourceSchedule* find_wait(const CompiledSource& source,
                                       const std::vector<store::SourceSchedule>& waits) {
  if (source.settings.kind != config::SourceKind::poll) return nullptr;
  const auto found = std::find_if(waits.begin(), waits.end(), [&](const store::SourceSchedule& schedule) {
    return schedule.name == source.settings.name;
  });
  return found == waits.end() ? nullptr : &*found;
}

}  // namespace

bool reschedule_if_reconfigured(const CompiledSource& source, store::Store& store, const std::string& owner,
                                UtcMillis now) {
  constexpr UtcMillis kAnyDueTime{std::numeric_limits<std::int64_t>::max()};
  const std::vector<store::SourceSchedule> waits = store.sources.list_schedules();
  const std::string& name = source.settings.name;
  const std::string fingerprint = config_fingerprint(source);
  const store::SourceSchedule* const wait = find_wait(source, waits);
  if (!wait || parse_poll_cursor(wait->cursor_state).config_fingerprint == fingerprint) return true;
  const auto claim = store.sources.claim(name, owner, kPollLeaseMillis, kAnyDueTime);
  if (!claim) return false;
  PollCursor cursor_state = parse_poll_cursor(claim->cursor_state);
  apply_config_fingerprint(cursor_state, fingerprint);
  store.sources.release_claim(name, owner, {now, 0, serialize(cursor_state)});
  return true;
}

std::vector<std::string> release_implausible_poll_waits(const std::vector<CompiledSource>& sources,
                                                        store::Store& store, UtcMillis now) {
  std::vector<std::string> released;
  if (sources.empty()) return released;
  const std::vector<store::SourceSchedule> waits = store.sources.list_schedules();
  for (const CompiledSource& source : sources) {
    const store::SourceSchedule* const wait = find_wait(source, waits);
    if (!wait || wait->next_attempt_at <= now + max_wait_millis(source, *wait) ||
        has_changed_config(source, *wait))
      continue;
    if (store.sources.reset_schedule(*wait, now)) released.push_back(wait->name);
  }
  return released;
}

std::int64_t poll_back_off_millis(std::int64_t interval_millis, std::int64_t failures) {
  const std::int64_t max_millis = max_back_off_millis(interval_millis);
  std::int64_t wait = interval_millis;
  for (std::int64_t i = 0; i < failures && wait < max_millis; ++i) wait *= 2;
  return std::min(wait, max_millis);
}

std::optional<std::int64_t> retry_after_millis(const std::string& text, UtcMillis now) {
  if (text.empty()) return std::nullopt;
  if (const auto seconds = parse_number<std::int64_t>(text)) {
    if (*seconds < 0) return std::nullopt;
    return std::min(*seconds, kMaxRetryAfterMillis / kSecondMillis) * kSecondMillis;
  }
  const time_t date = curl_getdate(text.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::clamp<std::int64_t>(date * kSecondMillis - now.value, 0, kMaxRetryAfterMillis);
}

namespace {

/// Fingerprints of unreadable events kept in the cursor. 32 bits each: of two with the same one the second is
/// still quarantined, only not counted.
constexpr std::size_t kMaxUnreadableFingerprints = 300;
constexpr std::size_t kUnreadableFingerprintDigits = 8;

}  // namespace

bool are_all_unreadable(const std::vector<sync::ClassifiedEvent>& classified) {
  return !classified.empty() &&
         std::all_of(classified.begin(), classified.end(),
                     [](const sync::ClassifiedEvent& event) { return event.unreadable; });
}

bool is_any_readable(const std::vector<sync::ClassifiedEvent>& classified) {
  return std::any_of(classified.begin(), classified.end(),
                     [](const sync::ClassifiedEvent& event) { return !event.unreadable && !event.ignored; });
}

std::string describe_unreadable(const std::vector<sync::ClassifiedEvent>& classified,
                                const CompiledSource& source, const std::string& action) {
  const sync::ClassifiedEvent& first = classified.front();
  std::string keys;
  for (const sync::EventField field : first.faulty_fields)
    keys += fmt::format("{}fields.{} ({})", keys.empty() ? "" : ", ", key_of(field),
                        pointer_of(source.settings.fields, field));
  if (!keys.empty()) keys = fmt::format("; compare it with {} in the settings", keys);
  return fmt::format("none of the {} events on its page can be read, {}; the first one: {}{}",
                     classified.size(), action, first.item.event.detail, keys);
}

std::string page_digest(const std::vector<sync::ClassifiedEvent>& classified) {
  std::string digests;
  for (const sync::ClassifiedEvent& classified_event : classified)
    digests += classified_event.item.event.digest;
  return sha256(digests);
}

std::vector<std::string> event_fingerprints(const std::vector<sync::ClassifiedEvent>& classified) {
  std::vector<std::string> fingerprints;
  fingerprints.reserve(classified.size() + 1);
  for (const sync::ClassifiedEvent& classified_event : classified)
    fingerprints.push_back(classified_event.item.event.digest.substr(0, kUnreadableFingerprintDigits));
  fingerprints.push_back(to_hex(page_digest(classified)).substr(0, kUnreadableFingerprintDigits));
  return fingerprints;
}

bool is_known_unreadable(const PollCursor& cursor_state, const std::vector<std::string>& fingerprints) {
  const auto is_known = [&](const std::string& fingerprint) {
    return std::find(cursor_state.unreadable_fingerprints.begin(), cursor_state.unreadable_fingerprints.end(),
                     fingerprint) != cursor_state.unreadable_fingerprints.end();
  };
  return is_known(fingerprints.back()) || std::all_of(fingerprints.begin(), fingerprints.end() - 1, is_known);
}

void record_unreadable_page(PollCursor& cursor_state, const std::vector<std::string>& fingerprints) {
  ++cursor_state.consecutive_unreadable_pages;
  std::vector<std::string>& all = cursor_state.unreadable_fingerprints;
  all.insert(all.end(), fingerprints.begin(), fingerprints.end());
  if (all.size() > kMaxUnreadableFingerprints)
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMaxUnreadableFingerprints));
}

}  // namespace giftsync::sources
