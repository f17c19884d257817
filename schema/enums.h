// schema: the enumerations of records and requests, and their spelling on the wire and in tables.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace giftsync::schema {

/// The statuses of a recipient transaction; the gift record's Status is one of them.
enum class Status { sent, delivered, undelivered, opened, redeemed, donated, expired, refunded };
inline constexpr std::array<Status, 8> kAllStatuses{Status::sent,    Status::delivered, Status::undelivered,
                                                    Status::opened,  Status::redeemed,  Status::donated,
                                                    Status::expired, Status::refunded};
std::string_view to_word(Status status);
std::optional<Status> status_from_word(std::string_view word);

/// The premise of a change that a timer made: the change counts only while no earlier fact contradicts
/// it. `expired` and `undelivered` are the reasons of a refund; a refund stays in force, but is flagged.
enum class Premise { none, unopened, unclaimed, expired, undelivered };
inline constexpr std::array<Premise, 5> kAllPremises{Premise::none, Premise::unopened, Premise::unclaimed,
                                                     Premise::expired, Premise::undelivered};
/// Empty for none.
std::string_view to_word(Premise premise);
std::optional<Premise> premise_from_word(std::string_view word);

/// The endpoint that made a gift request: A mails the gift, B returns its URLs. `external` gifts were
/// sent elsewhere and are known only from a source's report.
enum class SendMode { email, urls, external };
std::string_view to_word(SendMode mode);
std::optional<SendMode> send_mode_from_word(std::string_view word);

/// Account plans; only team plans have API access.
enum class Plan { individual, team, enterprise, enterprise_plus };
std::string_view to_word(Plan plan);
std::optional<Plan> plan_from_word(std::string_view word);
constexpr bool has_api_access(Plan plan) {
  return plan != Plan::individual;
}

/// The scopes of an API key.
enum class Scope { send, read, request, approve };
inline constexpr std::array<Scope, 4> kAllScopes{Scope::send, Scope::read, Scope::request, Scope::approve};
std::string_view to_word(Scope scope);
std::optional<Scope> scope_from_word(std::string_view word);

/// The state of a transaction's mail. queued: waits for its first or next attempt. sending: the relay's
/// reply is pending; only the lease holder may record the outcome. uncertain: it is unknown whether the
/// relay accepted it; retried later with the same Message-ID. held: uncertain, and email.uncertain is
/// hold. accepted: the relay (or the outbox folder) has it. undelivered: refused permanently. withdrawn:
/// the gift reached a final status before the mail was sent.
enum class DeliveryState { queued, sending, uncertain, held, accepted, undelivered, withdrawn };
inline constexpr std::array<DeliveryState, 7> kAllDeliveryStates{
    DeliveryState::queued,   DeliveryState::sending,     DeliveryState::uncertain, DeliveryState::held,
    DeliveryState::accepted, DeliveryState::undelivered, DeliveryState::withdrawn};
std::string_view to_word(DeliveryState state);
std::optional<DeliveryState> delivery_state_from_word(std::string_view word);

/// The kind of a mail: the gift itself, also when it is resent, a reminder, what waits for an approver, or
/// which gifts of a sender are undelivered.
enum class MailKind { gift, reminder, approval, sender };
/// It is the mail of one gift, whose id is the transaction id of its row.
constexpr bool is_of_gift(MailKind kind) {
  return kind == MailKind::gift || kind == MailKind::reminder;
}
std::string_view to_word(MailKind kind);
std::optional<MailKind> mail_kind_from_word(std::string_view word);

}  // namespace giftsync::schema
