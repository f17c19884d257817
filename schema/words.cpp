#include "schema/words.h"

#include "schema/spelling.h"

namespace giftsync::schema {
namespace {

constexpr auto kStatuses = spelling<Status>({{Status::sent, "sent"},
                                             {Status::delivered, "delivered"},
                                             {Status::undelivered, "undelivered"},
                                             {Status::opened, "opened"},
                                             {Status::redeemed, "redeemed"},
                                             {Status::donated, "donated"},
                                             {Status::expired, "expired"},
                                             {Status::refunded, "refunded"}});
constexpr auto kPremises = spelling<Premise>({{Premise::none, ""},
                                              {Premise::unopened, "unopened"},
                                              {Premise::unclaimed, "unclaimed"},
                                              {Premise::expired, "expired"},
                                              {Premise::undelivered, "undelivered"}});
constexpr auto kSendModes = spelling<SendMode>(
    {{SendMode::email, "email"}, {SendMode::urls, "urls"}, {SendMode::external, "external"}});
constexpr auto kPlans = spelling<Plan>({{Plan::individual, "individual"},
                                        {Plan::team, "team"},
                                        {Plan::enterprise, "enterprise"},
                                        {Plan::enterprise_plus, "enterprise_plus"}});
constexpr auto kScopes = spelling<Scope>(
    {{Scope::send, "send"}, {Scope::read, "read"}, {Scope::request, "request"}, {Scope::approve, "approve"}});
constexpr auto kDeliveryStates = spelling<DeliveryState>({{DeliveryState::queued, "queued"},
                                                          {DeliveryState::sending, "sending"},
                                                          {DeliveryState::uncertain, "uncertain"},
                                                          {DeliveryState::held, "held"},
                                                          {DeliveryState::accepted, "accepted"},
                                                          {DeliveryState::undelivered, "undelivered"},
                                                          {DeliveryState::withdrawn, "withdrawn"}});
constexpr auto kMailKinds = spelling<MailKind>({{MailKind::gift, "gift"}, {MailKind::reminder, "reminder"}});

}  // namespace

std::string_view to_word(Status status) {
  return kStatuses.of(status);
}
std::optional<Status> status_from_word(std::string_view word) {
  return kStatuses.read(word);
}

std::string_view to_word(Premise premise) {
  return kPremises.of(premise);
}
std::optional<Premise> premise_from_word(std::string_view word) {
  return kPremises.read(word);
}

std::string_view to_word(SendMode mode) {
  return kSendModes.of(mode);
}
std::optional<SendMode> send_mode_from_word(std::string_view word) {
  return kSendModes.read(word);
}

std::string_view to_word(Plan plan) {
  return kPlans.of(plan);
}
std::optional<Plan> plan_from_word(std::string_view word) {
  return kPlans.read(word);
}

std::string_view to_word(Scope scope) {
  return kScopes.of(scope);
}
std::optional<Scope> scope_from_word(std::string_view word) {
  return kScopes.read(word);
}

std::string_view to_word(DeliveryState state) {
  return kDeliveryStates.of(state);
}
std::optional<DeliveryState> delivery_state_from_word(std::string_view word) {
  return kDeliveryStates.read(word);
}

std::string_view to_word(MailKind kind) {
  return kMailKinds.of(kind);
}
std::optional<MailKind> mail_kind_from_word(std::string_view word) {
  return kMailKinds.read(word);
}

}  // namespace giftsync::schema
