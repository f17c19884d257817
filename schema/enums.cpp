#include "schema/enums.h"

namespace giftsync {
namespace {

constexpr auto kStatuses = enum_words<Status>({{Status::sent, "sent"},
                                               {Status::delivered, "delivered"},
                                               {Status::undelivered, "undelivered"},
                                               {Status::opened, "opened"},
                                               {Status::redeemed, "redeemed"},
                                               {Status::donated, "donated"},
                                               {Status::expired, "expired"},
                                               {Status::refunded, "refunded"}});
constexpr auto kPremises = enum_words<Premise>({{Premise::none, ""},
                                                {Premise::unopened, "unopened"},
                                                {Premise::unclaimed, "unclaimed"},
                                                {Premise::expired, "expired"},
                                                {Premise::undelivered, "undelivered"}});
constexpr auto kSendModes = enum_words<SendMode>(
    {{SendMode::email, "email"}, {SendMode::urls, "urls"}, {SendMode::external, "external"}});
constexpr auto kPlans = enum_words<Plan>({{Plan::individual, "individual"},
                                          {Plan::team, "team"},
                                          {Plan::enterprise, "enterprise"},
                                          {Plan::enterprise_plus, "enterprise_plus"}});
constexpr auto kScopes = enum_words<Scope>({{Scope::send, "send"},
                                            {Scope::read, "read"},
                                            {Scope::request, "request"},
                                            {Scope::approve, "approve"},
                                            {Scope::report, "report"},
                                            {Scope::manage, "manage"},
                                            {Scope::webhooks, "webhooks"}});
constexpr auto kDeliveryStates = enum_words<DeliveryState>({{DeliveryState::queued, "queued"},
                                                            {DeliveryState::sending, "sending"},
                                                            {DeliveryState::uncertain, "uncertain"},
                                                            {DeliveryState::held, "held"},
                                                            {DeliveryState::accepted, "accepted"},
                                                            {DeliveryState::undelivered, "undelivered"},
                                                            {DeliveryState::withdrawn, "withdrawn"}});
constexpr auto kMailKinds = enum_words<MailKind>({{MailKind::gift, "gift"},
                                                  {MailKind::reminder, "reminder"},
                                                  {MailKind::approval, "approval"},
                                                  {MailKind::sender, "sender"},
                                                  {MailKind::test, "test"},
                                                  {MailKind::sign_in, "sign_in"}});
constexpr auto kDoNotSendReasons = enum_words<DoNotSendReason>({{DoNotSendReason::blocked, "blocked"},
                                                                {DoNotSendReason::opted_out, "opted_out"},
                                                                {DoNotSendReason::complained, "complained"},
                                                                {DoNotSendReason::bounced, "bounced"}});
static_assert(!has_enumerator<static_cast<DoNotSendReason>(kAllDoNotSendReasons.size())>(),
              "a reason is missing in kAllDoNotSendReasons");
constexpr auto kHeldStates = enum_words<HeldState>({{HeldState::held, "held"},
                                                    {HeldState::sent, "sent"},
                                                    {HeldState::rejected, "rejected"},
                                                    {HeldState::expired, "expired"}});
constexpr auto kAdminNoticeKinds = enum_words<AdminNoticeKind>(
    {{AdminNoticeKind::budget, "budget"}, {AdminNoticeKind::key, "key"}, {AdminNoticeKind::token, "token"}});

}  // namespace

std::string_view to_word(Status status) {
  return kStatuses.word_of(status);
}
std::optional<Status> status_from_word(std::string_view word) {
  return kStatuses.parse(word);
}

std::string_view to_word(Premise premise) {
  return kPremises.word_of(premise);
}
std::optional<Premise> premise_from_word(std::string_view word) {
  return kPremises.parse(word);
}

std::string_view to_word(SendMode mode) {
  return kSendModes.word_of(mode);
}
std::optional<SendMode> send_mode_from_word(std::string_view word) {
  return kSendModes.parse(word);
}

std::string_view to_word(Plan plan) {
  return kPlans.word_of(plan);
}
std::optional<Plan> plan_from_word(std::string_view word) {
  return kPlans.parse(word);
}

std::string_view to_word(Scope scope) {
  return kScopes.word_of(scope);
}
std::optional<Scope> scope_from_word(std::string_view word) {
  return kScopes.parse(word);
}

std::string to_words(const std::set<Scope>& scopes) {
  std::string text;
  for (const Scope scope : scopes) text.append(text.empty() ? "" : ",").append(to_word(scope));
  return text;
}

std::set<Scope> scopes_from_words(std::string_view words) {
  std::set<Scope> scopes;
  while (!words.empty()) {
    const std::size_t comma = words.find(',');
    if (const auto scope = scope_from_word(words.substr(0, comma))) scopes.insert(*scope);
    words.remove_prefix(comma == std::string_view::npos ? words.size() : comma + 1);
  }
  return scopes;
}

std::string_view to_word(DeliveryState state) {
  return kDeliveryStates.word_of(state);
}
std::optional<DeliveryState> delivery_state_from_word(std::string_view word) {
  return kDeliveryStates.parse(word);
}

std::string_view to_word(MailKind kind) {
  return kMailKinds.word_of(kind);
}
std::optional<MailKind> mail_kind_from_word(std::string_view word) {
  return kMailKinds.parse(word);
}

std::string_view to_word(DoNotSendReason reason) {
  return kDoNotSendReasons.word_of(reason);
}

std::optional<DoNotSendReason> do_not_send_reason_from_word(std::string_view word) {
  return kDoNotSendReasons.parse(word);
}

std::string_view to_word(HeldState state) {
  return kHeldStates.word_of(state);
}

std::optional<HeldState> held_state_from_word(std::string_view word) {
  return kHeldStates.parse(word);
}

std::string_view to_word(AdminNoticeKind kind) {
  return kAdminNoticeKinds.word_of(kind);
}
std::optional<AdminNoticeKind> admin_notice_kind_from_word(std::string_view word) {
  return kAdminNoticeKinds.parse(word);
}

namespace {

constexpr auto kRoles = enum_words<Role>({{Role::sender, "sender"},
                                          {Role::approver, "approver"},
                                          {Role::admin, "admin"},
                                          {Role::operations, "operator"},
                                          {Role::auditor, "auditor"}});
constexpr auto kOrigins = enum_words<RoleOrigin>(
    {{RoleOrigin::granted, "granted"}, {RoleOrigin::crm, "crm"}, {RoleOrigin::group, "group"}});

}  // namespace

std::string_view to_word(Role role) {
  return kRoles.word_of(role);
}
std::optional<Role> role_from_word(std::string_view word) {
  return kRoles.parse(word);
}

std::string_view to_word(RoleOrigin origin) {
  return kOrigins.word_of(origin);
}
std::optional<RoleOrigin> role_origin_from_word(std::string_view word) {
  return kOrigins.parse(word);
}

}  // namespace giftsync
