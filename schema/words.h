// schema: the closed sets of words that records and requests use, and their spelling on the wire and in
// tables.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace giftsync::schema {

/// The states of a recipient transaction (Spec 3.1); the gift record's Status is one of these words.
enum class Status { sent, delivered, undelivered, opened, redeemed, donated, expired, refunded };
inline constexpr std::array<Status, 8> kAllStatuses{Status::sent,    Status::delivered, Status::undelivered,
                                                    Status::opened,  Status::redeemed,  Status::donated,
                                                    Status::expired, Status::refunded};
std::string_view to_word(Status status);
std::optional<Status> status_from_word(std::string_view word);

/// What a change of giftsync's own timers rests on (design 3.1): it counts only while no fact dated before it
/// says otherwise. `expired` and `undelivered` are why a gift was refunded; such a refund stands, but is
/// flagged.
enum class Premise { none, unopened, unclaimed, expired, undelivered };
inline constexpr std::array<Premise, 5> kAllPremises{Premise::none, Premise::unopened, Premise::unclaimed,
                                                     Premise::expired, Premise::undelivered};
/// Empty for none.
std::string_view to_word(Premise premise);
std::optional<Premise> premise_from_word(std::string_view word);

/// Which endpoint made a gift request: A mails the gift (Spec 4.1), B hands out its URLs (Spec 4.2);
/// `external` ones were sent elsewhere and are only known from a source's report (Spec 6.3.1).
enum class SendMode { email, urls, external };
std::string_view to_word(SendMode mode);
std::optional<SendMode> send_mode_from_word(std::string_view word);

/// Account plans; only the teams' plans have API access (Spec 5.3).
enum class Plan { individual, team, enterprise, enterprise_plus };
std::string_view to_word(Plan plan);
std::optional<Plan> plan_from_word(std::string_view word);
constexpr bool has_api_access(Plan plan) {
  return plan != Plan::individual;
}

/// What an API key may do (design 3.4).
enum class Scope { send, read, request, approve };
inline constexpr std::array<Scope, 4> kAllScopes{Scope::send, Scope::read, Scope::request, Scope::approve};
std::string_view to_word(Scope scope);
std::optional<Scope> scope_from_word(std::string_view word);

/// Where the mail of a transaction stands (design 3.5).
///   queued      waits for its turn, or for its next try
///   sending     the reply to the final dot may or may not come; only the holder of the attempt may tell
///   uncertain   nobody knows whether the relay took it; tried again later with the same Message-ID
///   held        uncertain, and the admin chose not to repeat (email.uncertain: hold)
///   accepted    the relay (or the outbox folder) has it
///   undelivered refused for good
///   withdrawn   not sent any more: its gift came to its end before it left
enum class DeliveryState { queued, sending, uncertain, held, accepted, undelivered, withdrawn };
inline constexpr std::array<DeliveryState, 7> kAllDeliveryStates{
    DeliveryState::queued,   DeliveryState::sending,     DeliveryState::uncertain, DeliveryState::held,
    DeliveryState::accepted, DeliveryState::undelivered, DeliveryState::withdrawn};
std::string_view to_word(DeliveryState state);
std::optional<DeliveryState> delivery_state_from_word(std::string_view word);

/// What a mail of a gift is: the gift itself, also when it is sent again, or a reminder of it (design 3.6).
enum class MailKind { gift, reminder };
std::string_view to_word(MailKind kind);
std::optional<MailKind> mail_kind_from_word(std::string_view word);

}  // namespace giftsync::schema
