// Who did what, who may use the console, and who is signed in.
#include <algorithm>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "platform/text.h"

namespace giftsync::console {
namespace {

using store::AuditEvent;
using store::ConsoleSession;
using store::ConsoleUser;

store::AuditFilter audit_filter(const std::map<std::string, std::string>& query) {
  const auto value = [&](const char* name) { return std::string(trimmed(field(query, name))); };
  store::AuditFilter filter;
  filter.actor = value("actor");
  filter.action = value("action");
  store::set_object(filter, value("object"));
  filter.since = day_from(value("since"));
  if (const auto before = parse_number<std::int64_t>(value("before"))) filter.before = *before;
  return filter;
}

std::vector<NotApplied> not_applied(const PageCall& call, const store::AuditFilter& filter) {
  auto found = unknown_filters(call.query, {"actor", "action", "object", "since", "before"});
  const std::string since = field(call.query, "since");
  const std::string before = field(call.query, "before");
  if (!since.empty() && !filter.since) found.push_back({"since", since});
  if (!before.empty() && !filter.before) found.push_back({"before", before});
  return found;
}

/// "Who: ana@example.com, Action: gift.", as the form names the fields; empty without a filter.
std::string describe_filter(const PageCall& call) {
  std::string text;
  for (const char* name : {"actor", "action", "object", "since"}) {
    const std::string value(trimmed(field(call.query, name)));
    if (!value.empty()) text += (text.empty() ? "" : ", ") + texts().text(name) + ": " + value;
  }
  return text;
}

/// The page of the event's object; empty where there is none for this user.
std::string object_url(const PageCall& call, const AuditEvent& event) {
  const std::string& kind = event.object_kind;
  const bool is_number = parse_number<std::int64_t>(event.object_id).has_value();
  if (kind == "gift" && is_number) return url_of(call, "/gifts/" + event.object_id);
  if (kind == "request" && uses_request_records(call)) return url_of(call, path_of_request(event.object_id));
  if (kind == "held" && may(call.viewer().roles, Permission::see_held))
    return url_of(call, "/held/" + event.object_id);
  if (kind == "source" && sees_installation(call.viewer()))
    return url_of(call, "/sources/" + event.object_id);
  if (kind == "do-not-send" && sees_installation(call.viewer())) return url_of(call, "/do-not-send");
  if (kind == "key" && may(call.viewer().roles, Permission::see_keys))
    return call.url().base + "/keys?" + query_of({{"find", event.object_id}});
  if (kind == "webhook" && may(call.viewer().roles, Permission::see_webhooks))
    return url_of(call, "/webhooks");
  if (kind == "user" && may(call.viewer().roles, Permission::see_users))
    return call.url().base + "/users?" + query_of({{"find", event.object_id}});
  return {};
}

/// What was refused and why, the note of a decision, or what else was done; in words (CON-63).
std::string detail_text(const AuditEvent& event) {
  std::string detail = with_readable_times(event.detail);
  if (detail.empty()) return detail;
  if (!event.refused)
    return event.object_kind == "request" || event.object_kind == "held"
               ? texts().text("note_was", {{"note", detail}})
               : detail;
  std::string key = "what_" + event.action;
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  const std::string what = texts().text(texts().all().contains(key) ? key : "what_else");
  return texts().text("refused_because", {{"what", what}, {"why", detail}});
}

Data event_data(const PageCall& call, const AuditEvent& event) {
  Data row;
  set_text(row, "object_url", object_url(call, event));
  row.set("at", time_data(event.occurred_at));
  set_address(row, "who_address", event.actor);
  row.set("kind", word_text("actor_", event.actor_kind));
  row.set("action", event.action);
  const std::string object = event.object_kind + (event.object_id.empty() ? "" : " ") + event.object_id;
  if (event.object_kind == "gift" || event.object_kind == "request")
    row.set("number", object);
  else
    set_address(row, "object_address", object);
  row.set("outcome", badge_data(event.refused ? "refused" : "done"));
  set_text(row, "detail", detail_text(event));
  set_text(row, "rule", event.rule);
  set_text(row, "network", event.network);
  return row;
}

/// [{role, origin}]
Data roles_data(const ConsoleUser& user) {
  return list_of(user.roles, [](const store::UserRole& role) {
    Data tag;
    tag.set("role", word_text("role_", role.role));
    tag.set("origin", word_text("origin_", role.origin));
    return tag;
  });
}

Data session_data(const ConsoleSession& session) {
  Data row;
  row.set("since", time_data(session.created_at));
  row.set("seen", time_data(session.last_seen_at));
  row.set("network", session.network);
  row.set("agent", session.agent);
  row.set("link", !session.identity.has_value());
  return row;
}

Data user_data(const PageCall& call, const ConsoleUser& user, const std::vector<ConsoleSession>& sessions) {
  Data row;
  row.set("email", user.email);
  set_text(row, "name", user.name);
  row.set("roles", roles_data(user));
  row.set("state", badge_data(user.active ? "active" : "deactivated"));
  Data list(Data::type::list);
  for (const ConsoleSession& session : sessions)
    if (session.user == user.id) list << session_data(session);
  row.set("sessions", list);
  if (may(call.viewer().roles, Permission::manage_users) && list.is_non_empty_list())
    row.set("end", form_data(call, "/users/" + std::to_string(user.id.value) + "/end-sessions"));
  return row;
}

/// With the sessions of each.
Data users_data(const PageCall& call, const std::vector<ConsoleUser>& users) {
  std::vector<UserId> ids;
  for (const ConsoleUser& user : users) ids.push_back(user.id);
  const auto sessions = call.store().console_sessions.list(ids, call.now);
  return list_of(users, [&](const ConsoleUser& user) { return user_data(call, user, sessions); });
}

}  // namespace

http::HttpResponse audit_page(const PageCall& call) {
  const store::AuditFilter filter = audit_filter(call.query);
  const auto faults = not_applied(call, filter);
  std::vector<AuditEvent> events;
  if (faults.empty()) events = call.store().audit.list(call.viewer(), filter, kPageRows + 1);
  Data data;
  const auto shown = std::span(events).first(std::min(events.size(), kPageRows));
  set_list(data, "rows", list_of(shown, [&](const AuditEvent& event) { return event_data(call, event); }));
  set_text(data, "filter", describe_filter(call));
  auto address = call.query;
  address.erase("before");
  auto applied = address;
  for (const NotApplied& fault : faults) applied.erase(fault.name);
  set_not_applied(data, faults, call.url().base + "/audit?" + query_of(applied));
  for (const char* name : {"actor", "action", "object", "since"}) data.set(name, field(address, name));
  if (filter.before) data.set("newest", call.url().base + "/audit?" + query_of(address));
  if (events.size() > kPageRows) {
    address["before"] = std::to_string(events[kPageRows - 1].id);
    data.set("older", call.url().base + "/audit?" + query_of(address));
  }
  return page(call, "audit", texts().text("audit"), std::move(data));
}

http::HttpResponse users_page(const PageCall& call) {
  const std::string list = call.url().base + "/users";
  const std::string find(trimmed(field(call.query, "find")));
  const std::string before = field(call.query, "before");
  const auto last = parse_number<std::int64_t>(before);
  auto faults = unknown_filters(call.query, {"find", "before"});
  if (!before.empty() && !last) faults.push_back({"before", before});
  const auto kept = [&](const std::string& other_before) {
    const std::string query = query_of({{"find", find}, {"before", other_before}});
    return query.empty() ? list : list + "?" + query;
  };
  std::vector<ConsoleUser> users;
  store::UserFilter filter{.find = find, .limit = kRowsWithForms + 1};
  if (last) filter.before = UserId{*last};
  if (faults.empty()) users = call.store().console_users.list(call.viewer(), filter);
  Data data;
  if (users.size() > kRowsWithForms) {
    users.pop_back();
    data.set("older", kept(std::to_string(users.back().id.value)));
  }
  if (last) data.set("newest", kept(""));
  data.set("find", find);
  set_not_applied(data, faults, kept(""));
  set_list(data, "rows", users_data(call, users));
  return page(call, "users", texts().text("users"), std::move(data));
}

http::HttpResponse end_sessions(const PageCall& call) {
  const auto number = parse_number<std::int64_t>(call.parameter);
  const auto user = number ? call.store().console_users.find(call.viewer(), {*number}) : std::nullopt;
  if (!user) return not_found(call);
  AuditEvent event = event_of(call, "session.end", "user", user->email);
  event.organization = user->organization;
  call.store().console_sessions.end_all(user->id, event);
  return redirect(call.url().base + "/users?" + query_of({{"find", user->email}}));
}

}  // namespace giftsync::console
