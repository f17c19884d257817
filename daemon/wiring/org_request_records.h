// wiring: the request records of an org of Salesforce (crm.type: salesforce) as callers get them before the
// org is connected, and the change events that outbound messages left in the store. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/request_records.h"
#include "crm/salesforce/records/request_poll.h"
#include "schema/store/crm/crm_change_events.h"

namespace giftsync::wiring {

/// `events` outlives the result.
salesforce::PushedEvents pushed_events(store::CrmChangeEvents& events);

/// Connects to the store and the org when the first of its functions is called. A record that is created here
/// gets a change event in the store, so that the daemons see it without a poll, whichever process made it.
class OrgRequestRecords : public crm::RequestRecords {
 public:
  struct Connected {
    crm::RequestRecords& records;
    store::CrmChangeEvents& events;
  };
  /// `connect` may throw DependencyError; what it returns outlives this object.
  explicit OrgRequestRecords(std::function<Connected()> connect) : connect_(std::move(connect)) {}

  std::vector<crm::RequestRecordEvent> events(std::size_t limit) override;
  void acknowledge(std::span<const std::int64_t> event_ids) override;
  void enqueue_open() override;
  std::vector<RequestRecord> find(std::span<const std::string> ids) override;
  std::optional<RequestRecord> find_one(const std::string& number_or_id) override;
  std::vector<RequestRecord> page(const std::string& after, std::optional<RequestRecordStatus> status,
                                  std::size_t limit) override;
  std::vector<crm::RowResult> update(std::span<const crm::RequestRecordUpdate> rows) override;
  std::vector<RequestRecord> create(std::span<const crm::NewRequestRecord> rows) override;
  std::vector<crm::Person> find_persons(crm::PersonObject object, std::span<const std::string> ids) override;
  std::vector<crm::Opportunity> find_opportunities(std::span<const std::string> ids) override;

 private:
  const std::function<Connected()> connect_;
};

}  // namespace giftsync::wiring
