#include "daemon/salesforce/gift_records.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/salesforce/exact_number.h"
#include "daemon/salesforce/gift_upserts.h"
#include "daemon/salesforce/lookup_targets.h"
#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/soql_text.h"
#include "daemon/salesforce/statements.h"
#include "platform/dependency_error.h"
#include "platform/http_client.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::salesforce {
namespace {

using platform::JsonValue;
using schema::Associations;
using schema::GiftField;
using schema::GiftRecord;
using schema::TransactionId;
using schema::crm::GiftUpsert;
using schema::crm::RowResult;

constexpr std::pair<GiftField, std::string Associations::*> kMatched[] = {
    {GiftField::recipient_contact, &Associations::contact_id},
    {GiftField::account, &Associations::account_id},
    {GiftField::recipient_lead, &Associations::lead_id},
    {GiftField::opportunity, &Associations::opportunity_id}};

/// Nullopt for a record without a valid Transaction Id.
std::optional<TransactionId> transaction_of(const GiftRecord& record) {
  const auto* id = std::get_if<std::int64_t>(&record.get(GiftField::transaction_id));
  return id ? std::optional(TransactionId{*id}) : std::nullopt;
}

/// An Id that no record can have is a lost target, which needs no question.
bool is_impossible(const std::string& id) {
  return !id.empty() && !is_record_id(id);
}

}  // namespace

std::vector<RowResult> SalesforceGiftRecords::upsert(std::span<const GiftUpsert> rows) {
  if (rows.empty()) return {};
  const WriteTurn turn(control_);
  return GiftUpserts(calls_, names_, turn, has_tasks_).run(rows);
}

std::vector<std::vector<GiftField>> SalesforceGiftRecords::missing_lookups(
    std::span<const Associations> links) {
  TargetIds ids;
  for (const Associations& one : links) {
    for (const auto& [field, id] : kMatched)
      if (is_record_id(one.*id)) ids[std::string(target_object(field))].insert(one.*id);
  }
  TargetIds lost = surely_lost_targets(calls_, names_, ids, Spending::backfill);
  std::vector<std::vector<GiftField>> missing(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const auto& [field, id] : kMatched) {
      const std::string& target = links[i].*id;
      if (is_impossible(target) || lost[std::string(target_object(field))].contains(target))
        missing[i].push_back(field);
    }
  }
  return missing;
}

std::vector<GiftRecord> SalesforceGiftRecords::find(std::span<const TransactionId> transactions) {
  return records_of([&] {
    return question_of(transactions, [this](std::span<const TransactionId> some) {
      return gifts_by_transaction(names_, some);
    });
  });
}

std::vector<GiftRecord> SalesforceGiftRecords::records_of(const std::function<Question()>& question) {
  return with_shown_fields(control_.modes, [&] {
    std::vector<GiftRecord> found;
    each_row(calls_, question(), Spending::backfill, [&](const JsonValue& row) {
      GiftRecord record = read_gift(names_, row).record;
      if (transaction_of(record)) found.push_back(std::move(record));
    });
    return found;
  });
}

std::vector<GiftRecord> SalesforceGiftRecords::page(TransactionId after, std::size_t limit) {
  if (limit == 0) return {};
  return records_of([&] { return question_of(gift_page(names_, after, limit)); });
}

std::vector<GiftRecord> SalesforceGiftRecords::page_in_status(schema::Status status, TransactionId after,
                                                              std::size_t limit) {
  if (limit == 0 || !has_field(GiftField::status)) return {};
  return records_of([&] { return question_of(gift_page_in_status(names_, status, after, limit)); });
}

std::vector<TransactionId> SalesforceGiftRecords::transactions_of(const std::string& soql) {
  std::vector<TransactionId> ids;
  each_row(calls_, question_of(soql), Spending::watch, [&](const JsonValue& row) {
    if (const auto id = transaction_of(read_gift(names_, row).record)) ids.push_back(*id);
  });
  return ids;
}

std::vector<TransactionId> SalesforceGiftRecords::transaction_ids_between(TransactionId from,
                                                                          TransactionId below,
                                                                          std::size_t limit) {
  if (limit == 0 || below <= from) return {};
  return transactions_of(transactions_between(names_, from, below, limit));
}

std::vector<TransactionId> SalesforceGiftRecords::transaction_ids_below(TransactionId below,
                                                                        std::size_t limit) {
  if (limit == 0) return {};
  return transactions_of(transactions_below(names_, below, limit));
}

std::vector<TransactionId> SalesforceGiftRecords::transaction_ids_by_email(const std::string& address) {
  const std::optional<std::string> soql = transactions_by_email(names_, address);
  return soql ? transactions_of(*soql) : std::vector<TransactionId>();
}

std::vector<TransactionId> SalesforceGiftRecords::transaction_ids_by_contact(const std::string& contact) {
  const std::optional<std::string> soql = transactions_by_contact(names_, contact);
  return soql ? transactions_of(*soql) : std::vector<TransactionId>();
}

schema::FieldValue SalesforceGiftRecords::as_kept(GiftField field, schema::FieldValue value) const {
  return salesforce::as_kept(schema::descriptor_of(field), std::move(value));
}

/// An object without rows is missing in the answer.
std::int64_t SalesforceGiftRecords::count() {
  const std::string object = names_.object("gift_record");
  const AnswerBody body =
      calls_.get("/limits/recordCount", "sObjects=" + platform::percent_encoded(object), Spending::backfill);
  const JsonValue* counts = body.json()->find("sObjects");
  if (!counts || !counts->is_array())
    throw platform::DependencyError(true, "Salesforce did not answer with counts of records");
  for (const JsonValue& one : counts->elements()) {
    const JsonValue* number = one.find("count");
    if (platform::ascii_lower(text_at(one, "name")) != platform::ascii_lower(object) || !number) continue;
    const std::optional<std::string> digits = number_text(*number);
    return digits ? whole_number(*digits).value_or(0) : 0;
  }
  return 0;
}

}  // namespace giftsync::daemon::salesforce
