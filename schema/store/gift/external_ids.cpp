#include "schema/store/gift/external_ids.h"

#include <optional>

#include "platform/text.h"
#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/gift_rows.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;
using Type = sql::BulkInsert::Type;
using TransactionsById = std::map<std::string, TransactionId>;

/// An id that is also a transaction id as a source with transaction_ids: keep writes it.
std::optional<std::int64_t> as_number(const std::string& external_id) {
  const auto number = parse_number<std::int64_t>(external_id);
  if (!number || *number < 1 || *number > kMaxId || std::to_string(*number) != external_id)
    return std::nullopt;
  return number;
}

TransactionsById select_allotted(soci::session& session, const std::string& gift_source,
                                 const std::set<std::string>& external_ids) {
  const std::string list = sql::list_of(session, external_ids);
  std::pair<std::string, TransactionId> row;
  const auto rows = sql::select_rows(
      row, session,
      "SELECT external_id, transaction_id FROM external_transaction WHERE gift_source = :source AND " +
          sql::in_list(session, "external_id", "ids", true),
      use(gift_source), use(list), into(row.first), into(row.second));
  return {rows.begin(), rows.end()};
}

/// The gifts that the source reported under these numbers while it kept its ids.
TransactionsById select_kept(soci::session& session, const std::string& gift_source,
                             const std::set<std::string>& external_ids) {
  std::vector<std::int64_t> numbers;
  for (const std::string& external_id : external_ids) {
    if (const auto number = as_number(external_id)) numbers.push_back(*number);
  }
  if (numbers.empty()) return {};
  const std::string list = sql::list_of(session, numbers);
  TransactionsById kept;
  for (const TransactionId id : sql::select_column<TransactionId>(
           session,
           "SELECT id FROM recipient_transaction WHERE gift_source = :source AND external_id = '' AND " +
               sql::in_list(session, "id", "ids", false),
           use(gift_source), use(list)))
    kept.emplace(std::to_string(id.value), id);
  return kept;
}

void insert_allotted(soci::session& session, const std::string& gift_source,
                     const TransactionsById& allotted) {
  // Sorted by id: two messages that allot the same ids wait for each other instead of blocking each other.
  sql::BulkInsert rows(
      session, "external_transaction",
      {{"external_id", Type::text}, {"gift_source", Type::text}, {"transaction_id", Type::integer}},
      "ON CONFLICT (external_id, gift_source) DO NOTHING");
  for (const auto& [external_id, transaction] : allotted)
    rows.add({external_id, gift_source, transaction.value});
  rows.run(session);
}

std::set<std::string> missing_in(const TransactionsById& known, const std::set<std::string>& external_ids) {
  std::set<std::string> missing;
  for (const std::string& external_id : external_ids) {
    if (!known.contains(external_id)) missing.insert(external_id);
  }
  return missing;
}

}  // namespace

ExternalIds::ExternalIds(std::shared_ptr<sql::Database> database, GiftRequests& gifts)
    : database_(std::move(database)), gifts_(gifts) {}

std::map<std::string, TransactionId> ExternalIds::find_or_allot(const std::string& gift_source,
                                                                const std::set<std::string>& external_ids) {
  if (external_ids.empty()) return {};
  TransactionsById known = database_->read(
      [&](soci::session& session) { return select_allotted(session, gift_source, external_ids); });
  const std::set<std::string> unknown = missing_in(known, external_ids);
  if (unknown.empty()) return known;
  TransactionsById found =
      database_->read([&](soci::session& session) { return select_kept(session, gift_source, unknown); });
  const std::set<std::string> to_allot = missing_in(found, unknown);
  const std::vector<TransactionId> ids = gifts_.allocate_transaction_ids(to_allot.size());
  auto next = ids.begin();
  for (const std::string& external_id : to_allot) found.emplace(external_id, *next++);
  // Another process may have allotted some of them meanwhile: what is stored counts.
  const TransactionsById stored = database_->write_urgent([&](soci::session& session) {
    insert_allotted(session, gift_source, found);
    return select_allotted(session, gift_source, unknown);
  });
  known.insert(stored.begin(), stored.end());
  return known;
}

std::map<std::string, TransactionId> ExternalIds::find_known(const std::string& gift_source,
                                                             const std::set<std::string>& external_ids) {
  if (external_ids.empty()) return {};
  return database_->read([&](soci::session& session) {
    TransactionsById known = select_allotted(session, gift_source, external_ids);
    known.merge(select_kept(session, gift_source, external_ids));
    return known;
  });
}

std::vector<ExternalIds::Found> ExternalIds::find(const std::string& external_id) {
  const std::int64_t number = as_number(external_id).value_or(0);
  return database_->read([&](soci::session& session) {
    Found row;
    return sql::select_rows(
        row, session,
        "SELECT gift_source, transaction_id FROM external_transaction WHERE external_id = :external_id UNION "
        "SELECT gift_source, id FROM recipient_transaction WHERE id = :number AND external_id = '' AND "
        "gift_source NOT IN ('', '" +
            std::string(kAdoptedGiftSource) + "') ORDER BY 1, 2",
        use(external_id), use(number), into(row.gift_source), into(row.transaction));
  });
}

std::map<TransactionId, std::string> ExternalIds::of(std::span<const TransactionId> transactions) {
  if (transactions.empty()) return {};
  const std::string list = sql::list_of(database_->dialect(), transactions);
  return database_->read([&](soci::session& session) {
    std::pair<TransactionId, std::string> row;
    const auto rows = sql::select_rows(row, session,
                                       "SELECT transaction_id, external_id FROM external_transaction WHERE " +
                                           sql::in_list(session, "transaction_id", "ids", false),
                                       use(list), into(row.first), into(row.second));
    return std::map<TransactionId, std::string>(rows.begin(), rows.end());
  });
}

}  // namespace giftsync::store
