// schema: the enumerations of records and requests, and their spelling on the wire and in tables.
#pragma once

#include <array>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "platform/time.h"

namespace giftsync {

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
enum class Scope { send, read, request, approve, report, manage, webhooks };
inline constexpr std::array<Scope, 7> kAllScopes{Scope::send,   Scope::read,   Scope::request, Scope::approve,
                                                 Scope::report, Scope::manage, Scope::webhooks};
std::string_view to_word(Scope scope);
std::optional<Scope> scope_from_word(std::string_view word);
/// "send,read"; an unknown word is left out.
std::string to_words(const std::set<Scope>& scopes);
std::set<Scope> scopes_from_words(std::string_view words);

/// What a caller authenticates itself with: an account, an organization's CRM, a CRM that sends messages.
enum class CredentialKind { api_key, organization_token, message_token };

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

/// The kind of a mail: the gift itself, also when it is resent, a reminder, what waits for an approver, which
/// gifts of a sender are undelivered, a test gift, which its sender gets, or a sign-in link. No row of the
/// store has the last word: see SignInMails.
enum class MailKind { gift, reminder, approval, sender, test, sign_in };
/// It is the mail of one gift, whose id is the transaction id of its row.
constexpr bool is_of_gift(MailKind kind) {
  return kind == MailKind::gift || kind == MailKind::reminder;
}
std::string_view to_word(MailKind kind);
std::optional<MailKind> mail_kind_from_word(std::string_view word);

/// Why a person gets no gifts, the strongest reason first: an admin listed them, they asked for none, they
/// called a gift spam, or their address does not exist.
enum class DoNotSendReason { blocked, opted_out, complained, bounced };
inline constexpr std::array<DoNotSendReason, 4> kAllDoNotSendReasons{
    DoNotSendReason::blocked, DoNotSendReason::opted_out, DoNotSendReason::complained,
    DoNotSendReason::bounced};
std::string_view to_word(DoNotSendReason reason);
std::optional<DoNotSendReason> do_not_send_reason_from_word(std::string_view word);

/// API keys that make test gifts alone begin with this (TEST-1). `prefix`: of a credential, as it is stored
/// with what it asked for; it may be empty.
inline constexpr std::string_view kTestKeyPrefix = "gsk_test_";
constexpr bool is_test_key(std::string_view prefix) {
  return prefix.starts_with(kTestKeyPrefix);
}

/// What became of a gift request that waited for a person (GUARD-25). `sent`: a person approved it.
enum class HeldState { held, sent, rejected, expired };
std::string_view to_word(HeldState state);
std::optional<HeldState> held_state_from_word(std::string_view word);

/// What a notice to admins is about (GUARD-31): a budget's use, or a key or organization token that a burst
/// paused.
enum class AdminNoticeKind { budget, key, token };
std::string_view to_word(AdminNoticeKind kind);
std::optional<AdminNoticeKind> admin_notice_kind_from_word(std::string_view word);

// The spelling of enumeration values in tables, on the wire and in listings, in the order of the
// enumeration: constexpr auto kScopes = enum_words<Scope>({{Scope::send, "send"}, {Scope::read, "read"}});
// A value without a spelling, or with the spelling of another value, does not compile.

/// Whether an enumeration has a name for this value; otherwise the compiler prints it as
/// "(giftsync::Scope)4".
template <auto value>
consteval bool has_enumerator() {
  std::string_view text = __PRETTY_FUNCTION__;  // "... [with auto value = giftsync::Scope::send]"
  text.remove_suffix(1);
  const char first = text[text.find_last_of(": )") + 1];
  return first < '0' || first > '9';
}

template <class Value, std::size_t count>
class EnumWords {
 public:
  using Row = std::pair<Value, std::string_view>;

  consteval explicit EnumWords(const Row (&rows)[count]) {
    static_assert(!has_enumerator<static_cast<Value>(count)>(), "a value of the enumeration has no word");
    for (std::size_t i = 0; i < count; ++i) {
      if (rows[i].first != static_cast<Value>(i)) std::abort();  // not in the enumeration's order
      for (std::size_t j = 0; j < i; ++j) {
        if (words_[j] == rows[i].second) std::abort();  // two values with one spelling
      }
      words_[i] = rows[i].second;
    }
  }

  constexpr std::string_view word_of(Value value) const {
    const auto index = static_cast<std::size_t>(value);
    if (index >= count) std::abort();  // a value outside its enumeration: a bug
    return words_[index];
  }
  constexpr std::optional<Value> parse(std::string_view word) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (words_[i] == word) return static_cast<Value>(i);
    }
    return std::nullopt;
  }

 private:
  std::array<std::string_view, count> words_;
};

template <class Value, std::size_t count>
consteval EnumWords<Value, count> enum_words(const std::pair<Value, std::string_view> (&rows)[count]) {
  return EnumWords<Value, count>(rows);
}

// The roles of the console's users, and their spelling in tables and listings (CON-6).

enum class Role { sender, approver, admin, operations, auditor };
inline constexpr std::array<Role, 5> kAllRoles{Role::sender, Role::approver, Role::admin, Role::operations,
                                               Role::auditor};
/// "operator" for Role::operations, which C++ does not allow as a name.
std::string_view to_word(Role role);
std::optional<Role> role_from_word(std::string_view word);

using RoleSet = std::set<Role>;

/// How a user came to a role: by a command, from permission sets of the CRM, or from groups of an identity
/// provider.
enum class RoleOrigin { granted, crm, group };
std::string_view to_word(RoleOrigin origin);
std::optional<RoleOrigin> role_origin_from_word(std::string_view word);

// The one time that a transaction has for each status (STATUS-2).

class StatusTimes {
 public:
  std::optional<UtcMillis>& operator[](Status status) { return times_[static_cast<std::size_t>(status)]; }
  const std::optional<UtcMillis>& operator[](Status status) const {
    return times_[static_cast<std::size_t>(status)];
  }
  friend bool operator==(const StatusTimes&, const StatusTimes&) = default;

 private:
  std::array<std::optional<UtcMillis>, kAllStatuses.size()> times_;
};

}  // namespace giftsync
