#include "schema/store/statements/audit_log.h"

#include <algorithm>

#include "platform/text.h"
#include "schema/request_record.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {
namespace {

constexpr const char* kAll = "1 = 1";
constexpr const char* kNone = "1 = 0";

template <class Tag>
std::string digits(Id<Tag> id) {
  return std::to_string(id.value);
}

/// An operator or auditor without an organization sees every organization's objects; so does an admin.
bool sees_everything(const Viewer& viewer) {
  return viewer.sees_all_senders() && !viewer.organization;
}

/// What may be before the @ of an address, without quotes; bytes of other scripts too.
bool is_of_local_part(char c) {
  return std::string_view(" \t\r\n<>()[],;:\"@").find(c) == std::string_view::npos;
}

/// Where the local part begins that ends at the end of `text`, itself without quotes or within them.
std::size_t begin_of_local_part(const std::string& text) {
  if (text.size() > 1 && text.ends_with('"')) {
    const std::size_t quote = text.rfind('"', text.size() - 2);
    if (quote != std::string::npos) return quote;
  }
  std::size_t begin = text.size();
  while (begin > 0 && is_of_local_part(text[begin - 1])) --begin;
  return begin;
}

/// A condition on `column`, an account's id: the accounts of what the viewer sees.
std::string accounts_condition(const Viewer& viewer, const std::string& column) {
  if (sees_everything(viewer)) return kAll;
  const std::string own = viewer.account ? column + " = " + digits(*viewer.account) : kNone;
  if (!viewer.sees_all_senders()) return viewer.roles.empty() ? kNone : own;
  return "(" + column +
         " IN (SELECT id FROM account WHERE organization_id = " + digits(*viewer.organization) + ") OR " +
         own + ")";
}

std::string without_addresses(const std::string& text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '@' || text.compare(i, 3, "%40") == 0) {
      const std::size_t begin = begin_of_local_part(made);
      if (begin < made.size()) made.replace(begin, std::string::npos, "***");
    }
    made += text[i];
  }
  return made;
}

}  // namespace

std::string error_code(const std::string& error) {
  const std::size_t colon = error.find(':');
  if (colon != std::string::npos) return without_addresses(error.substr(0, colon));
  return error.empty() ? "" : "***";
}

std::string shown_error(const Viewer& viewer, const std::string& error) {
  return viewer.is_masked() ? error_code(error) : error;
}

std::string shown_text(const Viewer& viewer, const std::string& text) {
  return viewer.is_masked() ? without_addresses(text) : text;
}

std::string gifts_condition(const Viewer& viewer) {
  return senders_condition(viewer) + " AND r.is_test = " + (viewer.test ? "1" : "0");
}

std::string senders_condition(const Viewer& viewer) {
  return accounts_condition(viewer, "r.account_id");
}

std::string keys_condition(const Viewer& viewer) {
  return accounts_condition(viewer, "c.account_id");
}

std::string organization_tokens_condition(const Viewer& viewer) {
  if (sees_everything(viewer)) return kAll;
  return viewer.sees_all_senders() ? "c.organization_id = " + digits(*viewer.organization) : kNone;
}

std::string webhooks_condition(const Viewer& viewer) {
  if (sees_everything(viewer)) return kAll;
  if (!viewer.sees_all_senders()) return kNone;
  const std::string own = "organization_id = " + digits(*viewer.organization);
  return "(" + own + " OR account_id IN (SELECT id FROM account WHERE " + own + "))";
}

std::string request_records_condition(const Viewer& viewer, std::optional<OrganizationId> owner) {
  if (viewer.organization && viewer.organization != owner) return kNone;
  if (viewer.sees_all_senders() || viewer.has(Role::approver)) return kAll;
  if (viewer.roles.empty() || !viewer.account) return kNone;
  return "s.requested_by <> '' AND s.requested_by = (SELECT email FROM account WHERE id = " +
         digits(*viewer.account) + ")";
}

std::string audit_condition(const Viewer& viewer) {
  if (sees_everything(viewer)) return kAll;
  const std::string own = "e.user_id = " + digits(viewer.user);
  if (!viewer.sees_all_senders()) return viewer.roles.empty() ? kNone : own;
  return "(e.organization_id = " + digits(*viewer.organization) + " OR " + own + ")";
}

std::string users_condition(const Viewer& viewer) {
  if (sees_everything(viewer)) return kAll;
  const std::string own = "u.id = " + digits(viewer.user);
  if (!viewer.sees_all_senders()) return viewer.roles.empty() ? kNone : own;
  return "(u.organization_id = " + digits(*viewer.organization) + " OR " + own + ")";
}

namespace {

using soci::into;
using soci::use;

constexpr auto kActorKinds = enum_words<ActorKind>(
    {{ActorKind::user, "user"}, {ActorKind::command, "command"}, {ActorKind::system, "system"}});

/// The whole number of the request that the filter names by a part of it; else empty.
std::string other_number(const AuditFilter& filter) {
  if (filter.object_kind != "request") return {};
  std::string number = complete_request_number(filter.object_id);
  return number == filter.object_id ? std::string() : number;
}

/// Addresses of people who sign in, which are in events of users and connections, stay (CON-51). What an
/// approver wrote about a request, or the options of a command, may name the recipient in whatever words
/// (CON-63).
void mask(AuditEvent& event, const Viewer& viewer) {
  if (event.object_kind == "user" || event.object_kind == "connection") return;
  event.object_id = shown_text(viewer, event.object_id);
  const bool is_of_command = event.actor_kind == ActorKind::command;
  const bool is_decision = event.object_kind == "request" || event.object_kind == "held";
  const bool is_typed =
      is_decision || (is_of_command && (event.object_kind == "gift" || event.object_kind == "change"));
  const bool is_note = is_typed && !event.refused && !event.detail.empty();
  event.detail = is_note && viewer.is_masked() ? "***" : shown_text(viewer, event.detail);
}

/// `rest`: the condition and what follows it, with the parameters `used`.
template <class... Used>
std::vector<AuditEvent> select_events(soci::session& session, const Viewer& viewer, const std::string& rest,
                                      Used&&... used) {
  AuditEvent row;
  std::string kind;
  std::string outcome;
  std::vector<AuditEvent> events;
  soci::statement statement = sql::bound(
      session,
      "SELECT e.id, e.occurred_at, e.actor_kind, e.actor, e.user_id, e.session, e.request_id, e.network, "
      "e.action, e.object_kind, e.object_id, e.organization_id, e.outcome, e.rule, e.detail FROM "
      "audit_event e WHERE " +
          rest,
      used..., into(row.id), into(row.occurred_at), into(kind), into(row.actor), into(row.user),
      into(row.session), into(row.request_id), into(row.network), into(row.action), into(row.object_kind),
      into(row.object_id), into(row.organization), into(outcome), into(row.rule), into(row.detail));
  sql::each_row(statement, [&] {
    row.actor_kind = kActorKinds.parse(kind).value_or(ActorKind::system);
    row.refused = outcome == "refused";
    events.push_back(row);
    mask(events.back(), viewer);
  });
  return events;
}

}  // namespace

std::string_view to_word(ActorKind kind) {
  return kActorKinds.word_of(kind);
}

void set_object(AuditFilter& filter, std::string_view text) {
  const std::string_view object = trimmed(text);
  const std::size_t end = std::min(object.find_first_of(": "), object.size());
  filter.object_kind = object.substr(0, end);
  filter.object_id = trimmed(object.substr(std::min(end + 1, object.size())));
  if (const auto gift = gift_number(object)) {
    filter.object_kind = "gift";
    filter.object_id = std::to_string(gift->value);
  } else if (ascii_lower(object).starts_with("r-")) {
    filter.object_kind = "request";
    filter.object_id = object;
  }
}

void insert_audit_event(soci::session& session, const AuditEvent& event) {
  const std::string kind(to_word(event.actor_kind));
  const std::string outcome = event.refused ? "refused" : "done";
  session
      << "INSERT INTO audit_event (occurred_at, actor_kind, actor, user_id, session, request_id, network, "
         "action, object_kind, object_id, organization_id, outcome, rule, detail) VALUES (:occurred_at, "
         ":actor_kind, :actor, :user_id, :session, :request_id, :network, :action, :object_kind, "
         ":object_id, :organization_id, :outcome, :rule, :detail)",
      use(event.occurred_at), use(kind), use(event.actor), use(event.user), use(event.session),
      use(event.request_id), use(event.network), use(event.action), use(event.object_kind),
      use(event.object_id), use(event.organization), use(outcome), use(event.rule), use(event.detail);
}

void insert_counted_event(soci::session& session, const std::optional<AuditEvent>& event,
                          std::int64_t count) {
  if (!event || count == 0) return;
  AuditEvent counted = *event;
  counted.detail += (counted.detail.empty() ? "" : ": ") + std::to_string(count);
  insert_audit_event(session, counted);
}

void AuditLog::add(const AuditEvent& event) {
  database_->write([&](soci::session& session) { insert_audit_event(session, event); });
}

std::vector<AuditEvent> AuditLog::list(const Viewer& viewer, const AuditFilter& filter, std::size_t limit) {
  sql::Conditions where{audit_condition(viewer)};
  if (!filter.actor.empty()) where.add("e.actor = :actor", "actor", filter.actor);
  if (!filter.action.empty())
    where.add("e.action LIKE :action ESCAPE '!'", "action", sql::like_pattern(filter.action) + "%");
  // SQLite would read all events of a kind through audit_event_object and sort them; few of them are shown.
  const bool is_kind_alone = filter.object_id.empty() && database_->dialect() == sql::Dialect::sqlite;
  if (!filter.object_kind.empty())
    where.add(std::string(is_kind_alone ? "+" : "") + "e.object_kind = :object_kind", "object_kind",
              filter.object_kind);
  if (const std::string number = other_number(filter); !number.empty()) {
    where.add("e.object_id IN (:object_id, :number)", "object_id", filter.object_id);
    where.bind("number", number);
  } else if (!filter.object_id.empty()) {
    where.add("e.object_id = :object_id", "object_id", filter.object_id);
  }
  if (filter.since) where.add("e.occurred_at >= " + std::to_string(filter.since->value));
  if (filter.before) where.add("e.id < " + std::to_string(*filter.before));
  return database_->read([&](soci::session& session) {
    return select_events(session, viewer, where.text + " ORDER BY e.id DESC LIMIT " + std::to_string(limit),
                         where);
  });
}

std::vector<AuditEvent> AuditLog::last_of_each(const Viewer& viewer, const std::string& object_kind,
                                               const std::string& action) {
  // One step in an index for each object, not for each of its events. "|| ''" keeps the index of objects from
  // being read for the other batches, which share their time with few events.
  return database_->read([&](soci::session& session) {
    return select_events(
        session, viewer,
        "e.id IN (WITH RECURSIVE object (id) AS (SELECT min(object_id) FROM audit_event WHERE object_kind = "
        ":object_kind UNION ALL SELECT (SELECT min(n.object_id) FROM audit_event n WHERE n.object_kind = "
        ":object_kind AND n.object_id > object.id) FROM object WHERE object.id IS NOT NULL) SELECT batch.id "
        "FROM object JOIN audit_event newest ON newest.id = (SELECT max(e.id) FROM audit_event e WHERE " +
            audit_condition(viewer) +
            " AND e.object_kind = :object_kind AND e.object_id = object.id AND e.action = :action) JOIN "
            "audit_event batch ON batch.occurred_at = newest.occurred_at AND batch.actor = newest.actor AND "
            "batch.action = newest.action AND batch.object_kind || '' = newest.object_kind AND "
            "batch.object_id || '' = newest.object_id)",
        use(object_kind, "object_kind"), use(action, "action"));
  });
}

void AuditLog::prune(UtcMillis before) {
  store::prune(*database_, {"audit_event", "occurred_at"}, before);
}

}  // namespace giftsync::store
