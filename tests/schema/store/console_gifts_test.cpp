// The console's listing of gifts: what a viewer sees, the filter, keyset pages and the bounded search.
#include "schema/store/console_gifts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/support/masked_addresses.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ConsoleGiftsTest : public tests::StoreFixture {
 protected:
  AccountId account(const std::string& email, std::optional<OrganizationId> organization = {}) {
    Account made;
    made.email = email;
    made.name = "A sender";
    made.organization = organization;
    return store_->accounts.create(made).value();
  }
  OrganizationId organization(const std::string& name) {
    Credential token;
    token.hash = "hash of " + name;
    return store_->organizations.create(name, token).value();
  }
  std::vector<TransactionId> send(AccountId from, const std::vector<std::string>& emails,
                                  const std::string& item = "Coffee") {
    NewGiftRequest request = request_for(0);
    request.request.account = from;
    request.request.sender_email = "Sender" + std::to_string(from.value) + "@example.com";
    request.request.item_name = item;
    for (const std::string& email : emails) request.recipients.push_back({email, "Ada", "Byron", "A secret"});
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&request, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }
  std::vector<TransactionId> ids(const Viewer& viewer, const ConsoleGiftFilter& filter = {}) {
    std::vector<TransactionId> found;
    for (const ConsoleGift& one : store_->console_gifts.list(viewer, filter, {}, 50).gifts)
      found.push_back(one.gift.transaction.id);
    return found;
  }
  const Viewer operations_ = Viewer::of_command_line();
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ConsoleGiftsTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// CON-7
TEST_P(ConsoleGiftsTest, AViewerSeesOwnGiftsOrThoseOfItsOrganization) {
  const OrganizationId acme = organization("Acme");
  const OrganizationId edge = organization("Edge");
  const AccountId ana = account("ana@acme.com", acme);
  const AccountId ben = account("ben@acme.com", acme);
  const AccountId eve = account("eve@edge.com", edge);
  const auto of_ana = send(ana, {"a@x.com"});
  const auto of_ben = send(ben, {"b@x.com"});
  const auto of_eve = send(eve, {"e@x.com"});
  EXPECT_THAT(ids(operations_), ElementsAre(of_eve[0], of_ben[0], of_ana[0]));
  EXPECT_THAT(ids({{}, ana, acme, {Role::sender}}), ElementsAre(of_ana[0]));
  EXPECT_THAT(ids({{}, {}, acme, {Role::sender}}), IsEmpty()) << "without an account";
  EXPECT_THAT(ids({{}, {}, acme, {Role::admin}}), ElementsAre(of_ben[0], of_ana[0]));
  EXPECT_THAT(ids({{}, {}, edge, {Role::auditor}}), ElementsAre(of_eve[0]));
  EXPECT_THAT(ids({{}, {}, {}, {Role::admin}}), testing::SizeIs(3));
  EXPECT_THAT(ids({{}, ana, {}, {}}), IsEmpty()) << "without a role";
  EXPECT_TRUE(store_->console_gifts.find({{}, ana, acme, {Role::sender}}, of_ana[0]));
  EXPECT_FALSE(store_->console_gifts.find({{}, ana, acme, {Role::sender}}, of_ben[0]));
  EXPECT_FALSE(store_->console_gifts.find({{}, {}, edge, {Role::operations}}, of_ben[0]));
}

// CON-16
TEST_P(ConsoleGiftsTest, AnAuditorSeesNoRecipient) {
  const auto sent = send(account("ana@acme.com"), {"ada@example.com", "odd"});
  const Viewer auditor{{}, {}, {}, {Role::auditor}};
  sql("UPDATE crm_outbox SET attempts = 1, last_error = 'DUPLICATE_VALUE: ada@example.com is there'");
  const auto found = store_->console_gifts.find(auditor, sent[0]);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->last_error, "DUPLICATE_VALUE");
  EXPECT_EQ(store_->console_gifts.find(operations_, sent[0])->last_error,
            "DUPLICATE_VALUE: ada@example.com is there");
  EXPECT_EQ(found->gift.transaction.email, "***@example.com");
  EXPECT_EQ(found->gift.transaction.first_name + found->gift.transaction.last_name, "***");
  EXPECT_EQ(found->gift.transaction.message, "***");
  EXPECT_EQ(found->gift.transaction.phone, "") << "CON-59: there is none";
  sql("UPDATE recipient_transaction SET email = '', first_name = '', last_name = '', message = '', phone = "
      "'12' "
      "WHERE id = " +
      std::to_string(sent[1].value));
  const auto bare = store_->console_gifts.find(auditor, sent[1])->gift.transaction;
  EXPECT_EQ(bare.email + bare.first_name + bare.last_name + bare.message, "");
  EXPECT_EQ(bare.phone, "***");
  sql("UPDATE recipient_transaction SET email = 'odd' WHERE id = " + std::to_string(sent[1].value));
  EXPECT_EQ(found->gift.transaction.status, Status::sent);
  EXPECT_EQ(found->gift.request.item_name, "Coffee");
  EXPECT_EQ(store_->console_gifts.find(auditor, sent[1])->gift.transaction.email, "***");
  ConsoleGiftFilter filter;
  filter.recipient = "nothing@example.com";
  EXPECT_THAT(ids(auditor, filter), testing::SizeIs(2)) << "the address is not compared";
  EXPECT_THAT(ids(operations_, filter), IsEmpty());
  EXPECT_EQ(
      store_->console_gifts.find({{}, {}, {}, {Role::auditor, Role::admin}}, sent[0])->gift.transaction.email,
      "ada@example.com");
}

// CON-59
TEST_P(ConsoleGiftsTest, AnAuditorReadsTheDomainOfASingleAddressAlone) {
  const Viewer auditor{{}, {}, {}, {Role::auditor}};
  std::vector<std::string> texts;
  for (const tests::MaskedAddress& one : tests::kMaskedAddresses) texts.emplace_back(one.text);
  const auto sent = send(account("ana@acme.com"), texts);
  const auto mails = store_->deliveries.list(auditor, sent);  // by descending gift
  ASSERT_EQ(sent.size(), texts.size());
  ASSERT_EQ(mails.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string masked = tests::kMaskedAddresses[i].masked;
    EXPECT_EQ(store_->console_gifts.find(auditor, sent[i])->gift.transaction.email, masked) << texts[i];
    EXPECT_EQ(mails[texts.size() - 1 - i].email, masked) << texts[i];
    EXPECT_EQ(store_->console_gifts.find(operations_, sent[i])->gift.transaction.email, texts[i]);
  }
}

// CON-16, CON-51
TEST(Viewer, AMaskedOneReadsNoAddress) {
  const Viewer auditor{{}, {}, {}, {Role::auditor}};
  const Viewer admin{{}, {}, {}, {Role::auditor, Role::admin}};
  const std::pair<std::string, std::string> texts[] = {
      {"550 <ada@example.com>: unknown, bea.b+c@x.org too", "550 <***@example.com>: unknown, ***@x.org too"},
      {"\"ada b\"@example.com", "***@example.com"},
      {"next?to=ada%40example.com&page=2", "***%40example.com&page=2"},
      {"\xc3\xa4"
       "da@example.com",
       "***@example.com"},
      {"a@b@c", "***@***@c"},
      {"***@example.com", "***@example.com"},
      {"@ 12 o'clock", "@ 12 o'clock"},
      {"no address", "no address"},
      {"", ""}};
  for (const auto& [text, masked] : texts) {
    EXPECT_EQ(shown_text(auditor, text), masked);
    EXPECT_EQ(shown_text(admin, text), text);
  }
  EXPECT_EQ(shown_error(auditor, "DUPLICATE_VALUE: ada@example.com"), "DUPLICATE_VALUE");
  EXPECT_EQ(shown_error(auditor, "ada@example.com is locked: x"), "***@example.com is locked");
  EXPECT_EQ(shown_error(auditor, "Ada Byron is locked"), "***");
  EXPECT_EQ(shown_error(auditor, ""), "");
  EXPECT_EQ(shown_error(admin, "Ada Byron is locked"), "Ada Byron is locked");
}

// CON-17
TEST_P(ConsoleGiftsTest, FiltersAndPagesByDescendingId) {
  const AccountId ana = account("ana@acme.com");
  const auto first = send(ana, {"Ada@Example.com", "b@x.com", "c@x.com"});
  const auto second = send(ana, {"d@x.com"}, "Tea");
  ConsoleGiftFilter filter;
  filter.recipient = " ada@example.COM";
  EXPECT_THAT(ids(operations_, filter), ElementsAre(first[0]));
  filter = {};
  filter.item = "Tea";
  EXPECT_THAT(ids(operations_, filter), ElementsAre(second[0]));
  filter = {};
  filter.key = "gsk_live_Ab3dE5g";
  EXPECT_THAT(ids(operations_, filter), IsEmpty());
  sql("UPDATE gift_request SET credential_prefix = 'gsk_live_Ab3dE5g' WHERE item_name = 'Tea'");
  EXPECT_THAT(ids(operations_, filter), ElementsAre(second[0]));
  filter = {};
  filter.status = Status::redeemed;
  EXPECT_THAT(ids(operations_, filter), IsEmpty());
  filter.status = Status::sent;
  filter.sender = "sender1@example.com";
  filter.sent_since = kSentAt;
  filter.sent_until = kSentAt + 1;
  filter.crm = CrmFilter::waiting;
  EXPECT_THAT(ids(operations_, filter), testing::SizeIs(4));
  for (const CrmFilter crm : {CrmFilter::failing, CrmFilter::rejected, CrmFilter::unmatched,
                              CrmFilter::needs_relink, CrmFilter::skipped, CrmFilter::deleted}) {
    filter.crm = crm;
    EXPECT_THAT(ids(operations_, filter), IsEmpty()) << to_word(crm);
  }
  filter.crm = CrmFilter::any;
  filter.conflict = true;
  EXPECT_THAT(ids(operations_, filter), IsEmpty());

  const auto page = store_->console_gifts.list(operations_, {}, {}, 2);
  ASSERT_THAT(page.gifts, testing::SizeIs(2));
  EXPECT_EQ(page.gifts[0].gift.transaction.id, second[0]);
  EXPECT_EQ(page.next_before, first[2]);
  EXPECT_FALSE(page.searched_back_to);
  const auto rest = store_->console_gifts.list(operations_, {}, page.next_before, 2);
  ASSERT_THAT(rest.gifts, testing::SizeIs(2));
  EXPECT_EQ(rest.gifts[1].gift.transaction.id, first[0]);
  EXPECT_FALSE(rest.next_before);
}

// CON-47
TEST_P(ConsoleGiftsTest, ANameIsFoundByAPartWithoutCase) {
  const AccountId ana = account("ana@acme.com");
  const auto sent = send(ana, {"a@x.com", "b@x.com"});
  const auto named = [&](TransactionId id, const std::string& first, const std::string& last) {
    sql("UPDATE recipient_transaction SET first_name = '" + first + "', last_name = '" + last +
        "' WHERE id = " + std::to_string(id.value));
  };
  const auto found = [&](const std::string& name, const Viewer& viewer) {
    ConsoleGiftFilter filter;
    filter.name = name;
    return ids(viewer, filter);
  };
  named(sent[0], "\u00D6zg\u00FCr", "O.Byron* [x] \\");  // Özgür
  named(sent[1], "Ada", "OxByron");
  for (const char* part : {"\u00D6zg\u00FCr", "\u00F6ZG\u00DCR o.", "o.byron", "N* [X] \\", "* [", "\\"})
    EXPECT_THAT(found(part, operations_), ElementsAre(sent[0])) << part;
  EXPECT_THAT(found("byron", operations_), ElementsAre(sent[1], sent[0]));
  EXPECT_THAT(found("a oxb", operations_), ElementsAre(sent[1]));
  for (const char* none : {"by*", "o?byron", "%", "_", "^ada", "ada|oxbyron", "(ada)", "ozgur"})
    EXPECT_THAT(found(none, operations_), IsEmpty()) << none;
  EXPECT_THAT(found("ada", {{}, {}, {}, {Role::auditor}}), testing::SizeIs(2)) << "the name is not compared";
  EXPECT_THAT(found("byron", {{}, account("ben@acme.com"), {}, {Role::sender}}), IsEmpty());
}

// CON-47
TEST_P(ConsoleGiftsTest, AnIdInTheCrmFindsTheGiftsThatAreLinkedToIt) {
  const auto sent = send(account("ana@acme.com"), {"a@x.com", "b@x.com", "c@x.com"});
  std::vector<CrmSyncState> states(2);
  states[0].transaction = sent[0];
  states[0].decision.contact_id = "003A";
  states[0].decision.account_id = "001A";
  states[0].decision.opportunity_id = "006A";
  states[1].transaction = sent[1];
  states[1].decision.lead_id = "00Q1";
  store_->sync.insert_decisions(states);
  sql("UPDATE crm_sync_state SET crm_id = 'a0G1' WHERE transaction_id = " + std::to_string(sent[1].value));
  sql("UPDATE recipient_transaction SET first_name = 'x003a' WHERE id = " + std::to_string(sent[2].value));
  const Viewer auditor{{}, {}, {}, {Role::auditor}};
  ConsoleGiftFilter filter;
  for (const auto& [id, gift] :
       {std::pair("003A", sent[0]), std::pair("001A", sent[0]), std::pair("006A", sent[0]),
        std::pair("00Q1", sent[1]), std::pair("a0G1", sent[1])}) {
    filter.crm_id = id;
    EXPECT_THAT(ids(operations_, filter), ElementsAre(gift)) << id;
    EXPECT_THAT(ids(auditor, filter), ElementsAre(gift)) << id;
  }
  for (const char* none : {"003", "003a", "003A0"}) {
    filter.crm_id = none;
    EXPECT_THAT(ids(operations_, filter), IsEmpty()) << none;
  }
  sql("UPDATE crm_sync_state SET contact_id = '0035g00000AbCdEAAV', lead_id = '00Q5g00000LeAdX' WHERE "
      "transaction_id = " +
      std::to_string(sent[1].value));
  for (const char* form :
       {"0035g00000AbCdE", "0035g00000AbCdEAAV", "00Q5g00000LeAdX", "00Q5g00000LeAdXEAV"}) {
    filter.crm_id = form;  // MATCH-34
    EXPECT_THAT(ids(operations_, filter), ElementsAre(sent[1])) << form;
  }
  filter.crm_id = "003A";
  const auto first = store_->console_gifts.list(operations_, filter, {}, 50, 2);
  EXPECT_THAT(first.gifts, IsEmpty()) << "two later gifts were looked at";
  ASSERT_EQ(first.next_before, sent[1]);
  EXPECT_THAT(store_->console_gifts.list(operations_, filter, first.next_before, 50, 2).gifts,
              testing::SizeIs(1));
  filter.name = "003A";
  EXPECT_THAT(ids(operations_, filter), ElementsAre(sent[2], sent[0])) << "either of both";
  EXPECT_THAT(ids(auditor, filter), ElementsAre(sent[0])) << "the name is not compared";
}

// CON-47
TEST_P(ConsoleGiftsTest, IdsAndSourcesAreFilters) {
  const auto sent = send(account("ana@acme.com"), {"a@x.com", "b@x.com", "c@x.com"});
  ConsoleGiftFilter filter;
  filter.ids = {sent[0], sent[2], {4711}};
  EXPECT_THAT(ids(operations_, filter), ElementsAre(sent[2], sent[0]));
  EXPECT_THAT(ids({{}, account("ben@acme.com"), {}, {Role::sender}}, filter), IsEmpty()) << "of others";
  filter = {};
  filter.source = "vendor";
  EXPECT_THAT(ids(operations_, filter), IsEmpty());
  sql("UPDATE recipient_transaction SET gift_source = 'vendor' WHERE id = " + std::to_string(sent[1].value));
  EXPECT_THAT(ids(operations_, filter), ElementsAre(sent[1]));
  filter.source = "";
  EXPECT_THAT(ids(operations_, filter), ElementsAre(sent[2], sent[0]));
}

// CON-47
TEST_P(ConsoleGiftsTest, AnAddressIsFoundWithItsDomainInEitherForm) {
  const auto sent = send(account("ana@acme.com"), {"Ada@b\u00FCcher.example", "ada@xn--bcher-kva.example"});
  ConsoleGiftFilter filter;
  for (const char* typed : {"ada@xn--bcher-kva.example", " ADA@b\u00FCcher.example"}) {
    filter.recipient = typed;
    EXPECT_THAT(ids(operations_, filter), ElementsAre(sent[1], sent[0])) << typed;
  }
}

// CON-17, CON-47
TEST_P(ConsoleGiftsTest, ASearchByAddressLooksAtTheGiftsOfTheAddressAlone) {
  const auto sent = send(account("ana@acme.com"), {"a@x.com", "b@x.com", "c@x.com", "d@x.com"});
  sql("UPDATE recipient_transaction SET email = 'a@x.com' WHERE id = " + std::to_string(sent[1].value));
  ConsoleGiftFilter filter;
  filter.recipient = "a@x.com";
  const auto page = store_->console_gifts.list(operations_, filter, {}, 50, 2);
  ASSERT_THAT(page.gifts, testing::SizeIs(2)) << "two other gifts are above them";
  filter.status = Status::redeemed;
  const auto none = store_->console_gifts.list(operations_, filter, {}, 50, 2);
  EXPECT_THAT(none.gifts, IsEmpty());
  EXPECT_EQ(none.next_before, sent[0]) << "two gifts of the address were looked at";
}

// CON-17, CON-35
TEST_P(ConsoleGiftsTest, ASearchOfUndeliveredGiftsLooksAtThoseAlone) {
  const auto sent = send(account("ana@acme.com"), {"a@x.com", "b@x.com", "c@x.com", "d@x.com"});
  const auto undelivered_at = [&](TransactionId id, std::int64_t time) {
    sql("UPDATE recipient_transaction SET status = 'undelivered', undelivered_at = " + std::to_string(time) +
        " WHERE id = " + std::to_string(id.value));
  };
  undelivered_at(sent[0], 9);
  undelivered_at(sent[1], 8);
  ConsoleGiftFilter filter;
  filter.undelivered_since = UtcMillis{9};
  const auto page = store_->console_gifts.list(operations_, filter, {}, 50, 2);
  ASSERT_THAT(page.gifts, testing::SizeIs(1)) << "three others are above it";
  EXPECT_EQ(page.gifts.front().gift.transaction.id, sent[0]);
  EXPECT_FALSE(page.next_before);
  EXPECT_EQ(store_->console_gifts.count_undelivered(operations_, *filter.undelivered_since), 1);
  sql("UPDATE recipient_transaction SET status = 'opened' WHERE id = " + std::to_string(sent[0].value));
  EXPECT_THAT(ids(operations_, filter), IsEmpty()) << "it is not undelivered any more";
}

// CON-17
TEST_P(ConsoleGiftsTest, ASearchEndsAfterItsBudgetAndContinuesThere) {
  const auto sent = send(account("ana@acme.com"), {"a@x.com", "b@x.com", "c@x.com"});
  ConsoleGiftFilter filter;
  filter.name = "Lovelace";
  sql("UPDATE recipient_transaction SET last_name = 'Lovelace' WHERE id = " + std::to_string(sent[0].value));
  const auto page = store_->console_gifts.list(operations_, filter, {}, 50, 2);
  EXPECT_THAT(page.gifts, IsEmpty());
  EXPECT_EQ(page.searched_back_to, kSentAt);
  EXPECT_EQ(page.next_before, sent[1]);
  const auto next = store_->console_gifts.list(operations_, filter, page.next_before, 50, 2);
  ASSERT_THAT(next.gifts, testing::SizeIs(1));
  EXPECT_FALSE(next.next_before);
}

// CON-17, CON-25
TEST_P(ConsoleGiftsTest, FailuresAreCountedByClass) {
  const AccountId ana = account("ana@acme.com");
  const auto sent = send(ana, {"a@x.com", "b@x.com", "c@x.com"});
  sql("UPDATE crm_outbox SET attempts = 2, last_error = 'row 17 is locked' WHERE transaction_id = " +
      std::to_string(sent[0].value));
  sql("UPDATE crm_outbox SET attempts = 1, last_error = 'row 9 is locked' WHERE transaction_id = " +
      std::to_string(sent[1].value));
  sql("UPDATE crm_outbox SET attempts = 1, last_error = 'no right' WHERE transaction_id = " +
      std::to_string(sent[2].value));
  const auto classes = store_->console_gifts.failure_classes(operations_);
  ASSERT_THAT(classes, testing::SizeIs(2));
  EXPECT_EQ(classes[0].error, "row # is locked");
  EXPECT_EQ(classes[0].gifts, 2);
  EXPECT_EQ(classes[0].example, "row 9 is locked");
  EXPECT_EQ(classes[1].error, "no right");
  EXPECT_EQ(classes[0].last, sent[1]);
  EXPECT_EQ(classes[0].rejected, 0);
  EXPECT_THAT(store_->console_gifts.failure_classes({{}, {}, {}, {Role::sender}}), IsEmpty());
  sql("UPDATE crm_outbox SET is_rejected = 1, failing_since = transaction_id * 1000, failed_at = "
      "transaction_id, next_attempt_at = transaction_id + 7");
  const auto dated = store_->console_gifts.failure_classes(operations_);
  EXPECT_EQ(dated[0].rejected, 2);
  EXPECT_EQ(dated[0].first_failing_since.value, sent[0].value * 1000);
  EXPECT_EQ(dated[0].last_failing_since.value, sent[1].value * 1000);
  ASSERT_THAT(dated[0].failing, testing::SizeIs(2));
  EXPECT_EQ(dated[0].failing[0].since.value, sent[1].value * 1000);
  EXPECT_EQ(dated[0].failing[0].failed_at.value, sent[1].value);
  EXPECT_EQ(dated[0].failing[1].failed_at.value, sent[0].value);
  EXPECT_EQ(dated[0].failing[1].next_attempt_at.value, sent[0].value + 7);
  EXPECT_THAT(store_->console_gifts.rejected_gifts(operations_, "row # is locked", 10),
              ElementsAre(sent[1], sent[0]));
  EXPECT_THAT(store_->console_gifts.rejected_gifts(operations_, "row # is locked", 1), ElementsAre(sent[1]));
  EXPECT_THAT(store_->console_gifts.rejected_gifts({{}, {}, {}, {Role::sender}}, "row # is locked", 10),
              IsEmpty());
  ConsoleGiftFilter of_class;
  of_class.error_class = "row # is locked";
  EXPECT_THAT(ids(operations_, of_class), ElementsAre(sent[1], sent[0]));
  of_class.error_class = "no%";
  EXPECT_THAT(ids(operations_, of_class), IsEmpty()) << "a percent sign is one";
  ConsoleGiftFilter failing;
  failing.crm = CrmFilter::failing;
  EXPECT_THAT(ids(operations_, failing), testing::SizeIs(3));
}

// CON-64
TEST_P(ConsoleGiftsTest, WhetherThereAreMoreFailuresThanAreLookedAtIsKnown) {
  EXPECT_FALSE(store_->console_gifts.has_most_failures());
  sql("INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
      "lease_until, "
      "last_error) SELECT i, 1, 1, 1, '', 0, '' FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + "
      "1 FROM n WHERE i < " +
      std::to_string(ConsoleGifts::kMaxFailures) + ") SELECT i FROM n) numbers");
  EXPECT_TRUE(store_->console_gifts.has_most_failures());
  EXPECT_THAT(store_->console_gifts.failure_classes(operations_), IsEmpty()) << "they are of no gifts";
  sql("UPDATE crm_outbox SET attempts = 0 WHERE transaction_id = 1");
  EXPECT_FALSE(store_->console_gifts.has_most_failures());
  sql("UPDATE crm_outbox SET attempts = 1 WHERE transaction_id = 1");
  sql("INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, sender_email, "
      "sender_name, created_at) VALUES (1, 1, 'email', 1, '', '', '', '', 1)");
  sql("INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, "
      "generation, status, sent_at, version, is_test) VALUES (1, 1, 0, '', '', '', '', 1, 'sent', 1, 1, 1)");
  EXPECT_FALSE(store_->console_gifts.has_most_failures()) << "a test gift is none";
}

// API-1
TEST_P(ConsoleGiftsTest, EachFilterFindsWhatANaiveOneFinds) {
  const AccountId ana = account("ana@acme.com");
  std::vector<TransactionId> all;
  for (int i = 0; i < 24; ++i) {
    NewGiftRequest request = request_for(0);
    request.request.account = ana;
    request.request.gift = {i % 3 == 0 ? 8 : 7};
    request.request.sender_email = i % 5 == 0 ? "Ben@acme.com" : "ana@acme.com";
    if (i % 2 == 0) request.request.utm_campaign_id = i % 4 == 0 ? "autumn" : "spring";
    if (i % 6 == 0) request.request.reference = "order " + std::to_string(i % 12);
    request.request.created_at = {1'000'000 + i * 1'000};
    for (int j = 0; j < 1 + i % 2; ++j)
      request.recipients.push_back(
          {"r" + std::to_string(i % 7) + "@example.com", "", "", "Hi", (i + j) % 4 == 0 ? "order 0" : ""});
    const auto outcomes = store_->gifts.create(std::span(&request, 1));
    for (const auto& one : outcomes.front().recipients) all.push_back(one.id);
  }
  sql("UPDATE recipient_transaction SET status = 'redeemed', redeemed_at = sent_at + 500 WHERE id % 3 = 0");
  const std::vector<Gift> gifts = store_->gifts.find(all);
  const auto check = [&](const ConsoleGiftFilter& filter, const std::function<bool(const Gift&)>& matches) {
    std::vector<TransactionId> expected;
    for (const Gift& gift : gifts)
      if (matches(gift)) expected.push_back(gift.transaction.id);
    std::reverse(expected.begin(), expected.end());
    EXPECT_FALSE(expected.empty());
    EXPECT_LT(expected.size(), all.size());
    EXPECT_EQ(ids(operations_, filter), expected);
  };
  check({.status = Status::redeemed}, [](const Gift& g) { return g.transaction.status == Status::redeemed; });
  check({.status = Status::redeemed, .reached_since = UtcMillis{1'010'000}}, [](const Gift& g) {
    return g.transaction.status == Status::redeemed &&
           g.transaction.times[Status::redeemed]->value >= 1'010'000;
  });
  check({.status = Status::redeemed, .reached_until = UtcMillis{1'010'000}}, [](const Gift& g) {
    return g.transaction.status == Status::redeemed &&
           g.transaction.times[Status::redeemed]->value < 1'010'000;
  });
  check({.sent_since = UtcMillis{1'007'000}},
        [](const Gift& g) { return g.transaction.times[Status::sent]->value >= 1'007'000; });
  check({.sent_until = UtcMillis{1'007'000}},
        [](const Gift& g) { return g.transaction.times[Status::sent]->value < 1'007'000; });
  check({.campaign = "autumn"}, [](const Gift& g) { return g.request.utm_campaign_id == "autumn"; });
  check({.item = "8"}, [](const Gift& g) { return g.request.gift.value == 8; });
  check({.sender = "ben@acme.com"}, [](const Gift& g) { return g.request.sender_email == "Ben@acme.com"; });
  check({.recipient = "R3@example.com"},
        [](const Gift& g) { return g.transaction.email == "r3@example.com"; });
  check({.reference = "order 0"}, [](const Gift& g) {
    return g.request.reference == "order 0" || g.transaction.reference == "order 0";
  });
  const GiftRequestId request = gifts[5].request.id;
  check({.request = request}, [&](const Gift& g) { return g.request.id == request; });
  check({.campaign = "autumn", .reference = "order 0"}, [](const Gift& g) {
    return g.request.utm_campaign_id == "autumn" &&
           (g.request.reference == "order 0" || g.transaction.reference == "order 0");
  });
  const auto requests = store_->console_gifts.list_requests(operations_, {.reference = "order 6"}, {}, 50);
  ASSERT_EQ(requests.requests.size(), 2u);
  EXPECT_GT(requests.requests[0].request.id, requests.requests[1].request.id);
  EXPECT_EQ(requests.requests[0].request.reference, "order 6");
  EXPECT_EQ(requests.requests[0].gifts, 1);
  EXPECT_EQ(
      store_->console_gifts
          .list_requests(operations_, {.campaign = "spring", .sent_since = UtcMillis{1'010'000}}, {}, 50)
          .requests.size(),
      4u);
}

// API-2
TEST_P(ConsoleGiftsTest, AReferenceThatMostHaveIsSearchedForAmongABoundedNumberOfGifts) {
  const AccountId ana = account("ana@acme.com");
  std::vector<TransactionId> having;
  std::vector<GiftRequestId> asked;
  for (int i = 0; i < 12; ++i) {
    NewGiftRequest request = request_for(0);
    request.request.account = ana;
    if (i % 4 == 0) request.request.reference = "all";
    for (int j = 0; j < 2; ++j)
      request.recipients.push_back({"a@x.com", "", "", "Hi", i % 4 == 1 && j == 0 ? "all" : ""});
    const auto outcome = store_->gifts.create(std::span(&request, 1)).front();
    if (i % 4 == 0) asked.insert(asked.begin(), outcome.request);
    for (int j = 0; j < (i % 4 == 0 ? 2 : i % 4 == 1 ? 1 : 0); ++j)
      having.push_back(outcome.recipients[static_cast<std::size_t>(j)].id);
  }
  std::reverse(having.begin(), having.end());
  const auto walk = [&](std::int64_t budget) {
    std::vector<TransactionId> walked;
    std::optional<TransactionId> place;
    do {
      const auto page = store_->console_gifts.list(operations_, {.reference = "all"}, place, 50, budget);
      for (const ConsoleGift& one : page.gifts) walked.push_back(one.gift.transaction.id);
      place = page.next_before;
    } while (place);
    return walked;
  };
  EXPECT_EQ(walk(100), having);
  EXPECT_EQ(walk(5), having);
  EXPECT_THAT(store_->console_gifts.list(operations_, {.reference = "all"}, {}, 50, 5).gifts, IsEmpty())
      << "the five newest gifts do not have it";
  std::vector<GiftRequestId> requests;
  std::optional<GiftRequestId> from;
  do {
    const auto page = store_->console_gifts.list_requests(operations_, {.reference = "all"}, from, 50, 5);
    for (const ListedRequest& one : page.requests) requests.push_back(one.request.id);
    EXPECT_LE(page.requests.size(), 2u) << "of five requests";
    from = page.next_before;
  } while (from);
  EXPECT_EQ(requests, asked);
}

// API-2
TEST_P(ConsoleGiftsTest, AListOfATimeOfSendingLooksAtTheGiftsOfThatTimeAlone) {
  const AccountId ana = account("ana@acme.com");
  std::vector<GiftRequestId> asked;
  for (int i = 0; i < 20; ++i) {
    NewGiftRequest request = request_for(0);
    request.request.account = ana;
    if (i % 2 == 0) request.request.utm_campaign_id = "autumn";
    request.request.created_at = {1'000'000 + i / 2 * 1'000};  // two at each time
    request.recipients.assign(i == 9 ? 3 : 1, {"a@x.com", "", "", "Hi"});
    asked.push_back(store_->gifts.create(std::span(&request, 1)).front().request);
  }
  // Reported late: it has the highest id, and was sent before the others.
  sql("UPDATE recipient_transaction SET sent_at = 1002500, gift_source = 'vendor' WHERE id = (SELECT max(id) "
      "FROM recipient_transaction)");
  sql("UPDATE gift_request SET mode = 'external' WHERE id = " + std::to_string(asked.back().value));
  struct Walk {
    std::vector<SentPosition> gifts;
    int pages = 0;
  };
  const auto walk = [&](const ConsoleGiftFilter& filter, std::size_t limit, std::int64_t budget) {
    Walk walked;
    std::optional<SentPosition> place;
    do {
      const auto page = store_->console_gifts.list_by_sending(operations_, filter, place, limit, budget);
      EXPECT_LE(page.gifts.size(), std::min(limit, static_cast<std::size_t>(budget)));
      for (const ConsoleGift& one : page.gifts)
        walked.gifts.push_back({*one.gift.transaction.times[Status::sent], one.gift.transaction.id});
      place = page.next;
      ++walked.pages;
    } while (place);
    return walked;
  };
  const auto ids_of = [](const Walk& walked) {
    std::vector<TransactionId> found;
    for (const SentPosition& one : walked.gifts) found.push_back(one.id);
    std::sort(found.rbegin(), found.rend());
    return found;
  };
  const std::vector<ConsoleGiftFilter> filters{
      {.sent_since = UtcMillis{1'002'000}},
      {.sent_until = UtcMillis{1'005'000}},
      {.sent_since = UtcMillis{1'002'000}, .sent_until = UtcMillis{1'005'000}},
      {.campaign = "autumn", .sent_since = UtcMillis{1'002'000}, .sent_until = UtcMillis{1'008'000}},
      {.sent_since = UtcMillis{1'002'500}, .sent_until = UtcMillis{1'002'501}},
      {.sent_since = UtcMillis{1'020'000}},
      {.sent_until = UtcMillis{1'000}}};
  for (const ConsoleGiftFilter& filter : filters) {
    ASSERT_TRUE(goes_by_sending(operations_, filter));
    for (const std::size_t limit : {2u, 50u})
      for (const std::int64_t budget : {4, 100}) {
        const Walk walked = walk(filter, limit, budget);
        EXPECT_EQ(ids_of(walked), ids(operations_, filter)) << "what the list by id has";
        EXPECT_TRUE(std::is_sorted(walked.gifts.begin(), walked.gifts.end(),
                                   [](const SentPosition& one, const SentPosition& next) {
                                     return std::pair(one.sent_at, one.id) > std::pair(next.sent_at, next.id);
                                   }));
        std::vector<GiftRequestId> requests;
        std::optional<SentPosition> place;
        do {
          const auto page =
              store_->console_gifts.list_requests_by_sending(operations_, filter, place, limit, budget);
          for (const ListedRequest& one : page.requests) {
            requests.push_back(one.request.id);
            EXPECT_EQ(one.gifts, one.request.id == asked[9] ? 3 : 1);
          }
          place = page.next;
        } while (place);
        std::vector<GiftRequestId> by_id;
        for (const auto& one : store_->console_gifts.list_requests(operations_, filter, {}, 50).requests)
          by_id.push_back(one.request.id);
        EXPECT_EQ(requests, by_id);
      }
  }
  EXPECT_EQ(walk(filters[2], 50, 10).pages, 1) << "the other gifts are not looked at";
  EXPECT_FALSE(goes_by_sending(operations_, {.status = Status::sent}));
  EXPECT_FALSE(goes_by_sending(operations_, {.recipient = "a@x.com", .sent_since = UtcMillis{1}}));
  EXPECT_FALSE(goes_by_sending({{}, ana, {}, {Role::sender}, true}, {.sent_since = UtcMillis{1}}));
}

// API-3
TEST_P(ConsoleGiftsTest, ATestViewersRequestsAreFoundAmongManyLiveOnes) {
  const AccountId ana = account("ana@acme.com");
  NewGiftRequest tested = request_for(1);
  tested.request.account = ana;
  tested.request.is_test = true;
  const GiftRequestId test = store_->gifts.create(std::span(&tested, 1)).front().request;
  for (int i = 0; i < 6; ++i) send(ana, {"a@x.com"});
  const auto page = store_->console_gifts.list_requests({{}, ana, {}, {Role::sender}, true}, {}, {}, 50, 4);
  ASSERT_EQ(page.requests.size(), 1u) << "the four newest requests are live ones";
  EXPECT_EQ(page.requests[0].request.id, test);
  EXPECT_FALSE(page.next_before);
  EXPECT_EQ(store_->console_gifts.list_requests({{}, ana, {}, {Role::sender}}, {}, {}, 50).requests.size(),
            6u);
}

// API-2
TEST_P(ConsoleGiftsTest, AWalkFindsEachOlderRowOnceWhileOthersAreInserted) {
  const AccountId ana = account("ana@acme.com");
  std::vector<TransactionId> before;
  for (int i = 0; i < 10; ++i) before.push_back(send(ana, {"a@x.com"}).front());
  std::vector<TransactionId> walked;
  std::optional<TransactionId> place;
  do {
    const auto page = store_->console_gifts.list(operations_, {}, place, 3, 4);
    for (const ConsoleGift& one : page.gifts) walked.push_back(one.gift.transaction.id);
    place = page.next_before;
    send(ana, {"later@x.com"});
  } while (place);
  std::reverse(walked.begin(), walked.end());
  EXPECT_EQ(walked, before);
  const auto later =
      store_->console_gifts.list_requests(operations_, {}, {}, 500).requests.size() - before.size();
  std::vector<GiftRequestId> requests;
  std::optional<GiftRequestId> from;
  do {
    const auto page = store_->console_gifts.list_requests(operations_, {}, from, 3, 4);
    for (const ListedRequest& one : page.requests) requests.push_back(one.request.id);
    from = page.next_before;
    send(ana, {"later@x.com"});
  } while (from);
  EXPECT_EQ(requests.size(), before.size() + later);
  EXPECT_EQ(std::adjacent_find(requests.begin(), requests.end(), std::less_equal<>()), requests.end())
      << "descending, each once";
}

}  // namespace
}  // namespace giftsync::store
