#include "crm/salesforce/calls/org_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "platform/dependency_error.h"

namespace giftsync::salesforce {
namespace {

/// A statement that begins again more often is not answered any more.
constexpr int kMostBeginnings = 3;

/// A statement while it is read.
struct QueryRun {
  std::size_t query = 0;
  std::size_t first = 0;  ///< of its query's values
  std::size_t count = 0;
  std::string soql;
  std::string next_url;  ///< of the next page; empty: the first one
  int beginnings = 1;
  std::vector<const JsonValue*> rows = {};
  bool is_dropped = false;  ///< asked again in smaller statements
};

class QueryBatch {
 public:
  QueryBatch(OrgCalls& calls, std::span<const Query> queries, CallPurpose purpose)
      : calls_(calls), queries_(queries), purpose_(purpose) {
    for (std::size_t i = 0; i < queries.size(); ++i) add(i, 0, queries[i].count);
  }

  Answers run() {
    while (!pending_.empty()) ask_some();
    answers_.of_query.resize(queries_.size());
    for (const QueryRun& run : runs_) {
      std::vector<const JsonValue*>& rows = answers_.of_query[run.query].rows;
      if (!run.is_dropped) rows.insert(rows.end(), run.rows.begin(), run.rows.end());
    }
    return std::move(answers_);
  }

 private:
  void add(std::size_t query, std::size_t first, std::size_t count) {
    if (count == 0) return;
    for (Statement& statement : queries_[query].statements(first, count)) {
      pending_.push_back(runs_.size());
      runs_.push_back({query, first + statement.first, statement.count, std::move(statement.soql), {}});
    }
  }

  PartRequest part_of(const QueryRun& run, std::size_t number) const {
    std::string reference = fmt::format("q{}", number);
    if (run.next_url.empty())
      return query_part(calls_.api_version(), run.soql, std::move(reference), queries_[run.query].is_all);
    return {"GET", run.next_url, std::move(reference)};
  }

  void ask_some() {
    std::vector<PartRequest> parts;
    for (std::size_t i = 0; i < std::min(kMaxHeavyParts, pending_.size()); ++i)
      parts.push_back(part_of(runs_[pending_[i]], i));
    const std::size_t fitting = group_parts(parts).front().size();
    parts.resize(fitting);
    const std::vector<std::size_t> asked(pending_.begin(), pending_.begin() + static_cast<long>(fitting));
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<long>(fitting));
    CompositeAnswer answer = calls_.read(parts, 0, purpose_);
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
    QueryRun& run = runs_[number];
    for (const JsonValue& row : page->records) run.rows.push_back(&row);
    run.next_url = page->next_url;
    if (!page->is_last) pending_.push_back(number);
  }

  void take_error(std::size_t number, const CompositePart& part) {
    const std::vector<ApiError> errors = request_errors(*part.body);
    const ApiError error =
        errors.empty() ? ApiError{fmt::format("HTTP {}", part.status), "", {}} : errors.front();
    const ErrorClass found = classify(error, {Operation::query, false, part.status, {}});
    if (found == ErrorClass::query_too_heavy && runs_[number].count > 1) return halve(number);
    if (found == ErrorClass::query_too_heavy)
      throw giftsync::DependencyError(
          true, "Salesforce cannot answer a query (" + error.code + ": " + error.message + ")");
    if (found == ErrorClass::locator_expired && runs_[number].beginnings < kMostBeginnings)
      return begin_again(runs_[number], number);
    calls_.stop(error, found, purpose_);
  }

  void halve(std::size_t number) {
    runs_[number].is_dropped = true;
    const std::size_t query = runs_[number].query;
    const std::size_t first = runs_[number].first;
    const std::size_t count = runs_[number].count;
    add(query, first, count / 2);
    add(query, first + count / 2, count - count / 2);
  }

  void begin_again(QueryRun& run, std::size_t number) {
    ++run.beginnings;
    run.rows.clear();
    run.next_url.clear();
    pending_.push_back(number);
  }

  OrgCalls& calls_;
  const std::span<const Query> queries_;
  const CallPurpose purpose_;
  std::deque<QueryRun> runs_;
  std::deque<std::size_t> pending_;  ///< positions in runs_
  Answers answers_;
};

}  // namespace

Query query_of(std::string soql, bool is_all) {
  return {1,
          [soql = std::move(soql)](std::size_t, std::size_t) {
            return std::vector<Statement>{{soql, 0, 1}};
          },
          is_all};
}

Answers ask(OrgCalls& calls, std::span<const Query> queries, CallPurpose purpose) {
  return QueryBatch(calls, queries, purpose).run();
}

}  // namespace giftsync::salesforce
