#include "daemon/mail/delivery_step.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "schema/contact_normalization.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::daemon::mail {
namespace {

constexpr std::size_t kMaxMailsPerBatch = 50;
constexpr std::int64_t kClaimLeaseMillis = 30'000;
/// After this budget the transport aborts before the final dot, so that a daemon that was suspended for
/// longer than its lease cannot send a mail that another daemon has claimed.
constexpr std::int64_t kSendBudgetMillis = 80'000;
static_assert(kClaimLeaseMillis <= kSendingLeaseMillis && kSendBudgetMillis < kSendingLeaseMillis);

/// The message without times, ports and ids, to compare two faults.
bool is_same_fault(std::string a, std::string b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::erase_if(a, is_digit);
  std::erase_if(b, is_digit);
  return a == b;
}

class DeliveryBatch {
 public:
  DeliveryBatch(schema::store::Store& store, MailTransport& transport, const DeliveryRules& rules,
                const platform::Clock& clock)
      : store_(store), transport_(transport), rules_(rules), clock_(clock) {}

  DeliveryStats run(const std::function<bool()>& should_continue) {
    pause_ = store_.deliveries.breaker();
    if (pause_ && pause_->until > clock_()) return std::move(stats_);
    // After a pause one mail tests whether the transport works again.
    const std::size_t limit = pause_ ? 1 : kMaxMailsPerBatch;
    const std::vector<schema::store::DeliveryClaim> claims =
        store_.deliveries.claim(rules_.owner, kClaimLeaseMillis, limit, clock_());
    stats_.more = claims.size() == limit;
    if (claims.empty() && transport_.has_stale_markers() && is_nothing_sending())
      transport_.remove_stale_markers();
    load_gifts(claims);
    std::span<const schema::store::DeliveryClaim> rest(claims);
    while (!rest.empty() && !transport_failed_ && should_continue()) {
      const std::size_t group = std::min(transport_.max_batch_size(), rest.size());
      deliver_group(rest.first(group), should_continue);
      rest = rest.subspan(group);
    }
    store_.deliveries.release(rules_.owner, rest);
    stats_.more = stats_.more && rest.empty();
    return std::move(stats_);
  }

 private:
  struct PreparedMail {
    schema::store::DeliveryClaim claim;
    OutgoingMail mail;
  };

  bool is_nothing_sending() { return store_.deliveries.list({schema::DeliveryState::sending}, 1).empty(); }

  void load_gifts(const std::vector<schema::store::DeliveryClaim>& claims) {
    std::vector<schema::TransactionId> ids;
    for (const schema::store::DeliveryClaim& claim : claims) ids.push_back(claim.transaction);
    if (ids.empty()) return;
    for (schema::store::Gift& gift : store_.gifts.find(ids))
      gifts_.emplace(gift.transaction.id, std::move(gift));
    std::unordered_map<schema::TransactionId, std::vector<schema::store::ChangeSpan>> spans;
    for (const schema::store::ChangeSpan& span : store_.changes.spans_of(ids))
      spans[span.transaction].push_back(span);
    for (const schema::store::DeliveryClaim& claim : claims) {
      const auto sent_at = gifts_.at(claim.transaction).transaction.times[schema::Status::sent];
      const sync::FoldedStatus state = sync::fold(*sent_at, spans[claim.transaction]);
      const bool is_obsolete =
          claim.kind == schema::MailKind::reminder && state.times[schema::Status::opened];
      if (sync::is_ended(state) || is_obsolete) obsolete_.insert(claim.transaction);
    }
  }

  /// Sends one group: prepares all, stores all as `sending`, sends each, stores all outcomes.
  void deliver_group(std::span<const schema::store::DeliveryClaim> group,
                     const std::function<bool()>& should_continue) {
    std::vector<PreparedMail> prepared_mails;
    std::vector<schema::store::DeliveryQueue::Sending> sendings;
    std::vector<std::string> message_ids;
    for (const schema::store::DeliveryClaim& claim : group) {
      if (claim.state == schema::DeliveryState::sending) {
        resolve_abandoned(claim);
        message_ids.push_back(claim.message_id);
        continue;
      }
      if (obsolete_.contains(claim.transaction)) {
        outcomes_.push_back({claim.transaction, claim.attempt, schema::DeliveryState::withdrawn, clock_(),
                             "not sent: the gift was opened or has ended", false, std::nullopt});
        continue;
      }
      PreparedMail prepared{claim, compose(claim)};
      if (const auto fault = transport_.prepare(prepared.mail)) {
        record_outcome(claim, claim.attempt, *fault);
        continue;
      }
      sendings.push_back({claim, prepared.mail.message_id});
      prepared_mails.push_back(std::move(prepared));
    }
    // A slow relay may have delayed the preparation.
    if (!prepared_mails.empty() && !should_continue()) {
      release_unsent(prepared_mails);
      prepared_mails.clear();
    }
    if (!prepared_mails.empty()) {
      // Read before the lease is stored: time that passes in between, for example by SIGSTOP, counts against
      // the budget.
      const platform::UtcMillis started_at = clock_();
      const std::vector<bool> has_begun =
          store_.deliveries.begin_sending(rules_.owner, sendings, kSendingLeaseMillis, started_at);
      for (std::size_t i = 0; i < prepared_mails.size(); ++i) {
        if (!has_begun[i]) continue;  // another daemon has claimed it, with its files in the directory
        message_ids.push_back(prepared_mails[i].mail.message_id);
        send_prepared(prepared_mails[i], kSendBudgetMillis - (clock_().value - started_at.value));
      }
    }
    store_outcomes();
    for (const std::string& message_id : message_ids) transport_.discard_marker(message_id);
  }

  void release_unsent(const std::vector<PreparedMail>& unsent) {
    std::vector<schema::store::DeliveryClaim> claims;
    for (const PreparedMail& prepared : unsent) claims.push_back(prepared.claim);
    store_.deliveries.release(rules_.owner, claims);
  }

  void send_prepared(const PreparedMail& prepared, std::int64_t budget_millis) {
    const schema::store::DeliveryClaim& claim = prepared.claim;
    if (budget_millis <= 0) {
      // Too late: another daemon may have claimed it. If none has, it is released unchanged.
      outcomes_.push_back({claim.transaction, claim.attempt + 1, schema::DeliveryState::queued, clock_(),
                           "not sent: the lease on this mail expired", false, std::nullopt});
      return;
    }
    // Mails that were not passed to the faulty transport return to the queue.
    const SendResult result = transport_failed_ ? SendResult{sync::SendOutcome::transport_error, last_fault_}
                                                : transport_.send(prepared.mail, budget_millis);
    record_outcome(claim, claim.attempt + 1, result);
  }

  /// The sender died between `sending` and the outcome. Only the transport may know the outcome.
  void resolve_abandoned(const schema::store::DeliveryClaim& claim) {
    const auto known = transport_.recover_outcome(claim.message_id);
    if (known && known->outcome == sync::SendOutcome::try_later) {
      outcomes_.push_back({claim.transaction, claim.attempt, schema::DeliveryState::queued, clock_(),
                           "the daemon stopped before the mail was sent", false, std::nullopt});
      stats_.more = true;
      return;
    }
    record_outcome(claim, claim.attempt,
                   known.value_or(SendResult{sync::SendOutcome::uncertain,
                                             "the daemon stopped while the mail was being sent"}));
  }

  void record_outcome(const schema::store::DeliveryClaim& claim, std::int64_t attempt,
                      const SendResult& result) {
    const platform::UtcMillis now = clock_();
    const sync::DeliveryTransition next =
        sync::after_attempt(result.outcome, attempt, claim.first_deferred_at.value_or(now), now,
                            rules_.policy, claim.uncertain_retries);
    schema::store::DeliveryOutcome outcome{claim.transaction, attempt,
                                           next.state,        next.next_attempt_at,
                                           result.reply,      result.outcome == sync::SendOutcome::try_later,
                                           std::nullopt};
    if (next.status && claim.kind == schema::MailKind::gift) {
      outcome.change =
          schema::store::StatusChange{{}, "mailer", claim.transaction, *next.status, now, now, {}};
    }
    outcomes_.push_back(std::move(outcome));
    count(claim, next.state, result);
    update_breaker(result);
  }

  void update_breaker(const SendResult& result) {
    if (result.outcome == sync::SendOutcome::transport_error) {
      transport_failed_ = true;
      last_fault_ = result.reply;
    } else if (result.outcome != sync::SendOutcome::uncertain) {
      transport_succeeded_ = true;
    }
  }

  /// Stores the outcomes first, since they must not be lost; then updates the circuit breaker.
  void store_outcomes() {
    const platform::UtcMillis now = clock_();
    if (!outcomes_.empty()) store_.deliveries.finish(outcomes_, now);
    outcomes_.clear();
    if (transport_failed_) {
      const std::int64_t failures = pause_ ? pause_->failures + 1 : 1;
      if (!pause_)
        stats_.warnings.push_back("mail delivery paused (" + last_fault_ + "); no gift is affected");
      else if (!is_same_fault(pause_->reason, last_fault_))
        stats_.warnings.push_back("mail delivery still paused, now because: " + last_fault_);
      store_.deliveries.open_breaker(
          {pause_ ? pause_->since : now, now + sync::pause_millis(failures), failures, last_fault_});
    } else if (pause_ && transport_succeeded_) {
      store_.deliveries.close_breaker();
      pause_.reset();
      stats_.more = true;
      stats_.info_lines.push_back("mail delivery resumed");
    }
  }

  void count(const schema::store::DeliveryClaim& claim, schema::DeliveryState state,
             const SendResult& result) {
    const std::string gift = "gift " + std::to_string(claim.transaction.value) + ": ";
    switch (state) {
      case schema::DeliveryState::accepted:
        ++stats_.accepted;
        break;
      case schema::DeliveryState::undelivered:
        ++stats_.undelivered;
        stats_.warnings.push_back(gift + "undelivered: " + result.reply);
        break;
      case schema::DeliveryState::uncertain:
      case schema::DeliveryState::held:
        ++stats_.uncertain;
        stats_.warnings.push_back(gift + "it is unknown whether its mail arrived: " + result.reply);
        break;
      default:
        ++stats_.deferred;
        break;
    }
  }

  /// Of the form gift-41.1.8f3a...@example.com: the same for every attempt, a new one for a resend. Further
  /// mails of the gift are numbered, so that a report about a reminder does not apply to the gift.
  std::string message_id(const schema::store::DeliveryClaim& claim, const schema::store::Gift& gift) const {
    if (!claim.message_id.empty()) return claim.message_id;
    const std::size_t at = rules_.from_address.rfind('@');
    const std::string number = claim.number > 1 ? "." + std::to_string(claim.number) : "";
    return std::string(to_word(claim.kind)) + "-" + std::to_string(claim.transaction.value) + "." +
           std::to_string(gift.transaction.generation) + number + "." + rules_.installation_id + "@" +
           schema::email_for_envelope(rules_.from_address).substr(at + 1);
  }

  OutgoingMail compose(const schema::store::DeliveryClaim& claim) const {
    const schema::store::Gift& gift = gifts_.at(claim.transaction);
    GiftMailData data;
    data.message_id = message_id(claim, gift);
    data.from_address = rules_.from_address;
    data.sender_name = gift.request.sender_name;
    data.sender_email = gift.request.sender_email;
    data.recipient_email = gift.transaction.email;
    data.first_name = gift.transaction.first_name;
    data.last_name = gift.transaction.last_name;
    data.message = gift.transaction.message;
    data.item_name = gift.request.item_name;
    data.item_description = gift.request.item_description;
    data.redemption_url = rules_.redemption_url(gift.transaction);
    data.donation_url = rules_.donation_url(gift.transaction);
    data.extra_headers = rules_.extra_headers(data.message_id);
    data.branding = rules_.branding;
    data.date = claim.number > 1 ? claim.ordered_at : gift.request.created_at;
    data.is_reminder = claim.kind == schema::MailKind::reminder;
    return compose_gift_mail(data);
  }

  schema::store::Store& store_;
  MailTransport& transport_;
  const DeliveryRules& rules_;
  const platform::Clock& clock_;
  DeliveryStats stats_;
  std::optional<schema::store::CircuitBreaker> pause_;
  bool transport_failed_ = false;
  bool transport_succeeded_ = false;
  std::string last_fault_;
  std::vector<schema::store::DeliveryOutcome> outcomes_;  ///< of the current group
  std::unordered_map<schema::TransactionId, schema::store::Gift> gifts_;
  std::set<schema::TransactionId> obsolete_;  ///< gifts whose mail is pointless: opened or ended
};

}  // namespace

DeliveryStats delivery_step(schema::store::Store& store, MailTransport& transport, const DeliveryRules& rules,
                            const platform::Clock& clock, const std::function<bool()>& should_continue) {
  return DeliveryBatch(store, transport, rules, clock).run(should_continue);
}

}  // namespace giftsync::daemon::mail
