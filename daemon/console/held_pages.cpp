// Gift requests that wait for approval: a list, one of them, and the approver's decision (GUARD-29). The form
// brings back the version of what the page showed: with another content, price or fault nothing is decided.
#include <algorithm>
#include <span>
#include <utility>

#include "daemon/console/access.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "sync/gift/held_requests.h"

namespace giftsync::console {
namespace {

using sync::HeldReview;

constexpr std::size_t kMaxNoteCodePoints = 1'000;
const std::string kPath = "/held";

std::string path_of(const store::HeldGiftRequest& held) {
  return kPath + "/" + std::to_string(held.id.value);
}

std::string amount_text(const PageCall& call, const std::optional<Money>& amount) {
  return amount ? amount_on_page(call, amount) : texts().text("held_amount_unknown");
}

bool is_seen(const PageCall& call, const store::HeldGiftRequest& held) {
  const auto& own = call.viewer().organization;
  return (!own || held.organization == own) && is_test_key(held.credential_prefix) == call.viewer().test;
}

/// The user's own account asked for it, and own requests may not be approved.
bool is_own(const PageCall& call, const store::HeldGiftRequest& held) {
  const config::Settings* settings = call.console.options.in_force;
  const bool is_allowed = settings && settings->requests.allow_self_approval;
  return !is_allowed && call.viewer().account == held.account;
}

/// Nothing for what the user does not see.
std::optional<HeldReview> find_review(const PageCall& call) {
  const auto id = parse_number<std::int64_t>(call.parameter);
  if (!id || *id < 1) return std::nullopt;
  auto review = sync::review_held(call.store(), allowed_domains(call), GiftRequestId{*id}, call.now);
  if (review && !is_seen(call, review->held)) review.reset();
  return review;
}

Data reasons_data(const std::vector<store::HoldReason>& reasons,
                  std::span<const store::NewRecipient> recipients = {}) {
  return list_of(reasons, [&](const store::HoldReason& reason) {
    return Data("text", sync::describe(reason, recipients));
  });
}

Data row_data(const PageCall& call, const store::HeldGiftRequest& held) {
  Data row;
  row.set("url", url_of(call, path_of(held)));
  row.set("number", std::to_string(held.id.value));
  row.set("gifts", std::to_string(held.gifts));
  row.set("amount", amount_text(call, held.amount));
  const auto account = call.store().accounts.find(held.account);
  if (account) set_address(row, "account", account->email);
  row.set("reasons", reasons_data(store::reasons_of(held)));
  row.set("end", time_data(held.expires_at));
  return row;
}

Data summary_of(const HeldReview& review) {
  const store::HeldGiftRequest& held = review.held;
  Data lines(Data::type::list);
  add_line(lines, "held_key", held.credential_prefix);
  add_line(lines, "held_delivery", texts().text(held.mode == SendMode::email ? "held_email" : "held_urls"));
  add_line(lines, "campaign", review.utm_campaign_id.value_or(""));
  add_time(lines, "held_since", held.held_at);
  if (held.state == HeldState::held) add_time(lines, "held_end", held.expires_at);
  add_line(lines, "held_comment", held.comment);
  return lines;
}

Data recipients_data(const HeldReview& review) {
  return list_of(review.recipients, [](const store::NewRecipient& to) {
    Data row;
    set_address(row, "email", to.email);
    set_text(row, "name", std::string(trimmed(to.first_name + " " + to.last_name)));
    set_text(row, "message", to.message);
    return row;
  });
}

void add_form(Data& data, const PageCall& call, const HeldReview& review, const std::string& name,
              const std::string& note) {
  Data form = form_data(call, path_of(review.held) + "/" + name);
  form.set("version_name", "version");
  form.set("version", review.version);
  form.set("note", note);
  form.set("has_note", !note.empty());
  data.set(name, form);
  data.set("may_decide", true);
}

/// What the user may do, or who may.
void add_decision(Data& data, const PageCall& call, const HeldReview& review, const std::string& note) {
  if (review.held.state != HeldState::held) return;
  if (!may(call.viewer().roles, Permission::decide_requests)) {
    data.set("others_decide", true);
    return;
  }
  const bool own = is_own(call, review.held);
  data.set("own", own);
  if (!own && review.faults.empty()) add_form(data, call, review, "approve", note);
  add_form(data, call, review, "reject", note);
}

/// After a decision the oldest request that waits for the user, or that none does (CON-58); neither when all
/// that were looked at are the user's own.
void add_next(Data& data, const PageCall& call, const HeldReview& review) {
  if (!call.query.contains("notice") || review.held.state == HeldState::held ||
      !may(call.viewer().roles, Permission::decide_requests))
    return;
  const auto waiting = call.store().held.list(waiting_held_requests(call), {}, kPageRows);
  const auto next =
      std::ranges::find_if(waiting, [&](const store::HeldGiftRequest& held) { return !is_own(call, held); });
  if (next == waiting.end()) {
    data.set("none_waits", waiting.size() < kPageRows);
    return;
  }
  data.set("next_url", url_of(call, path_of(*next)));
  data.set("next", texts().text("next_request", {{"number", std::to_string(next->id.value)}}));
}

/// `is_changed`: a decision was refused, since it was about something else.
http::HttpResponse show(const PageCall& call, const HeldReview& review, bool is_changed = false,
                        const std::string& note = {}) {
  Data data;
  data.set("state", sync::describe_state(review.held));
  data.set("waits", review.held.state == HeldState::held);
  data.set("number", std::to_string(review.held.id.value));
  data.set("gifts", std::to_string(review.held.gifts));
  data.set("item", review.item ? review.item->name : std::to_string(review.held.gift.value));
  data.set("who", review.account ? review.account->email : "");
  data.set("amount", amount_text(call, review.amount));
  data.set("is_changed", is_changed);
  data.set("summary", summary_of(review));
  set_list(data, "reasons", reasons_data(review.reasons, review.recipients));
  set_list(data, "faults", reasons_data(review.faults, review.recipients));
  set_list(data, "notes", reasons_data(review.notes, review.recipients));
  set_list(data, "recipients", recipients_data(review));
  add_decision(data, call, review, note);
  add_next(data, call, review);
  if (review.held.state == HeldState::sent)
    data.set("gifts_url", url_of(call, "/gifts") + "?" + query_of({{"key", review.held.credential_prefix}}));
  set_text(data, "audit_url", history_url(call, "held", std::to_string(review.held.id.value)));
  http::HttpResponse response =
      page(call, "held_request",
           texts().text("held_number", {{"number", std::to_string(review.held.id.value)}}), std::move(data));
  if (is_changed) response.status = 412;
  return response;
}

http::HttpResponse decide(const PageCall& call, bool approves) {
  const auto review = find_review(call);
  if (!review) return not_found(call);
  const auto answer = [&](const std::string& notice) {
    return redirect_with_notice(call, path_of(review->held), notice);
  };
  if (approves && is_own(call, review->held)) {
    call.store().audit.add(sync::refused_decision(event_of(call, "", "held"), *review, approves, "GUARD-27",
                                                  "the request of the user's own account"));
    return answer("request_own");
  }
  const std::string version = field(call.form, "version");
  const std::string note(truncated(trimmed(field(call.form, "note")), kMaxNoteCodePoints));
  if (version.empty() || !is_storable_text(note)) return answer("request_refused");
  sync::HeldDecisionAsked asked{call.by->user.email, note, {version}};
  asked.audit = event_of(call, "", "held");
  const sync::HeldOutcome outcome = approves ? sync::approve_held(call.store(), *review, asked, call.now)
                                             : sync::reject_held(call.store(), *review, asked, call.now);
  switch (outcome.kind) {
    case sync::HeldOutcome::Kind::changed:
    case sync::HeldOutcome::Kind::faulty:
      return show(call, *review, true, note);
    case sync::HeldOutcome::Kind::illegal:
      return answer("request_refused");
    case sync::HeldOutcome::Kind::done:
      break;
  }
  const auto& on_approved = call.console.options.on_held_approved;
  if (approves && on_approved) on_approved(*review, outcome);
  return answer(approves ? "held_approved" : "request_rejected");
}

}  // namespace

http::HttpResponse held_page(const PageCall& call) {
  const auto after = parse_number<std::int64_t>(field(call.query, "after"));
  auto found =
      call.store().held.list(waiting_held_requests(call), GiftRequestId{after.value_or(0)}, kPageRows + 1);
  const bool has_more = found.size() > kPageRows;
  if (has_more) found.resize(kPageRows);
  Data data;
  data.set("tests_left_out", !call.viewer().test);
  set_list(data, "rows",
           list_of(found, [&](const store::HeldGiftRequest& held) { return row_data(call, held); }));
  if (has_more) data.set("next", url_of(call, kPath) + "?after=" + std::to_string(found.back().id.value));
  return page(call, "held", texts().text("held"), std::move(data));
}

http::HttpResponse held_request_page(const PageCall& call) {
  const auto review = find_review(call);
  return review ? show(call, *review) : not_found(call);
}

http::HttpResponse approve_held_request(const PageCall& call) {
  return decide(call, true);
}

http::HttpResponse reject_held_request(const PageCall& call) {
  return decide(call, false);
}

}  // namespace giftsync::console
