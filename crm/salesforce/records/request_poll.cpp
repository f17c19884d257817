#include "crm/salesforce/records/request_poll.h"

#include <algorithm>
#include <utility>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/records/outbound_message.h"
#include "crm/salesforce/records/person_matching.h"
#include "crm/salesforce/records/statements.h"
#include "platform/dependency_error.h"
#include "platform/text.h"

namespace giftsync::salesforce {
namespace {

/// As many calls may follow each other without a pause between them; the others come one by one over the day.
constexpr std::int64_t kCallsAtOnce = 96;
constexpr std::int64_t kMillisPerCall = kDayMillis / (kMostPollsPerDay - kCallsAtOnce) + 1;

}  // namespace

std::int64_t PollPace::calls_left(UtcMillis now) const {
  if (calls_ < 0) return kCallsAtOnce;
  const std::int64_t passed = std::max<std::int64_t>(0, now.value - counted_at_.value);
  return std::min(kCallsAtOnce, calls_ + passed / kMillisPerCall);
}

/// A clock that was set back makes the poll due, rather than never.
bool PollPace::is_due(UtcMillis now) const {
  const std::int64_t most = std::max(options_.most_wait_millis, options_.most_refused_wait_millis);
  const bool has_waited = now >= next_ || next_.value - now.value > most;
  return has_waited && calls_left(now) > 0;
}

void PollPace::note_call(UtcMillis now) {
  const std::int64_t left = calls_left(now);
  const std::int64_t passed = std::max<std::int64_t>(0, now.value - counted_at_.value);
  const bool is_full = calls_ < 0 || left == kCallsAtOnce;
  // The part of an interval that has passed counts for the next call.
  counted_at_ = is_full ? now : UtcMillis{now.value - passed % kMillisPerCall};
  calls_ = left - 1;
  next_ = now + options_.least_wait_millis;
}

void PollPace::note_answer(bool has_changes, UtcMillis now) {
  refusals_ = 0;
  wait_millis_ =
      has_changes ? options_.least_wait_millis : std::min(wait_millis_ * 2, options_.most_wait_millis);
  next_ = now + wait_millis_;
}

void PollPace::note_refusal(UtcMillis now) {
  constexpr int kMostPollDoublings = 10;
  refusals_ = std::min(refusals_ + 1, kMostPollDoublings);
  next_ = now + std::min(options_.least_wait_millis << refusals_, options_.most_refused_wait_millis);
}

void PollPace::hurry() {
  next_ = {};
  refusals_ = 0;
  wait_millis_ = options_.least_wait_millis;
}

namespace {
using crm::RequestRecordEvent;

/// Everything that a poll reads of a record: stamps have whole seconds, so equal ones do not say that nothing
/// was changed.
std::string state_of(const ApiNames& names, const JsonValue& row) {
  const ReadRecord<RequestRecord> read = read_request(names, row);
  return format_values(read.record, names.request_record_fields()) + '\n' +
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

RequestPoll::RequestPoll(OrgCalls& calls, const ApiNames& names, RequestPollOptions options, Clock clock)
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
      options_.facts.save(kRequestCursorFact, to_rfc3339(*cursor));
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

void RequestPoll::enqueue(std::span<const RequestRecord> records) {
  std::vector<std::string> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const RequestRecord& record : records) {
      add(record.id, std::nullopt);
      ids.push_back(record.id);
    }
  }
  if (!options_.pushed.add) return;
  try {
    options_.pushed.add(distinct(std::move(ids)));
  } catch (const giftsync::DependencyError&) {
    // The poll sees them; an error would look as if the records had not been created.
  }
}

template <class Ask>
auto RequestPoll::noting_refusals(const Ask& asking) {
  try {
    return asking();
  } catch (const CallRefusal&) {
    const std::lock_guard lock(mutex_);
    pace_.note_refusal(clock_());
    throw;
  } catch (const giftsync::DependencyPause& pause) {
    // Only an admin can help: the same query is not asked again at once.
    if (pause.transient()) throw;
    const std::lock_guard lock(mutex_);
    pace_.note_refusal(clock_());
    throw;
  }
}

void RequestPoll::poll() {
  const Turn turn(*this);
  if (!turn) return;
  // Before the first query, which would name a campaign that the org does not have.
  noting_refusals([this] { learn_object(); });
  std::vector<Query> asked;
  {
    const std::lock_guard lock(mutex_);
    asked = queries(turn.with_open());
  }
  const Answers answers = noting_refusals([&] { return ask(calls_, asked, CallPurpose::requests); });
  {
    const std::lock_guard lock(mutex_);
    if (turn.with_open()) wants_open_ = false;
    take(answers);
  }
}

namespace {

AnswerBody describe(OrgCalls& calls, const ApiNames& names) {
  return calls.get("/sobjects/" + names.object("request_record") + "/describe", "", CallPurpose::requests);
}

/// `object`: its description.
void learn_campaign(const JsonValue& object, const ApiNames& names, const FactStorage& facts) {
  const std::string campaign = names.complete().field(RequestRecordField::utm_campaign_id);
  const auto fields = list_at(object, "fields");
  const bool is_hidden = std::none_of(fields.begin(), fields.end(), [&](const JsonValue& field) {
    return ascii_lower(text_at(field, "name")) == ascii_lower(campaign);
  });
  facts.save(kRequestCampaignFact, is_hidden ? kNoCampaign : "yes");
  names.hide_campaign(is_hidden);
}

}  // namespace

/// The poll may be off, or a command may come before the first poll of this version: an older package would
/// refuse every query.
void RequestPoll::apply_learned() {
  {
    const std::lock_guard lock(mutex_);
    if (is_campaign_known_) return;
  }
  if (const auto known = options_.facts.load(kRequestCampaignFact)) {
    names_.hide_campaign(*known == kNoCampaign);
  } else {
    try {
      const AnswerBody body = describe(calls_, names_);
      learn_campaign(*body.json(), names_, options_.facts);
    } catch (const giftsync::DependencyError&) {
      return;  // the query or the write itself says why
    }
  }
  const std::lock_guard lock(mutex_);
  is_campaign_known_ = true;
}

/// Once after each start: a package that was removed and deployed again has another prefix, and a newer one
/// has the campaign.
void RequestPoll::learn_object() {
  if (is_object_read_ && options_.facts.load(kRequestObjectFact)) return;
  const AnswerBody body = describe(calls_, names_);
  const std::string key_prefix = text_at(*body.json(), "keyPrefix");
  if (!key_prefix.empty()) store_request_object(options_.facts, key_prefix, text_at(*body.json(), "name"));
  learn_campaign(*body.json(), names_, options_.facts);
  is_object_read_ = true;
}

/// The first poll of all begins in the overlap: what is older is found as an open record.
std::vector<Query> RequestPoll::queries(bool with_open) const {
  const UtcMillis since = cursor_.value_or(clock_()) + -options_.overlap_millis;
  std::vector<Query> queries{query_of(changed_requests(names_, since), true)};
  if (with_open) queries.push_back(query_of(open_requests(names_)));
  return queries;
}

void RequestPoll::take(const Answers& answers) {
  bool has_changes = false;
  for (const JsonValue* row : answers.of_query[0].rows) has_changes |= take_change(*row);
  if (answers.of_query.size() > 1) {
    for (const JsonValue* row : answers.of_query[1].rows) {
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
  const UtcMillis oldest = *cursor_ + -(options_.overlap_millis + kSecondMillis);
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
  cursor_ = text ? from_rfc3339(*text) : std::nullopt;
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

}  // namespace giftsync::salesforce
