// crm/sql/managed: request records in crm_request_record, the change events that its triggers insert, and
// the people and opportunities that request records refer to. Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crm/request_records.h"
#include "schema/sql/database.h"

namespace giftsync::crm::managed {

class ManagedRequestRecords : public RequestRecords {
 public:
  /// `user` becomes Last Modified By, unless it is empty.
  ManagedRequestRecords(sql::Database& database, std::string user)
      : database_(database), user_(std::move(user)) {}

  std::vector<RequestRecordEvent> events(std::size_t limit) override;
  void acknowledge(std::span<const std::int64_t> event_ids) override;
  void enqueue_open() override;
  std::vector<RequestRecord> find(std::span<const std::string> ids) override;
  std::optional<RequestRecord> find_one(const std::string& number_or_id) override;
  std::vector<RequestRecord> page(const std::string& after, std::optional<RequestRecordStatus> status,
                                  std::size_t limit) override;
  std::vector<RowResult> update(std::span<const RequestRecordUpdate> rows) override;
  std::vector<RequestRecord> create(std::span<const NewRequestRecord> rows) override;
  std::vector<Person> find_persons(PersonObject object, std::span<const std::string> ids) override;
  std::vector<Opportunity> find_opportunities(std::span<const std::string> ids) override;

 private:
  sql::Database& database_;
  const std::string user_;
};

}  // namespace giftsync::crm::managed
