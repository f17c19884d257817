// What tests do to the org from outside: /__org.
#include "tests/salesforce/fake_org/api.h"
#include "tests/salesforce/fake_org/api_error.h"
#include "tests/salesforce/fake_org/projects.h"

namespace giftsync::tests::fake_org {
namespace {

ApiAnswer counters(Org& org) {
  return {.body = {{"calls", org.calls()}, {"now", to_rfc3339(org.now())}}};
}

ApiAnswer run_sql(Org& org, const Json& body) {
  Json rows = Json::array();
  for (const Cells& row : org.database().run(body.at("sql").get<std::string>())) {
    Json cells = Json::array();
    for (const Cell& cell : row) cells.push_back(cell ? Json(*cell) : Json());
    rows.push_back(std::move(cells));
  }
  return {.body = {{"rows", rows}}};
}

}  // namespace

/// POST /__org/faults {kind, times, ...}; DELETE takes all away. POST /__org/settings {name: value}.
/// POST /__org/changes is what an admin does in Setup: {object, field, unique, external_id, restricted,
/// length, precision, picklist: [words], without_value, deleted}, or {permission_set, field: "Object.Field"
/// or object, readable, editable, view_all, without_user_permission}. POST /__org/clock {advance_millis}.
/// POST /__org/users {username, permission_set}. POST /__org/sql {sql}. POST /__org/status_log {user} adds
/// the old status log and lets the user read it. POST /__org/namespace {name} makes the package a managed
/// one. DELETE
/// /__org/sessions ends all. GET /__org/counters; DELETE begins a new day.
ApiAnswer script_answer(Org& org, const ApiRequest& request) {
  const std::string what = request.path.substr(std::string("/__org/").size());
  const bool is_delete = request.method == "DELETE";
  if (what == "counters" && !is_delete) return counters(org);
  if (what == "counters") org.database().run("DELETE FROM org_counter WHERE name = 'calls'");
  if (what == "faults" && is_delete) org.faults().clear();
  if (what == "sessions" && is_delete) org.database().run("DELETE FROM org_session");
  if (is_delete) return counters(org);
  const Json body = request.json();
  if (what == "sql") return run_sql(org, body);
  if (what == "users")
    return {.body = {{"id", org.add_user(body.at("username").get<std::string>(),
                                         body.at("permission_set").get<std::string>())}}};
  if (what == "faults") org.faults().add(body);
  if (what == "status_log") add_status_log(org, body.at("user").get<std::string>());
  if (what == "namespace") org.deploy(with_namespace(org.files(), body.at("name").get<std::string>()));
  if (what == "changes") org.change(body);
  if (what == "clock") org.advance(body.at("advance_millis").get<std::int64_t>());
  if (what == "settings") {
    for (const auto& [name, value] : body.items())
      org.set(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return counters(org);
}

}  // namespace giftsync::tests::fake_org
