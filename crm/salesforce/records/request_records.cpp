#include "crm/salesforce/records/request_records.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/calls/row_writes.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/person_matching.h"
#include "crm/salesforce/records/statements.h"
#include "platform/dependency_error.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {
using crm::NewRequestRecord;
using crm::Person;
using crm::PersonObject;

using Ids = std::span<const std::string>;

/// In the short form: one that is given in both is asked for once.
std::vector<std::string> asked_ids(Ids ids) {
  std::vector<std::string> asked;
  for (const std::string& id : ids)
    if (is_record_id(id)) asked.push_back(short_id(id));
  return distinct(std::move(asked));
}

/// The caller's spelling of an Id, by its short form.
std::map<std::string, std::string> spellings(Ids ids) {
  std::map<std::string, std::string> as_given;
  for (const std::string& id : ids) as_given.emplace(short_id(id), id);
  return as_given;
}

std::string text(const ApiNames& names, const JsonValue& row, std::string_view object,
                 std::string_view field) {
  const std::string name = names.field(object, field);
  return name.empty() ? std::string() : text_of_value(value_at(row, name));
}

/// A record that is there already was created by an earlier attempt.
void check_creation(const RowWrite& write, const ApiNames& names) {
  const RowAnswer& answer = write.answer;
  if (answer.is_answered && answer.written.is_success) return;
  if (!answer.is_answered)
    throw giftsync::DependencyError(
        true, write.reason.empty() ? "Salesforce did not say whether the request record was created"
                                   : write.reason);
  const ApiError error = first_error(answer.written.errors);
  const ErrorClass found = classify(error, answer.context(names.field(OwnField::creation_key)));
  if (found == ErrorClass::already_created) return;
  const bool is_transient = policy_for(found).next == Treatment::Next::retry;
  throw giftsync::DependencyError(is_transient, fmt::format("Salesforce refuses the request record ({}: {})",
                                                            error.code, visible_text(error.message)));
}

}  // namespace

SalesforceRequestRecords::SalesforceRequestRecords(OrgCalls& calls, const ApiNames& names,
                                                   RequestPollOptions poll, Clock clock)
    : calls_(calls), names_(names), poll_(calls, names, std::move(poll), std::move(clock)) {}

std::vector<RequestRecord> SalesforceRequestRecords::records_of(const Query& query) {
  std::vector<RequestRecord> found;
  const Answers answers = ask(calls_, std::span(&query, 1), CallPurpose::requests);
  for (const JsonValue* row : answers.of_query.front().rows) {
    ReadRecord<RequestRecord> read = read_request(names_, *row);
    read.record.revision = to_text({read.last_modified, *answers.as_of});
    revisions_.forget(read.id);
    found.push_back(std::move(read.record));
  }
  return found;
}

std::vector<RequestRecord> SalesforceRequestRecords::find(Ids ids) {
  poll_.apply_learned();
  const std::vector<std::string> asked = asked_ids(ids);
  return records_of(query_of(Ids(asked), [this](Ids some) { return requests_by_id(names_, some); }));
}

std::optional<RequestRecord> SalesforceRequestRecords::find_one(const std::string& number_or_id) {
  std::vector<RequestRecord> found = find(std::span(&number_or_id, 1));
  if (found.empty()) {
    if (const auto soql = request_by_number(names_, number_or_id)) found = records_of(query_of(*soql));
  }
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::vector<RequestRecord> SalesforceRequestRecords::page(const std::string& after,
                                                          std::optional<RequestRecordStatus> status,
                                                          std::size_t limit) {
  poll_.apply_learned();
  const auto soql = limit == 0 ? std::nullopt : request_page(names_, after, status, limit);
  return soql ? records_of(query_of(*soql)) : std::vector<RequestRecord>();
}

std::vector<crm::RowResult> SalesforceRequestRecords::update(std::span<const crm::RequestRecordUpdate> rows) {
  poll_.apply_learned();
  return RequestUpdates(calls_, names_, revisions_).run(rows);
}

/// The creation key is unique, so a lost answer may be repeated.
std::vector<RequestRecord> SalesforceRequestRecords::create(std::span<const NewRequestRecord> rows) {
  poll_.apply_learned();
  std::vector<WriteRow> written;
  std::vector<std::string> keys;
  for (const NewRequestRecord& row : rows) {
    written.push_back({Operation::create, request_create_row(names_, row)});
    keys.push_back(row.creation_key);
  }
  for (const RowWrite& write : write_rows(calls_, written, CallPurpose::requests))
    check_creation(write, names_);
  std::map<std::string, RequestRecord> by_key;
  const Query query = query_of(Ids(keys), [this](Ids some) { return requests_by_key(names_, some); });
  const Answers answers = ask(calls_, std::span(&query, 1), CallPurpose::requests);
  for (const JsonValue* row : answers.of_query.front().rows) {
    ReadRecord<RequestRecord> read = read_request(names_, *row);
    read.record.revision = to_text({read.last_modified, *answers.as_of});
    by_key.emplace(text_of_value(value_at(*row, names_.field(OwnField::creation_key))),
                   std::move(read.record));
  }
  std::vector<RequestRecord> records;
  for (const std::string& key : keys) {
    const auto found = by_key.find(key);
    if (found == by_key.end())
      throw giftsync::DependencyError(false,
                                      "the request record was created in Salesforce and is not there any "
                                      "more; it was deleted, or the integration user does not see it");
    records.push_back(found->second);
  }
  poll_.enqueue(records);
  return records;
}

std::vector<Person> SalesforceRequestRecords::find_persons(PersonObject object, Ids ids) {
  const std::vector<std::string> asked = asked_ids(ids);
  const std::map<std::string, std::string> as_given = spellings(ids);
  const std::string_view word = object == PersonObject::contact ? "contact" : "lead";
  std::vector<Person> found;
  each_row(calls_, query_of(Ids(asked), [&](Ids some) { return persons_by_id(names_, object, some); }),
           CallPurpose::requests, [&](const JsonValue& row) {
             Person person;
             person.id = as_given.at(short_id(text_at(row, "Id")));
             person.email = text(names_, row, word, "Email");
             person.first_name = text(names_, row, word, "FirstName");
             person.last_name = text(names_, row, word, "LastName");
             if (object == PersonObject::contact) person.account_id = text(names_, row, word, "AccountId");
             found.push_back(std::move(person));
           });
  return found;
}

std::vector<crm::Opportunity> SalesforceRequestRecords::find_opportunities(Ids ids) {
  const std::vector<std::string> asked = asked_ids(ids);
  const std::map<std::string, std::string> as_given = spellings(ids);
  std::vector<crm::Opportunity> found;
  each_row(calls_, query_of(Ids(asked), [&](Ids some) { return opportunities_by_id(names_, some); }),
           CallPurpose::requests, [&](const JsonValue& row) {
             crm::Opportunity opportunity;
             opportunity.id = as_given.at(short_id(text_at(row, "Id")));
             opportunity.name = text(names_, row, "opportunity", "Name");
             opportunity.account_id = text(names_, row, "opportunity", "AccountId");
             opportunity.stage = text(names_, row, "opportunity", "StageName");
             found.push_back(std::move(opportunity));
           });
  return found;
}

}  // namespace giftsync::salesforce
