#include "crm/salesforce/calls/row_writes.h"

#include <algorithm>
#include <utility>

#include "platform/dependency_error.h"

namespace giftsync::salesforce {
namespace {

/// Whether this answer of a whole part stops the following calls.
bool stops(ErrorClass error_class) {
  const Treatment treatment = policy_for(error_class);
  return treatment.next == Treatment::Next::stop || treatment.next == Treatment::Next::sign_in ||
         !treatment.is_transient;
}

class RowWriteRun {
 public:
  RowWriteRun(OrgCalls& calls, std::span<const WriteRow> rows, CallPurpose purpose)
      : calls_(calls),
        rows_(rows),
        without_reference_(static_cast<std::size_t>(
            std::ranges::find_if(rows, [](const WriteRow& row) { return row.refers_to.has_value(); }) -
            rows.begin())),
        purpose_(purpose),
        writes_(rows.size()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      writes_[i].answer.row = i;
      writes_[i].answer.operation = rows[i].operation;
    }
  }

  std::vector<RowWrite> run() {
    std::size_t done = 0;
    std::size_t most = calls_.rows_per_call();
    if (without_reference_ < rows_.size() && !fits_one_call(most, rows_))
      rows_ = rows_.first(without_reference_);
    try {
      for (; done < rows_.size(); most = calls_.rows_per_call()) {
        const std::size_t some = std::min(most, rows_.size() - done);
        for (const WriteCall& call : write_calls(calls_.api_version(), some, rows_.subspan(done, some)))
          send(call, done);
        done += some;
      }
    } catch (const giftsync::DependencyError& fault) {
      if (!is_any_answered_) throw;
      explain(fault.what(), calls_.rest_after(fault));
    }
    stop_if_no_row_may_be_written();
    return std::move(writes_);
  }

 private:
  void send(const WriteCall& call, std::size_t offset) {
    std::size_t count = 0;
    for (const RowBlock& block : call.blocks) count += block.rows.size();
    tl::expected<CompositeAnswer, LostAnswer> answer = calls_.write(call.parts, count, purpose_);
    const bool is_repeat = !answer;
    if (is_repeat) answer = calls_.write(call.parts, count, purpose_);
    if (!answer) throw giftsync::DependencyError(true, answer.error().reason);
    for (RowAnswer& row_answer : row_answers(call, answer->parts)) {
      RowWrite& write = writes_[offset + row_answer.row];
      row_answer.row += offset;
      write.was_repeated = is_repeat;
      take(write, std::move(row_answer));
    }
  }

  void take(RowWrite& write, RowAnswer answer) {
    if (answer.row >= without_reference_) {
      write.answer = std::move(answer);
      return;
    }
    const bool is_of_part = answer.is_answered && !is_success(answer.status);
    if (is_of_part) {
      const ApiError error = first_error(answer.written.errors);
      const ErrorClass found = classify(error, answer.context({}));
      if (stops(found) && !is_any_answered_) calls_.stop(error, found, purpose_);
      // What only an admin can mend is an answer: these rows rest like one that is refused alone.
      if (stops(found) && policy_for(found).is_transient) {
        write.reason = "Salesforce refused a part of the call: " + error.code + " " + error.message;
        write.retry_after_millis = policy_for(found).retry_after_millis;
        return;
      }
    }
    is_any_answered_ = is_any_answered_ || answer.is_answered;
    write.answer = std::move(answer);
  }

  /// A field or an object that the org does not show refuses each row by itself, and the next ones too.
  void stop_if_no_row_may_be_written() {
    const auto is_refused = [](const RowWrite& write) {
      return write.answer.is_answered && !write.answer.written.is_success &&
             classify(first_error(write.answer.written.errors), write.answer.context({})) ==
                 ErrorClass::fields_differ;
    };
    const std::span<const RowWrite> writes = std::span(writes_).first(without_reference_);
    if (writes.empty() || purpose_ == CallPurpose::backfill || !std::ranges::all_of(writes, is_refused))
      return;
    calls_.stop(first_error(writes_.front().answer.written.errors), ErrorClass::fields_differ, purpose_);
  }

  void explain(const std::string& reason, std::int64_t retry_after_millis) {
    for (RowWrite& write : writes_) {
      if (write.answer.is_answered || !write.reason.empty()) continue;
      write.reason = reason;
      write.retry_after_millis = retry_after_millis;
    }
  }

  OrgCalls& calls_;
  std::span<const WriteRow> rows_;
  const std::size_t without_reference_;  ///< so many come first
  const CallPurpose purpose_;
  std::vector<RowWrite> writes_;
  bool is_any_answered_ = false;
};

}  // namespace

std::string RowWrite::unanswered_reason() const {
  return reason.empty() ? "Salesforce's answer does not say whether the row was written" : reason;
}

std::vector<RowWrite> write_rows(OrgCalls& calls, std::span<const WriteRow> rows, CallPurpose purpose) {
  return RowWriteRun(calls, rows, purpose).run();
}

void write_parts(OrgCalls& calls, std::span<const PartRequest> parts, CallPurpose purpose,
                 const TakePart& take) {
  for (const std::vector<std::size_t>& group : group_parts(parts)) {
    std::vector<PartRequest> some;
    for (const std::size_t at : group) some.push_back(parts[at]);
    const auto answer = calls.write(some, some.size(), purpose);
    const std::string reason =
        answer ? "Salesforce did not answer a part of the call" : answer.error().reason;
    for (const std::size_t at : group)
      take(at, answer ? find_part(answer->parts, parts[at].reference) : nullptr, reason);
  }
}

}  // namespace giftsync::salesforce
