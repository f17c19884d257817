#include "sync/request_record_reconcile.h"

#include "platform/text.h"
#include "sync/request_record_to_gift_request.h"

namespace giftsync::sync {
namespace {

using F = schema::RequestRecordField;

constexpr std::string_view kGiftsyncActor = "giftsync";
constexpr std::string_view kUnchecked = "Auto-Approved was unchecked: waits for approval.";
constexpr std::string_view kChanged = "Changed after approval: approve it again.";
constexpr std::string_view kClaimedByUnknownInstance =
    "Another giftsync instance had started sending this. Check whether the gift was sent before approving "
    "again.";

/// A plain UPDATE that does not set Last Modified By leaves the integration user of giftsync's own write
/// there, who is not the editor.
std::string editor_of(const RequestRecordSnapshot& snapshot) {
  const std::string user = snapshot.row.text(F::last_modified_by);
  const bool has_no_name = user.empty() || user == snapshot.integration_user;
  return has_no_name ? "a CRM user" : "CRM user " + user;
}

std::string gift_mismatch_text(schema::GiftId sent) {
  return "Gift " + std::to_string(sent.value) +
         " was sent, and Gift Id was edited since: no other gift is sent. Set it back, or make a new "
         "request.";
}

/// Reconciles one record, rule by rule.
class RequestRecordReconciler {
 public:
  RequestRecordReconciler(const RequestRecordSnapshot& snapshot, platform::UtcMillis now)
      : snapshot_(snapshot), now_(now), next_(snapshot.known), is_new_record_(snapshot.known.version == 0) {}

  RequestRecordReconciliation run() {
    if (is_replaced_record()) reset_for_replaced_record();
    next_.record_id = snapshot_.row.id;
    next_.number = snapshot_.row.text(F::number);
    if (!snapshot_.row.unreadable.empty()) return skip_unreadable();
    status_ = schema::request_record_status_from_word(snapshot_.row.text(F::status));
    auto_approved_ = snapshot_.row.checkbox(F::auto_approved).value_or(auto_approved_without_value());
    if (snapshot_.has_gift && next_.state != schema::store::RequestRecordState::sent) mark_sent();
    if (next_.state == schema::store::RequestRecordState::claimed && !continue_claim()) return finish();
    if (is_in_flight()) return skip_in_flight();
    next_.deleted = false;
    next_.next_attempt_at = is_backing_off() ? next_.next_attempt_at : std::nullopt;
    if (is_new_record_ && !snapshot_.has_gift) {
      adopt_crm_state();
    } else {
      withdraw_if_changed();
      apply_edit();
    }
    report_gift_mismatch();
    if (is_claimed_by_unknown_instance() && next_.state == schema::store::RequestRecordState::pending)
      require_approval();
    approve_automatically();
    return finish();
  }

 private:
  /// Its gift may have been sent by an instance with another store.
  bool is_claimed_by_unknown_instance() const {
    return snapshot_.row.claimed && status_ != schema::RequestRecordStatus::rejected &&
           status_ != schema::RequestRecordStatus::sent;
  }
  void require_approval() {
    next_.error = kClaimedByUnknownInstance;
    auto_approved_ = false;
    is_unchecked_ = true;
  }

  /// A new record without a value was made by the CRM's automation: the package's default applies. In a known
  /// record the field was emptied later, for example by an import: the earlier value applies.
  bool auto_approved_without_value() const {
    return is_new_record_ ? snapshot_.auto_approved_default
                          : snapshot_.known.approval == schema::store::Approval::automatic;
  }

  /// Request Numbers are unique. A known Id with another number means that the known record was deleted and
  /// this is a new one.
  bool is_replaced_record() const {
    const std::string number = snapshot_.row.text(F::number);
    return !is_new_record_ && !number.empty() && !snapshot_.known.number.empty() &&
           snapshot_.known.number != number;
  }
  /// Decisions on the old record do not apply to the new one. An Id that was sent is never sent again.
  void reset_for_replaced_record() {
    const std::int64_t version = next_.version;
    const bool was_sent = next_.state == schema::store::RequestRecordState::sent;
    result_.warnings.push_back("request " + snapshot_.row.text(F::number) + " has the Id of request " +
                               snapshot_.known.number + ", which was deleted");
    if (was_sent) return;
    next_ = schema::store::RequestRecordEntry();
    next_.version = version;
    is_new_record_ = true;
  }

  bool is_backing_off() const {
    return next_.state == schema::store::RequestRecordState::approved && next_.failures > 0 &&
           next_.next_attempt_at && *next_.next_attempt_at > now_;
  }
  /// An approver has just decided and is writing it to the CRM.
  bool is_in_flight() const {
    return next_.state == schema::store::RequestRecordState::approved && next_.failures == 0 &&
           next_.next_attempt_at && *next_.next_attempt_at > now_ &&
           status_ == schema::RequestRecordStatus::pending;
  }

  void transition(std::string_view who, std::string_view from, schema::store::RequestRecordState to,
                  std::string_view comment) {
    result_.change.transitions.push_back(
        {now_, std::string(who), std::string(from), std::string(to_word(to)), std::string(comment)});
    next_.state = to;
  }
  void transition(std::string_view who, RequestRecordAction action, std::string_view comment) {
    if (const auto to = state_after(next_.state, action))
      transition(who, reported_state_word(next_.state), *to, comment);
  }

  void approve(schema::store::Approval how, const std::string& who) {
    next_.approval = how;
    next_.approved_by = who;
    next_.approved_content = snapshot_.content;
    next_.failures = 0;
    next_.next_attempt_at.reset();
    next_.error.clear();
  }
  void clear_approval() {
    next_.approval = schema::store::Approval::none;
    next_.approved_by.clear();
    next_.approved_content.clear();
    next_.failures = 0;
    next_.next_attempt_at.reset();
  }

  /// A gift exists, so this request was sent, whatever the CRM shows.
  void mark_sent() {
    transition(kGiftsyncActor, reported_state_word(next_.state), schema::store::RequestRecordState::sent,
               "its gift was found");
    next_.error.clear();
    next_.approved_content.clear();
    next_.failures = 0;
    next_.next_attempt_at.reset();
    next_.crm_status = schema::RequestRecordStatus::approved;  // Sent is not written to the CRM yet
  }

  /// Returns false when reconciliation ends here.
  bool continue_claim() {
    if (snapshot_.row.claimed) {
      result_.must_send = true;
      return false;
    }
    if (next_.next_attempt_at && *next_.next_attempt_at > now_)
      return false;  // another daemon is making its claim
    next_.state = *state_after(next_.state, RequestRecordAction::release);
    next_.next_attempt_at.reset();
    return true;
  }

  /// Takes over the CRM's state of a new record.
  void adopt_crm_state() {
    const std::string who = editor_of(snapshot_);
    next_.crm_status = status_.value_or(schema::RequestRecordStatus::pending);
    if (is_claimed_by_unknown_instance()) {
      transition(who, "", schema::store::RequestRecordState::pending, "first seen while it was being sent");
    } else if (!status_) {
      transition(who, "", schema::store::RequestRecordState::pending, "first seen");
      next_.error =
          transition_error(schema::store::RequestRecordState::pending, snapshot_.row.text(F::status));
    } else if (*status_ == schema::RequestRecordStatus::pending) {
      transition(who, "", schema::store::RequestRecordState::pending, "first seen");
    } else if (*status_ == schema::RequestRecordStatus::approved) {
      transition(who, "", schema::store::RequestRecordState::approved,
                 "first seen as Approved: the CRM's own approval");
      approve(schema::store::Approval::person, who);
    } else if (*status_ == schema::RequestRecordStatus::rejected) {
      transition(who, "", schema::store::RequestRecordState::rejected, "first seen as Rejected");
    } else {
      transition(who, "", schema::store::RequestRecordState::sent,
                 "first seen as Sent: giftsync sent nothing for it");
      next_.error =
          "giftsync sent no gift for this request: it was Sent when it was first seen. Make a new request.";
      result_.warnings.push_back("request " + next_.number +
                                 " was Sent when it was first seen; no gift is sent for it");
    }
  }

  /// An approval binds to the content.
  void withdraw_if_changed() {
    if (next_.state != schema::store::RequestRecordState::approved) return;
    const bool changed = snapshot_.content != next_.approved_content;
    const bool unchecked = next_.approval == schema::store::Approval::automatic && !auto_approved_;
    if (!changed && !unchecked) return;
    const std::string_view why = unchecked ? kUnchecked : kChanged;
    transition(editor_of(snapshot_), RequestRecordAction::withdraw, why);
    clear_approval();
    next_.error = why;
  }

  /// Request Status was edited: legal edits are applied, others are reverted.
  void apply_edit() {
    if (status_ == crm_status_for(next_.state)) return;
    if (status_ == next_.crm_status) return;
    const std::string who = editor_of(snapshot_);
    const auto action = status_ ? action_for_edit(next_.state, *status_) : std::nullopt;
    if (action) {
      transition(who, *action, "edited in the CRM");
      if (*action == RequestRecordAction::approve) {
        approve(schema::store::Approval::person, who);
      } else {
        clear_approval();
        next_.error.clear();
      }
      return;
    }
    if (has_lost_own_write()) return;
    next_.error = transition_error(next_.state, snapshot_.row.text(F::status));
    if (next_.state == schema::store::RequestRecordState::approved) {
      ++next_.failures;
      next_.next_attempt_at = now_ + kRevertedEditDelayMillis;
    }
    result_.warnings.push_back("request " + next_.number + ": " + next_.error +
                               " Reverted; it was edited by " + who);
  }

  /// An edited Gift Id of a sent request is not reverted. While it differs from the gift that was sent, Error
  /// Log says so, after its other text.
  void report_gift_mismatch() {
    if (next_.state != schema::store::RequestRecordState::sent || !snapshot_.gift_sent) return;
    const std::string mismatch = gift_mismatch_text(*snapshot_.gift_sent);
    std::string error(platform::trimmed(next_.error.substr(0, next_.error.find(mismatch))));
    if (gift_id_of(snapshot_.row) != snapshot_.gift_sent) error += (error.empty() ? "" : " ") + mismatch;
    next_.error = error_log_text(error);
    const bool is_new_error = next_.error.ends_with(mismatch) && !snapshot_.known.error.ends_with(mismatch);
    if (is_new_error)
      result_.warnings.push_back("request " + next_.number + ": " + mismatch + " It was edited by " +
                                 editor_of(snapshot_));
  }

  /// The CRM write after an approval was lost: it is made now. The request stays due until the write is
  /// visible.
  bool has_lost_own_write() const {
    return next_.state == schema::store::RequestRecordState::approved &&
           status_ == schema::RequestRecordStatus::pending && snapshot_.known.next_attempt_at &&
           snapshot_.known.failures == 0;
  }

  void approve_automatically() {
    if (next_.state != schema::store::RequestRecordState::pending || !auto_approved_ || !status_) return;
    const bool from_default = !snapshot_.row.checkbox(F::auto_approved).has_value();
    transition("Auto-Approved", RequestRecordAction::auto_approve,
               from_default ? "by the package's default" : "");
    approve(schema::store::Approval::automatic, "Auto-Approved");
  }

  RequestRecordReconciliation skip_unreadable() {
    result_.warnings.push_back("request " + next_.number + ": its " + snapshot_.row.unreadable +
                               " contains invalid text (not UTF-8); correct it in the CRM");
    next_.next_attempt_at.reset();
    result_.is_changed = snapshot_.known.version > 0 && !(next_ == snapshot_.known);
    result_.change.next = std::move(next_);
    return std::move(result_);
  }
  RequestRecordReconciliation skip_in_flight() {
    result_.change.next = snapshot_.known;
    return std::move(result_);
  }

  void plan_write() {
    schema::crm::RequestRecordUpdate& write = result_.write;
    write.expected = snapshot_.row;
    const schema::RequestRecordStatus wanted = crm_status_for(next_.state);
    if (status_ != wanted) write.status = wanted;
    if (next_.error != snapshot_.row.text(F::error_log)) write.error_log = next_.error;
    if (next_.state == schema::store::RequestRecordState::sent ||
        next_.state == schema::store::RequestRecordState::rejected) {
      if (snapshot_.row.claimed) write.claimed = false;
    } else {
      if (snapshot_.row.claimed) write.claimed = false;  // by an instance that is gone
      if (!snapshot_.row.checkbox(F::auto_approved) || is_unchecked_) write.auto_approved = auto_approved_;
      write.item_link = snapshot_.item_link;
    }
    result_.is_written =
        write.status || write.error_log || write.claimed || write.auto_approved || write.item_link;
    next_.crm_status = crm_status_after(wanted);
  }

  /// If giftsync may have written Approved to the CRM, Approved counts as shown: a lost write must never look
  /// like a user's approval.
  schema::RequestRecordStatus crm_status_after(schema::RequestRecordStatus wanted) const {
    if (wanted == schema::RequestRecordStatus::approved || status_ == wanted) return wanted;
    return status_.value_or(next_.crm_status);
  }

  RequestRecordReconciliation finish() {
    if (next_.state != schema::store::RequestRecordState::claimed) {
      plan_write();
      result_.may_claim = next_.state == schema::store::RequestRecordState::approved && !is_backing_off();
      // The write or claim may be interrupted: the request becomes due again.
      const bool is_to_follow = result_.is_written || result_.may_claim;
      if (is_to_follow && !next_.next_attempt_at) next_.next_attempt_at = now_ + kWriteInFlightMillis;
    }
    // Removing a claim needs a new entry version: an instance that has just claimed has a newer one.
    result_.is_changed =
        !(next_ == snapshot_.known) || !result_.change.transitions.empty() || result_.write.claimed;
    result_.change.next = std::move(next_);
    return std::move(result_);
  }

  const RequestRecordSnapshot& snapshot_;
  const platform::UtcMillis now_;
  schema::store::RequestRecordEntry next_;
  std::optional<schema::RequestRecordStatus> status_;
  bool is_new_record_;
  bool auto_approved_ = false;
  bool is_unchecked_ = false;  ///< unchecked by giftsync, so that it needs approval
  RequestRecordReconciliation result_;
};

}  // namespace

RequestRecordReconciliation reconcile_request_record(const RequestRecordSnapshot& snapshot,
                                                     platform::UtcMillis now) {
  return RequestRecordReconciler(snapshot, now).run();
}

RequestRecordReconciliation reconcile_deleted_request_record(const schema::store::RequestRecordEntry& known,
                                                             bool has_gift, platform::UtcMillis now) {
  RequestRecordReconciliation result;
  schema::store::RequestRecordEntry& next = result.change.next = known;
  if (known.deleted && !known.next_attempt_at) return result;
  next.deleted = true;
  next.next_attempt_at.reset();
  if (has_gift) {
    if (known.state != schema::store::RequestRecordState::sent)
      result.change.transitions.push_back(
          {now, std::string(kGiftsyncActor), std::string(reported_state_word(known.state)),
           std::string(to_word(schema::store::RequestRecordState::sent)), "its gift was found"});
    next.state = schema::store::RequestRecordState::sent;
  } else if (known.state != schema::store::RequestRecordState::sent &&
             known.state != schema::store::RequestRecordState::rejected) {
    // A new record with this Id is not approved.
    const std::string comment = "deleted in the CRM before it was sent";
    result.change.transitions.push_back({now, "a CRM user", std::string(reported_state_word(known.state)),
                                         std::string(to_word(schema::store::RequestRecordState::pending)),
                                         comment});
    result.warnings.push_back("request " + known.number + " was " + comment + "; no gift is sent for it");
    next.state = schema::store::RequestRecordState::pending;
    next.crm_status = schema::RequestRecordStatus::pending;
    next.approval = schema::store::Approval::none;
    next.approved_by.clear();
    next.failures = 0;
    next.error.clear();
  }
  next.approved_content.clear();
  result.is_changed = !(next == known);
  return result;
}

std::string error_log_text(std::string_view text) {
  return std::string(platform::truncated(text, 255));
}

}  // namespace giftsync::sync
