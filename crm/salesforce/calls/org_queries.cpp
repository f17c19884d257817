#include "crm/salesforce/calls/org_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "platform/dependency_error.h"

namespace giftsync::salesforce {
namespace {

/// A statement that begins again more often is not answered any more.
constexpr int kMostBeginnings = 3;

/// A statement while it is read.
struct Reading {
  std::size_t question = 0;
  std::size_t first = 0;  ///< of its question's values
  std::size_t count = 0;
  std::string soql;
  std::string next_url;  ///< of the next page; empty: the first one
  int beginnings = 1;
  std::vector<const JsonValue*> rows = {};
  bool is_dropped = false;  ///< asked again in smaller statements
};

class Asking {
 public:
  Asking(OrgCalls& calls, std::span<const Question> questions, Spending spending)
      : calls_(calls), questions_(questions), spending_(spending) {
    for (std::size_t i = 0; i < questions.size(); ++i) add(i, 0, questions[i].count);
  }

  Answers run() {
    while (!pending_.empty()) ask_some();
    answers_.of_question.resize(questions_.size());
    for (const Reading& reading : readings_) {
      std::vector<const JsonValue*>& rows = answers_.of_question[reading.question].rows;
      if (!reading.is_dropped) rows.insert(rows.end(), reading.rows.begin(), reading.rows.end());
    }
    return std::move(answers_);
  }

 private:
  void add(std::size_t question, std::size_t first, std::size_t count) {
    if (count == 0) return;
    for (Statement& statement : questions_[question].statements(first, count)) {
      pending_.push_back(readings_.size());
      readings_.push_back(
          {question, first + statement.first, statement.count, std::move(statement.soql), {}});
    }
  }

  PartRequest part_of(const Reading& reading, std::size_t number) const {
    std::string reference = fmt::format("q{}", number);
    if (reading.next_url.empty())
      return query_part(calls_.api_version(), reading.soql, std::move(reference),
                        questions_[reading.question].is_all);
    return {"GET", reading.next_url, std::move(reference)};
  }

  void ask_some() {
    std::vector<PartRequest> parts;
    for (std::size_t i = 0; i < std::min(kMaxHeavyParts, pending_.size()); ++i)
      parts.push_back(part_of(readings_[pending_[i]], i));
    const std::size_t fitting = group_parts(parts).front().size();
    parts.resize(fitting);
    const std::vector<std::size_t> asked(pending_.begin(), pending_.begin() + static_cast<long>(fitting));
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<long>(fitting));
    CompositeAnswer answer = calls_.read(parts, 0, spending_);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const CompositePart* part = find_part(answer.parts, parts[i].reference);
      if (!part) throw giftsync::DependencyError(true, "Salesforce did not answer a part of a call");
      take(asked[i], *part);
    }
    answers_.bodies.push_back(std::move(answer.body));
    if (!answers_.as_of) answers_.as_of = answer.as_of;  // the first call began first
  }

  void take(std::size_t number, const CompositePart& part) {
    if (!is_success(part.status)) return take_error(number, part);
    const tl::expected<QueryPage, Fault> page = query_page(*part.body);
    if (!page) throw giftsync::DependencyError(true, "Salesforce: " + page.error());
    Reading& reading = readings_[number];
    for (const JsonValue& row : page->records) reading.rows.push_back(&row);
    reading.next_url = page->next_url;
    if (!page->is_last) pending_.push_back(number);
  }

  void take_error(std::size_t number, const CompositePart& part) {
    const std::vector<ApiError> errors = request_errors(*part.body);
    const ApiError error =
        errors.empty() ? ApiError{fmt::format("HTTP {}", part.status), "", {}} : errors.front();
    const ErrorClass found = classify(error, {Operation::query, false, part.status, {}});
    if (found == ErrorClass::query_too_heavy && readings_[number].count > 1) return halve(number);
    if (found == ErrorClass::query_too_heavy)
      throw giftsync::DependencyError(
          true, "Salesforce cannot answer a query (" + error.code + ": " + error.message + ")");
    if (found == ErrorClass::locator_expired && readings_[number].beginnings < kMostBeginnings)
      return begin_again(readings_[number], number);
    calls_.stop(error, found, spending_);
  }

  void halve(std::size_t number) {
    readings_[number].is_dropped = true;
    const std::size_t question = readings_[number].question;
    const std::size_t first = readings_[number].first;
    const std::size_t count = readings_[number].count;
    add(question, first, count / 2);
    add(question, first + count / 2, count - count / 2);
  }

  void begin_again(Reading& reading, std::size_t number) {
    ++reading.beginnings;
    reading.rows.clear();
    reading.next_url.clear();
    pending_.push_back(number);
  }

  OrgCalls& calls_;
  const std::span<const Question> questions_;
  const Spending spending_;
  std::deque<Reading> readings_;
  std::deque<std::size_t> pending_;  ///< positions in readings_
  Answers answers_;
};

}  // namespace

Question question_of(std::string soql, bool is_all) {
  return {1,
          [soql = std::move(soql)](std::size_t, std::size_t) {
            return std::vector<Statement>{{soql, 0, 1}};
          },
          is_all};
}

Answers ask(OrgCalls& calls, std::span<const Question> questions, Spending spending) {
  return Asking(calls, questions, spending).run();
}

}  // namespace giftsync::salesforce
