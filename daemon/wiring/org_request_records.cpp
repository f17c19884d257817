#include "daemon/wiring/org_request_records.h"

#include <set>
#include <utility>

#include "platform/clock.h"
#include "platform/dependency_error.h"

namespace giftsync::wiring {
namespace {

/// No message brought these.
constexpr std::int64_t kNoToken = 0;

}  // namespace

salesforce::PushedEvents pushed_events(store::CrmChangeEvents& events) {
  return {[&events](std::size_t limit) {
            std::vector<crm::RequestRecordEvent> pushed;
            for (store::CrmChangeEvent& one : events.list(limit))
              pushed.push_back({one.id, std::move(one.record_id)});
            return pushed;
          },
          [&events](std::span<const std::int64_t> ids) { events.acknowledge(ids); }};
}

std::vector<crm::RequestRecordEvent> OrgRequestRecords::events(std::size_t limit) {
  return connect_().records.events(limit);
}

void OrgRequestRecords::acknowledge(std::span<const std::int64_t> event_ids) {
  connect_().records.acknowledge(event_ids);
}

void OrgRequestRecords::enqueue_open() {
  connect_().records.enqueue_open();
}

std::vector<RequestRecord> OrgRequestRecords::find(std::span<const std::string> ids) {
  return connect_().records.find(ids);
}

std::optional<RequestRecord> OrgRequestRecords::find_one(const std::string& number_or_id) {
  return connect_().records.find_one(number_or_id);
}

std::vector<RequestRecord> OrgRequestRecords::page(const std::string& after,
                                                   std::optional<RequestRecordStatus> status,
                                                   std::size_t limit) {
  return connect_().records.page(after, status, limit);
}

std::vector<crm::RowResult> OrgRequestRecords::update(std::span<const crm::RequestRecordUpdate> rows) {
  return connect_().records.update(rows);
}

/// An error would look as if the records had not been created.
std::vector<RequestRecord> OrgRequestRecords::create(std::span<const crm::NewRequestRecord> rows) {
  const Connected connected = connect_();
  std::vector<RequestRecord> created = connected.records.create(rows);
  std::set<std::string> ids;
  for (const RequestRecord& one : created) ids.insert(one.id);
  try {
    connected.events.add(std::vector<std::string>(ids.begin(), ids.end()), kNoToken, system_now());
  } catch (const DependencyError&) {  // the poll sees them
  }
  return created;
}

std::vector<crm::Person> OrgRequestRecords::find_persons(crm::PersonObject object,
                                                         std::span<const std::string> ids) {
  return connect_().records.find_persons(object, ids);
}

std::vector<crm::Opportunity> OrgRequestRecords::find_opportunities(std::span<const std::string> ids) {
  return connect_().records.find_opportunities(ids);
}

}  // namespace giftsync::wiring
