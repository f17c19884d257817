#include "tests/daemon/console/console_work_fixture.h"

namespace giftsync::console {

ConsoleWork::ConsoleWork() {
  settings_.file = "/etc/giftsync/giftsyncd.yaml";
  settings_.requests.enabled = true;
  options_.in_force = &settings_;
  options_.crm.crm = &crm_;
  options_.on_request_decided = [this] { ++decided_; };
  console_ = std::make_unique<Console>(store_, options_);
  store::GiftItem coffee;
  coffee.id = {7};
  coffee.name = "Coffee";
  coffee.costs = {Money{500}, Money{200}, std::nullopt, Money{35}};
  store_.catalogue.import(std::span(&coffee, 1));
}

void ConsoleWork::insert(const std::string& id, const std::string& message, const std::string& requested_by) {
  crm_.insert(id, message, false);
  store::RequestRecordEntryUpdate change;
  change.next.record_id = id;
  change.next.number = "R-" + id;
  change.next.requested_by = requested_by;
  change.transitions = {{now_, "ana", "", "pending", "first seen"}};
  store_.request_records.save(std::span(&change, 1));
}

void ConsoleWork::fail(const std::string& id, const std::string& error) {
  store::RequestRecordEntryUpdate change;
  change.next = known(id);
  change.next.error = error;
  store_.request_records.save(std::span(&change, 1));
}

store::RequestRecordEntry ConsoleWork::known(const std::string& id) {
  return store_.request_records.find(std::span(&id, 1)).front();
}

std::string ConsoleWork::seen_in(const std::string& page, const std::string& action) {
  const std::string key = "name=\"seen\" value=\"";
  const std::size_t at = page.find(key, page.find("action=\"" + action + "\"")) + key.size();
  return page.substr(at, page.find('"', at) - at);
}

http::HttpResponse ConsoleWork::press(const std::string& page, const std::string& path,
                                      const std::string& note) {
  return post(path,
              "form_token=" + form_token_in(page, path) + "&seen=" + seen_in(page, path) + "&note=" + note);
}

http::HttpResponse ConsoleWork::press_plain(const std::string& page, const std::string& path,
                                            const std::string& more) {
  return post(path, "form_token=" + form_token_in(page, path) + more);
}

std::string ConsoleWork::form_secret() {
  return store_.console_sessions.find(sha256_hex(cookie_), now_, {0})->form_secret;
}

store::AuditEvent ConsoleWork::last_event() {
  return store_.audit.list(store::Viewer::of_command_line(), {}, 1).front();
}

OrganizationId ConsoleWork::organization(const std::string& name) {
  store::Credential token;
  token.hash = name;
  return store_.organizations.create(name, token).value();
}

TransactionId ConsoleWork::gift() {
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.created_at = now_;
  request.recipients = {{"ada@example.com", "", "", ""}};
  return store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
}

TransactionId ConsoleWork::gift_of_request(const std::string& id, AccountId account,
                                           const std::string& requested_by) {
  insert(id, "Thank you!", requested_by);
  store::RequestRecordEntryUpdate change;
  change.next = known(id);
  change.next.state = State::claimed;
  change.next.approved_by = "ben@example.com";
  change.transitions = {{now_ - kMinuteMillis, "ben@example.com", "pending", "approved", "a note"}};
  store_.request_records.save(std::span(&change, 1));
  store::NewGiftRequest request;
  request.request.account = account;
  request.request.created_at = now_;
  request.recipients = {{"ada@example.com", "", "", ""}};
  store::RequestRecordLink link;
  link.record_id = id;
  link.entry_version = known(id).version;
  request.request_record = link;
  return store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
}

TransactionId ConsoleWork::held_mail() {
  const TransactionId id = gift();
  const auto claims = store_.deliveries.claim("a", 60'000, 10, now_);
  const store::DeliveryQueue::Sending sending{claims.front(), "m1@example.com"};
  store_.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now_);
  const store::DeliveryOutcome outcome{id, 1, DeliveryState::held, now_, kMarkup, false, {}};
  store_.deliveries.finish(std::span(&outcome, 1), now_);
  return id;
}

}  // namespace giftsync::console
