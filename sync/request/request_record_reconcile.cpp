#include "sync/request/request_record_reconcile.h"

#include "platform/text.h"
#include "schema/ids.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::sync {
namespace {

using F = RequestRecordField;
using State = store::RequestRecordState;
using CrmStatus = RequestRecordStatus;
using store::Approval;
using store::RequestRecordEntry;

constexpr std::string_view kGiftsyncActor = "giftsync";
constexpr std::string_view kGiftFound = "its gift was found";
constexpr std::string_view kClaimedByUnknownInstance =
    "Another giftsync instance had started sending this. Check whether the gift was sent before approving "
    "again.";

/// A plain UPDATE that does not set Last Modified By leaves the integration user of giftsync's own write
/// there, who is not the editor.
std::string editor_of(const RequestRecordSnapshot& snapshot) {
  const std::string user = snapshot.row.text(F::last_modified_by);
  const bool has_no_name = user.empty() || long_crm_id(user) == snapshot.integration_user;
  return has_no_name ? "a CRM user" : "CRM user " + user;
}

/// One record while it is reconciled, rule by rule; `next` and `result` are what follows so far.
struct Reconciling {
  const RequestRecordSnapshot& snapshot;
  UtcMillis now;
  RequestRecordReconciliation result;
  bool is_new_record = false;
  std::optional<CrmStatus> status = {};  ///< the CRM's; nullopt when it is none
  bool auto_approved = false;
  bool is_unchecked = false;  ///< unchecked by giftsync, so that it needs approval

  RequestRecordEntry& next() { return result.change.next; }
  const RequestRecordEntry& next() const { return result.change.next; }
};

void warn(Reconciling& reconciling, const std::string& text) {
  reconciling.result.warnings.push_back(
      request_record_line(LogEvent::request_record_changed, reconciling.next().number, text));
}

bool waits(const RequestRecordEntry& entry, UtcMillis now) {
  return entry.next_attempt_at && *entry.next_attempt_at > now;
}

/// Its gift may have been sent by an instance with another store.
bool is_claimed_by_unknown_instance(const Reconciling& reconciling) {
  return reconciling.snapshot.row.claimed && reconciling.status != CrmStatus::rejected &&
         reconciling.status != CrmStatus::sent;
}

/// A new record without a value was made by the CRM's automation: the package's default applies. In a known
/// record the field was emptied later, for example by an import: the earlier value applies.
bool auto_approved_without_value(const Reconciling& reconciling) {
  return reconciling.is_new_record ? reconciling.snapshot.auto_approved_default
                                   : reconciling.snapshot.known.approval == Approval::automatic;
}

/// Request Numbers are unique. A known Id with another number means that the known record was deleted and
/// this is a new one. Decisions on the old record do not apply to the new one. An Id that was sent is never
/// sent again.
void reset_if_replaced(Reconciling& reconciling) {
  const std::string number = reconciling.snapshot.row.text(F::number);
  const RequestRecordEntry& known = reconciling.snapshot.known;
  if (reconciling.is_new_record || number.empty() || known.number.empty() || known.number == number) return;
  reconciling.result.warnings.push_back(
      request_record_line(LogEvent::request_record_changed, number,
                          " has the Id of request " + known.number + ", which was deleted"));
  if (known.state == State::sent) return;
  reconciling.next() = RequestRecordEntry();
  reconciling.next().version = known.version;
  reconciling.is_new_record = true;
}

bool is_backing_off(const Reconciling& reconciling) {
  return reconciling.next().state == State::approved && reconciling.next().failures > 0 &&
         waits(reconciling.next(), reconciling.now);
}

/// An approver has just decided and is writing it to the CRM.
bool is_in_flight(const Reconciling& reconciling) {
  return reconciling.next().state == State::approved && reconciling.next().failures == 0 &&
         waits(reconciling.next(), reconciling.now) && reconciling.status == CrmStatus::pending;
}

void transition(Reconciling& reconciling, std::string_view who, std::string_view from, State to,
                std::string_view comment) {
  reconciling.result.change.transitions.push_back(
      {reconciling.now, std::string(who), std::string(from), std::string(to_word(to)), std::string(comment)});
  reconciling.next().state = to;
}

void transition(Reconciling& reconciling, std::string_view who, RequestRecordAction action,
                std::string_view comment) {
  if (const auto to = state_after(reconciling.next().state, action))
    transition(reconciling, who, reported_state_word(reconciling.next().state), *to, comment);
}

/// Without `how` the approval is cleared.
void set_approval(RequestRecordEntry& entry, Approval how = Approval::none, const std::string& who = "",
                  const std::string& content = "") {
  entry.approval = how;
  entry.approved_by = who;
  entry.approved_content = content;
  entry.failures = 0;
  entry.next_attempt_at.reset();
}

void approve(Reconciling& reconciling, Approval how, const std::string& who) {
  set_approval(reconciling.next(), how, who, reconciling.snapshot.content);
  reconciling.next().error.clear();
}

/// A gift exists, so this request was sent, whatever the CRM shows.
void mark_sent(Reconciling& reconciling) {
  RequestRecordEntry& next = reconciling.next();
  transition(reconciling, kGiftsyncActor, reported_state_word(next.state), State::sent, kGiftFound);
  next.error.clear();
  next.approved_content.clear();
  next.failures = 0;
  next.next_attempt_at.reset();
  next.crm_status = CrmStatus::approved;  // Sent is not written to the CRM yet
}

/// Returns false when reconciliation ends here.
bool continue_claim(Reconciling& reconciling) {
  reconciling.result.must_send = reconciling.snapshot.row.claimed;
  if (reconciling.snapshot.row.claimed || waits(reconciling.next(), reconciling.now))
    return false;  // or another daemon is claiming
  reconciling.next().state = *state_after(reconciling.next().state, RequestRecordAction::release);
  reconciling.next().next_attempt_at.reset();
  return true;
}

/// Takes over the CRM's state of a new record.
void adopt_crm_state(Reconciling& reconciling) {
  RequestRecordEntry& next = reconciling.next();
  const std::string who = editor_of(reconciling.snapshot);
  next.crm_status = reconciling.status.value_or(CrmStatus::pending);
  if (is_claimed_by_unknown_instance(reconciling)) {
    transition(reconciling, who, "", State::pending, "first seen while it was being sent");
  } else if (!reconciling.status) {
    transition(reconciling, who, "", State::pending, "first seen");
    next.error = transition_error(State::pending, reconciling.snapshot.row.text(F::status));
  } else if (*reconciling.status == CrmStatus::pending) {
    transition(reconciling, who, "", State::pending, "first seen");
  } else if (*reconciling.status == CrmStatus::approved) {
    transition(reconciling, who, "", State::approved, "first seen as Approved: the CRM's own approval");
    approve(reconciling, Approval::person, who);
  } else if (*reconciling.status == CrmStatus::rejected) {
    transition(reconciling, who, "", State::rejected, "first seen as Rejected");
  } else {
    transition(reconciling, who, "", State::sent, "first seen as Sent: giftsync sent nothing for it");
    next.error =
        "giftsync sent no gift for this request: it was Sent when it was first seen. Make a new request.";
    warn(reconciling, " was Sent when it was first seen; no gift is sent for it");
  }
}

/// Whether edits of the content still count: before the gift is sent and unless the request is rejected.
bool is_open(State state) {
  return state == State::pending || state == State::approved;
}

/// What was edited since the record was last read (CON-54). A value that the row does not have itself comes
/// from its contact, lead or creator, and was not edited by the row's editor.
void record_edit(Reconciling& reconciling) {
  const std::string& seen = reconciling.next().seen_content;
  if (seen.empty() || seen == reconciling.snapshot.content || !is_open(reconciling.next().state)) return;
  const auto fields = approval_bound_fields();
  RequestRecord before;
  RequestRecord after;
  parse_values(seen, fields, before);
  parse_values(reconciling.snapshot.content, fields, after);
  bool is_of_row = false;
  for (const F field : fields) {
    if (before.get(field) != after.get(field)) {
      is_of_row = is_of_row || after.get(field) == reconciling.snapshot.row.get(field);
      continue;
    }
    before.set(field, {});
    after.set(field, {});
  }
  reconciling.result.change.edit = {reconciling.now, is_of_row ? editor_of(reconciling.snapshot) : "",
                                    format_values(before, fields), format_values(after, fields)};
}

/// An approval binds to the content.
void withdraw_if_changed(Reconciling& reconciling) {
  RequestRecordEntry& next = reconciling.next();
  if (next.state != State::approved) return;
  const bool changed = reconciling.snapshot.content != next.approved_content;
  const bool unchecked = next.approval == Approval::automatic && !reconciling.auto_approved;
  if (!changed && !unchecked) return;
  const std::string_view why = unchecked ? kUncheckedError : kChangedError;
  transition(reconciling, editor_of(reconciling.snapshot), RequestRecordAction::withdraw, why);
  std::string approved = std::move(next.approved_content);
  set_approval(next);
  if (changed) next.approved_content = std::move(approved);  // so that approvers see what is different
  next.error = why;
}

/// The CRM write after an approval was lost: it is made now. The request stays due until the write is
/// visible.
bool has_lost_own_write(const Reconciling& reconciling) {
  return reconciling.next().state == State::approved && reconciling.status == CrmStatus::pending &&
         reconciling.snapshot.known.next_attempt_at && reconciling.snapshot.known.failures == 0;
}

/// Request Status was edited: legal edits are applied, others are reverted.
void apply_edit(Reconciling& reconciling) {
  RequestRecordEntry& next = reconciling.next();
  if (reconciling.status == crm_status_for(next.state) || reconciling.status == next.crm_status) return;
  const std::string who = editor_of(reconciling.snapshot);
  if (const auto action =
          reconciling.status ? action_for_edit(next.state, *reconciling.status) : std::nullopt) {
    transition(reconciling, who, *action, "edited in the CRM");
    if (*action == RequestRecordAction::approve) return approve(reconciling, Approval::person, who);
    set_approval(next);
    next.error.clear();
    return;
  }
  if (has_lost_own_write(reconciling)) return;
  next.error = transition_error(next.state, reconciling.snapshot.row.text(F::status));
  if (next.state == State::approved) {
    ++next.failures;
    next.next_attempt_at = reconciling.now + kRevertedEditDelayMillis;
  }
  warn(reconciling, ": " + next.error + " Reverted; it was edited by " + who);
}

/// An edited Gift Id of a sent request is not reverted. While it differs from the gift that was sent, Error
/// Log says so, after its other text.
void report_gift_mismatch(Reconciling& reconciling) {
  const std::optional<GiftId>& sent = reconciling.snapshot.gift_sent;
  RequestRecordEntry& next = reconciling.next();
  if (next.state != State::sent || !sent) return;
  const std::string mismatch =
      "Item " + std::to_string(sent->value) +
      " was sent, and Gift Id was edited since: no other gift is sent. Set it back, or make a new request.";
  std::string error(giftsync::trimmed(next.error.substr(0, next.error.find(mismatch))));
  if (gift_id_of(reconciling.snapshot.row) != sent) error += (error.empty() ? "" : " ") + mismatch;
  next.error = error_log_text(error);
  if (next.error.ends_with(mismatch) && !reconciling.snapshot.known.error.ends_with(mismatch))
    warn(reconciling, ": " + mismatch + " It was edited by " + editor_of(reconciling.snapshot));
}

/// The write that makes the record wait for a person was lost, since Error Log does not say why it waits: it
/// is made now. A record that was edited since is a new request.
bool has_lost_hold(const Reconciling& reconciling) {
  const RequestRecordEntry& next = reconciling.next();
  const RequestRecordSnapshot& snapshot = reconciling.snapshot;
  const bool is_edited = snapshot.content != snapshot.known.seen_content;
  return (snapshot.row.claimed || !is_edited) && next.state == State::pending &&
         next.error.starts_with(kHeldError) && next.error == snapshot.known.error &&
         next.error != snapshot.row.text(F::error_log);
}

void leave_unchecked(Reconciling& reconciling) {
  reconciling.auto_approved = false;
  reconciling.is_unchecked = true;
}

void approve_automatically(Reconciling& reconciling) {
  if (reconciling.next().state != State::pending || !reconciling.auto_approved || !reconciling.status) return;
  const bool from_default = !reconciling.snapshot.row.checkbox(F::auto_approved).has_value();
  transition(reconciling, "Auto-Approved", RequestRecordAction::auto_approve,
             from_default ? "by the package's default" : "");
  approve(reconciling, Approval::automatic, "Auto-Approved");
}

void plan_write(Reconciling& reconciling) {
  const RequestRecord& row = reconciling.snapshot.row;
  RequestRecordEntry& next = reconciling.next();
  crm::RequestRecordUpdate& write = reconciling.result.write;
  write.expected = row;
  const CrmStatus wanted = crm_status_for(next.state);
  if (reconciling.status != wanted) write.status = wanted;
  if (next.error != row.text(F::error_log)) write.error_log = next.error;
  if (row.claimed)
    write.claimed = false;  // its gift is sent, it is rejected, or the claiming instance is gone
  if (next.state != State::sent && next.state != State::rejected) {
    if (!row.checkbox(F::auto_approved) || reconciling.is_unchecked)
      write.auto_approved = reconciling.auto_approved;
    write.item_link = reconciling.snapshot.item_link;
  }
  reconciling.result.is_written =
      write.status || write.error_log || write.claimed || write.auto_approved || write.item_link;
  // If giftsync may have written Approved to the CRM, Approved counts as shown: a lost write must never look
  // like a user's approval.
  next.crm_status = wanted == CrmStatus::approved ? wanted : reconciling.status.value_or(next.crm_status);
}

RequestRecordReconciliation finish(Reconciling reconciling) {
  RequestRecordEntry& next = reconciling.next();
  RequestRecordReconciliation& result = reconciling.result;
  if (next.state != State::claimed) {
    plan_write(reconciling);
    result.may_claim = next.state == State::approved && !is_backing_off(reconciling);
    // The write or claim may be interrupted: the request becomes due again.
    if ((result.is_written || result.may_claim) && !next.next_attempt_at)
      next.next_attempt_at = reconciling.now + kWriteInFlightMillis;
  }
  // Removing a claim needs a new entry version: an instance that has just claimed has a newer one.
  result.is_changed =
      next != reconciling.snapshot.known || !result.change.transitions.empty() || result.write.claimed;
  return std::move(result);
}

}  // namespace

RequestRecordReconciliation reconcile_request_record(const RequestRecordSnapshot& snapshot, UtcMillis now) {
  Reconciling reconciling{snapshot, now, {}, snapshot.known.version == 0};
  RequestRecordEntry& next = reconciling.next() = snapshot.known;
  reset_if_replaced(reconciling);
  next.record_id = snapshot.row.id;
  next.number = snapshot.row.text(F::number);
  if (!snapshot.row.unreadable.empty()) {
    warn(reconciling,
         ": its " + snapshot.row.unreadable + " contains invalid text (not UTF-8); correct it in the CRM");
    next.next_attempt_at.reset();
    reconciling.result.is_changed = snapshot.known.version > 0 && next != snapshot.known;
    return std::move(reconciling.result);
  }
  reconciling.status = request_record_status_from_word(snapshot.row.text(F::status));
  reconciling.auto_approved =
      snapshot.row.checkbox(F::auto_approved).value_or(auto_approved_without_value(reconciling));
  if (snapshot.has_gift && next.state != State::sent) mark_sent(reconciling);
  if (next.state == State::claimed && !continue_claim(reconciling)) return finish(std::move(reconciling));
  if (is_in_flight(reconciling)) {
    next = snapshot.known;
    return std::move(reconciling.result);
  }
  next.deleted = false;
  if (!is_backing_off(reconciling)) next.next_attempt_at.reset();
  if (reconciling.is_new_record && !snapshot.has_gift) {
    adopt_crm_state(reconciling);
  } else {
    record_edit(reconciling);
    withdraw_if_changed(reconciling);
    apply_edit(reconciling);
  }
  report_gift_mismatch(reconciling);
  if (has_lost_hold(reconciling)) {
    leave_unchecked(reconciling);  // its claim, if the row has one, is giftsync's own
  } else if (is_claimed_by_unknown_instance(reconciling) && next.state == State::pending) {
    next.error = kClaimedByUnknownInstance;
    leave_unchecked(reconciling);
  }
  approve_automatically(reconciling);
  next.seen_content = is_open(next.state) ? snapshot.content : "";
  return finish(std::move(reconciling));
}

RequestRecordReconciliation reconcile_deleted_request_record(const RequestRecordEntry& known, bool has_gift,
                                                             UtcMillis now) {
  RequestRecordReconciliation result;
  RequestRecordEntry& next = result.change.next = known;
  if (known.deleted && !known.next_attempt_at) return result;
  const auto add_transition = [&](std::string_view who, State to, std::string_view comment) {
    result.change.transitions.push_back({now, std::string(who), std::string(reported_state_word(known.state)),
                                         std::string(to_word(to)), std::string(comment)});
  };
  next.deleted = true;
  next.next_attempt_at.reset();
  next.approved_content.clear();
  next.seen_content.clear();
  if (has_gift) {
    if (known.state != State::sent) add_transition(kGiftsyncActor, State::sent, kGiftFound);
    next.state = State::sent;
  } else if (known.state != State::sent && known.state != State::rejected) {
    // A new record with this Id is not approved.
    const std::string comment = "deleted in the CRM before it was sent";
    add_transition("a CRM user", State::pending, comment);
    result.warnings.push_back(request_record_line(LogEvent::request_record_changed, known.number,
                                                  " was " + comment + "; no gift is sent for it"));
    next.state = State::pending;
    next.crm_status = CrmStatus::pending;
    set_approval(next);
    next.error.clear();
  }
  result.is_changed = next != known;
  return result;
}

bool is_withdrawal(std::string_view error_log) {
  return error_log == kChangedError || error_log == kUncheckedError || error_log.starts_with(kHeldError);
}

LogLine request_record_line(LogEvent event, const std::string& number, const std::string& text) {
  return {event, "request " + number + text, {LogField("request_record", number).not_in_text()}};
}

std::string error_log_text(std::string_view text) {
  return std::string(giftsync::trimmed(truncated(text, 255)));  // an org would trim it
}

}  // namespace giftsync::sync
