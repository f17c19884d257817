#include "tests/support/in_memory_request_crm.h"

#include <algorithm>

namespace giftsync::tests {

RequestRecord& InMemoryRequestCrm::insert(const std::string& id, const std::string& message,
                                          std::optional<bool> auto_approved, const std::string& status) {
  Record& row = rows[id];
  row = Record();
  row.id = id;
  row.set(Field::number, "R-" + id);
  row.set(Field::gift_id, std::string("7"));
  row.set(Field::recipient_email, id + "@example.com");
  row.set(Field::message, message);
  row.set(Field::sender, std::string("005A"));
  row.set(Field::status, status);
  if (auto_approved) row.set(Field::auto_approved, *auto_approved);
  add_change_event(id);
  return row;
}

void InMemoryRequestCrm::edit(const std::string& id, Field field, FieldValue value) {
  const auto row = rows.find(id);
  if (row == rows.end()) return;
  row->second.set(Field::last_modified_by, std::string("005B"));
  edit_anonymously(id, field, std::move(value));
}

void InMemoryRequestCrm::edit_anonymously(const std::string& id, Field field, FieldValue value) {
  const auto row = rows.find(id);
  if (row == rows.end()) return;
  row->second.set(field, std::move(value));
  add_change_event(id);
}

void InMemoryRequestCrm::remove(const std::string& id) {
  if (rows.erase(id) > 0) add_change_event(id);
}

std::string InMemoryRequestCrm::text(const std::string& id, Field field) const {
  const auto row = rows.find(id);
  return row == rows.end() ? "deleted" : row->second.text(field);
}

std::vector<crm::RequestRecordEvent> InMemoryRequestCrm::events(std::size_t limit) {
  return call([&] {
    const auto some = static_cast<std::ptrdiff_t>(std::min(limit, change_events.size()));
    return std::vector<crm::RequestRecordEvent>(change_events.begin(), change_events.begin() + some);
  });
}

void InMemoryRequestCrm::acknowledge(std::span<const std::int64_t> acked) {
  call([&] {
    return std::erase_if(change_events, [&](const auto& one) {
      return std::find(acked.begin(), acked.end(), one.id) != acked.end();
    });
  });
}

void InMemoryRequestCrm::enqueue_open() {
  for (const auto& [id, row] : rows) add_change_event(id);
}

std::vector<RequestRecord> InMemoryRequestCrm::find(std::span<const std::string> ids) {
  return call([&] {
    std::vector<Record> found;
    for (const std::string& id : ids) {
      if (const auto row = rows.find(id); row != rows.end()) found.push_back(row->second);
    }
    return found;
  });
}

std::optional<RequestRecord> InMemoryRequestCrm::find_one(const std::string& name) {
  return call([&]() -> std::optional<Record> {
    for (const auto& [id, row] : rows) {
      if (id == name || row.text(Field::number) == name) return row;
    }
    return std::nullopt;
  });
}

std::vector<crm::RowResult> InMemoryRequestCrm::update(std::span<const crm::RequestRecordUpdate> writes) {
  return call([&] {
    std::vector<crm::RowResult> results;
    for (const crm::RequestRecordUpdate& write : writes) results.push_back(apply(write));
    return results;
  });
}

std::vector<crm::Person> InMemoryRequestCrm::find_persons(crm::PersonObject,
                                                          std::span<const std::string> ids) {
  std::vector<crm::Person> found;
  for (const std::string& id : ids) {
    if (const auto one = contacts.find(id); one != contacts.end()) found.push_back(one->second);
  }
  return found;
}

std::vector<RequestRecord> InMemoryRequestCrm::page(const std::string&, std::optional<RequestRecordStatus>,
                                                    std::size_t) {
  return {};
}

bool InMemoryRequestCrm::is_as_read(const Record& row, const Record& read) {
  const auto same = [&](Field field) { return row.get(field) == read.get(field); };
  bool all = same(Field::status) && same(Field::auto_approved) && row.claimed == read.claimed;
  for (const Field field : approval_bound_fields()) all = all && same(field);
  return all;
}

crm::RowResult InMemoryRequestCrm::apply(const crm::RequestRecordUpdate& write) {
  using Kind = crm::RowResult::Kind;
  const auto found = rows.find(write.expected.id);
  if (found == rows.end()) return {Kind::not_found, "deleted"};
  Record& row = found->second;
  if (refused.contains(row.id)) return {Kind::rejected, "not on Sundays"};
  if (!is_as_read(row, write.expected)) return {Kind::unchanged, "changed just now"};
  if (write.status) row.set(Field::status, std::string(to_word(*write.status)));
  if (write.error_log) row.set(Field::error_log, *write.error_log);
  if (write.auto_approved) row.set(Field::auto_approved, *write.auto_approved);
  if (write.item_link) row.set(Field::item_link, *write.item_link);
  if (write.claimed) row.claimed = *write.claimed;
  if (!integration_user.empty()) row.set(Field::last_modified_by, integration_user);
  add_change_event(row.id);
  return {Kind::updated, ""};
}

}  // namespace giftsync::tests
