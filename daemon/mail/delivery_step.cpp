#include "daemon/mail/delivery_step.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "schema/address.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::daemon {
namespace {

using schema::DeliveryClaim;
using schema::DeliveryState;
using sync::SendVerdict;

constexpr std::size_t kMailsInRound = 50;
constexpr std::int64_t kClaimMillis = 30'000;
/// Past it the transport gives up before the final dot, so that a daemon that was stopped for longer than its
/// lease cannot send what another one has taken over.
constexpr std::int64_t kSendBudgetMillis = 80'000;
static_assert(kClaimMillis <= kSendingLeaseMillis && kSendBudgetMillis < kSendingLeaseMillis);

/// The same words, whatever times, ports and ids they are told with.
bool is_same_fault(std::string a, std::string b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::erase_if(a, is_digit);
  std::erase_if(b, is_digit);
  return a == b;
}

class Round {
 public:
  Round(schema::Store& store, MailTransport& transport, const DeliveryRules& rules, const Clock& clock)
      : store_(store), transport_(transport), rules_(rules), clock_(clock) {}

  DeliveryReport run(const std::function<bool()>& keep_going) {
    pause_ = store_.deliveries.pause();
    if (pause_ && pause_->until > clock_()) return std::move(report_);
    // After a pause one mail shows whether the transport is well again.
    const std::size_t limit = pause_ ? 1 : kMailsInRound;
    const std::vector<DeliveryClaim> claims =
        store_.deliveries.claim(rules_.owner, kClaimMillis, limit, clock_());
    report_.more = claims.size() == limit;
    if (claims.empty() && transport_.has_leftovers() && nothing_is_under_way()) transport_.forget_leftovers();
    load_gifts(claims);
    std::span<const DeliveryClaim> rest(claims);
    while (!rest.empty() && !transport_at_fault_ && keep_going()) {
      const std::size_t bunch = std::min(transport_.mails_at_once(), rest.size());
      deliver(rest.first(bunch), keep_going);
      rest = rest.subspan(bunch);
    }
    store_.deliveries.release(rules_.owner, rest);
    report_.more = report_.more && rest.empty();
    return std::move(report_);
  }

 private:
  struct Prepared {
    DeliveryClaim claim;
    OutgoingMail mail;
  };

  bool nothing_is_under_way() { return store_.deliveries.rows({DeliveryState::sending}, 1).empty(); }

  void load_gifts(const std::vector<DeliveryClaim>& claims) {
    std::vector<schema::TransactionId> ids;
    for (const DeliveryClaim& claim : claims) ids.push_back(claim.transaction);
    if (ids.empty()) return;
    for (schema::Gift& gift : store_.gifts.gifts(ids)) gifts_.emplace(gift.transaction.id, std::move(gift));
    std::unordered_map<schema::TransactionId, std::vector<schema::ChangeSpan>> spans;
    for (const schema::ChangeSpan& span : store_.changes.spans_of(ids))
      spans[span.transaction].push_back(span);
    for (const DeliveryClaim& claim : claims) {
      const auto sent_at = gifts_.at(claim.transaction).transaction.times[schema::Status::sent];
      const sync::FoldedStatus state = sync::fold(*sent_at, spans[claim.transaction]);
      const bool is_needless =
          claim.kind == schema::MailKind::reminder && state.times[schema::Status::opened];
      if (sync::is_over(state) || is_needless) needless_.insert(claim.transaction);
    }
  }

  /// One bunch: all prepared, all written down as `sending`, each sent, all outcomes written down.
  void deliver(std::span<const DeliveryClaim> bunch, const std::function<bool()>& keep_going) {
    std::vector<Prepared> ready;
    std::vector<schema::DeliveryQueue::Sending> sendings;
    std::vector<std::string> message_ids;
    for (const DeliveryClaim& claim : bunch) {
      if (claim.state == DeliveryState::sending) {
        settle_abandoned(claim);
        message_ids.push_back(claim.message_id);
        continue;
      }
      if (needless_.contains(claim.transaction)) {
        outcomes_.push_back({claim.transaction, claim.attempt, DeliveryState::withdrawn, clock_(),
                             "not sent: the gift was opened or is over", false, std::nullopt});
        continue;
      }
      Prepared prepared{claim, compose(claim)};
      if (const auto fault = transport_.prepare(prepared.mail)) {
        settle(claim, claim.attempt, *fault);
        continue;
      }
      sendings.push_back({claim, prepared.mail.message_id});
      ready.push_back(std::move(prepared));
    }
    // To prepare may have taken as long as a slow relay liked.
    if (!ready.empty() && !keep_going()) {
      give_back(ready);
      ready.clear();
    }
    if (!ready.empty()) {
      // Read before the lease is written: time that passes in between, be it a SIGSTOP, counts against the
      // budget.
      const schema::UtcMillis began = clock_();
      const std::vector<bool> begun =
          store_.deliveries.begin_sending(rules_.owner, sendings, kSendingLeaseMillis, began);
      for (std::size_t i = 0; i < ready.size(); ++i) {
        if (!begun[i]) continue;  // another's by now, and with it whatever lies in the folder
        message_ids.push_back(ready[i].mail.message_id);
        send(ready[i], kSendBudgetMillis - (clock_().value - began.value));
      }
    }
    write_outcomes();
    for (const std::string& message_id : message_ids) transport_.forget(message_id);
  }

  void give_back(const std::vector<Prepared>& unsent) {
    std::vector<DeliveryClaim> claims;
    for (const Prepared& prepared : unsent) claims.push_back(prepared.claim);
    store_.deliveries.release(rules_.owner, claims);
  }

  void send(const Prepared& prepared, std::int64_t budget_millis) {
    const schema::DeliveryClaim& claim = prepared.claim;
    if (budget_millis <= 0) {
      // Too late: another daemon may have taken it over. If none has, it goes back untouched.
      outcomes_.push_back({claim.transaction, claim.attempt + 1, DeliveryState::queued, clock_(),
                           "not sent: its lease ran out", false, std::nullopt});
      return;
    }
    // What a faulty transport was not given goes back into the queue; it cost the mail nothing.
    const SendResult result = transport_at_fault_ ? SendResult{SendVerdict::transport_fault, last_fault_}
                                                  : transport_.send(prepared.mail, budget_millis);
    settle(claim, claim.attempt + 1, result);
  }

  /// Its sender died between `sending` and the outcome. Only the transport may know more.
  void settle_abandoned(const DeliveryClaim& claim) {
    const auto known = transport_.recall(claim.message_id);
    if (known && known->verdict == SendVerdict::try_later) {
      outcomes_.push_back({claim.transaction, claim.attempt, DeliveryState::queued, clock_(),
                           "interrupted before it was sent", false, std::nullopt});
      report_.more = true;
      return;
    }
    settle(claim, claim.attempt,
           known.value_or(
               SendResult{SendVerdict::uncertain, "the daemon stopped while the mail was being sent"}));
  }

  void settle(const DeliveryClaim& claim, std::int64_t attempt, const SendResult& result) {
    const schema::UtcMillis now = clock_();
    const sync::DeliveryNext next = sync::after_attempt(
        result.verdict, attempt, claim.first_try_at.value_or(now), now, rules_.policy, claim.repeats);
    schema::DeliveryOutcome outcome{claim.transaction, attempt,      next.state,
                                    next.due_at,       result.reply, result.verdict == SendVerdict::try_later,
                                    std::nullopt};
    if (next.status && claim.kind == schema::MailKind::gift) {
      outcome.change = schema::StatusChange{{}, "mailer", claim.transaction, *next.status, now, now, {}};
    }
    outcomes_.push_back(std::move(outcome));
    count(claim, next.state, result);
    note_health(result);
  }

  void note_health(const SendResult& result) {
    if (result.verdict == SendVerdict::transport_fault) {
      transport_at_fault_ = true;
      last_fault_ = result.reply;
    } else if (result.verdict != SendVerdict::uncertain) {
      transport_worked_ = true;
    }
  }

  /// Outcomes first, since they are what must not be lost; then whether the outbox rests.
  void write_outcomes() {
    const schema::UtcMillis now = clock_();
    if (!outcomes_.empty()) store_.deliveries.finish(outcomes_, now);
    outcomes_.clear();
    if (transport_at_fault_) {
      const std::int64_t failures = pause_ ? pause_->failures + 1 : 1;
      if (!pause_)
        report_.notes.push_back("the outbox rests, no gift is affected: " + last_fault_);
      else if (!is_same_fault(pause_->reason, last_fault_))
        report_.notes.push_back("the outbox still rests, now because: " + last_fault_);
      store_.deliveries.set_pause(
          {pause_ ? pause_->since : now, now + sync::pause_millis(failures), failures, last_fault_});
    } else if (pause_ && transport_worked_) {
      store_.deliveries.clear_pause();
      pause_.reset();
      report_.more = true;
      report_.news.push_back("the outbox works again");
    }
  }

  void count(const DeliveryClaim& claim, DeliveryState state, const SendResult& result) {
    const std::string gift = "gift " + std::to_string(claim.transaction.value) + ": ";
    switch (state) {
      case DeliveryState::accepted:
        ++report_.accepted;
        break;
      case DeliveryState::undelivered:
        ++report_.undelivered;
        report_.notes.push_back(gift + "undelivered: " + result.reply);
        break;
      case DeliveryState::uncertain:
      case DeliveryState::held:
        ++report_.uncertain;
        report_.notes.push_back(gift + "nobody knows whether its mail arrived: " + result.reply);
        break;
      default:
        ++report_.later;
        break;
    }
  }

  /// Of the form gift-41.1.8f3a...@example.com: the same for every try, another one for a deliberate resend.
  /// A further mail of the gift is numbered; a report about a reminder is none about the gift.
  std::string message_id(const DeliveryClaim& claim, const schema::Gift& gift) const {
    if (!claim.message_id.empty()) return claim.message_id;
    const std::size_t at = rules_.from_address.rfind('@');
    const std::string number = claim.number > 1 ? "." + std::to_string(claim.number) : "";
    return std::string(to_word(claim.kind)) + "-" + std::to_string(claim.transaction.value) + "." +
           std::to_string(gift.transaction.generation) + number + "." + rules_.installation + "@" +
           schema::email_for_envelope(rules_.from_address).substr(at + 1);
  }

  OutgoingMail compose(const DeliveryClaim& claim) const {
    const schema::Gift& gift = gifts_.at(claim.transaction);
    GiftMailFacts facts;
    facts.message_id = message_id(claim, gift);
    facts.from_address = rules_.from_address;
    facts.sender_name = gift.request.sender_name;
    facts.sender_email = gift.request.sender_email;
    facts.recipient_email = gift.transaction.email;
    facts.first_name = gift.transaction.first_name;
    facts.last_name = gift.transaction.last_name;
    facts.message = gift.transaction.message;
    facts.item_name = gift.request.item_name;
    facts.item_description = gift.request.item_description;
    facts.redemption_url = rules_.redemption_url(gift.transaction);
    facts.donation_url = rules_.donation_url(gift.transaction);
    facts.more_headers = rules_.more_headers(facts.message_id);
    facts.face = rules_.face;
    facts.date = claim.number > 1 ? claim.ordered_at : gift.request.created_at;
    facts.is_reminder = claim.kind == schema::MailKind::reminder;
    return compose_gift_mail(facts);
  }

  schema::Store& store_;
  MailTransport& transport_;
  const DeliveryRules& rules_;
  const Clock& clock_;
  DeliveryReport report_;
  std::optional<schema::DeliveryPause> pause_;
  bool transport_at_fault_ = false;
  bool transport_worked_ = false;
  std::string last_fault_;
  std::vector<schema::DeliveryOutcome> outcomes_;  ///< of the bunch in hand
  std::unordered_map<schema::TransactionId, schema::Gift> gifts_;
  std::set<schema::TransactionId> needless_;  ///< their mail would come after the gift's end
};

}  // namespace

DeliveryReport delivery_step(schema::Store& store, MailTransport& transport, const DeliveryRules& rules,
                             const Clock& clock, const std::function<bool()>& keep_going) {
  return Round(store, transport, rules, clock).run(keep_going);
}

}  // namespace giftsync::daemon
