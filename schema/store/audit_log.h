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
#include "schema/ids.h"
#include "schema/store/viewer.h"

namespace soci {
class session;
}

namespace giftsync::schema::sql {
class Database;
}

namespace giftsync::schema::store {

enum class ActorKind { user, command, system };
std::string_view to_word(ActorKind kind);

/// Values of messages, tokens and secrets never go in here.
struct AuditEvent {
  std::int64_t id = 0;  ///< allocated by the store
  platform::UtcMillis occurred_at = {};
  ActorKind actor_kind = ActorKind::user;
  std::string actor = {};                           ///< the user's address, or the operating system's user
  std::optional<UserId> user = {};                  ///< of the console
  std::string session = {};                         ///< public_session_id() of the session; may be empty
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
  std::optional<platform::UtcMillis> since = {};
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

  /// Of an action that changes nothing in the store, such as a refused sign-in.
  void add(const AuditEvent& event);
  /// The newest first.
  std::vector<AuditEvent> list(const Viewer& viewer, const AuditFilter& filter, std::size_t limit);
  /// Of each object of that kind the newest event of that action, and of a change in batches the events of
  /// all batches: same object, action, actor and time. In any order; for kinds with few objects.
  std::vector<AuditEvent> last_of_each(const Viewer& viewer, const std::string& object_kind,
                                       const std::string& action);
  /// Deletes events older than `before`.
  void prune(platform::UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
