#include "sync/request_look.h"

#include "schema/text.h"
#include "sync/request_order.h"

namespace giftsync::sync {
namespace {

using schema::Approval;
using schema::KnownRequest;
using schema::RequestState;
using schema::RequestStatus;
using F = schema::RequestField;

constexpr std::string_view kSelf = "giftsync";
constexpr std::string_view kUnchecked = "Auto-Approved was unchecked: waits for approval.";
constexpr std::string_view kChanged = "Changed after approval: approve it again.";
constexpr std::string_view kSentElsewhere =
    "It was being sent by a giftsync that this one does not know: look whether its gift went out, and "
    "approve it "
    "again only if it did not.";

/// A plain UPDATE that does not set Last Modified By leaves there whom giftsync's own write named: that is
/// not who edited it.
std::string who_edited(const RequestSight& sight) {
  const std::string user = sight.row.text(F::last_modified_by);
  const bool names_nobody = user.empty() || user == sight.own_user;
  return names_nobody ? "somebody in the CRM" : "CRM user " + user;
}

std::string told_of_other_gift(schema::GiftId sent) {
  return "Gift " + std::to_string(sent.value) +
         " was sent, and Gift Id was edited since: no other gift is sent. Set it back, or make a new "
         "request.";
}

/// One look, rule by rule.
class Look {
 public:
  Look(const RequestSight& sight, schema::UtcMillis now)
      : sight_(sight), now_(now), next_(sight.known), first_look_(sight.known.version == 0) {}

  RequestJudgement run() {
    if (is_another_record()) forget_predecessor();
    next_.key = sight_.row.id;
    next_.number = sight_.row.text(F::number);
    if (!sight_.row.unreadable.empty()) return leave_unreadable();
    status_ = schema::request_status_from_word(sight_.row.text(F::status));
    auto_approved_ = sight_.row.checked(F::auto_approved).value_or(auto_approved_without_value());
    if (sight_.has_gift && next_.state != RequestState::sent) note_sent();
    if (next_.state == RequestState::claimed && !go_on_with_claim()) return finish();
    if (is_in_flight()) return leave_in_flight();
    next_.deleted = false;
    next_.due_at = is_backing_off() ? next_.due_at : std::nullopt;
    if (first_look_ && !sight_.has_gift) {
      meet();
    } else {
      withdraw_if_changed();
      take_edit();
    }
    tell_other_gift();
    if (is_claimed_elsewhere() && next_.state == RequestState::pending) make_it_wait();
    approve_automatically();
    return finish();
  }

 private:
  /// Perhaps its gift went out, and this store does not know.
  bool is_claimed_elsewhere() const {
    return sight_.row.claimed && status_ != RequestStatus::rejected && status_ != RequestStatus::sent;
  }
  void make_it_wait() {
    next_.error = kSentElsewhere;
    auto_approved_ = false;
    is_unchecked_ = true;
  }

  /// Without a value at first sight it was made by the CRM's own automation, and the package's default holds.
  /// Later somebody has emptied the field, for example an import: then it is as it was.
  bool auto_approved_without_value() const {
    return first_look_ ? sight_.auto_approved_default : sight_.known.approval == Approval::automatic;
  }

  /// Request Numbers are given out once: the record that was known by this Id was deleted, and this is a new
  /// one.
  bool is_another_record() const {
    const std::string number = sight_.row.text(F::number);
    return !first_look_ && !number.empty() && !sight_.known.number.empty() && sight_.known.number != number;
  }
  /// Nothing that was decided on the old one holds for the new one; but one Id is sent once.
  void forget_predecessor() {
    const std::int64_t version = next_.version;
    const bool was_sent = next_.state == RequestState::sent;
    result_.notes.push_back("request " + sight_.row.text(F::number) + " has the Id of request " +
                            sight_.known.number + ", which was deleted");
    if (was_sent) return;
    next_ = KnownRequest();
    next_.version = version;
    first_look_ = true;
  }

  bool is_backing_off() const {
    return next_.state == RequestState::approved && next_.failures > 0 && next_.due_at &&
           *next_.due_at > now_;
  }
  /// An approver has just decided, and is about to write it into the CRM.
  bool is_in_flight() const {
    return next_.state == RequestState::approved && next_.failures == 0 && next_.due_at &&
           *next_.due_at > now_ && status_ == RequestStatus::pending;
  }

  void move(std::string_view who, std::string_view from, RequestState to, std::string_view comment) {
    result_.change.moves.push_back(
        {now_, std::string(who), std::string(from), std::string(to_word(to)), std::string(comment)});
    next_.state = to;
  }
  void move(std::string_view who, RequestAct act, std::string_view comment) {
    if (const auto to = state_after(next_.state, act)) move(who, told_word(next_.state), *to, comment);
  }

  void approve(Approval how, const std::string& who) {
    next_.approval = how;
    next_.approved_by = who;
    next_.approved_content = sight_.content;
    next_.failures = 0;
    next_.due_at.reset();
    next_.error.clear();
  }
  void forget_approval() {
    next_.approval = Approval::none;
    next_.approved_by.clear();
    next_.approved_content.clear();
    next_.failures = 0;
    next_.due_at.reset();
  }

  /// A gift stands: whatever else is said, this request was sent.
  void note_sent() {
    move(kSelf, told_word(next_.state), RequestState::sent, "its gift was found");
    next_.error.clear();
    next_.approved_content.clear();
    next_.failures = 0;
    next_.due_at.reset();
    next_.shown = RequestStatus::approved;  // nobody has written Sent yet
  }

  /// False: the look ends here.
  bool go_on_with_claim() {
    if (sight_.row.claimed) {
      result_.must_finish = true;
      return false;
    }
    if (next_.due_at && *next_.due_at > now_) return false;  // another daemon is about to make its claim
    next_.state = *state_after(next_.state, RequestAct::release);
    next_.due_at.reset();
    return true;
  }

  /// The first look.
  void meet() {
    const std::string who = who_edited(sight_);
    next_.shown = status_.value_or(RequestStatus::pending);
    if (is_claimed_elsewhere()) {
      move(who, "", RequestState::pending, "first seen while it was being sent");
    } else if (!status_) {
      move(who, "", RequestState::pending, "first seen");
      next_.error = refusal(RequestState::pending, sight_.row.text(F::status));
    } else if (*status_ == RequestStatus::pending) {
      move(who, "", RequestState::pending, "first seen");
    } else if (*status_ == RequestStatus::approved) {
      move(who, "", RequestState::approved, "first seen as Approved: the CRM's own approval");
      approve(Approval::person, who);
    } else if (*status_ == RequestStatus::rejected) {
      move(who, "", RequestState::rejected, "first seen as Rejected");
    } else {
      move(who, "", RequestState::sent, "first seen as Sent: giftsync sent nothing for it");
      next_.error =
          "giftsync sent no gift for this request: it was Sent when it was first seen. Make a new request.";
      result_.notes.push_back("request " + next_.number +
                              " was Sent when it was first seen; no gift is sent for it");
    }
  }

  /// Approval binds to the content.
  void withdraw_if_changed() {
    if (next_.state != RequestState::approved) return;
    const bool changed = sight_.content != next_.approved_content;
    const bool unchecked = next_.approval == Approval::automatic && !auto_approved_;
    if (!changed && !unchecked) return;
    const std::string_view why = unchecked ? kUnchecked : kChanged;
    move(who_edited(sight_), RequestAct::withdraw, why);
    forget_approval();
    next_.error = why;
  }

  /// Somebody edited Request Status; legal edits are honoured, others are put back.
  void take_edit() {
    if (status_ == shown_status(next_.state)) return;
    if (status_ == next_.shown) return;
    const std::string who = who_edited(sight_);
    const auto act = status_ ? act_of_edit(next_.state, *status_) : std::nullopt;
    if (act) {
      move(who, *act, "edited in the CRM");
      if (*act == RequestAct::approve) {
        approve(Approval::person, who);
      } else {
        forget_approval();
        next_.error.clear();
      }
      return;
    }
    if (is_own_write_lost()) return;
    next_.error = refusal(next_.state, sight_.row.text(F::status));
    if (next_.state == RequestState::approved) {
      ++next_.failures;
      next_.due_at = now_ + kPutBackRestMillis;
    }
    result_.notes.push_back("request " + next_.number + ": " + next_.error + " Put back; it was edited by " +
                            who);
  }

  /// The Gift Id of a sent request stays as somebody edited it; its Error Log says what was sent for as long
  /// as the two differ, behind whatever else it says.
  void tell_other_gift() {
    if (next_.state != RequestState::sent || !sight_.gift_sent) return;
    const std::string told = told_of_other_gift(*sight_.gift_sent);
    std::string error(schema::trimmed(next_.error.substr(0, next_.error.find(told))));
    if (gift_of(sight_.row) != sight_.gift_sent) error += (error.empty() ? "" : " ") + told;
    next_.error = error_log_text(error);
    const bool is_news = next_.error.ends_with(told) && !sight_.known.error.ends_with(told);
    if (is_news)
      result_.notes.push_back("request " + next_.number + ": " + told + " It was edited by " +
                              who_edited(sight_));
  }

  /// The write that was to follow an approval was not made: it is simply made now. Until a look has found it
  /// made the request is due.
  bool is_own_write_lost() const {
    return next_.state == RequestState::approved && status_ == RequestStatus::pending &&
           sight_.known.due_at && sight_.known.failures == 0;
  }

  void approve_automatically() {
    if (next_.state != RequestState::pending || !auto_approved_ || !status_) return;
    const bool from_default = !sight_.row.checked(F::auto_approved).has_value();
    move("Auto-Approved", RequestAct::auto_approve, from_default ? "by the package's default" : "");
    approve(Approval::automatic, "Auto-Approved");
  }

  RequestJudgement leave_unreadable() {
    result_.notes.push_back("request " + next_.number + ": its " + sight_.row.unreadable +
                            " holds bytes that are no text; correct it in the CRM");
    next_.due_at.reset();
    result_.is_changed = sight_.known.version > 0 && !(next_ == sight_.known);
    result_.change.next = std::move(next_);
    return std::move(result_);
  }
  RequestJudgement leave_in_flight() {
    result_.change.next = sight_.known;
    return std::move(result_);
  }

  void plan_write() {
    schema::RequestWrite& write = result_.write;
    write.as_read = sight_.row;
    const RequestStatus wanted = shown_status(next_.state);
    if (status_ != wanted) write.status = wanted;
    if (next_.error != sight_.row.text(F::error_log)) write.error_log = next_.error;
    if (next_.state == RequestState::sent || next_.state == RequestState::rejected) {
      if (sight_.row.claimed) write.claimed = false;
    } else {
      if (sight_.row.claimed) write.claimed = false;  // by nobody who is still there
      if (!sight_.row.checked(F::auto_approved) || is_unchecked_) write.auto_approved = auto_approved_;
      write.item_link = sight_.item_link;
    }
    result_.is_written =
        write.status || write.error_log || write.claimed || write.auto_approved || write.item_link;
    next_.shown = shown_after(wanted);
  }

  /// As long as Approved may stand in the CRM by our own doing it counts as shown: a write that was lost must
  /// never look like somebody's approval.
  RequestStatus shown_after(RequestStatus wanted) const {
    if (wanted == RequestStatus::approved || status_ == wanted) return wanted;
    return status_.value_or(next_.shown);
  }

  RequestJudgement finish() {
    if (next_.state != RequestState::claimed) {
      plan_write();
      result_.may_claim = next_.state == RequestState::approved && !is_backing_off();
      // What was to follow may break off: then this brings the request back.
      const bool is_to_follow = result_.is_written || result_.may_claim;
      if (is_to_follow && !next_.due_at) next_.due_at = now_ + kWriteInFlightMillis;
    }
    // Taking a claim away needs the book's word: whoever has just made it has a newer version there.
    result_.is_changed = !(next_ == sight_.known) || !result_.change.moves.empty() || result_.write.claimed;
    result_.change.next = std::move(next_);
    return std::move(result_);
  }

  const RequestSight& sight_;
  const schema::UtcMillis now_;
  KnownRequest next_;
  std::optional<RequestStatus> status_;
  bool first_look_;
  bool auto_approved_ = false;
  bool is_unchecked_ = false;  ///< by us, so that it waits
  RequestJudgement result_;
};

}  // namespace

RequestJudgement judge(const RequestSight& sight, schema::UtcMillis now) {
  return Look(sight, now).run();
}

RequestJudgement judge_deleted(const KnownRequest& known, bool has_gift, schema::UtcMillis now) {
  RequestJudgement result;
  KnownRequest& next = result.change.next = known;
  if (known.deleted && !known.due_at) return result;
  next.deleted = true;
  next.due_at.reset();
  if (has_gift) {
    if (known.state != RequestState::sent)
      result.change.moves.push_back({now, std::string(kSelf), std::string(told_word(known.state)),
                                     std::string(to_word(RequestState::sent)), "its gift was found"});
    next.state = RequestState::sent;
  } else if (known.state != RequestState::sent && known.state != RequestState::rejected) {
    // Should a record with this Id come back, nobody has approved it.
    const std::string comment = "deleted in the CRM before it was sent";
    result.change.moves.push_back({now, "somebody in the CRM", std::string(told_word(known.state)),
                                   std::string(to_word(RequestState::pending)), comment});
    result.notes.push_back("request " + known.number + " was " + comment + "; no gift is sent for it");
    next.state = RequestState::pending;
    next.shown = RequestStatus::pending;
    next.approval = Approval::none;
    next.approved_by.clear();
    next.failures = 0;
    next.error.clear();
  }
  next.approved_content.clear();
  result.is_changed = !(next == known);
  return result;
}

std::string error_log_text(std::string_view text) {
  return std::string(schema::truncated(text, 255));
}

}  // namespace giftsync::sync
