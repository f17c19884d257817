#include "daemon/sources/poll_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "daemon/sources/poll_schedule.h"
#include "daemon/sources/unreadable_pages.h"

namespace giftsync::daemon::sources {
namespace {

constexpr std::size_t kMaxPagesPerRound = 100;
constexpr int kMaxRedirects = 3;
/// This many identical pages in a row, each with a next one: the feed ignores the request's parameters and
/// has no end (SRC-43).
constexpr std::size_t kMaxIdenticalPages = 20;
/// The pause after a round without news. A long list that is read again still comes to its end; an endless
/// feed costs ten requests a second.
constexpr std::int64_t kNoNewEventsPauseMillis = 10 * platform::kSecondMillis;
/// Reason of a poll by time after a round that has gained no time on the feed. It continues after the
/// interval.
constexpr std::string_view kNotCatchingUp =
    "the feed produces events as fast as they are read, or generates timestamps per response; only 100 pages "
    "are read per interval; request larger pages in its url, or set cursor or next";
/// A round that takes longer reports its progress before its end (SRC-54).
constexpr std::int64_t kProgressReportMillis = 5 * platform::kSecondMillis;

bool is_same_over_https(const std::string& url, const std::string& target) {
  constexpr std::string_view kHttp = "http";
  return platform::is_same_origin("https" + url.substr(std::min(kHttp.size(), url.size())), target);
}

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
    while (stats_.pages < kMaxPagesPerRound) {
      if (!keep_going_()) {
        release_claim(context_.clock(), failures_, std::nullopt);
        return stats_;
      }
      if (!poll_page()) return stats_;
    }
    if (pages_without_new_events_ == stats_.pages) {
      const std::int64_t interval = source_.settings.interval_seconds * platform::kSecondMillis;
      release_claim(context_.clock() + std::min(interval, kNoNewEventsPauseMillis), 0, std::nullopt);
      return stats_;
    }
    if (!is_catching_up()) {
      wait_for_interval(SourceState::ok, std::string(kNotCatchingUp));
      return stats_;
    }
    stats_.has_more = true;
    context_.health_monitor.record_page(name(), context_.clock());
    release_claim(context_.clock(), 0, std::nullopt);
    return stats_;
  }

 private:
  const std::string& name() const { return source_.settings.name; }

  /// True: there is another page.
  bool poll_page() {
    const std::string url = page_url(source_, cursor_state_);
    const platform::UtcMillis requested_at = context_.clock();
    const platform::HttpGetResponse response = fetch_page(url);
    const PageTimestamps times{requested_at, context_.clock()};
    if (!keep_going_() && response.status == 0) {
      release_claim(context_.clock(), failures_, std::nullopt);
      return false;
    }
    if (response.status == 304) return accept_unchanged(unchanged_page(source_, cursor_state_, url, times));
    if (response.status == 204) return ingest_page(empty_page(source_, cursor_state_, times), {});
    if (response.status != 200) {
      back_off_after_failure(response);
      return false;
    }
    auto page = read_page(source_, cursor_state_, url, response, times);
    if (!page) {
      back_off(SourceState::invalid, page.error(), std::nullopt);
      return false;
    }
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

  /// Nothing to store except the run's progress.
  bool accept_unchanged(PollPage page) {
    cursor_state_ = std::move(page.after);
    if (!page.has_more) complete_run(serialize(cursor_state_));
    return page.has_more;
  }

  /// A page without a readable event. Before the pointers are verified the pointers are probably wrong, and
  /// continuing would skip the whole feed. Afterwards it is an exception, up to kMaxUnreadablePages in a row
  /// (SRC-41).
  bool accept_unreadable(PollPage page, std::vector<sync::ClassifiedEvent> classified) {
    const std::vector<std::string> fingerprints = event_fingerprints(classified);
    const bool is_known = is_known_unreadable(cursor_state_, fingerprints);
    const bool has_verified_pointers = cursor_state_.verified_pointers == pointers_fingerprint(source_);
    if (!has_verified_pointers ||
        (!is_known && cursor_state_.consecutive_unreadable_pages >= kMaxUnreadablePages)) {
      const std::string action = has_verified_pointers ? fmt::format(
                                                             "like those of the {} pages before it, which "
                                                             "are quarantined; the page is requested again",
                                                             cursor_state_.consecutive_unreadable_pages)
                                                       : "and the page is requested again";
      back_off(SourceState::invalid, describe_unreadable(classified, source_, action), std::nullopt);
      return false;
    }
    if (is_known && cannot_advance(classified)) {
      wait_for_interval(SourceState::invalid,
                        describe_unreadable(classified, source_,
                                            "and without their times the poll cannot continue past them"));
      return false;
    }
    if (!is_known) record_unreadable_page(page.after, fingerprints);
    const std::string warning =
        describe_unreadable(classified, source_, "so they are quarantined and the poll continues");
    return ingest_page(std::move(page), std::move(classified), warning);
  }

  /// A poll by time that finds no time on a page requests the same page again (SRC-42).
  bool cannot_advance(const std::vector<sync::ClassifiedEvent>& classified) const {
    return !source_.settings.since.empty() &&
           std::all_of(classified.begin(), classified.end(), [](const sync::ClassifiedEvent& one) {
             return one.faulty_fields.empty() || one.faulty_fields.contains(sync::EventField::occurred_at);
           });
  }

  platform::HttpGetResponse fetch_page(std::string url) {
    platform::HttpGetRequest request;
    request.ca_file = source_.settings.ca_file;
    request.headers = {"Accept: application/json"};
    for (const auto& [header, secret] : source_.settings.headers)
      request.headers.push_back(header + ": " + secret.reveal());
    if (const CachedPage* const cached_page = find_cached_page(cursor_state_, url))
      request.headers.push_back("If-None-Match: " + cached_page->etag);
    platform::HttpGetResponse response;
    for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
      request.url = url;
      response = context_.fetch(request, keep_going_);
      if (response.status < 300 || response.status > 399 || response.status == 304) return response;
      const std::string target = platform::resolve_url(url, response.location);
      if (target.empty() || !platform::is_same_origin(source_.settings.url, target)) {
        response.error = is_same_over_https(source_.settings.url, target)
                             ? "it redirects from http to https; write https in its url"
                             : "it redirects to another host";
        return response;
      }
      url = target;
    }
    response.error = fmt::format("it redirects more than {} times", kMaxRedirects);
    return response;
  }

  /// `warning` is the log line when events are quarantined; empty: the default one.
  bool ingest_page(PollPage page, std::vector<sync::ClassifiedEvent> classified,
                   const std::string& warning = {}) {
    const platform::UtcMillis now = context_.clock();
    sync::IngestContext ingest_context;
    ingest_context.warning = warning;
    ingest_context.advance =
        schema::store::InboundBatch::Advance{context_.owner, revision_, serialize(page.after)};
    const std::string url = page_url(source_, cursor_state_);
    const std::string page_digest_text = classified.empty() ? std::string() : page_digest(classified);
    const sync::IngestSummary summary =
        context_.ingestor.ingest(source_, std::move(classified), ingest_context, now);
    if (summary.result.kind == schema::store::IngestResult::Kind::superseded) return false;
    if (summary.result.kind == schema::store::IngestResult::Kind::over_limit) {
      back_off(SourceState::over_limit,
               "too many events are orphaned or quarantined; see giftsyncctl source list", std::nullopt);
      return false;
    }
    ++stats_.pages;
    ++revision_;
    stats_.accepted += summary.result.accepted;
    stats_.duplicates += summary.result.duplicates;
    stats_.orphaned += summary.result.orphaned;
    stats_.quarantined += summary.result.quarantined;
    cursor_state_ = std::move(page.after);
    if (stats_.pages == 1) first_page_ = {cursor_state_.from, now};
    failures_ = 0;
    const bool has_new_events = update_progress(url, page_digest_text, summary.result);
    if (!page.has_more) {
      complete_run();
      return false;
    }
    if (has_new_events && now >= began_at_ + kProgressReportMillis)
      context_.health_monitor.record_page(name(), now);
    return may_continue_run();
  }

  /// False: the round has advanced in the feed's time by no more than the time that passed meanwhile, so the
  /// run may have no end.
  bool is_catching_up() const {
    if (!first_page_.from || !cursor_state_.from) return true;
    return cursor_state_.from->value - first_page_.from->value >
           context_.clock().value - first_page_.read_at.value;
  }

  /// True: the page had new events.
  bool update_progress(const std::string& url, const std::string& page_digest_text,
                       const schema::store::IngestResult& result) {
    const bool has_new_events = result.accepted + result.orphaned + result.gifts + result.quarantined > 0;
    if (has_new_events) urls_since_new_event_.clear();
    if (!has_new_events) ++pages_without_new_events_;
    urls_since_new_event_.insert(url);
    const bool is_identical = !has_new_events && !page_digest_text.empty() &&
                              page_digest_text == last_page_digest_;  // an empty page does not count
    identical_pages_ = is_identical ? identical_pages_ + 1 : 1;
    last_page_digest_ = page_digest_text;
    return has_new_events;
  }

  /// False: the feed has no news and no end, and waits for the next interval.
  bool may_continue_run() {
    if (urls_since_new_event_.contains(page_url(source_, cursor_state_))) {
      // The cycle may skip news: the next round begins the run again.
      restart_run(cursor_state_);
      abandon_run("its pages form a cycle: the next page was read just before");
      return false;
    }
    if (identical_pages_ < kMaxIdenticalPages) return true;
    abandon_run(fmt::format("it has no end: {} pages in a row are identical and each names a next page",
                            identical_pages_));
    return false;
  }

  void abandon_run(const std::string& reason) {
    wait_for_interval(SourceState::invalid, reason + "; it is requested again after the interval",
                      serialize(cursor_state_));
  }

  void complete_run(std::optional<std::string> cursor_state = std::nullopt) {
    wait_for_interval(SourceState::ok, completeness_warning(), std::move(cursor_state));
  }

  /// A wrong pointer and a feed of one page look the same here; only the admin can distinguish them.
  std::string completeness_warning() const {
    if (cursor_state_.warning != CompletenessWarning::none) return describe_warning(cursor_state_.warning);
    const std::string& pointer = source_.settings.cursor_pointer;
    const bool has_read_any = !cursor_state_.verified_pointers.empty();
    if (pointer.empty() || !has_read_any || !cursor_state_.cursor.empty()) return {};
    return fmt::format(
        "no cursor was found so far at cursor.pointer ({}), so only the first page is read; that is right "
        "for a feed that fits one page",
        pointer);
  }

  void wait_for_interval(SourceState state, const std::string& reason,
                         std::optional<std::string> cursor_state = std::nullopt) {
    const platform::UtcMillis now = context_.clock();
    context_.health_monitor.set_state(name(), state, reason, now);
    release_claim(now + interval_millis(), 0, std::move(cursor_state));
  }

  /// With jitter in both directions.
  std::int64_t interval_millis() const {
    const double interval = static_cast<double>(source_.settings.interval_seconds * platform::kSecondMillis);
    return static_cast<std::int64_t>(interval *
                                     (1 - kMaxPollJitter + 2 * kMaxPollJitter * context_.random()));
  }

  void back_off_after_failure(const platform::HttpGetResponse& response) {
    // A page URL within a run may have expired: the next round begins the run again.
    const bool is_stale = response.status >= 400 && response.status < 500 && response.status != 401 &&
                          response.status != 403 && response.status != 429 &&
                          (!cursor_state_.next.empty() || cursor_state_.from);
    if (is_stale) restart_run(cursor_state_);
    const std::string reason = !response.error.empty()
                                   ? response.error
                                   : fmt::format("it answered with HTTP status {}", response.status);
    back_off(SourceState::failing, reason, retry_after_millis(response.retry_after, context_.clock()),
             is_stale);
  }

  /// `has_new_cursor`: the cursor has changed and is stored.
  void back_off(SourceState state, const std::string& reason, std::optional<std::int64_t> requested_millis,
                bool has_new_cursor = false) {
    const platform::UtcMillis now = context_.clock();
    context_.health_monitor.set_state(name(), state, reason, now);
    ++failures_;
    std::int64_t wait =
        poll_back_off_millis(source_.settings.interval_seconds * platform::kSecondMillis, failures_);
    wait += static_cast<std::int64_t>(static_cast<double>(wait) * kMaxPollJitter * context_.random());
    const bool has_retry_after = requested_millis && *requested_millis > wait;
    if (has_retry_after) wait = *requested_millis;
    if (has_retry_after != cursor_state_.has_retry_after) {
      cursor_state_.has_retry_after = has_retry_after;
      has_new_cursor = true;
    }
    release_claim(now + wait, failures_,
                  has_new_cursor ? std::optional(serialize(cursor_state_)) : std::nullopt);
  }

  void release_claim(platform::UtcMillis next_attempt_at, std::int64_t failures,
                     std::optional<std::string> cursor_state) {
    context_.store.sources.release_claim(name(), context_.owner,
                                         {next_attempt_at, failures, std::move(cursor_state)});
  }

  const CompiledSource& source_;
  const PollContext& context_;
  const std::function<bool()>& keep_going_;
  PollStats stats_;
  PollCursor cursor_state_;
  std::int64_t revision_ = 0;
  std::int64_t failures_ = 0;
  platform::UtcMillis began_at_;
  struct {
    std::optional<platform::UtcMillis> from;  // of a poll by time: start of the page after it
    platform::UtcMillis read_at;
  } first_page_;
  std::set<std::string> urls_since_new_event_;  // page URLs requested since the last news
  std::size_t pages_without_new_events_ = 0;
  std::string last_page_digest_;
  std::size_t identical_pages_ = 0;
};

}  // namespace

PollStats poll_step(const CompiledSource& source, const PollContext& context,
                    const std::function<bool()>& keep_going) {
  return PollRound(source, context, keep_going).run();
}

}  // namespace giftsync::daemon::sources
