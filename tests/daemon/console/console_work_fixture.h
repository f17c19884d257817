// A console over a store and a CRM in memory with request records, a catalogue, and what people do on its
// pages.
#pragma once

#include <gmock/gmock.h>

#include "tests/daemon/console/console_fixture.h"
#include "tests/support/in_memory_request_crm.h"

namespace giftsync::console {

/// Whose user 005B has the address of ben.
class PeopleCrm : public tests::InMemoryRequestCrm {
 public:
  class Users : public tests::EmptyDirectory {
    std::vector<std::vector<crm::CrmUser>> find_users_by_email(std::span<const std::string> keys) override {
      if (is_away) throw DependencyError(true, "no response", true);
      std::vector<std::vector<crm::CrmUser>> all(keys.size());
      for (std::size_t i = 0; i < keys.size(); ++i)
        if (keys[i] == "ben@example.com") all[i].push_back({"005B", "Ben", keys[i], true});
      return all;
    }

    std::vector<std::optional<crm::CrmUser>> find_users_by_id(std::span<const std::string> ids) override {
      std::vector<std::optional<crm::CrmUser>> all(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] == "005B") all[i] = crm::CrmUser{"005B", "Ben", "ben@example.com", true};
      return all;
    }

   public:
    bool is_away = false;
  };
  Users& directory() override { return users_; }

 private:
  Users users_;
};

class ConsoleWork : public ConsoleFixture {
 protected:
  using F = RequestRecordField;
  using State = store::RequestRecordState;
  static inline const std::string kMarkup = "<script>alert(1)</script>";

  ConsoleWork() {
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
  /// A record of the CRM that waits, as the daemon has read it.
  void insert(const std::string& id, const std::string& message = "Thank you!",
              const std::string& requested_by = "") {
    crm_.insert(id, message, false);
    store::RequestRecordEntryUpdate change;
    change.next.record_id = id;
    change.next.number = "R-" + id;
    change.next.requested_by = requested_by;
    change.transitions = {{now_, "ana", "", "pending", "first seen"}};
    store_.request_records.save(std::span(&change, 1));
  }
  void fail(const std::string& id, const std::string& error) {
    store::RequestRecordEntryUpdate change;
    change.next = known(id);
    change.next.error = error;
    store_.request_records.save(std::span(&change, 1));
  }
  store::RequestRecordEntry known(const std::string& id) {
    return store_.request_records.find(std::span(&id, 1)).front();
  }
  /// The hidden content behind the form that posts to a path.
  static std::string seen_in(const std::string& page, const std::string& action) {
    const std::string key = "name=\"seen\" value=\"";
    const std::size_t at = page.find(key, page.find("action=\"" + action + "\"")) + key.size();
    return page.substr(at, page.find('"', at) - at);
  }
  http::HttpResponse press(const std::string& page, const std::string& path, const std::string& note = "") {
    return post(path,
                "form_token=" + form_token_in(page, path) + "&seen=" + seen_in(page, path) + "&note=" + note);
  }
  http::HttpResponse press_plain(const std::string& page, const std::string& path,
                                 const std::string& more = "") {
    return post(path, "form_token=" + form_token_in(page, path) + more);
  }
  std::string form_secret() {
    return store_.console_sessions.find(sha256_hex(cookie_), now_, {0})->form_secret;
  }
  store::AuditEvent last_event() {
    return store_.audit.list(store::Viewer::of_command_line(), {}, 1).front();
  }
  OrganizationId organization(const std::string& name) {
    store::Credential token;
    token.hash = name;
    return store_.organizations.create(name, token).value();
  }
  TransactionId gift() {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.created_at = now_;
    request.recipients = {{"ada@example.com", "", "", ""}};
    return store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }
  /// The gift of a request record that ben approved a minute ago.
  TransactionId gift_of_request(const std::string& id, AccountId account,
                                const std::string& requested_by = "") {
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
  /// The gift's mail, held after an unknown outcome.
  TransactionId held_mail() {
    const TransactionId id = gift();
    const auto claims = store_.deliveries.claim("a", 60'000, 10, now_);
    const store::DeliveryQueue::Sending sending{claims.front(), "m1@example.com"};
    store_.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now_);
    const store::DeliveryOutcome outcome{id, 1, DeliveryState::held, now_, kMarkup, false, {}};
    store_.deliveries.finish(std::span(&outcome, 1), now_);
    return id;
  }

  config::Settings settings_;
  PeopleCrm crm_;
  int decided_ = 0;
};

}  // namespace giftsync::console
