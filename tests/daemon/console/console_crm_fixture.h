// A console with a CRM in memory, and gifts of a sender.
#pragma once

#include <gmock/gmock.h>

#include "platform/dependency_error.h"
#include "tests/daemon/console/console_fixture.h"
#include "tests/support/in_memory_crm.h"

namespace giftsync::console {

/// Whose records can be read and relinked, and whose calls may be counted.
class ConsoleCrm : public tests::InMemoryCrm {
 public:
  bool has_spare_calls = true;
  std::optional<crm::CrmUsage> counted = {};
  int reads = 0;
  std::function<void()> on_read = nullptr;

  std::vector<GiftRecord> find(std::span<const TransactionId> ids) override {
    if (down) throw DependencyError(true, "the CRM is down");
    ++reads;
    if (on_read) on_read();
    std::vector<GiftRecord> found;
    for (const TransactionId id : ids)
      if (const auto row = records.find(id.value); row != records.end()) found.push_back(row->second);
    return found;
  }
  std::vector<crm::RowResult> relink(std::span<const crm::GiftRelink> rows) override {
    std::vector<crm::RowResult> results;
    for (const crm::GiftRelink& row : rows) {
      records.at(row.transaction.value).set(GiftField::recipient_contact, row.to.contact_id);
      results.push_back({crm::RowResult::Kind::updated, ""});
    }
    return results;
  }
  std::optional<crm::CrmUsage> usage() const override { return counted; }
  void require_spare_calls() override {
    if (!has_spare_calls) throw DependencyPause({0}, "the calls are kept for gifts");
  }
};

class ConsoleCrmFixture : public ConsoleFixture {
 protected:
  ConsoleCrmFixture() {
    options_.crm.crm = &crm_;
    crm::MatchFields& fields = options_.crm.rules.match_fields;
    fields.contact = {{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
    fields.lead = fields.contact;
    fields.default_region = "US";
    options_.crm.rules.link_of = [](const auto&) { return std::string("https://gifts.example.com/x"); };
    options_.wake_workers = [this] { ++wakes_; };
    restart();
  }
  void restart() { console_ = std::make_unique<Console>(store_, options_); }
  void make_paid() {
    options_.crm.is_paid = true;
    crm_.counted = crm::CrmUsage{.used = 70, .limit = 1000, .own_calls = 60, .share = 200};
    restart();
  }

  /// A gift of the account with that address, which is made.
  TransactionId gift_of(const std::string& sender, std::optional<OrganizationId> organization = {}) {
    auto known = store_.accounts.find_by_email(sender);
    store::Account account;
    account.email = sender;
    account.organization = organization;
    store::NewGiftRequest request;
    request.request.account = known ? known->id : store_.accounts.create(account).value();
    request.request.sender_email = sender;
    request.request.item_name = "Coffee";
    request.request.created_at = now_;
    request.recipients = {{"ada@example.com", "Ada", "Byron", "A secret"}};
    return store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }
  /// The CRM refuses the waiting gifts for a day.
  void refuse_waiting_gifts(const std::string& error) {
    std::vector<store::SyncClose> closes;
    for (const store::SyncClaim& claim : store_.sync.claim("worker", 60'000, 100, now_)) {
      store::SyncClose close{claim, false, now_ + kDayMillis, error, std::nullopt};
      close.is_rejected = true;
      close.failed_at = now_;
      closes.push_back(close);
    }
    store_.sync.close("worker", closes);
  }
  /// The gift is matched to that contact, and its record is written.
  void link(TransactionId id, const std::string& contact) {
    store::CrmSyncState state;
    state.transaction = id;
    state.state = store::CrmSyncStatus::written;
    state.decided_at = now_;
    state.decision.contact_id = contact;
    state.decision.reason = "Contact " + contact + " (Old): Email equals ada@example.com. [rules 0a1b2c3d]";
    state.written_version = 1;
    store_.sync.insert_decisions(std::span(&state, 1));
    GiftRecord record;
    record.set(GiftField::transaction_id, id.value);
    record.set(GiftField::recipient_contact, contact);
    record.set(GiftField::recipient_email, std::string("ada@example.com"));
    record.set(GiftField::status, std::string("redeemed"));
    record.version = 1;
    crm_.records.insert_or_assign(id.value, record);
  }
  void add_contact(const std::string& id, const std::string& name = "Ada Byron") {
    crm_.contacts_by_email.insert_or_assign(
        "ada@example.com",
        crm::Candidate{
            .id = id, .name = name, .account_id = "", .matched_field = "Email", .order_value = "2026-03-01"});
  }
  static std::string page_of(TransactionId id) { return "/console/gifts/" + std::to_string(id.value); }
  /// Posts what the form of that action would, also where the page does not have it; returns where it leads.
  std::string act(TransactionId id, const std::string& action, const std::string& more = "") {
    const std::string path = page_of(id) + "/" + action;
    const auto session = store_.console_sessions.find(sha256_hex(cookie_), now_, {0});
    const std::string token = form_token(session->form_secret, path.substr(8));
    return header(post(path, "form_token=" + token + more), "Location");
  }
  store::AuditEvent last_event() {
    return store_.audit.list(store::Viewer::of_command_line(), {}, 1).front();
  }
  store::Gift gift(TransactionId id) { return store_.gifts.find(std::span(&id, 1)).front(); }

  ConsoleCrm crm_;
  int wakes_ = 0;
};

}  // namespace giftsync::console
