// The console's page of what is kept of a recipient.
#include <functional>
#include <utility>

#include "daemon/exports/person_export.h"
#include "schema/store/gift/erased_address.h"
#include "tests/daemon/console/console_work_fixture.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Which giftsync keeps, and in which Ada may be a contact.
class KeptCrm : public PeopleCrm {
 public:
  class People : public PeopleCrm::Users {
   public:
    std::vector<std::string> contacts;  ///< of ada@example.com
    bool is_lookup_ready = true;

    std::vector<crm::Candidates> find_candidates(
        crm::PersonObject object, std::span<const crm::RecipientMatchKeys> recipients) override {
      if (!is_lookup_ready) throw crm::LookupNotReady("match keys are missing");
      std::vector<crm::Candidates> all(recipients.size());
      if (object == crm::PersonObject::contact && recipients.front().email_key == "ada@example.com")
        for (const std::string& id : contacts) all.front().by_email.emplace_back().id = id;
      return all;
    }
  };
  class Rows : public crm::PersonRows {
   public:
    explicit Rows(People& people) : people_(people) {}
    std::function<void()> on_look = [] {};  ///< behind the gifts, once

    std::vector<std::string> request_records(const crm::RequestRecordsOf&, const crm::ErasureMarks&,
                                             bool) override {
      return {};
    }
    std::vector<std::string> deleted_people(crm::PersonObject, const std::string&) override {
      std::exchange(on_look, [] {})();
      return {};
    }
    std::int64_t erase_people(crm::PersonObject object, std::span<const std::string> ids,
                              const crm::ErasureMarks&) override {
      if (object == crm::PersonObject::contact) people_.contacts.clear();
      return static_cast<std::int64_t>(ids.size());
    }
    std::int64_t erase_gift_records(std::span<const crm::ErasedGiftRecord> records,
                                    const crm::ErasureMarks&) override {
      return static_cast<std::int64_t>(records.size());
    }
    std::int64_t erase_request_records(std::span<const std::string> ids, const crm::ErasureMarks&) override {
      return static_cast<std::int64_t>(ids.size());
    }

   private:
    People& people_;
  };
  People people;
  Rows rows{people};

  People& directory() override { return people; }
  crm::PersonRows* person_rows() override { return &rows; }
};

class ConsolePerson : public ConsoleWork {
 protected:
  static inline const std::string kPage = "/console/person";

  ConsolePerson() {
    store_.do_not_send.set_erased_address_key(std::string(32, 'k'));
    options_.crm.crm = &kept_;
    console_ = std::make_unique<Console>(store_, options_);
  }

  /// A gift to ada@example.com that was redeemed.
  TransactionId closed_gift() {
    const TransactionId id = gift();
    store_.changes.accept(
        std::vector<store::StatusChange>{{{}, "vendor", id, Status::redeemed, now_, now_, {}}}, 0);
    return id;
  }
  void opt_out() {
    const store::DoNotSendEntry entry{
        "ada@example.com", DoNotSendReason::opted_out, kMarkup, {}, now_, "root", {}};
    ASSERT_EQ(store_.do_not_send.add(std::span(&entry, 1), {}), 1);
  }
  std::string email_of(TransactionId gift) {
    return store_.gifts.find(std::span(&gift, 1)).front().transaction.email;
  }
  http::HttpResponse look(const std::string& address) {
    return press_plain(get(kPage).body, kPage, "&address=" + address);
  }
  http::HttpResponse download(const std::string& shown) {
    return press_plain(shown, kPage + "/download", "&address=" + hidden_in(shown, "address"));
  }
  std::string erase(const std::string& shown, const std::string& more = "&confirm=1") {
    return header(
        press_plain(shown, kPage + "/erase",
                    "&address=" + hidden_in(shown, "address") + "&seen=" + hidden_in(shown, "seen") + more),
        "Location");
  }

  KeptCrm kept_;
};

// CON-69, GUARD-16, GUARD-17
TEST_F(ConsolePerson, AnAdminLooksAndErases) {
  const TransactionId id = closed_gift();
  opt_out();
  sign_in(user("ana@example.com", {Role::admin}));
  const auto shown = look("Ada%40Example.com");
  EXPECT_EQ(shown.status, 200);
  EXPECT_THAT(shown.body,
              AllOf(HasSubstr("ada@<wbr>example."), HasSubstr("Gifts that have ended (1)"),
                    HasSubstr("/console/gifts/" + std::to_string(id.value)), HasSubstr("&lt;script&gt;"),
                    Not(HasSubstr("<script>alert")), HasSubstr("1 gift"),
                    HasSubstr("giftsyncctl person export ada@example.com --json")));
  EXPECT_EQ(last_event().action, "person.export");
  EXPECT_EQ(last_event().object_id, "***@example.com");
  EXPECT_EQ(erase(shown.body, ""), kPage + "?notice=not_confirmed");
  EXPECT_EQ(email_of(id), "ada@example.com");
  const std::string done = erase(shown.body);
  EXPECT_EQ(done, kPage + "?notice=person_erased");
  EXPECT_TRUE(store::is_erased_address(email_of(id)));
  EXPECT_THAT(get(done).body, AllOf(HasSubstr("The person is erased. Gifts: 1."), Not(HasSubstr("ada@"))));
  EXPECT_EQ(last_event().action, "person.erase");
  EXPECT_EQ(last_event().object_kind, "person");
  EXPECT_EQ(last_event().object_id, "***@example.com");
  EXPECT_EQ(last_event().actor, "ana@example.com");
  EXPECT_THAT(look("ada%40example.com").body,
              AllOf(HasSubstr("Gifts that were erased before (1)"),
                    HasSubstr("Nothing is kept of this address"), Not(HasSubstr(kPage + "/erase"))));
  EXPECT_EQ(erase(shown.body), kPage + "?notice=person_nothing");
}

// covers: CON-69, GUARD-16
TEST_F(ConsolePerson, AnAdminDownloadsWhatTheCommandPrints) {
  const TransactionId id = closed_gift();
  opt_out();
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string shown = look("ada%40example.com").body;
  const auto file = download(shown);
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(header(file, "Content-Type"), "application/json; charset=utf-8");
  EXPECT_EQ(header(file, "Content-Disposition"), "attachment; filename=\"person.json\"");
  EXPECT_EQ(header(file, "Cache-Control"), "no-store");
  const sync::PersonData person = sync::find_person(store_, kept_, "ada@example.com");
  EXPECT_EQ(file.body, exports::person_json(store_, kept_, person, "") + "\n");
  EXPECT_THAT(file.body, AllOf(HasSubstr("\"address\": \"ada@example.com\""),
                               HasSubstr("\"recipient_transaction_id\": " + std::to_string(id.value)),
                               HasSubstr("\"reason\": \"opted_out\""), HasSubstr("\"record_fault\": null")));
  EXPECT_EQ(last_event().action, "person.export");
  EXPECT_EQ(last_event().object_id, "***@example.com");
  EXPECT_EQ(last_event().detail, person.export_text() + " as a file");
  now_ = now_ + kProofMillis + 1;
  const auto late = download(shown);
  EXPECT_EQ(late.status, 403);
  EXPECT_THAT(late.body, Not(HasSubstr("ada@")));
}

// covers: CON-69
TEST_F(ConsolePerson, TheFileLeavesOutTheRecordsOfAnotherCrm) {
  closed_gift();
  options_.crm.crm = &crm_;
  console_ = std::make_unique<Console>(store_, options_);
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(
      download(look("ada%40example.com").body).body,
      AllOf(HasSubstr("\"record_fault\": \"The console does not ask this CRM"), HasSubstr("\"crm\": null")));
}

// CON-69, GUARD-18
TEST_F(ConsolePerson, WhatMayStillBeClaimedStays) {
  const TransactionId open = gift();
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string of_open = look("ada%40example.com").body;
  EXPECT_THAT(of_open, AllOf(HasSubstr("Gifts that may still be claimed (1)"),
                             HasSubstr("Something is in use"), Not(HasSubstr(kPage + "/erase"))));
  const TransactionId closed = closed_gift();
  const std::string both = look("ada%40example.com").body;
  EXPECT_EQ(erase(both), kPage + "?notice=person_erased_part");
  EXPECT_TRUE(store::is_erased_address(email_of(closed)));
  EXPECT_EQ(email_of(open), "ada@example.com");
  EXPECT_EQ(erase(both), kPage + "?notice=person_in_use");
}

// CON-69, CON-54
TEST_F(ConsolePerson, ManyIdsAreCut) {
  for (int i = 0; i < 120; ++i) kept_.people.contacts.push_back("003A" + std::to_string(i));
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(look("ada%40example.com").body,
              AllOf(HasSubstr("003A99, …"), Not(HasSubstr("003A100")), HasSubstr("120 contacts")));
}

// CON-69
TEST_F(ConsolePerson, AnErasureIsOfWhatThePageShowed) {
  const TransactionId first = closed_gift();
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string shown = look("ada%40example.com").body;
  const TransactionId second = closed_gift();
  EXPECT_EQ(erase(shown), kPage + "?notice=person_changed");
  EXPECT_EQ(email_of(first), "ada@example.com");
  EXPECT_EQ(email_of(second), "ada@example.com");
  EXPECT_EQ(erase(look("ada%40example.com").body), kPage + "?notice=person_erased");
  EXPECT_TRUE(store::is_erased_address(email_of(second)));
}

// CON-69, GUARD-18
TEST_F(ConsolePerson, AGiftThatAWorkerTakesMeanwhileIsNotCalledErased) {
  const TransactionId id = closed_gift();
  kept_.people.contacts = {"003A"};
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string shown = look("ada%40example.com").body;
  EXPECT_THAT(shown, AllOf(HasSubstr("003A"), HasSubstr("1 contact")));
  kept_.rows.on_look = [this] { ASSERT_EQ(store_.sync.claim("worker", 60'000, 100, now_).size(), 1u); };
  EXPECT_EQ(erase(shown), kPage + "?notice=person_erased_part");
  EXPECT_EQ(email_of(id), "ada@example.com");
  EXPECT_EQ(kept_.people.contacts, std::vector<std::string>{"003A"});
}

// CON-69, CON-19
TEST_F(ConsolePerson, ALookWhileMatchKeysAreMadeIsToBeRepeated) {
  closed_gift();
  sign_in(user("ana@example.com", {Role::admin}));
  kept_.people.is_lookup_ready = false;
  const std::string form = header(look("ada%40example.com"), "Location");
  EXPECT_EQ(form, kPage + "?notice=person_not_ready");
  EXPECT_THAT(get(form).body, HasSubstr("try again in a minute"));
  kept_.people.is_lookup_ready = true;
  EXPECT_EQ(look("ada%40example.com").status, 200);
}

// CON-69
TEST_F(ConsolePerson, WithoutAnAddressOrTheKeyNothingIsErased) {
  const TransactionId id = closed_gift();
  sign_in(user("ana@example.com", {Role::admin}));
  for (const char* address : {"", "ada", "%3Cscript%3E"})
    EXPECT_EQ(header(look(address), "Location"), kPage + "?notice=person_bad_address") << address;
  const std::string shown = look("ada%40example.com").body;
  store_.do_not_send.set_erased_address_key("");
  EXPECT_EQ(erase(shown), kPage + "?notice=person_no_key");
  EXPECT_THAT(look("ada%40example.com").body, Not(HasSubstr(kPage + "/erase")));
  EXPECT_EQ(email_of(id), "ada@example.com");
}

// CON-69, CON-45
TEST_F(ConsolePerson, EachLookNeedsANewProof) {
  const TransactionId id = closed_gift();
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  const std::string form = get(kPage).body;
  const std::string shown = look("ada%40example.com").body;
  now_ = now_ + kProofMillis + 1;
  EXPECT_THAT(get(kPage).body,
              AllOf(HasSubstr("sign-in-link --user ana@example.com"), Not(HasSubstr("name=\"address\""))));
  EXPECT_EQ(press_plain(form, kPage, "&address=ada%40example.com").status, 403);
  EXPECT_EQ(last_event().rule, "CON-45");
  EXPECT_EQ(erase(shown), "");
  EXPECT_EQ(email_of(id), "ada@example.com");
  EXPECT_EQ(header(post("/console/link/" + link_for(ana, "again")), "Location"), kPage);
}

// CON-69
TEST_F(ConsolePerson, OthersHaveNoSuchPage) {
  const TransactionId id = closed_gift();
  const auto is_absent = [&] {
    EXPECT_EQ(get(kPage).status, 404);
    EXPECT_THAT(get("/console/").body, Not(HasSubstr(kPage)));
    for (const std::string path : {"/person", "/person/download", "/person/erase"}) {
      const std::string token = form_token(form_secret(), path);
      EXPECT_EQ(post("/console" + path, "confirm=1&address=ada%40example.com&form_token=" + token).status,
                404);
    }
  };
  for (const Role role : {Role::sender, Role::approver, Role::operations, Role::auditor}) {
    sign_in(user("user" + std::to_string(static_cast<int>(role)) + "@example.com", {role}));
    is_absent();
  }
  sign_in(user("of.acme@example.com", {Role::admin}, organization("Acme")));
  is_absent();
  EXPECT_EQ(email_of(id), "ada@example.com");
}

}  // namespace
}  // namespace giftsync::console
