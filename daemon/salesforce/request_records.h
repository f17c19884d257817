// daemon/salesforce: the request records of an org that has giftsync's package. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/request_poll.h"
#include "daemon/salesforce/request_updates.h"
#include "schema/crm/request_records.h"

namespace giftsync::daemon::salesforce {

class SalesforceRequestRecords : public schema::crm::RequestRecords {
 public:
  /// `calls` and `names` outlive this object.
  SalesforceRequestRecords(OrgCalls& calls, const ApiNames& names, RequestPollOptions poll,
                           platform::Clock clock);

  std::vector<schema::crm::RequestRecordEvent> events(std::size_t limit) override {
    return poll_.events(limit);
  }
  void acknowledge(std::span<const std::int64_t> event_ids) override { poll_.acknowledge(event_ids); }
  /// Makes no call: the next events() do.
  void enqueue_open() override { poll_.enqueue_open(); }
  std::vector<schema::RequestRecord> find(std::span<const std::string> ids) override;
  std::optional<schema::RequestRecord> find_one(const std::string& number_or_id) override;
  std::vector<schema::RequestRecord> page(const std::string& after,
                                          std::optional<schema::RequestRecordStatus> status,
                                          std::size_t limit) override;
  std::vector<schema::crm::RowResult> update(std::span<const schema::crm::RequestRecordUpdate> rows) override;
  /// Throws platform::DependencyError with the org's words when it refuses a record.
  std::vector<schema::RequestRecord> create(std::span<const schema::crm::NewRequestRecord> rows) override;
  std::vector<schema::crm::Person> find_persons(schema::crm::PersonObject object,
                                                std::span<const std::string> ids) override;
  std::vector<schema::crm::Opportunity> find_opportunities(std::span<const std::string> ids) override;

 private:
  std::vector<schema::RequestRecord> records_of(const Question& question);

  OrgCalls& calls_;
  const ApiNames& names_;
  RequestPoll poll_;
  WrittenRevisions revisions_;
};

}  // namespace giftsync::daemon::salesforce
