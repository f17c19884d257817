// Webhooks: where events are posted, what became of it, and what an admin does with an endpoint (CON-71). It
// is done by the functions of the commands (HOOK-8 to HOOK-13). Endpoints of what the viewer sees alone.
#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "daemon/webhooks/webhook_changes.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/credential_changes.h"
#include "sync/feed_step.h"

namespace giftsync::console {
namespace {

using store::WebhookAttempt;
using store::WebhookEndpoint;

constexpr std::string_view kPath = "/webhooks";
constexpr std::size_t kRows = 30;
constexpr std::size_t kMaxListPages = store::kMaxWebhookEndpointsInAll / kRows + 1;
/// Of a list's row; the page of the object has all.
constexpr std::size_t kShownUrl = 60;
constexpr std::size_t kShownResponse = 160;
constexpr std::size_t kShownTypes = 3;
/// A window's title is short.
constexpr std::size_t kTitleName = 40;
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

std::string path_of(const WebhookEndpoint& endpoint, const std::string& action = "") {
  return std::string(kPath) + "/" + std::to_string(endpoint.id) + (action.empty() ? "" : "/") + action;
}

std::string cut(const std::string& text, std::size_t code_points) {
  const std::string_view start = truncated(text, code_points);
  return std::string(start) + (start.size() < text.size() ? "…" : "");
}

bool manages(const PageCall& call) {
  return may(call.viewer().roles, Permission::manage_webhooks);
}

std::optional<WebhookEndpoint> find_endpoint(const PageCall& call) {
  const auto id = parse_number<std::int64_t>(call.parameter);
  return id ? call.store().webhooks.find(call.viewer(), *id) : std::nullopt;
}

bool is_subscribed(const WebhookEndpoint& endpoint, const std::string& word) {
  return ("," + endpoint.types + ",").find("," + word + ",") != std::string::npos;
}

std::string types_text(const WebhookEndpoint& endpoint, bool is_short) {
  if (endpoint.types.empty()) return texts().text("webhook_all_types");
  const auto count = 1 + std::count(endpoint.types.begin(), endpoint.types.end(), ',');
  if (is_short && count > static_cast<std::ptrdiff_t>(kShownTypes))
    return texts().text("webhook_types_count", {{"count", std::to_string(count)}});
  std::string text;
  for (const char c : endpoint.types) text += c == ',' ? std::string(", ") : std::string(1, c);
  return text;
}

std::string owner_text(const PageCall& call, const WebhookEndpoint& endpoint) {
  const std::string owner = webhooks::owner_of(call.store(), endpoint);
  return owner.empty() ? texts().text("webhook_of_all") : owner;
}

/// Why it is not active. A receiver's response is behind the first colon: a masked viewer reads none of it.
std::string reason_text(const PageCall& call, const WebhookEndpoint& endpoint) {
  const std::size_t colon = endpoint.reason.find(": ");
  const bool is_cut = call.viewer().is_masked() && endpoint.reason.starts_with("status ");
  return shown_text(call.viewer(), is_cut ? endpoint.reason.substr(0, colon) : endpoint.reason);
}

/// The badge of an attempt's answer: its status, or that there was none.
Data answer_badge(const WebhookAttempt& attempt) {
  const std::string word = attempt.status != 0
                               ? texts().text("webhook_status", {{"status", std::to_string(attempt.status)}})
                               : texts().text("webhook_without_answer");
  return badge_data(attempt.failed ? "webhook_not_taken" : "webhook_taken", word);
}

/// Sets {answer, error} of an attempt: its badge, and why there was no answer.
void set_answer(Data& data, const PageCall& call, const WebhookAttempt& attempt) {
  data.set("answer", answer_badge(attempt));
  if (attempt.status == 0) set_text(data, "error", shown_text(call.viewer(), attempt.error));
}

Data state_badge(const WebhookEndpoint& endpoint) {
  return badge_data(std::string("webhook_is_").append(to_word(endpoint.state)));
}

// The list.

Data list_row(const PageCall& call, const store::FeedState& feed, const WebhookEndpoint& endpoint) {
  const webhooks::WebhookBacklog backlog = webhooks::backlog_of(feed, endpoint);
  const store::WebhookRetryCounts retries = call.store().webhooks.count_retries(endpoint.id);
  Data row;
  row.set("name", endpoint.name);
  row.set("page", url_of(call, path_of(endpoint)));
  row.set("owner", owner_text(call, endpoint));
  row.set("is_test", endpoint.is_test);
  row.set("target", cut(endpoint.url, kShownUrl));
  row.set("types", types_text(endpoint, true));
  row.set("state", state_badge(endpoint));
  if (endpoint.state != WebhookState::active) row.set("since", time_data(endpoint.state_since));
  row.set("behind", std::to_string(backlog.waiting));
  row.set("retries", std::to_string(retries.waiting));
  row.set("given_up", std::to_string(retries.given_up));
  for (const WebhookAttempt& last : call.store().webhooks.list_attempts(endpoint.id, false, kAll, 1)) {
    set_answer(row, call, last);
    row.set("answered", time_data(last.started_at));
  }
  return row;
}

Data type_options(const WebhookEndpoint& endpoint) {
  return list_of(webhooks::webhook_type_words(), [&](const std::string& word) {
    return option_data("type:" + word, word, is_subscribed(endpoint, word));
  });
}

/// The fields of a form for an endpoint, with their values.
void set_fields(Data& form, const WebhookEndpoint& endpoint) {
  form.set("name", endpoint.name);
  form.set("target", endpoint.url);
  form.set("types", type_options(endpoint));
}

/// What a form has; the values are not checked.
WebhookEndpoint typed_endpoint(const PageCall& call, WebhookEndpoint endpoint) {
  endpoint.name = trimmed(field(call.form, "name"));
  endpoint.url = trimmed(field(call.form, "url"));
  endpoint.types.clear();
  for (const std::string& word : webhooks::webhook_type_words())
    if (field(call.form, "type:" + word) == "1") endpoint.types += (endpoint.types.empty() ? "" : ",") + word;
  return endpoint;
}

/// Why the typed name, URL or types are refused; empty: they are not.
std::string fault_of(const PageCall& call, const WebhookEndpoint& endpoint) {
  if (const auto name = webhooks::checked_name(endpoint.name); !name) return name.error().message;
  const auto url = webhooks::checked_url(endpoint.url, call.console.options.webhooks.post);
  return url ? std::string() : url.error().message;
}

/// Sets whose events a new endpoint gets, by the form; why not, as a sentence. A user of an organization
/// makes those of its accounts, and of itself.
std::string set_owner(const PageCall& call, WebhookEndpoint& endpoint) {
  endpoint.is_test = field(call.form, "test") == "1";
  endpoint.organization = call.viewer().organization;
  const std::string address(trimmed(field(call.form, "account")));
  const auto number = parse_number<std::int64_t>(field(call.form, "organization"));
  if (!endpoint.organization && number) endpoint.organization = OrganizationId{*number};
  if (address.empty()) return {};
  const auto account = call.store().accounts.find_by_email(address);
  const bool is_seen = account && (!endpoint.organization || account->organization == endpoint.organization);
  if (!is_seen) return texts().text("webhook_no_account");
  endpoint.account = account->id;
  endpoint.organization.reset();
  return {};
}

/// `is_first`: there is no endpoint yet, so the form is open.
Data create_form(const PageCall& call, const WebhookEndpoint& typed, const std::string& fault,
                 bool is_first) {
  Data form = form_data(call, std::string(kPath));
  set_fields(form, typed);
  form.set("account", field(call.form, "account"));
  form.set("test", field(call.form, "test") == "1");
  set_text(form, "fault", fault);
  form.set("is_open", is_first || !fault.empty());
  if (!sees_installation(call.viewer())) return form;
  const auto organizations = call.store().organizations.list();
  Data options(Data::type::list);
  options << option_data("", texts().text("webhook_of_all"), field(call.form, "organization").empty());
  for (const auto& organization : organizations) {
    const std::string number = std::to_string(organization.id.value);
    options << option_data(number, organization.name, field(call.form, "organization") == number);
  }
  if (!organizations.empty()) form.set("organizations", Data("options", options));
  return form;
}

/// Sets how to give a new proof when the user has none; whether the user may change something now.
bool set_proof(const PageCall& call, Data& data, const std::string& path) {
  if (!manages(call)) return false;
  if (has_new_proof(call)) return true;
  data.set("proof", new_proof_data(call, path));
  return false;
}

http::HttpResponse with_proof_return(const PageCall& call, http::HttpResponse response,
                                     const std::string& path) {
  if (!manages(call) || has_new_proof(call)) return response;
  return with_return_to(call.url(), std::move(response), url_of(call, path));
}

http::HttpResponse list_page(const PageCall& call, const WebhookEndpoint& typed, const std::string& fault) {
  const std::string url = call.url().base + std::string(kPath);
  std::vector<NotApplied> not_applied = unknown_filters(call.query, {"page"});
  std::size_t number = 1;
  if (const std::string text = field(call.query, "page"); !text.empty()) {
    number = parse_number<std::size_t>(text).value_or(0);
    if (number < 1 || number > kMaxListPages) not_applied.push_back({"page", text});
  }
  Data data;
  set_not_applied(data, not_applied, url);
  const store::FeedState feed = call.store().feed.state();
  std::vector<WebhookEndpoint> endpoints;
  if (not_applied.empty()) endpoints = call.store().webhooks.list(call.viewer());
  const std::size_t begin = std::min((number - 1) * kRows, endpoints.size());
  const std::size_t end = std::min(begin + kRows, endpoints.size());
  set_list(data, "rows",
           list_of(std::span(endpoints).subspan(not_applied.empty() ? begin : 0, end - begin),
                   [&](const WebhookEndpoint& endpoint) { return list_row(call, feed, endpoint); }));
  if (number > 1) data.set("first", url);
  if (end < endpoints.size()) data.set("next", url + "?page=" + std::to_string(number + 1));
  data.set("feed_off", !feed.is_on);
  if (endpoints.empty()) {
    const std::string who = manages(call) ? "" : " " + texts().text("webhooks_who_makes");
    data.set("empty", empty_data("out", texts().text("webhooks_none"), texts().text("webhooks_why") + who));
  }
  if (set_proof(call, data, std::string(kPath)) && feed.is_on)
    data.set("create", create_form(call, typed, fault, endpoints.empty()));
  http::HttpResponse response = page(call, "webhooks", texts().text("part_webhooks"), std::move(data));
  return with_proof_return(call, std::move(response), std::string(kPath));
}

// One endpoint.

Data stat(std::string_view key, std::int64_t value) {
  Data made;
  made.set("name", texts().text(key));
  made.set("value", std::to_string(value));
  return made;
}

/// Sets what a viewer reads of the endpoint: {state, stats, facts, position}.
void set_endpoint(Data& data, const PageCall& call, const WebhookEndpoint& endpoint) {
  const store::FeedState feed = call.store().feed.state();
  const webhooks::WebhookBacklog backlog = webhooks::backlog_of(feed, endpoint);
  const store::WebhookRetryCounts retries = call.store().webhooks.count_retries(endpoint.id);
  data.set("state", state_badge(endpoint));

  Data stats(Data::type::list);
  stats << stat("webhook_behind", backlog.waiting) << stat("webhook_retries", retries.waiting)
        << stat("webhook_given_up", retries.given_up) << stat("webhook_failures", endpoint.failures);
  if (backlog.lost > 0) stats << stat("webhook_lost", backlog.lost);
  data.set("stats", stats);
  data.set("label", texts().text("webhook_numbers"));

  Data facts(Data::type::list);
  add_line(facts, "webhook_name", endpoint.name);
  add_line(facts, "webhook_target", endpoint.url);
  add_line(facts, "webhook_types", types_text(endpoint, false));
  add_line(facts, "webhook_owner", owner_text(call, endpoint));
  if (endpoint.is_test) add_line(facts, "webhook_test_gifts", texts().text("webhook_test_gifts_alone"));
  add_time(facts, "created_at", endpoint.created_at);
  add_line(facts, "webhook_created_by", shown_text(call.viewer(), endpoint.created_by));
  data.set("facts", facts);

  const bool is_failing = endpoint.state == WebhookState::failing;
  const bool is_rotating = endpoint.previous_until && call.now < *endpoint.previous_until;
  Data position(Data::type::list);
  add_time(position, "state_since", endpoint.state_since);
  add_line(position, "reason", reason_text(call, endpoint));
  add_time(position, "webhook_next_test",
           is_failing ? std::optional(endpoint.next_attempt_at) : std::nullopt);
  add_line(position, "webhook_position",
           texts().text("webhook_position_of",
                        {{"seq", std::to_string(endpoint.position)}, {"last", std::to_string(feed.latest)}}));
  add_time(position, "webhook_former_until", is_rotating ? endpoint.previous_until : std::nullopt);
  data.set("position", position);
}

void add_forms(Data& data, const PageCall& call, const WebhookEndpoint& endpoint,
               const WebhookEndpoint& typed, const std::string& fault) {
  data.set("manages", true);
  data.set("test", form_data(call, path_of(endpoint, "test")));
  data.set("retry", form_data(call, path_of(endpoint, "retry")));
  data.set("replay", form_data(call, path_of(endpoint, "replay")));
  data.set("enable", form_data(call, path_of(endpoint, "enable")));
  if (endpoint.state != WebhookState::disabled)
    data.set("disable", form_data(call, path_of(endpoint, "disable")));
  Data rotate = form_data(call, path_of(endpoint, "rotate"));
  rotate.set("is_rotating", endpoint.previous_until && call.now < *endpoint.previous_until);
  data.set("rotate", rotate);
  Data update = form_data(call, path_of(endpoint, "update"));
  set_fields(update, typed);
  set_text(update, "fault", fault);
  update.set("is_open", !fault.empty());
  data.set("update", update);
  data.set("delete", form_data(call, path_of(endpoint, "delete")));
}

Data attempt_row(const PageCall& call, const WebhookEndpoint& endpoint, const WebhookAttempt& attempt) {
  Data row;
  row.set("event", attempt.seq == 0 ? texts().text("webhook_a_test") : std::to_string(attempt.seq));
  row.set("attempt", std::to_string(attempt.attempt));
  row.set("at", clock_data(attempt.started_at));
  row.set("day", day_text(attempt.started_at));
  row.set("millis", std::to_string(attempt.millis));
  set_answer(row, call, attempt);
  set_text(row, "response", masked_text(call.viewer().is_masked(), cut(attempt.response, kShownResponse)));
  row.set("page", url_of(call, path_of(endpoint, "attempt")) + "?number=" + std::to_string(attempt.number));
  return row;
}

Data tab_data(const std::string& url, std::string_view key, bool is_current) {
  Data tab;
  tab.set("url", url);
  tab.set("text", texts().text(key));
  tab.set("current", is_current);
  return tab;
}

/// The attempts that the URL asks for, the newest first.
void set_attempts(Data& data, const PageCall& call, const WebhookEndpoint& endpoint) {
  const std::string url = url_of(call, path_of(endpoint));
  std::vector<NotApplied> not_applied = unknown_filters(call.query, {"failed", "before"});
  const std::string failed = field(call.query, "failed");
  if (!failed.empty() && failed != "1") not_applied.push_back({"failed", failed});
  const std::string before = field(call.query, "before");
  const auto below = before.empty() ? std::optional(kAll) : parse_number<std::int64_t>(before);
  if (!below) not_applied.push_back({"before", before});
  set_not_applied(data, not_applied, url);
  std::vector<WebhookAttempt> attempts;
  if (not_applied.empty())
    attempts = call.store().webhooks.list_attempts(endpoint.id, failed == "1", *below, kRows + 1);
  const bool has_more = attempts.size() > kRows;
  if (has_more) attempts.pop_back();
  set_list(data, "attempts", list_of(attempts, [&](const WebhookAttempt& attempt) {
             return attempt_row(call, endpoint, attempt);
           }));
  Data tabs(Data::type::list);
  tabs << tab_data(url, "webhook_all_attempts", failed != "1")
       << tab_data(url + "?failed=1", "webhook_only_failed", failed == "1");
  data.set("tabs", tabs);
  if (!before.empty()) data.set("first", url + (failed == "1" ? "?failed=1" : ""));
  if (has_more)
    data.set("next",
             url + "?" + query_of({{"failed", failed}, {"before", std::to_string(attempts.back().number)}}));
}

/// `typed`, `fault`: of the form that changes it. `secret`: shown once; empty: there is none.
http::HttpResponse endpoint_page(const PageCall& call, const WebhookEndpoint& endpoint,
                                 const WebhookEndpoint& typed, const std::string& fault,
                                 const std::string& secret) {
  Data data;
  set_text(data, "secret", secret);
  set_endpoint(data, call, endpoint);
  set_text(data, "history", history_url(call, "webhook", endpoint.name));
  if (set_proof(call, data, path_of(endpoint))) add_forms(data, call, endpoint, typed, fault);
  set_attempts(data, call, endpoint);
  http::HttpResponse response =
      page(call, "webhook", texts().text("webhook_named", {{"name", cut(endpoint.name, kTitleName)}}),
           std::move(data));
  return with_proof_return(call, std::move(response), path_of(endpoint));
}

http::HttpResponse refused_page(http::HttpResponse response) {
  response.status = 400;
  return response;
}

/// As the event of the command, with who did it in the console.
store::AuditEvent event_for(const PageCall& call, const std::string& action, const WebhookEndpoint& endpoint,
                            const std::string& detail) {
  store::AuditEvent event = event_of(call, "webhook." + action, "webhook", endpoint.name);
  event.detail = detail;
  event.organization = endpoint.organization;
  if (endpoint.account) {
    const auto account = call.store().accounts.find(*endpoint.account);
    event.organization = account ? account->organization : std::nullopt;
  }
  return event;
}

http::HttpResponse redirect_to(const PageCall& call, const WebhookEndpoint& endpoint,
                               const std::string& notice, std::int64_t count = 0) {
  return redirect_with_notice(call, path_of(endpoint), notice, count);
}

/// "2026-11-20", "2026-11-20T08:00:00Z" or "2026-11-20 08:00"; UTC, whatever zone pages show.
std::optional<UtcMillis> time_from(std::string text) {
  if (text.size() == 16 && text[10] == ' ') text = text.replace(10, 1, "T") + ":00Z";
  if (const auto day = day_from(text)) return day;
  return from_rfc3339(text);
}

// One attempt.

std::optional<WebhookAttempt> find_attempt(const PageCall& call, const WebhookEndpoint& endpoint) {
  const auto number = parse_number<std::int64_t>(field(call.query, "number"));
  if (!number || *number < 1 || *number == kAll) return std::nullopt;
  for (WebhookAttempt& attempt : call.store().webhooks.list_attempts(endpoint.id, false, *number + 1, 1))
    if (attempt.number == *number) return std::move(attempt);
  return std::nullopt;
}

/// The event of an attempt; nothing of a test, and when the feed does not have it any more.
std::optional<store::FeedEvent> event_of_attempt(const PageCall& call, const WebhookEndpoint& endpoint,
                                                 const WebhookAttempt& attempt) {
  const store::FeedState feed = call.store().feed.state();
  // A number of another epoch is of another event.
  if (attempt.seq < feed.first || endpoint.epoch != feed.epoch) return std::nullopt;
  std::vector<store::FeedEvent> found = call.store().feed.find({attempt.seq});
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

/// What an attempt posts now: a former one had the gift as it was then, which is not stored.
std::string body_of(const PageCall& call, const WebhookEndpoint& endpoint, const store::FeedEvent& event) {
  std::vector<store::Gift> gifts;
  const TransactionId id{event.object};
  if (to_word(event.type).starts_with("gift.")) gifts = call.store().gifts.find(std::span(&id, 1));
  for (store::Gift& gift : gifts)
    gift.transaction.email = masked_address(call.viewer().is_masked(), gift.transaction.email);
  return webhooks::event_body(endpoint.epoch, event, gifts.empty() ? nullptr : &gifts.front());
}

}  // namespace

http::HttpResponse webhooks_page(const PageCall& call) {
  return list_page(call, {}, {});
}

http::HttpResponse create_webhook(const PageCall& call) {
  WebhookEndpoint endpoint = typed_endpoint(call, {});
  endpoint.created_by = call.by->user.email;
  std::string fault = fault_of(call, endpoint);
  if (fault.empty()) fault = set_owner(call, endpoint);
  if (!fault.empty()) return refused_page(list_page(call, endpoint, fault));
  const auto created =
      webhooks::create_webhook(call.store(), endpoint, call.console.options.webhooks.seal,
                               event_for(call, "create", endpoint, "--url " + endpoint.url), call.now);
  if (!created) return refused_page(list_page(call, endpoint, created.error().message));
  return endpoint_page(call, created->endpoint, created->endpoint, {}, created->secret);
}

http::HttpResponse webhook_page(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  return endpoint ? endpoint_page(call, *endpoint, *endpoint, {}, {}) : not_found(call);
}

http::HttpResponse update_webhook(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  if (!endpoint) return not_found(call);
  const WebhookEndpoint typed = typed_endpoint(call, *endpoint);
  std::string fault = fault_of(call, typed);
  if (fault.empty()) {
    const auto updated = webhooks::update_webhook(call.store(), typed,
                                                  event_for(call, "update", *endpoint, "--url " + typed.url));
    if (updated) return redirect_to(call, *endpoint, "webhook_updated");
    fault = updated.error().message;
  }
  return refused_page(endpoint_page(call, *endpoint, typed, fault, {}));
}

http::HttpResponse rotate_webhook(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  if (!endpoint) return not_found(call);
  const auto hours = parse_number<std::int64_t>(field(call.form, "grace_hours"));
  if (!hours || *hours < 0 || *hours > webhooks::kMaxGraceMillis / kHourMillis)
    return redirect_to(call, *endpoint, "webhook_bad_grace");
  const auto secret = webhooks::rotate_webhook_secret(
      call.store(), *endpoint, *hours * kHourMillis, field(call.form, "force") == "1",
      call.console.options.webhooks.seal,
      event_for(call, "rotate", *endpoint, "--grace " + std::to_string(*hours) + "h"), call.now);
  if (!secret) return redirect_to(call, *endpoint, "webhook_is_rotating");
  const auto rotated = find_endpoint(call);
  return rotated ? endpoint_page(call, *rotated, *rotated, {}, *secret) : not_found(call);
}

http::HttpResponse test_webhook(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  if (!endpoint) return not_found(call);
  const WebhookAccess& access = call.console.options.webhooks;
  if (!access.tests->try_acquire()) return redirect_to(call, *endpoint, "webhook_tests_busy");
  const std::shared_ptr<void> place(access.tests.get(), [&](void*) { access.tests->release(); });
  const auto posted = webhooks::test_webhook(call.store(), *endpoint, access.post, access.unseal, call.now);
  if (!posted) return redirect_to(call, *endpoint, "webhook_secret_unreadable");
  const bool is_taken = sync::outcome_of(posted->response) == sync::WebhookOutcome::accepted;
  call.store().audit.add(event_for(call, "test", *endpoint, is_taken ? "taken" : "not taken"));
  const std::string notice = is_taken ? "webhook_tested" : "webhook_test_failed";
  for (const WebhookAttempt& attempt : call.store().webhooks.list_attempts(endpoint->id, false, kAll, kRows))
    if (attempt.seq == 0)
      return redirect_with_notice(call, path_of(*endpoint, "attempt"), notice, 0,
                                  {{"number", std::to_string(attempt.number)}});
  return redirect_to(call, *endpoint, notice);
}

http::HttpResponse retry_webhook(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  if (!endpoint) return not_found(call);
  const std::string event = field(call.form, "event");
  const auto seq = parse_number<std::int64_t>(event);
  if (!event.empty() && !seq) return redirect_to(call, *endpoint, "webhook_no_retry");  // not all of them
  const std::int64_t count = call.store().webhooks.retry_now(
      endpoint->id, seq, call.now,
      event_for(call, "retry", *endpoint, seq ? "--event " + std::to_string(*seq) : ""));
  if (endpoint->state == WebhookState::disabled)
    return redirect_to(call, *endpoint, "webhook_retry_disabled");
  if (seq && count == 0) return redirect_to(call, *endpoint, "webhook_no_retry");
  return redirect_to(call, *endpoint,
                     endpoint->state == WebhookState::failing ? "webhook_woken" : "webhook_retried", count);
}

http::HttpResponse replay_webhook(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  if (!endpoint) return not_found(call);
  const std::string text(trimmed(field(call.form, "since")));
  const auto since = time_from(text);
  if (!since) return redirect_to(call, *endpoint, "webhook_bad_time");
  const auto backlog = webhooks::replay_webhook(call.store(), *endpoint, *since,
                                                event_for(call, "replay", *endpoint, "--since " + text));
  return redirect_to(call, *endpoint, "webhook_replayed", backlog.waiting);
}

http::HttpResponse enable_webhook(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  if (!endpoint) return not_found(call);
  const std::string text(trimmed(field(call.form, "from")));
  std::optional<UtcMillis> from = time_from(text);
  if (text == "now") from = UtcMillis{kAll};
  if (!text.empty() && !from) return redirect_to(call, *endpoint, "webhook_bad_time");
  if (endpoint->state == WebhookState::active && !from)
    return redirect_to(call, *endpoint, "webhook_unchanged");
  const auto backlog = webhooks::enable_webhook(
      call.store(), *endpoint, from,
      event_for(call, "enable", *endpoint, text.empty() ? "" : "--from " + text), call.now);
  return redirect_to(call, *endpoint, "webhook_enabled", backlog.waiting);
}

http::HttpResponse disable_webhook(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  if (!endpoint) return not_found(call);
  std::string reason(trimmed(field(call.form, "reason")));
  if (!sync::is_plain_reason(reason)) return redirect_to(call, *endpoint, "key_bad_reason");
  if (endpoint->state == WebhookState::disabled) return redirect_to(call, *endpoint, "webhook_unchanged");
  if (reason.empty()) reason = "by " + call.by->user.email;
  webhooks::disable_webhook(call.store(), *endpoint, reason, event_for(call, "disable", *endpoint, reason),
                            call.now);
  return redirect_to(call, *endpoint, "webhook_disabled");
}

http::HttpResponse delete_webhook(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  if (!endpoint) return not_found(call);
  if (field(call.form, "confirm") != "1") return redirect_to(call, *endpoint, "not_confirmed");
  call.store().webhooks.remove(endpoint->id, event_for(call, "delete", *endpoint, ""));
  return redirect_with_notice(call, std::string(kPath), "webhook_deleted");
}

http::HttpResponse webhook_attempt_page(const PageCall& call) {
  const auto endpoint = find_endpoint(call);
  const auto attempt = endpoint ? find_attempt(call, *endpoint) : std::nullopt;
  if (!attempt) return not_found(call);
  Data data;
  Data lines(Data::type::list);
  add_line(lines, "webhook_event",
           attempt->seq == 0 ? texts().text("webhook_a_test")
                             : sync::feed_event_id(endpoint->epoch, attempt->seq));
  add_line(lines, "webhook_try", std::to_string(attempt->attempt));
  add_line(lines, "webhook_millis", std::to_string(attempt->millis));
  data.set("facts", lines);
  data.set("at", clock_data(attempt->started_at));
  data.set("day", day_text(attempt->started_at));
  set_answer(data, call, *attempt);
  set_text(data, "response", masked_text(call.viewer().is_masked(), attempt->response));
  data.set("back", url_of(call, path_of(*endpoint)));
  data.set("name", cut(endpoint->name, kTitleName));
  data.set("is_test", attempt->seq == 0);
  if (const auto event = event_of_attempt(call, *endpoint, *attempt)) {
    data.set("body", body_of(call, *endpoint, *event));
    if (manages(call) && has_new_proof(call)) {
      Data retry = form_data(call, path_of(*endpoint, "retry"));
      retry.set("event", std::to_string(attempt->seq));
      const auto waiting = call.store().webhooks.list_retries(endpoint->id, attempt->seq - 1, 1);
      if (!waiting.empty() && waiting.front().seq == attempt->seq) data.set("retry", retry);
      Data replay = form_data(call, path_of(*endpoint, "replay"));
      replay.set("since", to_rfc3339(event->recorded_at));
      data.set("replay", replay);
    }
  }
  set_proof(call, data, path_of(*endpoint));
  http::HttpResponse response = page(
      call, "webhook_attempt",
      texts().text("webhook_attempt_of", {{"number", std::to_string(attempt->number)}}), std::move(data));
  return with_proof_return(call, std::move(response), path_of(*endpoint));
}

}  // namespace giftsync::console
