// schema/store: the audit log of the console and of its commands (CON-8). It is append-only: an event is
// inserted by the transaction of the action that it reports, and deleted by age alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"

namespace soci {
class session;
}

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

// On whose behalf a listing of the console is read. Each such listing takes a Viewer and adds
// its condition to the SQL, so that no caller can forget it (CON-7).

struct Viewer {
  UserId user = {};
  std::optional<AccountId> account = {};            ///< the sender account with the user's address
  std::optional<OrganizationId> organization = {};  ///< absent: all organizations
  RoleSet roles = {};
  bool test = false;  ///< sees test gifts, and no others; else none of them (TEST-7)

  bool has(Role role) const { return roles.contains(role); }
  /// Sees the gifts of other senders.
  bool sees_all_senders() const { return has(Role::admin) || has(Role::operations) || has(Role::auditor); }
  /// Sees no addresses, names and messages of recipients: an auditor who has no role that does.
  bool is_masked() const { return has(Role::auditor) && !has(Role::admin) && !has(Role::operations); }
  /// An administrator at the server's command line, who can read the whole store.
  static Viewer of_command_line() { return {{}, {}, {}, {Role::operations}}; }
};

/// An error of the CRM without what may name a recipient: up to the first colon, "***" without one, and
/// without addresses (CON-16).
std::string error_code(const std::string& error);
/// The error as the viewer reads it: a masked one its code.
std::string shown_error(const Viewer& viewer, const std::string& error);
/// A text that something else than giftsync may have written as the viewer reads it: for a masked one each
/// address in it, also with %40, is cut to "***@example.com" (CON-51).
std::string shown_text(const Viewer& viewer, const std::string& text);

/// A condition on gift_request `r`: the gifts that the viewer sees. Digits and constants only.
std::string gifts_condition(const Viewer& viewer);
/// The same without regard to test gifts, where there is no row for all that is listed.
std::string senders_condition(const Viewer& viewer);
/// A condition on api_key `c`: the keys of the accounts whose gifts the viewer sees.
std::string keys_condition(const Viewer& viewer);
/// A condition on organization_token `c`: the tokens that the viewer sees, who sees other senders' gifts too.
std::string organization_tokens_condition(const Viewer& viewer);
/// A condition on webhook_endpoint: those that get events of the viewer's organization or of its accounts, or
/// all.
std::string webhooks_condition(const Viewer& viewer);
/// A condition on request_record_state `s`: the request records that the viewer sees. `owner`: the
/// organization for which request records are sent (requests.organization_token).
std::string request_records_condition(const Viewer& viewer, std::optional<OrganizationId> owner);
/// A condition on audit_event `e`: the events that the viewer sees.
std::string audit_condition(const Viewer& viewer);
/// A condition on console_user `u`: the users that the viewer sees.
std::string users_condition(const Viewer& viewer);

enum class ActorKind { user, command, system };
std::string_view to_word(ActorKind kind);

/// Values of messages, tokens and secrets never go in here.
struct AuditEvent {
  std::int64_t id = 0;  ///< allocated by the store
  UtcMillis occurred_at = {};
  ActorKind actor_kind = ActorKind::user;
  std::string actor = {};                           ///< the user's address, or the operating system's user
  std::optional<UserId> user = {};                  ///< of the console
  std::string session = {};                         ///< public_session_id(), or the prefix of a key
  std::string request_id = {};                      ///< of the HTTP request; may be empty
  std::string network = {};                         ///< of the client; may be empty
  std::string action = {};                          ///< such as "sign-in", "user.grant"
  std::string object_kind = {};                     ///< such as "user", "gift"
  std::string object_id = {};                       ///< what names the object in listings
  std::optional<OrganizationId> organization = {};  ///< whose object it is
  bool refused = false;
  std::string rule = {};    ///< the rule that refused it; may be empty
  std::string detail = {};  ///< what changed or why not, as text; of a decision on a request its note
};

/// An empty field matches all.
struct AuditFilter {
  std::string actor = {};   ///< exactly
  std::string action = {};  ///< an action, or the beginning of some: "user."
  std::string object_kind = {};
  std::string object_id = {};  ///< of a request its number, which may be shortened
  std::optional<UtcMillis> since = {};
  std::optional<std::int64_t> before = {};  ///< events with a smaller id
};

/// Searches for an object as people write it: "gift:17", "gift 17" as it is printed, "17", "R-4" for a
/// request, or "gift": all gifts (CON-37). An empty text searches for none.
void set_object(AuditFilter& filter, std::string_view text);

/// Inside the transaction of the action.
void insert_audit_event(soci::session& session, const AuditEvent& event);
/// Likewise, with how many rows it changed behind its detail; nothing when it changed none, or without an
/// event.
void insert_counted_event(soci::session& session, const std::optional<AuditEvent>& event, std::int64_t count);

/// Any thread.
class AuditLog {
 public:
  explicit AuditLog(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// Adds the event of an action that changes nothing in the store, such as a refused sign-in.
  void add(const AuditEvent& event);
  /// The newest first.
  std::vector<AuditEvent> list(const Viewer& viewer, const AuditFilter& filter, std::size_t limit);
  /// The newest event of that action for each object of that kind, and for a change in batches the events of
  /// all batches: same object, action, actor and time. In any order; for kinds with few objects.
  std::vector<AuditEvent> last_of_each(const Viewer& viewer, const std::string& object_kind,
                                       const std::string& action);
  /// Deletes events older than `before`.
  void prune(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
