#include "sync/mail/delivery_rules.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "platform/text.h"

namespace giftsync::sync {

namespace {

/// first, 2 * first, 4 * first ... at most `max_millis`; `failures` counts from 1.
std::int64_t doubling(std::int64_t first, std::int64_t failures, std::int64_t max_millis) {
  std::int64_t wait = first;
  for (std::int64_t i = 1; i < failures && wait < max_millis; ++i) wait *= 2;
  return std::min(wait, max_millis);
}

}  // namespace

DeliveryTransition after_attempt(SendOutcome outcome, std::int64_t attempt, UtcMillis first_deferred_at,
                                 UtcMillis now, const DeliveryPolicy& policy,
                                 std::int64_t uncertain_retries) {
  switch (outcome) {
    case SendOutcome::accepted:
      return {DeliveryState::accepted, now,
              policy.delivered_when_accepted ? std::optional(Status::delivered) : std::nullopt};
    case SendOutcome::refused:
      return {DeliveryState::undelivered, now, Status::undelivered};
    case SendOutcome::try_later:
      if (policy.may_give_up && now.value - first_deferred_at.value >= kMaxDeferredMillis)
        return {DeliveryState::undelivered, now, Status::undelivered};
      return {DeliveryState::queued, now + doubling(kMinuteMillis, attempt, kMaxDeferredRetryMillis),
              std::nullopt};
    case SendOutcome::transport_error:
      return {DeliveryState::queued, now, std::nullopt};
    case SendOutcome::uncertain:
      if (policy.hold_uncertain || uncertain_retries >= kMaxUncertainRetries)
        return {DeliveryState::held, now, std::nullopt};
      return {DeliveryState::uncertain, now + kUncertainRetryMillis, std::nullopt};
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::int64_t pause_millis(std::int64_t failures) {
  return doubling(5 * kSecondMillis, failures, kMaxPauseMillis);
}

std::int64_t sync_retry_millis(std::int64_t failures) {
  return doubling(2 * kSecondMillis, failures, kMaxSyncRetryMillis);
}

std::int64_t rejected_retry_millis(std::int64_t failures) {
  return doubling(2 * kSecondMillis, failures, kMaxRejectedRetryMillis);
}

std::size_t next_batch_rows(std::size_t rows, std::int64_t millis, bool has_failed, std::size_t max_rows) {
  const std::size_t next = has_failed || millis >= kSlowBatchMillis ? rows / 2
                           : millis < kQuickBatchMillis             ? rows * 2
                                                                    : rows;
  return std::clamp<std::size_t>(next, 1, max_rows);
}

std::string describe(const store::MailPause& pause) {
  return "mail is paused since " + minute_text(pause.since) + " UTC by " + pause.by +
         (pause.reason.empty() ? "" : ": ") + pause.reason;
}

ClockSkewRepair repair_clock_skew(store::Store& store, UtcMillis now, UtcMillis database_now,
                                  std::int64_t most_request_retry_after_millis) {
  ClockSkewRepair repaired;
  repaired.pause = store.deliveries.reset_breakers_after(now + kMaxPauseMillis, now);
  repaired.mails = store.deliveries.reset_scheduled_after(now + kMaxMailRetryMillis, now);
  repaired.gifts = store.sync.reset_scheduled_after(now + kMaxSyncRetryMillis, now) +
                   store.sync.reset_rejected_after(now + kMaxRejectedRetryMillis, now);
  repaired.requests = store.request_records.reset_scheduled_after(
      database_now + most_request_retry_after_millis, database_now);
  return repaired;
}

std::string describe(const ClockSkewRepair& repaired) {
  std::string what = repaired.pause ? "mail delivery pause" : "";
  const auto add = [&what](std::int64_t count, const std::string& of) {
    if (count > 0) what += (what.empty() ? "" : ", ") + std::to_string(count) + " " + of;
  };
  add(repaired.mails, "mails");
  add(repaired.gifts, "gift records");
  add(repaired.requests, "request records");
  if (what.empty()) return what;
  return "the system clock had been ahead (on this or another node); retry times reset: " + what;
}

bool is_bad_address_code(std::string_view code) {
  constexpr std::array<std::string_view, 5> kCodes{"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

namespace {

constexpr std::size_t kCodeWords = 2;  // "554 5.7.1"

bool differs_by_mail(std::string_view word) {
  const std::size_t dot = word.find('.');
  return word.starts_with('<') || word.find_first_of("@0123456789") != std::string_view::npos ||
         (dot != std::string_view::npos && dot + 1 < word.size());  // a host
}

bool is_many(const SharedReply& reply, UtcMillis now) {
  if (reply.state == DeliveryState::undelivered) return reply.mails >= kManyUndelivered;
  return reply.mails >= kManyDeferred && has_elapsed(reply.since, kLongDeferredMillis, now);
}

}  // namespace

std::string reply_class(std::string_view reply) {
  std::istringstream words{std::string(reply)};
  std::string kept;
  std::size_t count = 0;
  for (std::string word; words >> word;) {
    const bool is_code = ++count <= kCodeWords && word.find_first_not_of("0123456789.-") == std::string::npos;
    if (is_code || !differs_by_mail(word)) kept += word + ' ';
  }
  return kept;
}

bool is_reply_like(std::string_view reply, std::string_view text) {
  return ascii_lower(reply).find(ascii_lower(text)) != std::string::npos ||
         reply_class(reply) == reply_class(text);
}

std::vector<SharedReply> shared_replies(std::span<const store::FailedMail> mails, UtcMillis now) {
  std::map<std::pair<DeliveryState, std::string>, SharedReply> classes;
  for (const store::FailedMail& mail : mails) {
    // A 5xx of a mail that waits is in the pause's reason, or soon decided.
    if (mail.state == DeliveryState::queued && !mail.reply.starts_with('4')) continue;
    if (mail.reply.starts_with(kNotSent)) continue;  // by the do-not-send list, which is no fault
    const auto [found, is_new] = classes.try_emplace({mail.state, reply_class(mail.reply)},
                                                     SharedReply{mail.state, mail.reply, 0, mail.since});
    ++found->second.mails;
    found->second.since = std::min(found->second.since, mail.since);
  }
  std::vector<SharedReply> many;
  for (auto& [key, one] : classes)
    if (is_many(one, now)) many.push_back(std::move(one));
  std::ranges::stable_sort(many, std::greater{}, &SharedReply::mails);
  return many;
}

}  // namespace giftsync::sync
