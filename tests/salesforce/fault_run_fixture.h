// A small company, its org and two writers of one store for runs with faults. Everything that is drawn comes
// from one seed: the people, the gifts, what is reported of them, and the faults.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "platform/dependency_error.h"
#include "schema/store/store.h"
#include "sync/crm/sync_step.h"
#include "sync/request/request_record_step.h"
#include "tests/salesforce/request_records_fixture.h"

namespace giftsync::salesforce {

/// A store for each seed: a copy of one that is made once.
class SeedStore {
 public:
  SeedStore() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    store::migrate_store(address("made.db"));
    store::Store made(address("made.db"));
    store::GiftItem coffee;
    coffee.id = {7};
    coffee.name = "Coffee";
    coffee.costs = {Money{500}, Money{200}, Money{10}, Money{40}};
    made.catalogue.import(std::span(&coffee, 1));
  }
  ~SeedStore() {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SeedStore(const SeedStore&) = delete;
  SeedStore& operator=(const SeedStore&) = delete;

  void renew() {
    store_.reset();
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path("store.db" + std::string(end)));
    std::filesystem::copy_file(path("made.db"), path("store.db"));
    store_ = std::make_unique<store::Store>(address("store.db"));
  }
  store::Store& operator*() { return *store_; }
  store::Store* operator->() { return store_.get(); }

 private:
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  sql::Dsn address(const std::string& name) const { return {sql::Dialect::sqlite, path(name).string()}; }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("giftsync_seeds_" + std::to_string(::getpid()));
  std::unique_ptr<store::Store> store_;
};

class FaultRun : public SalesforceRequestsTest {
 protected:
  /// Where a writer ends as a killed process does.
  struct Killed {};
  struct Writer {
    std::string owner = {};
    std::unique_ptr<crm::Crm> crm = nullptr;
    bool is_down = false;
    // Moments lie before and after each call; 0: not at all.
    int moments_until_kill = 0;
    int moments_until_takeover = 0;  ///< then the other one takes its batch over and works on it
  };

  FaultRun() {
    rules_.match_fields = match_fields();
    rules_.link_of = [](const store::RecipientTransaction&) { return "https://gifts.test/g/x"; };
    rules_.tasks = {true, "Other", "Not Started", "Completed"};
    rules_.integration_user = request_rules_.integration_user = user_;
    request_rules_.authorize_senders = [](std::span<const std::string> ids) {
      store::Account ana;
      ana.id = {3};
      ana.email = "ana@example.com";
      ana.name = "Ana";
      return std::vector<sync::SenderAuthorization>(ids.size(), sync::SenderAuthorization{ana, {}});
    };
    sql("CREATE TABLE seen_state (gift, version, status, UNIQUE (gift, version, status));"
        "CREATE TABLE seen_older (gift, version, older);"
        "CREATE TRIGGER new_state AFTER INSERT ON crm_gift_record BEGIN INSERT OR IGNORE INTO seen_state "
        "VALUES "
        "(new.recipienttransactionid, new.record_version, new.recipienttransactionstatus); END;"
        "CREATE TRIGGER next_state AFTER UPDATE ON crm_gift_record BEGIN INSERT OR IGNORE INTO seen_state "
        "VALUES "
        "(new.recipienttransactionid, new.record_version, new.recipienttransactionstatus); END;"
        "CREATE TRIGGER older_state AFTER UPDATE ON crm_gift_record WHEN new.record_version < "
        "old.record_version "
        "BEGIN INSERT INTO seen_older VALUES (new.recipienttransactionid, old.record_version, "
        "new.record_version); END;");
  }

  /// As if nothing had happened yet.
  void begin(unsigned seed) {
    random_.seed(seed);
    gifts_.clear();
    requests_.clear();
    facts_.clear();
    governor_.reset();
    crm_offset_ = clock_offset_ = 0;
    server_.with_org([&](Org& org) {
      org.faults().clear();
      org.set("clock_offset", "0");
      org.set("api_limit", "1000000");
      for (const char* table : {"crm_gift_record", "crm_task", "crm_request_record", "crm_contact",
                                "crm_lead", "crm_account", "crm_opportunity", "crm_opportunity_contact_role",
                                "org_counter", "org_session", "org_change", "seen_state", "seen_older"})
        org.database().run(std::string("DELETE FROM ") + table);
    });
    store_.renew();
    run_tokens_ =
        std::make_unique<AccessTokens>([this](UtcMillis) { return sign_in(); }, "settings", "secret", facts(),
                                       [this] { return UtcMillis{system_now().value + clock_offset_}; });
    run_client_ = std::make_unique<ApiClient>(http_, *run_tokens_);
    writers_.clear();
    for (const char* owner : {"one", "two"}) writers_.emplace_back().owner = owner;
    for (Writer& writer : writers_) start(writer);
    add_people();
  }

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  template <class T>
  T& pick_of(std::vector<T>& list) {
    return list[static_cast<std::size_t>(pick(static_cast<int>(list.size())))];
  }
  UtcMillis clock() const { return {system_now().value + crm_offset_}; }
  void wait(std::int64_t millis) {
    pass(millis);
    clock_offset_ += millis;
  }

  void start(Writer& writer) {
    SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
    options.names.skip_field(GiftField::created_by);
    options.governor.slow_call_millis = kHourMillis;
    options.request_records = {.facts = facts()};
    options.clock = [this] { return clock(); };
    options.governor_storage = [this, &writer](const GovernorChange& change) {
      pass_moment(writer);
      governor_ = change(governor_);
    };
    writer.crm = make_salesforce_crm(*run_client_, std::move(options));
    writer.is_down = false;
    store_->sync.release_leases({writer.owner});
    store_->sync.reset_rejected_after(clock(), clock());
  }
  /// As the daemon's workers do it.
  void step(Writer& writer) {
    if (writer.is_down) return;
    try {
      try {
        sync::sync_step(*store_, *writer.crm, rules_, {writer.owner, 60'000}, clock());
      } catch (const giftsync::DependencyError& fault) {
        store_->sync.release_with_error(writer.owner, fault.what());
      }
      try {
        if (!requests_.empty()) sync::request_record_step(*store_, *writer.crm, request_rules_, clock());
      } catch (const giftsync::DependencyError&) {
        // The worker tries again.
      }
    } catch (const Killed&) {
      writer.is_down = true;
      writer.crm.reset();
    }
  }

  void send_gifts(int count) {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.sender_email = "integration@example.com";
    request.request.created_at = clock();
    for (int i = 0; i < count; ++i) request.recipients.push_back({pick_of(addresses_), "", "", "Hi"});
    const auto outcomes = store_->gifts.create(std::span(&request, 1));
    for (const auto& one : outcomes.front().recipients) gifts_.push_back(one.id);
  }
  void report_some() {
    if (gifts_.empty()) return;
    constexpr std::array kStatuses{Status::delivered, Status::opened,  Status::redeemed,
                                   Status::donated,   Status::expired, Status::refunded};
    std::vector<store::StatusChange> changes;
    for (int i = pick(3) + 1; i > 0; --i)
      changes.push_back(
          {{}, "test", pick_of(gifts_), kStatuses[random_() % kStatuses.size()], clock(), clock(), {}});
    store_->changes.accept(changes);
  }
  /// By a person of the org.
  std::string create(const char* object_name, const Json& fields) {
    std::string id;
    server_.with_org([&](Org& org) {
      const auto made =
          tests::fake_org::SaveBlock(org, person_).create(*org.schema().find(object_name), fields);
      EXPECT_TRUE(made.is_success()) << object_name << (made.errors.empty() ? "" : made.errors[0].message);
      id = made.id;
    });
    return id;
  }

  SeedStore store_;
  sync::SyncRules rules_;
  sync::RequestRecordRules request_rules_;
  std::mt19937 random_;
  std::vector<Writer> writers_;
  std::vector<TransactionId> gifts_;
  std::vector<std::string> requests_;
  std::vector<std::string> addresses_;
  std::vector<std::string> contacts_;
  std::vector<std::string> leads_;
  int happened_ = 0;  ///< faults besides those of the org's script

 private:
  void add_people() {
    contacts_.clear();
    leads_.clear();
    addresses_ = {"unknown@example.com"};
    for (int i = 0; i < 4; ++i) {
      const std::string number = std::to_string(i);
      const std::string account = create("Account", {{"Name", "Acme " + number}});
      contacts_.push_back(create(
          "Contact", {{"LastName", "P"}, {"Email", "p" + number + "@example.com"}, {"AccountId", account}}));
      const std::string deal = create("Opportunity", {{"Name", "Deal " + number},
                                                      {"StageName", "Prospecting"},
                                                      {"CloseDate", "2027-01-01"},
                                                      {"AccountId", account}});
      create("OpportunityContactRole", {{"OpportunityId", deal}, {"ContactId", contacts_.back()}});
      addresses_.push_back("p" + number + "@example.com");
    }
    for (int i = 0; i < 2; ++i) {
      const std::string address = "l" + std::to_string(i) + "@example.com";
      leads_.push_back(create("Lead", {{"LastName", "L"}, {"Company", "Acme"}, {"Email", address}}));
      addresses_.push_back(address);
    }
  }
  void pass_moment(Writer& writer) {
    if (is_nested_) return;
    if (writer.moments_until_kill > 0 && --writer.moments_until_kill == 0) {
      ++happened_;
      throw Killed();
    }
    if (writer.moments_until_takeover > 0 && --writer.moments_until_takeover == 0) take_over(writer);
  }
  /// Its leases have ended, and the other one knows a newer state.
  void take_over(Writer& writer) {
    ++happened_;
    is_nested_ = true;
    report_some();
    store_->sync.release_leases({writer.owner});
    step(writers_[&writer == &writers_[0] ? 1 : 0]);
    is_nested_ = false;
  }

  std::unique_ptr<AccessTokens> run_tokens_;
  std::unique_ptr<ApiClient> run_client_;
  std::optional<std::string> governor_;
  bool is_nested_ = false;
};

}  // namespace giftsync::salesforce
