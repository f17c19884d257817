#include "sync/mail/delivery_step.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "platform/dependency_error.h"
#include "schema/contact_normalization.h"
#include "sync/mail/delivery_run.h"

namespace giftsync::sync {
namespace {

/// Enough to choose from when a mail must show whether the relay works (MAIL-27).
constexpr std::size_t kMinClaim = 8;

}  // namespace

MailIdentity mail_identity(const store::Gift& gift, const OrderedMail& mail, const std::string& from_address,
                           const std::string& installation_id) {
  MailIdentity identity;
  identity.message_id = mail.message_id;
  if (identity.message_id.empty()) {
    const std::size_t at = from_address.rfind('@');
    const std::string number = mail.number > 1 ? "." + std::to_string(mail.number) : "";
    identity.message_id = std::string(to_word(mail.kind)) + "-" +
                          std::to_string(std::abs(gift.transaction.id.value)) + "." +
                          std::to_string(gift.transaction.generation) + number + "." + installation_id + "@" +
                          email_for_envelope(from_address).substr(at + 1);
  }
  identity.is_reminder = mail.kind == MailKind::reminder;
  identity.date = mail.number > 1 ? mail.ordered_at : gift.request.created_at;
  return identity;
}

MailDelivery::MailDelivery(store::Store& store, const DeliveryRules& rules, std::size_t connections,
                           std::size_t mails_at_once, std::function<UtcMillis()> now)
    : store_(store),
      rules_(rules),
      now_(std::move(now)),
      claimed_(store, connections, std::max(kMinClaim, connections * mails_at_once), now_),
      writer_(store.deliveries, now_),
      health_(connections),
      admin_pause_(now_, [this](int) { return std::optional(store_.mail_pauses.state()); }),
      in_flight_(connections) {}

DeliveryStats MailDelivery::step(const Connection& connection) {
  // Also while delivery is paused: new requests begin there, and do not read it themselves (MAIL-29).
  store_.deliveries.refresh_turns(now_());
  if (rules_.have_links_ended && rules_.have_links_ended(now_())) return {};
  return DeliveryRun(*this, connection).run();
}

store::MailPauseState MailDelivery::admin_pause() {
  return *admin_pause_.get(0);
}

void MailDelivery::release_after_fault(std::size_t connection) {
  InFlight& in_flight = in_flight_[connection];
  store_outcomes(in_flight);
  requeue_unsent(in_flight);
  claimed_.release_all(rules_.owner);
  store_.deliveries.release(rules_.owner, in_flight.claims);
  in_flight.claims.clear();
}

/// Repeating an outcome is safe: its attempt and the row's state guard it. One by one, so that one that the
/// store refuses fails alone.
void MailDelivery::store_outcomes(InFlight& in_flight) {
  while (!in_flight.ended.empty()) {
    try {
      store_.deliveries.finish(std::span(&in_flight.ended.back(), 1), now_());
    } catch (const DependencyError& error) {
      if (error.transient()) throw;
      // Or this connection would send nothing any more. The mail will be resolved as an abandoned one.
      in_flight.markers.clear();
    }
    in_flight.ended.pop_back();
  }
}

/// The COMMIT that began them may have succeeded. They were not sent, so they are not uncertain.
void MailDelivery::requeue_unsent(InFlight& in_flight) {
  // Later another connection of this daemon may have begun the same attempts.
  if (!in_flight.beginning.empty() && !has_elapsed(in_flight.claimed_at, kMaxClaimAgeMillis, now_())) {
    std::vector<AttemptWriter::Sending> started = in_flight.beginning;
    for (AttemptWriter::Sending& sending : started) ++sending.claim.attempt;
    // Each is begun once more first: that needs this daemon's live lease, so it is no other daemon's attempt.
    const std::vector<bool> is_own =
        store_.deliveries.begin_sending(rules_.owner, started, kSendingLeaseMillis, now_());
    std::vector<store::DeliveryOutcome> unsent;
    for (std::size_t i = 0; i < started.size(); ++i) {
      if (is_own[i])
        unsent.push_back({started[i].claim.transaction, started[i].claim.attempt + 1, DeliveryState::queued,
                          now_(), "not sent: the store failed", false, std::nullopt});
    }
    store_.deliveries.finish(unsent, now_());
  }
  in_flight.beginning.clear();
}

}  // namespace giftsync::sync
