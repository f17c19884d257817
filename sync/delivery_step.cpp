#include "sync/delivery_step.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "schema/contact_normalization.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::sync {
namespace {

using schema::store::DeliveryClaim;
using schema::store::DeliveryOutcome;

constexpr std::size_t kMaxMailsPerBatch = 50;
constexpr std::int64_t kClaimLeaseMillis = 30'000;
/// After this budget the transport aborts before the final dot, so that a daemon that was suspended for
/// longer than its lease cannot send a mail that another daemon has claimed.
constexpr std::int64_t kSendBudgetMillis = 80'000;
static_assert(kClaimLeaseMillis <= kSendingLeaseMillis && kSendBudgetMillis < kSendingLeaseMillis);

struct DeliveryContext {
  schema::store::Store& store;
  MailTransport& transport;
  const DeliveryRules& rules;
  const std::function<platform::UtcMillis()>& now;
  const std::function<bool()>& should_continue;
};

/// What the step has done so far.
struct DeliveryProgress {
  DeliveryStats stats;
  std::optional<schema::store::CircuitBreaker> pause;
  std::optional<std::string> fault;  ///< of the transport; no further mail is passed to it
  bool has_transport_worked = false;
  std::vector<DeliveryOutcome> outcomes;  ///< of the current group
  std::vector<DeliveryClaim> accepted;
  std::vector<std::string> markers;  ///< Message-IDs to discard once these outcomes are durable
};

struct ClaimedGifts {
  std::unordered_map<schema::TransactionId, schema::store::Gift> gifts;
  std::set<schema::TransactionId> obsolete;  ///< their mail is pointless: opened or ended
};

struct PreparedMail {
  DeliveryClaim claim;
  OutgoingMail mail;
};

/// The message without times, ports and ids, to compare two faults.
bool is_same_fault(std::string a, std::string b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::erase_if(a, is_digit);
  std::erase_if(b, is_digit);
  return a == b;
}

ClaimedGifts load_gifts(schema::store::Store& store, const std::vector<DeliveryClaim>& claims) {
  ClaimedGifts claimed;
  std::vector<schema::TransactionId> ids;
  for (const DeliveryClaim& claim : claims) ids.push_back(claim.transaction);
  if (ids.empty()) return claimed;
  for (schema::store::Gift& gift : store.gifts.find(ids))
    claimed.gifts.emplace(gift.transaction.id, std::move(gift));
  std::unordered_map<schema::TransactionId, std::vector<schema::store::ChangeSpan>> spans;
  for (const schema::store::ChangeSpan& span : store.changes.spans_of(ids))
    spans[span.transaction].push_back(span);
  for (const DeliveryClaim& claim : claims) {
    const auto sent_at = claimed.gifts.at(claim.transaction).transaction.times[schema::Status::sent];
    const FoldedStatus state = fold(*sent_at, spans[claim.transaction]);
    const bool is_late_reminder =
        claim.kind == schema::MailKind::reminder && state.times[schema::Status::opened];
    if (is_ended(state) || is_late_reminder) claimed.obsolete.insert(claim.transaction);
  }
  return claimed;
}

OutgoingMail compose(const DeliveryClaim& claim, const schema::store::Gift& gift,
                     const DeliveryRules& rules) {
  const OrderedMail mail{claim.message_id, claim.kind, claim.number, claim.ordered_at};
  return rules.compose(gift, mail_identity(gift, mail, rules.from_address, rules.installation_id));
}

/// The outcome of a mail that was not passed to the transport.
DeliveryOutcome unsent(const DeliveryClaim& claim, std::int64_t attempt, schema::DeliveryState state,
                       platform::UtcMillis now, const std::string& reason) {
  return {claim.transaction, attempt, state, now, reason, false, std::nullopt};
}

void count(DeliveryStats& stats, const DeliveryOutcome& outcome) {
  const std::string gift = "gift " + std::to_string(outcome.transaction.value) + ": ";
  switch (outcome.state) {
    case schema::DeliveryState::accepted:
      ++stats.accepted;
      break;
    case schema::DeliveryState::undelivered:
      ++stats.undelivered;
      stats.warnings.push_back(gift + "undelivered: " + outcome.reply);
      break;
    case schema::DeliveryState::uncertain:
    case schema::DeliveryState::held:
      ++stats.uncertain;
      stats.warnings.push_back(gift + "it is unknown whether its mail arrived: " + outcome.reply);
      break;
    default:
      ++stats.deferred;
      break;
  }
}

/// Adds what follows from one attempt.
void add_attempt(const DeliveryContext& context, const DeliveryClaim& claim, std::int64_t attempt,
                 const SendResult& result, DeliveryProgress& progress) {
  const platform::UtcMillis now = context.now();
  const DeliveryTransition next =
      after_attempt(result.outcome, attempt, claim.first_deferred_at.value_or(now), now, context.rules.policy,
                    claim.uncertain_retries);
  DeliveryOutcome outcome{claim.transaction,    attempt,      next.state,
                          next.next_attempt_at, result.reply, result.outcome == SendOutcome::try_later,
                          std::nullopt};
  if (next.status && claim.kind == schema::MailKind::gift)
    outcome.change = schema::store::StatusChange{{}, "mailer", claim.transaction, *next.status, now, now, {}};
  count(progress.stats, outcome);
  if (outcome.state == schema::DeliveryState::accepted) progress.accepted.push_back(claim);
  progress.outcomes.push_back(std::move(outcome));
  if (result.outcome == SendOutcome::transport_error)
    progress.fault = result.reply;
  else if (result.outcome != SendOutcome::uncertain)
    progress.has_transport_worked = true;
}

/// The sender died between `sending` and the outcome. Only the transport may know the outcome.
void resolve_abandoned(const DeliveryContext& context, const DeliveryClaim& claim,
                       DeliveryProgress& progress) {
  progress.markers.push_back(claim.message_id);
  const auto known = context.transport.recover_outcome(claim.message_id);
  if (known && known->outcome == SendOutcome::try_later) {
    progress.outcomes.push_back(unsent(claim, claim.attempt, schema::DeliveryState::queued, context.now(),
                                       "the daemon stopped before the mail was sent"));
    progress.stats.more = true;
    return;
  }
  add_attempt(
      context, claim, claim.attempt,
      known.value_or(SendResult{SendOutcome::uncertain, "the daemon stopped while the mail was being sent"}),
      progress);
}

/// The mails of the group that can be sent; the others have their outcome.
std::vector<PreparedMail> prepare_group(const DeliveryContext& context, std::span<const DeliveryClaim> group,
                                        const ClaimedGifts& claimed, DeliveryProgress& progress) {
  std::vector<PreparedMail> prepared;
  for (const DeliveryClaim& claim : group) {
    if (claim.state == schema::DeliveryState::sending) {
      resolve_abandoned(context, claim, progress);
    } else if (claimed.obsolete.contains(claim.transaction)) {
      progress.outcomes.push_back(unsent(claim, claim.attempt, schema::DeliveryState::withdrawn,
                                         context.now(), "not sent: the gift was opened or has ended"));
    } else {
      OutgoingMail mail = compose(claim, claimed.gifts.at(claim.transaction), context.rules);
      if (const auto fault = context.transport.prepare(mail))
        add_attempt(context, claim, claim.attempt, *fault, progress);
      else
        prepared.push_back({claim, std::move(mail)});
    }
  }
  return prepared;
}

void send_prepared(const DeliveryContext& context, const PreparedMail& prepared, std::int64_t budget_millis,
                   DeliveryProgress& progress) {
  const DeliveryClaim& claim = prepared.claim;
  if (budget_millis <= 0) {
    // Too late: another daemon may have claimed it. If none has, it is released unchanged.
    progress.outcomes.push_back(unsent(claim, claim.attempt + 1, schema::DeliveryState::queued, context.now(),
                                       "not sent: the lease on this mail expired"));
    return;
  }
  // Mails that were not passed to the faulty transport return to the queue.
  const SendResult result = progress.fault ? SendResult{SendOutcome::transport_error, *progress.fault}
                                           : context.transport.send(prepared.mail, budget_millis);
  add_attempt(context, claim, claim.attempt + 1, result, progress);
}

/// Stores all as `sending`, then sends each.
void send_group(const DeliveryContext& context, const std::vector<PreparedMail>& group,
                DeliveryProgress& progress) {
  std::vector<schema::store::DeliveryQueue::Sending> sendings;
  for (const PreparedMail& prepared : group) sendings.push_back({prepared.claim, prepared.mail.message_id});
  // Read before the lease is stored: time that passes in between, for example by SIGSTOP, counts against the
  // budget.
  const platform::UtcMillis started_at = context.now();
  const std::vector<bool> has_begun =
      context.store.deliveries.begin_sending(context.rules.owner, sendings, kSendingLeaseMillis, started_at);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!has_begun[i]) continue;  // another daemon has claimed it, with its files in the directory
    progress.markers.push_back(group[i].mail.message_id);
    send_prepared(context, group[i], kSendBudgetMillis - (context.now().value - started_at.value), progress);
  }
}

std::vector<GiftEvent> events_of(const std::vector<DeliveryClaim>& accepted, const ClaimedGifts& claimed) {
  std::vector<GiftEvent> events;
  for (const DeliveryClaim& claim : accepted) {
    const bool is_reminder = claim.kind == schema::MailKind::reminder;
    events.push_back(gift_event(is_reminder ? GiftEventKind::reminded : GiftEventKind::mailed,
                                claimed.gifts.at(claim.transaction)));
  }
  return events;
}

void release_unsent(const DeliveryContext& context, const std::vector<PreparedMail>& unsent_mails) {
  std::vector<DeliveryClaim> claims;
  for (const PreparedMail& prepared : unsent_mails) claims.push_back(prepared.claim);
  context.store.deliveries.release(context.rules.owner, claims);
}

void update_breaker(schema::store::DeliveryQueue& deliveries, const std::string& relay,
                    platform::UtcMillis now, DeliveryProgress& progress) {
  DeliveryStats& stats = progress.stats;
  std::optional<schema::store::CircuitBreaker>& pause = progress.pause;
  if (const auto& fault = progress.fault) {
    const std::int64_t failures = pause ? pause->failures + 1 : 1;
    if (!pause)
      stats.warnings.push_back("mail delivery paused (" + *fault + "); its mails wait, none is lost");
    else if (!is_same_fault(pause->reason, *fault))
      stats.warnings.push_back("mail delivery still paused, now because: " + *fault);
    deliveries.open_breaker(
        {pause ? pause->since : now, now + pause_millis(failures), failures, *fault, relay});
  } else if (pause && progress.has_transport_worked) {
    deliveries.close_breaker();
    pause.reset();
    stats.more = true;
    stats.info_lines.push_back("mail delivery resumed");
  }
}

/// Outcomes first, since they must not be lost.
void store_outcomes(const DeliveryContext& context, DeliveryProgress& progress) {
  const platform::UtcMillis now = context.now();
  if (!progress.outcomes.empty()) context.store.deliveries.finish(progress.outcomes, now);
  progress.outcomes.clear();
  update_breaker(context.store.deliveries, context.rules.relay, now, progress);
  for (const std::string& message_id : progress.markers) context.transport.discard_marker(message_id);
  progress.markers.clear();
}

void deliver_group(const DeliveryContext& context, std::span<const DeliveryClaim> group,
                   const ClaimedGifts& claimed, DeliveryProgress& progress) {
  const std::vector<PreparedMail> prepared = prepare_group(context, group, claimed, progress);
  if (!prepared.empty()) {
    // A slow relay may have delayed the preparation.
    if (context.should_continue())
      send_group(context, prepared, progress);
    else
      release_unsent(context, prepared);
  }
  store_outcomes(context, progress);
}

/// The pause of this relay. One of other settings has ended: they were corrected, or are another daemon's.
std::optional<schema::store::CircuitBreaker> current_pause(const DeliveryContext& context,
                                                           DeliveryStats& stats) {
  std::optional<schema::store::CircuitBreaker> pause = context.store.deliveries.breaker();
  if (!pause || pause->relay == context.rules.relay) return pause;
  context.store.deliveries.close_breaker();
  stats.info_lines.push_back("mail delivery resumed: the relay's settings were changed; trying again");
  return std::nullopt;
}

void remove_stale_markers(const DeliveryContext& context) {
  if (!context.transport.has_stale_markers()) return;
  if (context.store.deliveries.list({schema::DeliveryState::sending}, 1).empty())
    context.transport.remove_stale_markers();
}

}  // namespace

MailIdentity mail_identity(const schema::store::Gift& gift, const OrderedMail& mail,
                           const std::string& from_address, const std::string& installation_id) {
  MailIdentity identity;
  identity.message_id = mail.message_id;
  if (identity.message_id.empty()) {
    const std::size_t at = from_address.rfind('@');
    const std::string number = mail.number > 1 ? "." + std::to_string(mail.number) : "";
    identity.message_id = std::string(to_word(mail.kind)) + "-" + std::to_string(gift.transaction.id.value) +
                          "." + std::to_string(gift.transaction.generation) + number + "." + installation_id +
                          "@" + schema::email_for_envelope(from_address).substr(at + 1);
  }
  identity.is_reminder = mail.kind == schema::MailKind::reminder;
  identity.date = mail.number > 1 ? mail.ordered_at : gift.request.created_at;
  return identity;
}

DeliveryStats delivery_step(schema::store::Store& store, MailTransport& transport, const DeliveryRules& rules,
                            const std::function<platform::UtcMillis()>& now,
                            const std::function<bool()>& should_continue) {
  const DeliveryContext context{store, transport, rules, now, should_continue};
  DeliveryProgress progress;
  progress.pause = current_pause(context, progress.stats);
  if (progress.pause && progress.pause->until > now()) return {};
  // After a pause one mail tests whether the transport works again.
  const std::size_t limit = progress.pause ? 1 : kMaxMailsPerBatch;
  const std::vector<DeliveryClaim> claims =
      store.deliveries.claim(rules.owner, kClaimLeaseMillis, limit, now());
  progress.stats.more = claims.size() == limit;
  if (claims.empty()) remove_stale_markers(context);
  const ClaimedGifts claimed = load_gifts(store, claims);
  std::span<const DeliveryClaim> rest(claims);
  while (!rest.empty() && !progress.fault && should_continue()) {
    const std::size_t group = std::min(transport.max_batch_size(), rest.size());
    deliver_group(context, rest.first(group), claimed, progress);
    rest = rest.subspan(group);
  }
  store.deliveries.release(rules.owner, rest);
  progress.stats.events = events_of(progress.accepted, claimed);
  progress.stats.more = progress.stats.more && rest.empty();
  return std::move(progress.stats);
}

}  // namespace giftsync::sync
