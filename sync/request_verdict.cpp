#include "sync/request_verdict.h"

#include "schema/text.h"

namespace giftsync::sync {
namespace {

using schema::KnownRequest;
using Kind = VerdictOutcome::Kind;
using F = schema::RequestField;

constexpr int kMostTries = 5;

VerdictOutcome outcome_of(Kind kind, const schema::RequestRecord& row, std::string why = {}) {
  return {kind, std::move(why), row.id, row.text(F::number),
          schema::request_status_from_word(row.text(F::status)).value_or(schema::RequestStatus::pending)};
}

KnownRequest with_verdict(KnownRequest next, const SeenRequest& seen, const Verdict& verdict,
                          schema::RequestState state, schema::UtcMillis now) {
  next.key = seen.row.id;
  next.number = seen.row.text(F::number);
  next.state = state;
  next.error.clear();
  next.failures = 0;
  next.due_at = now + kWriteInFlightMillis;
  const bool approves = state == schema::RequestState::approved;
  next.approval = approves ? schema::Approval::person : schema::Approval::none;
  next.approved_by = approves ? verdict.who : "";
  next.approved_content = approves ? content_of(seen.completed) : "";
  // Approved may stand in the CRM from here on by our own doing.
  if (approves) next.shown = schema::RequestStatus::approved;
  return next;
}

/// The row as it stands by now, when the decision still fits it: what was approved is what it holds, and
/// nobody has set another status.
std::optional<SeenRequest> seen_again(schema::Crm& crm, const SeenRequest& before) {
  const std::string& id = before.row.id;
  const std::vector<schema::RequestRecord> rows = crm.find_requests(std::span(&id, 1));
  if (rows.empty()) return std::nullopt;
  SeenRequest now = complete_all(crm, rows).front();
  const bool fits = content_of(now.completed) == content_of(before.completed) &&
                    now.row.text(F::status) == before.row.text(F::status);
  return fits ? std::optional(std::move(now)) : std::nullopt;
}

/// Writes a decision that is in the book already. What does not come to the CRM here is seen to by the
/// daemon.
schema::RowResult write_decision(schema::Crm& crm, SeenRequest seen, schema::RequestStatus status) {
  schema::RowResult result;
  for (int tried = 0; tried < kMostTries; ++tried) {
    schema::RequestWrite write{seen.row};
    write.status = status;
    if (!seen.row.text(F::error_log).empty()) write.error_log = "";
    if (!seen.row.checked(F::auto_approved)) write.auto_approved = false;
    result = crm.write_requests(std::span(&write, 1)).front();
    if (result.kind != schema::RowResult::Kind::unchanged) return result;
    auto again = seen_again(crm, seen);
    if (!again) return result;
    seen = std::move(*again);
  }
  return result;
}

/// One try; nullopt when somebody was faster.
std::optional<VerdictOutcome> try_to_decide(schema::Store& store, schema::Crm& crm, const std::string& name,
                                            const Verdict& verdict, schema::UtcMillis now) {
  const std::optional<schema::RequestRecord> row = crm.find_request(name);
  if (!row) return VerdictOutcome{Kind::unknown, "there is no request " + name, "", "", {}};
  auto seen = complete_all(crm, {*row});
  if (!row->unreadable.empty())
    return outcome_of(Kind::illegal, *row, "its " + row->unreadable + " holds bytes that are no text");
  const std::vector<KnownRequest> found = store.requests.find(std::span(&row->id, 1));
  const bool has_gift = !store.requests.sent(std::span(&row->id, 1)).empty();
  // An edit in the CRM that no daemon has seen yet counts first.
  RequestJudgement look = judge({seen.front().row, content_of(seen.front().completed),
                                 found.empty() ? KnownRequest() : found.front(), has_gift, false},
                                now);
  schema::RequestState state = look.change.next.state;
  if (row->claimed && state != schema::RequestState::sent) state = schema::RequestState::claimed;
  const auto next = state_after(state, verdict.act);
  const std::string wanted(verdict.act == RequestAct::approve ? "Approved" : "Rejected");
  if (!next) return outcome_of(Kind::illegal, *row, refusal(state, wanted));
  schema::RequestChange change = look.change;
  change.moves.push_back(
      {now, verdict.who, std::string(to_word(state)), std::string(to_word(*next)), verdict.comment});
  change.next = with_verdict(change.next, seen.front(), verdict, *next, now);
  if (store.requests.save(std::span(&change, 1)).empty()) return std::nullopt;
  const schema::RowResult result = write_decision(crm, std::move(seen.front()), shown_status(*next));
  if (result.kind != schema::RowResult::Kind::updated)
    return outcome_of(Kind::changed, *row, result.reason + "; your decision is kept, look what became of it");
  VerdictOutcome done = outcome_of(Kind::done, *row);
  done.status = shown_status(*next);
  return done;
}

}  // namespace

VerdictOutcome decide_request(schema::Store& store, schema::Crm& crm, const std::string& number_or_id,
                              const Verdict& verdict, schema::UtcMillis now) {
  for (int tried = 0; tried < kMostTries; ++tried) {
    if (auto outcome = try_to_decide(store, crm, number_or_id, verdict, now)) return std::move(*outcome);
  }
  return {Kind::changed, "others are working on it; look at it again", "", number_or_id, {}};
}

}  // namespace giftsync::sync
