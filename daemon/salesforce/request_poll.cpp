#include "daemon/salesforce/request_poll.h"

#include <algorithm>
#include <utility>

#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/request_object.h"
#include "daemon/salesforce/statements.h"
#include "platform/dependency_pause.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using platform::UtcMillis;
using schema::crm::RequestRecordEvent;

/// Everything that a poll reads of a record: stamps have whole seconds, so equal ones do not say that nothing
/// was changed.
std::string state_of(const ApiNames& names, const JsonValue& row) {
  const ReadRecord<schema::RequestRecord> read = read_request(names, row);
  return schema::format_values(read.record, names.request_record_fields()) + '\n' +
         (read.record.claimed ? "claimed\n" : "\n") + read.guard_mark + '\n' + read.last_modified + '\n' +
         text_at(row, "SystemModstamp") + '\n' + text_of_value(row.find("IsDeleted"));
}

}  // namespace

/// One poll at a time; the others go on with what they have.
class RequestPoll::Turn {
 public:
  explicit Turn(RequestPoll& poll) : poll_(poll) {
    const std::lock_guard lock(poll_.mutex_);
    const UtcMillis now = poll_.clock_();
    if (!poll_.options_.is_enabled || poll_.is_polling_ || !poll_.pace_.is_due(now)) return;
    poll_.load_state();
    poll_.pace_.note_call(now);
    poll_.is_polling_ = has_turn_ = true;
    with_open_ = poll_.wants_open_ || !poll_.cursor_;
  }
  ~Turn() {
    const std::lock_guard lock(poll_.mutex_);
    if (has_turn_) poll_.is_polling_ = false;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  explicit operator bool() const { return has_turn_; }
  bool with_open() const { return with_open_; }

 private:
  RequestPoll& poll_;
  bool has_turn_ = false;
  bool with_open_ = false;
};

RequestPoll::RequestPoll(OrgCalls& calls, const ApiNames& names, RequestPollOptions options,
                         platform::Clock clock)
    : calls_(calls),
      names_(names),
      options_(std::move(options)),
      clock_(std::move(clock)),
      pace_(options_.pace) {}

std::vector<RequestRecordEvent> RequestPoll::events(std::size_t limit) {
  std::vector<RequestRecordEvent> found;
  if (options_.pushed.list) found = options_.pushed.list(limit);
  poll();
  const std::lock_guard lock(mutex_);
  for (const auto& [id, pending] : pending_) {
    if (found.size() >= limit) break;
    found.push_back({id, pending.record_id});
  }
  return found;
}

void RequestPoll::acknowledge(std::span<const std::int64_t> event_ids) {
  std::vector<std::int64_t> pushed;
  {
    const std::lock_guard lock(mutex_);
    for (const std::int64_t id : event_ids) {
      if (id > 0) pushed.push_back(id);
      const auto at = pending_.find(id);
      if (at == pending_.end()) continue;
      event_of_record_.erase(at->second.record_id);
      pending_.erase(at);
    }
    const std::optional<UtcMillis> cursor = acknowledged();
    if (cursor && (!saved_ || *cursor > *saved_)) {
      options_.facts.save(kRequestCursorFact, platform::to_rfc3339(*cursor));
      saved_ = cursor;
    }
  }
  if (!pushed.empty() && options_.pushed.acknowledge) options_.pushed.acknowledge(pushed);
}

void RequestPoll::enqueue_open() {
  const std::lock_guard lock(mutex_);
  wants_open_ = true;
  pace_.hurry();
}

void RequestPoll::enqueue(std::span<const schema::RequestRecord> records) {
  const std::lock_guard lock(mutex_);
  for (const schema::RequestRecord& record : records) add(record.id, std::nullopt);
}

void RequestPoll::poll() {
  const Turn turn(*this);
  if (!turn) return;
  std::vector<Question> asked;
  {
    const std::lock_guard lock(mutex_);
    asked = questions(turn.with_open());
  }
  const Answers answers = answers_to(asked);
  {
    const std::lock_guard lock(mutex_);
    if (turn.with_open()) wants_open_ = false;
    take(answers);
  }
  learn_object();
}

Answers RequestPoll::answers_to(std::span<const Question> asked) {
  try {
    return ask(calls_, asked, Spending::requests);
  } catch (const CallRefusal&) {
    const std::lock_guard lock(mutex_);
    pace_.note_refusal(clock_());
    throw;
  } catch (const platform::DependencyPause& pause) {
    // Only an admin can help: the same question is not asked again at once.
    if (pause.transient()) throw;
    const std::lock_guard lock(mutex_);
    pace_.note_refusal(clock_());
    throw;
  }
}

/// Once after each start: a package that was removed and deployed again has another prefix.
void RequestPoll::learn_object() {
  if (is_object_read_ && options_.facts.load(kRequestObjectFact)) return;
  const std::string resource = "/sobjects/" + names_.object("request_record") + "/describe";
  const AnswerBody body = calls_.get(resource, "", Spending::requests);
  const std::string key_prefix = text_at(*body.json(), "keyPrefix");
  if (!key_prefix.empty()) store_request_object(options_.facts, key_prefix, text_at(*body.json(), "name"));
  is_object_read_ = true;
}

/// The first poll of all begins in the overlap: what is older is found as an open record.
std::vector<Question> RequestPoll::questions(bool with_open) const {
  const UtcMillis since = cursor_.value_or(clock_()) + -options_.overlap_millis;
  std::vector<Question> questions{question_of(changed_requests(names_, since), true)};
  if (with_open) questions.push_back(question_of(open_requests(names_)));
  return questions;
}

void RequestPoll::take(const Answers& answers) {
  bool has_changes = false;
  for (const JsonValue* row : answers.of_question[0].rows) has_changes |= take_change(*row);
  if (answers.of_question.size() > 1) {
    for (const JsonValue* row : answers.of_question[1].rows) {
      const std::string id = text_at(*row, "Id");
      if (!event_of_record_.contains(id)) add(id, std::nullopt);
    }
  }
  // What was written before the answer was seen, or is in the overlap of the next poll.
  if (answers.as_of && (!cursor_ || *answers.as_of > *cursor_)) cursor_ = answers.as_of;
  forget_old();
  pace_.note_answer(has_changes, clock_());
}

/// True when the record is not as the last poll saw it.
bool RequestPoll::take_change(const JsonValue& row) {
  const std::string id = text_at(row, "Id");
  const std::optional<UtcMillis> changed_at = read_time(text_at(row, "SystemModstamp"));
  if (id.empty() || !changed_at) return false;
  if (!cursor_ || *changed_at > *cursor_) cursor_ = changed_at;
  Seen seen{*changed_at, state_of(names_, row)};
  const auto known = seen_.find(id);
  if (known != seen_.end() && known->second.state == seen.state) return false;
  seen_.insert_or_assign(id, std::move(seen));
  add(id, changed_at);
  return true;
}

/// A record's second event replaces the first one under another Id: acknowledging the first one does not
/// acknowledge a change that came later.
void RequestPoll::add(const std::string& record_id, std::optional<UtcMillis> changed_at) {
  const auto known = event_of_record_.find(record_id);
  if (known != event_of_record_.end()) {
    if (!changed_at) changed_at = pending_.at(known->second).changed_at;
    pending_.erase(known->second);
  }
  event_of_record_.insert_or_assign(record_id, next_id_);
  pending_.emplace(next_id_--, Pending{record_id, changed_at});
}

/// What no later poll reads again.
void RequestPoll::forget_old() {
  if (!cursor_) return;
  const UtcMillis oldest = *cursor_ + -(options_.overlap_millis + platform::kSecondMillis);
  std::erase_if(seen_, [&](const auto& entry) { return entry.second.changed_at < oldest; });
}

/// Also when another org was accepted meanwhile.
void RequestPoll::load_state() {
  const std::string organization = options_.facts.load(kOrganizationFact).value_or("");
  const bool is_same = organization_.empty() || organization == organization_;
  organization_ = organization;
  if (is_state_loaded_ && is_same) return;
  if (is_state_loaded_) {
    seen_.clear();
    pending_.clear();
    event_of_record_.clear();
    wants_open_ = true;
    is_object_read_ = false;
  }
  const std::optional<std::string> text = options_.facts.load(kRequestCursorFact);
  cursor_ = text ? platform::from_rfc3339(*text) : std::nullopt;
  saved_ = cursor_;
  is_state_loaded_ = true;
}

/// The latest change before which all events are acknowledged.
std::optional<UtcMillis> RequestPoll::acknowledged() const {
  std::optional<UtcMillis> cursor = cursor_;
  for (const auto& [id, pending] : pending_) {
    if (pending.changed_at && cursor) cursor = std::min(*cursor, *pending.changed_at);
  }
  return cursor;
}

}  // namespace giftsync::daemon::salesforce
