// wiring: the request records of an org of Salesforce (crm.type: salesforce) as callers get them before the
// org is connected, and the change events that outbound messages left in the store. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/salesforce/request_poll.h"
#include "schema/crm/request_records.h"
#include "schema/store/crm_change_events.h"

namespace giftsync::wiring {

/// `events` outlives the result.
daemon::salesforce::PushedEvents pushed_events(schema::store::CrmChangeEvents& events);

/// Connects to the store and the org when the first of its functions is called. A record that is created here
/// gets a change event in the store, so that the daemons see it without a poll, whichever process made it.
class OrgRequestRecords : public schema::crm::RequestRecords {
 public:
  struct Connected {
    schema::crm::RequestRecords& records;
    schema::store::CrmChangeEvents& events;
  };
  /// `connect` may throw platform::DependencyError; what it returns outlives this object.
  explicit OrgRequestRecords(std::function<Connected()> connect) : connect_(std::move(connect)) {}

  std::vector<schema::crm::RequestRecordEvent> events(std::size_t limit) override;
  void acknowledge(std::span<const std::int64_t> event_ids) override;
  void enqueue_open() override;
  std::vector<schema::RequestRecord> find(std::span<const std::string> ids) override;
  std::optional<schema::RequestRecord> find_one(const std::string& number_or_id) override;
  std::vector<schema::RequestRecord> page(const std::string& after,
                                          std::optional<schema::RequestRecordStatus> status,
                                          std::size_t limit) override;
  std::vector<schema::crm::RowResult> update(std::span<const schema::crm::RequestRecordUpdate> rows) override;
  std::vector<schema::RequestRecord> create(std::span<const schema::crm::NewRequestRecord> rows) override;
  std::vector<schema::crm::Person> find_persons(schema::crm::PersonObject object,
                                                std::span<const std::string> ids) override;
  std::vector<schema::crm::Opportunity> find_opportunities(std::span<const std::string> ids) override;

 private:
  const std::function<Connected()> connect_;
};

}  // namespace giftsync::wiring
