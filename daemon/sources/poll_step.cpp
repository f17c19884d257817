#include "daemon/sources/poll_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "daemon/sources/poll_wait.h"
#include "daemon/sources/unread_page.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kPagesInRound = 100;
constexpr int kMostRedirects = 3;
/// So many pages in a row with the same reports, each with the address of a next one: the feed pays no heed
/// to what it is asked for, and has no end.
constexpr std::size_t kMostPagesAlike = 20;
/// The pause after a round in which no page brought anything new. A long list that is read again still comes
/// to its end; one that never ends costs ten requests a second.
constexpr std::int64_t kPauseMillis = 10 * schema::kSecondMillis;
/// Of a poll by time, after a round that has not come nearer to the present. It goes on from there after the
/// interval.
constexpr std::string_view kNoNearer =
    "its changes come as fast as they are read, or their times are made for each answer, so no more than 100 "
    "pages are read in an interval; have its url ask for larger pages, or set cursor or next";
/// After so long a round says what it has come to, and does not wait for its end.
constexpr std::int64_t kSilentMillis = 5 * schema::kSecondMillis;

bool is_same_over_https(const std::string& url, const std::string& target) {
  constexpr std::string_view kHttp = "http";
  return same_origin("https" + url.substr(std::min(kHttp.size(), url.size())), target);
}

class Round {
 public:
  Round(const SourcePlan& plan, const PollTools& tools, const std::function<bool()>& keep_going)
      : plan_(plan), tools_(tools), keep_going_(keep_going) {}

  PollReport run() {
    const auto claim = tools_.store.sources.claim(name(), tools_.owner, kPollLeaseMillis, tools_.clock());
    if (!claim) return report_;
    report_.claimed = true;
    began_at_ = tools_.clock();
    failures_ = claim->failures;
    revision_ = claim->revision;
    position_ = poll_position_from_text(claim->position);
    take_settings(position_, settings_mark(plan_));
    while (report_.pages < kPagesInRound) {
      if (!keep_going_()) {
        rest(tools_.clock(), failures_, std::nullopt);
        return report_;
      }
      if (!one_page()) return report_;
    }
    if (pages_without_news_ == report_.pages) {
      const std::int64_t interval = plan_.settings.interval_seconds * schema::kSecondMillis;
      rest(tools_.clock() + std::min(interval, kPauseMillis), 0, std::nullopt);
      return report_;
    }
    if (!comes_nearer()) {
      rest_for_interval(SourceState::works, std::string(kNoNearer));
      return report_;
    }
    report_.more = true;
    tools_.watch.note_taken(name(), tools_.clock());
    rest(tools_.clock(), 0, std::nullopt);
    return report_;
  }

 private:
  const std::string& name() const { return plan_.settings.name; }

  /// True: there is another page.
  bool one_page() {
    const std::string url = page_url(plan_, position_);
    const schema::UtcMillis asked_at = tools_.clock();
    const WebAnswer answer = ask(url);
    const PageTimes times{asked_at, tools_.clock()};
    if (!keep_going_() && answer.status == 0) {
      rest(tools_.clock(), failures_, std::nullopt);
      return false;
    }
    if (answer.status == 304) return pass_unchanged(unchanged_page(plan_, position_, url, times));
    if (answer.status == 204) return store(empty_page(plan_, position_, times), {});
    if (answer.status != 200) {
      fail(answer);
      return false;
    }
    auto read = read_page(plan_, position_, url, answer, times);
    if (const auto* why = std::get_if<std::string>(&read)) {
      back_off(SourceState::garbage, *why, std::nullopt);
      return false;
    }
    PollPage& page = std::get<PollPage>(read);
    std::vector<Judgement> judged = tools_.intake.judge_all(plan_, page.reports, tools_.clock());
    if (none_is_readable(judged)) return pass_unread(std::move(page), std::move(judged));
    if (!judged.empty()) {
      if (is_any_read(judged)) page.after.proven = pointers_mark(plan_);
      page.after.unread_pages = 0;
      page.after.unread.clear();
    }
    return store(std::move(page), std::move(judged));
  }

  /// There is nothing to store with the position but where the run has come to.
  bool pass_unchanged(PollPage page) {
    position_ = std::move(page.after);
    if (!page.more) come_to_rest(to_text(position_));
    return page.more;
  }

  /// A page of which nothing can be read. Before the pointers have proved themselves they and the feed
  /// disagree, most likely, and going on would pass the whole feed by. Afterwards it is an odd page, unless
  /// there is another and another.
  bool pass_unread(PollPage page, std::vector<Judgement> judged) {
    const std::vector<std::string> marks = marks_of(judged);
    const bool is_repeat = is_passed_before(position_, marks);
    const bool is_proven = position_.proven == pointers_mark(plan_);
    if (!is_proven || (!is_repeat && position_.unread_pages >= kMostUnreadPages)) {
      const std::string what_now =
          is_proven ? fmt::format(
                          "nor could those of the {} pages before it, which are kept aside; the page is "
                          "asked for again",
                          position_.unread_pages)
                    : "and the page is asked for again";
      back_off(SourceState::garbage, why_unreadable(judged, plan_, what_now), std::nullopt);
      return false;
    }
    if (is_repeat && stands_still(judged)) {
      rest_for_interval(
          SourceState::garbage,
          why_unreadable(judged, plan_, "and without their times the poll cannot get past them"));
      return false;
    }
    if (!is_repeat) count_unread_page(page.after, marks);
    const std::string warning = why_unreadable(judged, plan_, "so they are kept aside and the poll goes on");
    return store(std::move(page), std::move(judged), warning);
  }

  /// A poll by time that finds no time on a page asks for the same one again.
  bool stands_still(const std::vector<Judgement>& judged) const {
    return !plan_.settings.since.empty() &&
           std::all_of(judged.begin(), judged.end(), [](const Judgement& one) {
             return one.blamed.empty() || one.blamed.contains(ReportField::occurred_at);
           });
  }

  WebAnswer ask(std::string url) {
    WebRequest request;
    request.ca_file = plan_.settings.ca_file;
    request.headers = {"Accept: application/json"};
    for (const auto& [header, secret] : plan_.settings.headers)
      request.headers.push_back(header + ": " + secret.reveal());
    if (const SeenPage* const seen = seen_page(position_, url))
      request.headers.push_back("If-None-Match: " + seen->etag);
    WebAnswer answer;
    for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
      request.url = url;
      answer = tools_.fetch(request, keep_going_);
      if (answer.status < 300 || answer.status > 399 || answer.status == 304) return answer;
      const std::string target = resolved_url(url, answer.location);
      if (target.empty() || !same_origin(plan_.settings.url, target)) {
        answer.fault = is_same_over_https(plan_.settings.url, target)
                           ? "it redirects from http to https; write https in its url"
                           : "it redirects to another host";
        return answer;
      }
      url = target;
    }
    answer.fault = "it redirects again and again";
    return answer;
  }

  /// `warning` is for the log, when reports are kept aside; empty: the usual one.
  bool store(PollPage page, std::vector<Judgement> judged, const std::string& warning = {}) {
    const schema::UtcMillis now = tools_.clock();
    Covering covering;
    covering.warning = warning;
    covering.advance = schema::SourceReport::Advance{tools_.owner, revision_, to_text(page.after)};
    const std::string url = page_url(plan_, position_);
    const std::string said = judged.empty() ? std::string() : digest_of(judged);
    const TakenReports taken = tools_.intake.take(plan_, std::move(judged), covering, now);
    if (taken.receipt.kind == schema::SourceReceipt::Kind::overtaken) return false;
    if (taken.receipt.kind == schema::SourceReceipt::Kind::full) {
      back_off(SourceState::full, "too many reports are held or kept aside; see giftsyncctl source list",
               std::nullopt);
      return false;
    }
    ++report_.pages;
    ++revision_;
    report_.accepted += taken.receipt.accepted;
    report_.repeated += taken.receipt.repeated;
    report_.held += taken.receipt.held;
    report_.kept_aside += taken.receipt.kept_aside;
    position_ = std::move(page.after);
    if (report_.pages == 1) first_page_ = {position_.from, now};
    failures_ = 0;
    const bool is_news = note_progress(url, said, taken.receipt);
    if (!page.more) {
      come_to_rest();
      return false;
    }
    if (is_news && now >= began_at_ + kSilentMillis) tools_.watch.note_taken(name(), now);
    return leads_on();
  }

  /// False: since its first page the round has passed no more of the feed's time than went by meanwhile. So
  /// the run follows what happens, and may have no end.
  bool comes_nearer() const {
    if (!first_page_.from || !position_.from) return true;
    return position_.from->value - first_page_.from->value > tools_.clock().value - first_page_.read_at.value;
  }

  /// True: the page brought something new.
  bool note_progress(const std::string& url, const std::string& said, const schema::SourceReceipt& receipt) {
    const bool is_news = receipt.accepted + receipt.held + receipt.gifts + receipt.kept_aside > 0;
    if (is_news) asked_since_news_.clear();
    if (!is_news) ++pages_without_news_;
    asked_since_news_.insert(url);
    const bool is_alike = !is_news && !said.empty() && said == last_said_;  // an empty page says nothing
    pages_alike_ = is_alike ? pages_alike_ + 1 : 1;
    last_said_ = said;
    return is_news;
  }

  /// False: the feed says nothing new and has no end, and is left alone until the next interval.
  bool leads_on() {
    if (asked_since_news_.contains(page_url(plan_, position_))) {
      // The circle may lead past what is new: the next round begins the run anew.
      begin_run_anew(position_);
      give_up_run("its pages lead in a circle: the next one is one that was just read");
      return false;
    }
    if (pages_alike_ < kMostPagesAlike) return true;
    give_up_run(fmt::format("it has no end: {} pages in a row say the same, and each names a next one",
                            pages_alike_));
    return false;
  }

  void give_up_run(const std::string& reason) {
    rest_for_interval(SourceState::garbage, reason + "; it is asked again after the interval",
                      to_text(position_));
  }

  void come_to_rest(std::optional<std::string> position = std::nullopt) {
    rest_for_interval(SourceState::works, doubt(), std::move(position));
  }

  /// A wrong pointer and a feed of one page look alike from here: only people can tell.
  std::string doubt() const {
    if (position_.doubt != PageDoubt::none) return doubt_in_words(position_.doubt);
    const std::string& pointer = plan_.settings.cursor_pointer;
    const bool was_any_read = !position_.proven.empty();
    if (pointer.empty() || !was_any_read || !position_.cursor.empty()) return {};
    return fmt::format(
        "no cursor was found so far at cursor.pointer ({}), so only the first page is read; that is right "
        "for a feed that fits one page",
        pointer);
  }

  void rest_for_interval(SourceState state, const std::string& reason,
                         std::optional<std::string> position = std::nullopt) {
    const schema::UtcMillis now = tools_.clock();
    tools_.watch.note(name(), state, reason, now);
    rest(now + interval_millis(), 0, std::move(position));
  }

  /// With jitter to either side.
  std::int64_t interval_millis() const {
    const double wanted = static_cast<double>(plan_.settings.interval_seconds * schema::kSecondMillis);
    return static_cast<std::int64_t>(wanted * (1 - kMostPollJitter + 2 * kMostPollJitter * tools_.random()));
  }

  void fail(const WebAnswer& answer) {
    // An address of a page within a run may have gone out of date: the next round begins the run anew.
    const bool is_stale = answer.status >= 400 && answer.status < 500 && answer.status != 401 &&
                          answer.status != 403 && answer.status != 429 &&
                          (!position_.next.empty() || position_.from);
    if (is_stale) begin_run_anew(position_);
    const std::string reason =
        !answer.fault.empty() ? answer.fault : fmt::format("it answered with HTTP status {}", answer.status);
    back_off(SourceState::fails, reason, retry_after_millis(answer.retry_after, tools_.clock()), is_stale);
  }

  /// `is_moved`: the position is another one now.
  void back_off(SourceState state, const std::string& reason, std::optional<std::int64_t> wanted_millis,
                bool is_moved = false) {
    const schema::UtcMillis now = tools_.clock();
    tools_.watch.note(name(), state, reason, now);
    ++failures_;
    std::int64_t wait =
        poll_back_off_millis(plan_.settings.interval_seconds * schema::kSecondMillis, failures_);
    wait += static_cast<std::int64_t>(static_cast<double>(wait) * kMostPollJitter * tools_.random());
    const bool is_told_to_wait = wanted_millis && *wanted_millis > wait;
    if (is_told_to_wait) wait = *wanted_millis;
    if (is_told_to_wait != position_.told_to_wait) {
      position_.told_to_wait = is_told_to_wait;
      is_moved = true;
    }
    rest(now + wait, failures_, is_moved ? std::optional(to_text(position_)) : std::nullopt);
  }

  void rest(schema::UtcMillis due_at, std::int64_t failures, std::optional<std::string> position) {
    tools_.store.sources.rest(name(), tools_.owner, {due_at, failures, std::move(position)});
  }

  const SourcePlan& plan_;
  const PollTools& tools_;
  const std::function<bool()>& keep_going_;
  PollReport report_;
  PollPosition position_;
  std::int64_t revision_ = 0;
  std::int64_t failures_ = 0;
  schema::UtcMillis began_at_;
  struct {
    std::optional<schema::UtcMillis> from;  // of a poll by time: to where it led
    schema::UtcMillis read_at;
  } first_page_;
  std::set<std::string> asked_since_news_;  // addresses of pages
  std::size_t pages_without_news_ = 0;
  std::string last_said_;
  std::size_t pages_alike_ = 0;
};

}  // namespace

PollReport poll_step(const SourcePlan& plan, const PollTools& tools,
                     const std::function<bool()>& keep_going) {
  return Round(plan, tools, keep_going).run();
}

}  // namespace giftsync::daemon
