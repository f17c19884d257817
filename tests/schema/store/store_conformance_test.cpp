// One suite for the contracts of schema/store/ over every back end: SQLite and PostgreSQL behave alike
// (ARCH-11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <thread>

#include "schema/sql/queries.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/claims.h"
#include "tests/support/query_plan.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

class StoreConformance : public tests::StoreFixture {
 protected:
  Store& store() { return *store_; }

  NewGiftRequest new_request(std::size_t recipients, SendMode mode = SendMode::email) {
    NewGiftRequest request;
    request.request.account = {7};
    request.request.mode = mode;
    request.request.gift = {12};
    request.request.item_name = "Coffee \"grande\" \\ {1,2} ☕";
    request.request.item_description = "Hot";
    request.request.costs = {Money{550}, Money{0}, Money{12}, Money{30}};
    request.request.sender_email = "sender@example.com";
    request.request.sender_name = "Sam";
    request.request.created_at = kNow;
    for (std::size_t i = 0; i < recipients; ++i) {
      request.recipients.push_back(
          {"person" + std::to_string(i) + "@example.com", "Per", "Son", "Line 1\nLine 2 ' \" \\ , {}"});
    }
    return request;
  }

  TransactionId one_gift(SendMode mode = SendMode::email) {
    const NewGiftRequest request = new_request(1, mode);
    return store().gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }

  StatusChange change(TransactionId transaction, Status status, std::int64_t after_millis,
                      const std::string& event = "") {
    StatusChange one{{}, "import", transaction, status, kNow + after_millis, kNow + after_millis, {}};
    if (!event.empty()) one.event_ids.push_back(event);
    return one;
  }

  std::vector<AcceptOutcome> accept(const std::vector<StatusChange>& changes) {
    return store().changes.accept(changes);
  }
};

TEST_P(StoreConformance, OrganizationsHaveTokensAndAccounts) {
  Credential token;
  token.prefix = "got_live_first";
  token.hash = "hash 1";
  token.created_at = kNow;
  const auto edge = store().organizations.create("Edge Communications", token);
  ASSERT_TRUE(edge.has_value());
  token.hash = "hash 2";
  EXPECT_FALSE(store().organizations.create(" edge COMMUNICATIONS", token).has_value());
  EXPECT_FALSE(store().credentials.find_by_hash(CredentialKind::organization_token, "hash 2").has_value())
      << "all of it or nothing";
  token.kind = CredentialKind::organization_token;
  token.organization = *edge;
  token.expires_at = kNow + 5;
  token.id = store().credentials.insert(token);
  store().credentials.revoke(token, kNow + 1);
  store().credentials.revoke(token, kNow + 2);
  const auto found = store().credentials.find_by_hash(CredentialKind::organization_token, "hash 2");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->owner, "Edge Communications");
  EXPECT_EQ(found->revoked_at, kNow + 1) << "the first revocation stands";
  EXPECT_EQ(found->expires_at, kNow + 5);
  EXPECT_FALSE(store().credentials.list(CredentialKind::organization_token).front().revoked_at.has_value());

  Account account;
  account.email = "Ana@example.com";
  account.organization = *edge;
  store().accounts.create(account);
  account.email = "bob@example.com";
  account.organization.reset();
  store().accounts.create(account);
  EXPECT_EQ(store().organizations.find_by_name("EDGE communications")->accounts, 1);
  const std::vector<std::string> keys{"ana@example.com", "bob@example.com", "unknown@example.com", ""};
  const auto accounts = store().accounts.find_by_email_keys(keys);
  ASSERT_THAT(accounts, SizeIs(2));
  EXPECT_EQ(accounts.at("ana@example.com").organization, edge);
  EXPECT_FALSE(accounts.at("bob@example.com").organization.has_value());
  EXPECT_TRUE(store().accounts.set_organization("BOB@example.com", edge));
  EXPECT_TRUE(store().accounts.set_organization("ana@example.com", std::nullopt));
  EXPECT_FALSE(store().accounts.set_organization("unknown@example.com", edge));
  EXPECT_EQ(store().accounts.find_by_email("bob@example.com")->organization, edge);
  EXPECT_FALSE(store().accounts.find_by_email("ana@example.com")->organization.has_value());
}

INSTANTIATE_TEST_SUITE_P(BackEnds, StoreConformance,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(StoreConformance, MigratingAgainChangesNothing) {
  const TransactionId id = one_gift();
  migrate_store(database_->address());
  EXPECT_EQ(store_version(database_->address()), kStoreVersion);
  EXPECT_THAT(store().gifts.find(std::span(&id, 1)), SizeIs(1));
}

TEST_P(StoreConformance, RefusesAStoreNewerThanItself) {
  sql("UPDATE store_metadata SET value = '999' WHERE name = 'version'");
  try {
    migrate_store(database_->address());
    FAIL() << "a newer store was accepted";
  } catch (const DependencyError& fault) {
    EXPECT_FALSE(fault.transient());
    EXPECT_THAT(fault.what(), testing::HasSubstr("999"));
  }
}

TEST_P(StoreConformance, KeepsTheFirstMetadataValue) {
  EXPECT_EQ(store().metadata("fingerprint"), std::nullopt);
  EXPECT_EQ(store().set_metadata_if_absent("fingerprint", "one"), "one");
  EXPECT_EQ(store().set_metadata_if_absent("fingerprint", "two"), "one");
}

TEST_P(StoreConformance, IsUnusedUntilItsFirstRequest) {
  EXPECT_TRUE(store().is_unused());
  store().check_writable();
  one_gift();
  EXPECT_FALSE(store().is_unused());
}

// ARCH-15
TEST_P(StoreConformance, CreatesARequestWholeAndReadsItBack) {
  NewGiftRequest request = new_request(3);
  request.request.utm_campaign_id = "spring";
  request.request.credential_prefix = "gsk_live_abcdefgh";
  request.request.http_request_id = "0123456789abcdef";
  request.request.reference = "order 17";
  request.recipients[1].reference = "line 3";
  const CreateOutcome outcome = store().gifts.create(std::span(&request, 1)).front();
  EXPECT_EQ(outcome.kind, CreateOutcome::Kind::created);
  ASSERT_THAT(outcome.recipients, SizeIs(3));

  const auto read = store().gifts.find_gift_request(outcome.request);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->item_name, request.request.item_name);
  EXPECT_EQ(read->costs, request.request.costs);
  EXPECT_EQ(read->utm_campaign_id, "spring");
  EXPECT_EQ(read->credential_prefix, "gsk_live_abcdefgh");
  EXPECT_EQ(read->http_request_id, "0123456789abcdef");
  EXPECT_EQ(read->reference, "order 17");
  EXPECT_EQ(read->mode, SendMode::email);
  const auto recipients = store().gifts.find_recipients(outcome.request);
  EXPECT_EQ(recipients[0].reference, "");
  EXPECT_EQ(recipients[1].reference, "line 3");
  ASSERT_THAT(recipients, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(recipients[i].id, outcome.recipients[i].id);
    EXPECT_EQ(recipients[i].email, request.recipients[i].email);
    EXPECT_EQ(recipients[i].message, request.recipients[i].message);
    EXPECT_EQ(recipients[i].status, Status::sent);
    EXPECT_EQ(recipients[i].times[Status::sent], kNow);
    EXPECT_EQ(recipients[i].times[Status::delivered], std::nullopt);
  }
}

TEST_P(StoreConformance, ReturnsNothingForUnknownIds) {
  EXPECT_EQ(store().gifts.find_gift_request({4711}), std::nullopt);
  EXPECT_THAT(store().gifts.find_recipients({4711}), IsEmpty());
  const TransactionId unknown{4711};
  EXPECT_THAT(store().gifts.find(std::span(&unknown, 1)), IsEmpty());
  EXPECT_EQ(store().gifts.highest_transaction_id(), std::nullopt);
}

// ARCH-16
TEST_P(StoreConformance, GivesEachRequestOfAGroupIdsOfItsOwn) {
  std::vector<NewGiftRequest> group;
  for (int i = 0; i < 40; ++i) group.push_back(new_request(i % 3 + 1));
  std::set<TransactionId> ids;
  std::set<GiftRequestId> requests;
  std::size_t recipients = 0;
  for (const CreateOutcome& outcome : store().gifts.create(group)) {
    requests.insert(outcome.request);
    recipients += outcome.recipients.size();
    for (const auto& one : outcome.recipients) ids.insert(one.id);
  }
  EXPECT_THAT(requests, SizeIs(40));
  EXPECT_EQ(ids.size(), recipients);
}

// HTTP-32
TEST_P(StoreConformance, ReplaysAnIdempotencyKeyAndRefusesItForAnotherBody) {
  NewGiftRequest first = new_request(2);
  first.idempotency = IdempotencyKey{"key-1", "hash-1"};
  first.warnings = "[\"w\"]";
  NewGiftRequest other = first;
  other.idempotency->body_hash = "hash-2";
  NewGiftRequest elsewhere = first;
  elsewhere.request.mode = SendMode::urls;

  const CreateOutcome created = store().gifts.create(std::span(&first, 1)).front();
  const std::vector<NewGiftRequest> group{first, other, elsewhere};
  const auto again = store().gifts.create(group);
  EXPECT_EQ(again[0].kind, CreateOutcome::Kind::replayed);
  EXPECT_EQ(again[0].request, created.request);
  EXPECT_EQ(again[0].warnings, first.warnings);
  ASSERT_THAT(again[0].recipients, SizeIs(2));
  EXPECT_EQ(again[0].recipients[1].id, created.recipients[1].id);
  EXPECT_EQ(again[1].kind, CreateOutcome::Kind::body_mismatch);
  EXPECT_EQ(again[2].kind, CreateOutcome::Kind::created) << "keys belong to account and endpoint";
  EXPECT_EQ(store().gifts.prune_idempotency(kNow + 1), 2);
  EXPECT_EQ(store().gifts.create(std::span(&first, 1)).front().kind, CreateOutcome::Kind::created);
}

// HTTP-33, HTTP-58
TEST_P(StoreConformance, AKeyOfAFormerVersionComparesWhatThatVersionRecognised) {
  NewGiftRequest first = new_request(1);
  first.idempotency = IdempotencyKey{"key-1", "hash without reference"};
  const CreateOutcome created = store().gifts.create(std::span(&first, 1)).front();
  NewGiftRequest repeat = first;
  repeat.idempotency = IdempotencyKey{"key-1", "hash with reference", "hash without reference"};
  EXPECT_EQ(store().gifts.create(std::span(&repeat, 1)).front().kind, CreateOutcome::Kind::body_mismatch)
      << "this version knows references";
  // What a former version writes, which does not name the column.
  sql("DELETE FROM gift_request_idempotency");
  sql("INSERT INTO gift_request_idempotency (account_id, mode, key, body_hash, request_id, warnings, "
      "created_at) VALUES (" +
      std::to_string(first.request.account.value) + ", 'email', 'key-1', 'hash without reference', " +
      std::to_string(created.request.value) + ", '[]', 1)");
  const auto again = store().gifts.create(std::span(&repeat, 1)).front();
  EXPECT_EQ(again.kind, CreateOutcome::Kind::replayed);
  EXPECT_EQ(again.request, created.request);
  EXPECT_EQ(store().gifts.create(std::span(&first, 1)).front().kind, CreateOutcome::Kind::replayed)
      << "a body without new members";
  NewGiftRequest other = first;
  other.idempotency = IdempotencyKey{"key-1", "x", "y"};
  EXPECT_EQ(store().gifts.create(std::span(&other, 1)).front().kind, CreateOutcome::Kind::body_mismatch);
}

// ARCH-41
TEST_P(StoreConformance, PrunesTheOldestAndLeavesTheRestToTheNextCall) {
  const auto keys = [&] { return scalar("SELECT cast(count(*) AS TEXT) FROM source_message"); };
  sql("INSERT INTO source_message (source, message_id, received_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION "
      "ALL "
      "SELECT i + 1 FROM n WHERE i < 20) SELECT 'a', 'm' || i, i FROM n");
  sql::Database database(address());
  const PrunedTable messages{"source_message", "received_at"};
  EXPECT_EQ(prune(database, messages, {16}, {2, 7}), 7);
  EXPECT_EQ(scalar("SELECT cast(min(received_at) AS TEXT) FROM source_message"), "8")
      << "the oldest went first";
  EXPECT_EQ(prune(database, messages, {16}, {3, 100}), 8);
  EXPECT_EQ(prune(database, messages, {16}, {3, 100}), 0);
  EXPECT_EQ(keys(), "5");
}

// ARCH-41: 5,000 rows a transaction; what one has deleted stays deleted when the next one is refused.
TEST_P(StoreConformance, PrunesInSeveralTransactions) {
  one_gift();
  sql("INSERT INTO gift_request_idempotency (account_id, mode, key, body_hash, request_id, warnings, "
      "created_at) WITH "
      "RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5001) SELECT 1, 'email', 'k' || "
      "i, '', 1, "
      "'', i FROM n");
  sql("CREATE TABLE keeper (key TEXT, account_id BIGINT, mode TEXT, FOREIGN KEY (key, account_id, mode) "
      "REFERENCES "
      "gift_request_idempotency (key, account_id, mode))");
  sql("INSERT INTO keeper VALUES ('k5001', 1, 'email')");
  EXPECT_ANY_THROW(store_->gifts.prune_idempotency({6000}));
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM gift_request_idempotency"), "1");
}

/// The lookup of a group's keys, as gift_requests.cpp writes it. A million stored keys must not be read for
/// it.
TEST_P(StoreConformance, FindsTheKeysOfAGroupByIndex) {
  const bool is_sqlite = GetParam() == sql::Dialect::sqlite;
  sql::Database database(database_->address());
  const std::string plan = database.write([&](soci::session& session) {
    if (!is_sqlite) session << "SET LOCAL enable_seqscan = off";  // a small table would be scanned
    const std::string select = "SELECT account_id FROM gift_request_idempotency WHERE ";
    if (!is_sqlite) {
      const auto lines =
          sql::select_column<std::string>(session, "EXPLAIN " + select + "key = ANY('{a,b}'::text[])");
      return std::accumulate(lines.begin(), lines.end(), std::string());
    }
    int ignored = 0;
    std::string detail;
    session << "EXPLAIN QUERY PLAN " + select + "key IN (SELECT value FROM json_each('[\"a\",\"b\"]'))",
        soci::into(ignored), soci::into(ignored), soci::into(ignored), soci::into(detail);
    return detail;
  });
  EXPECT_THAT(plan, testing::ContainsRegex(is_sqlite ? "SEARCH .*\\(key=\\?" : "Index Cond: \\(key = ANY"));
}

/// The ids of the gifts that list_latest() returns, page by page of two.
std::vector<std::int64_t> latest(Store& store, const GiftFilter& filter) {
  std::vector<std::int64_t> ids;
  for (SentPosition below = SentPosition::end();;) {
    const auto page = store.gifts.list_latest(filter, below, 2);
    if (page.empty()) return ids;
    for (const SentPosition& gift : page) ids.push_back(gift.id.value);
    below = page.back();
  }
}

TEST_P(StoreConformance, ListsTheLatestSentFirst) {
  const auto send = [&](std::size_t count, std::int64_t at, const std::string& sender, std::int64_t item) {
    NewGiftRequest request = new_request(count);
    request.request.created_at = kNow + at;
    request.request.sender_email = sender;
    request.request.gift = {item};
    request.request.item_name = "Item " + std::to_string(item);
    std::vector<std::int64_t> ids;
    const auto outcomes = store().gifts.create(std::span(&request, 1));
    for (const auto& made : outcomes.front().recipients) ids.push_back(made.id.value);
    return ids;
  };
  const auto late = send(3, 2000, "ana@example.com", 7);
  const auto early = send(1, 1000, "bob@example.com", 8);
  EXPECT_THAT(latest(store(), {}), ElementsAre(late[2], late[1], late[0], early[0]));
  GiftFilter filter;
  filter.since = kNow + 1001;
  EXPECT_THAT(latest(store(), filter), ElementsAre(late[2], late[1], late[0]));
  filter = {};
  filter.sender = "BOB@example.com";
  EXPECT_THAT(latest(store(), filter), ElementsAre(early[0]));
  filter = {};
  filter.item = "8";
  EXPECT_THAT(latest(store(), filter), ElementsAre(early[0]));
  filter.item = "Item 7";
  EXPECT_THAT(latest(store(), filter), SizeIs(3));
  filter.item = "Item";
  EXPECT_THAT(latest(store(), filter), IsEmpty());
}

// OPS-34
TEST_P(StoreConformance, SearchesTheLatestInPartsBackToTheGivenTime) {
  const auto send = [&](std::size_t count, std::int64_t at, const std::string& key) {
    NewGiftRequest request = new_request(count);
    request.request.created_at = kNow + at;
    request.request.credential_prefix = key;
    return store().gifts.create(std::span(&request, 1)).front().recipients;
  };
  const auto early = send(2, 0, "gsk_live_early");
  const auto late = send(5000, 1000, "gsk_live_late");
  GiftFilter filter;
  filter.key = "gsk_live_early";
  const LatestGifts first = store().gifts.search_latest(filter, SentPosition::end());
  EXPECT_THAT(first.gifts, IsEmpty());
  ASSERT_TRUE(first.next);
  EXPECT_EQ(first.next->id, late.front().id);
  const LatestGifts rest = store().gifts.search_latest(filter, *first.next);
  ASSERT_THAT(rest.gifts, SizeIs(2));
  EXPECT_EQ(rest.gifts[0].transaction.id, early[1].id);
  EXPECT_EQ(rest.gifts[1].request.credential_prefix, "gsk_live_early");
  EXPECT_FALSE(rest.next);
  filter.since = kNow + 1;
  EXPECT_THAT(store().gifts.search_latest(filter, *first.next).gifts, IsEmpty());
  filter.key = "gsk_live_late";
  const LatestGifts all = store().gifts.search_latest(filter, SentPosition::end());
  ASSERT_THAT(all.gifts, SizeIs(5000));
  EXPECT_EQ(all.gifts.front().transaction.id, late.back().id);
}

/// A page of ten million gifts must not sort them.
TEST_P(StoreConformance, ListsTheLatestSentByIndex) {
  sql::Database database(database_->address());
  const std::string plan = tests::plan_of(database, latest_gifts_query("(t.sent_at, t.id) < (9, 9)", 2));
  EXPECT_THAT(plan, testing::HasSubstr("recipient_transaction_sent"));
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("TEMP B-TREE|Sort")));
}

TEST_P(StoreConformance, ReplaysWithinOneGroup) {
  NewGiftRequest request = new_request(1);
  request.idempotency = IdempotencyKey{"twice", "same"};
  const std::vector<NewGiftRequest> group{request, request};
  const auto outcomes = store().gifts.create(group);
  EXPECT_EQ(outcomes[0].kind, CreateOutcome::Kind::created);
  EXPECT_EQ(outcomes[1].kind, CreateOutcome::Kind::replayed);
  EXPECT_EQ(outcomes[1].request, outcomes[0].request);
  EXPECT_EQ(outcomes[1].recipients.front().id, outcomes[0].recipients.front().id);
}

TEST_P(StoreConformance, ThreadsThatUseOneKeyCreateOneRequest) {
  NewGiftRequest request = new_request(1);
  request.idempotency = IdempotencyKey{"race", "same"};
  std::vector<GiftRequestId> seen(8);
  std::vector<std::thread> threads;
  for (auto& id : seen) {
    threads.emplace_back([&] { id = store().gifts.create(std::span(&request, 1)).front().request; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(std::set<GiftRequestId>(seen.begin(), seen.end()), SizeIs(1));
}

TEST_P(StoreConformance, ExhaustedIdsFailWithoutDamage) {
  const TransactionId before = one_gift();
  store().gifts.start_transaction_ids_at({kMaxId - 100});
  EXPECT_THROW(one_gift(), DependencyError) << "no block fits below 2^53";
  EXPECT_THAT(store().gifts.find(std::span(&before, 1)), SizeIs(1));
}

TEST_P(StoreConformance, StartsTransactionIdsAtTheGivenMinimum) {
  one_gift();
  store().gifts.start_transaction_ids_at({5'000'000});
  EXPECT_EQ(one_gift(), TransactionId{5'000'000});
  store().gifts.start_transaction_ids_at({10});
  EXPECT_EQ(one_gift(), TransactionId{5'000'001}) << "ids never go back";
  Store other(database_->address());
  const NewGiftRequest request = new_request(1);
  EXPECT_GT(other.gifts.create(std::span(&request, 1)).front().recipients.front().id,
            TransactionId{5'000'001});
}

TEST_P(StoreConformance, FindsAccountsByAnySpelling) {
  Account account{{}, "Ada@Example.com", "Ada", Plan::enterprise_plus, true, kNow};
  const auto id = store().accounts.create(account);
  ASSERT_TRUE(id);
  EXPECT_EQ(store().accounts.create(account), std::nullopt) << "one account for an address";
  const auto found = store().accounts.find_by_email(" ada@example.COM");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, *id);
  EXPECT_EQ(found->plan, Plan::enterprise_plus);
  EXPECT_TRUE(store().accounts.set_active("ADA@example.com", false));
  EXPECT_FALSE(store().accounts.find_by_email("ada@example.com")->active);
  EXPECT_FALSE(store().accounts.set_active("unknown@example.com", false));
}

TEST_P(StoreConformance, SetPlanReturnsThePreviousPlan) {
  const AccountId ada =
      *store().accounts.create({{}, "Ada@example.com", "Ada", Plan::individual, true, kNow});
  store().accounts.create({{}, "bob@example.com", "Bob", Plan::team, true, kNow});
  Credential key;
  key.account = ada;
  key.prefix = "gsk_live_abcdefg";
  key.hash = "hash";
  key.created_at = kNow;
  store().credentials.insert(key);
  EXPECT_EQ(store().accounts.set_plan(" ADA@example.com", Plan::enterprise), Plan::individual);
  EXPECT_EQ(store().accounts.find_by_email("ada@example.com")->plan, Plan::enterprise);
  EXPECT_EQ(store().credentials.find_key_by_hash("hash")->account.plan, Plan::enterprise);
  EXPECT_EQ(store().accounts.set_plan("ada@example.com", Plan::enterprise), Plan::enterprise);
  EXPECT_EQ(store().accounts.find_by_email("bob@example.com")->plan, Plan::team) << "another account's";
  EXPECT_EQ(store().accounts.set_plan("unknown@example.com", Plan::team), std::nullopt);
}

TEST_P(StoreConformance, StoresApiKeysWithTheirDates) {
  const AccountId account = *store().accounts.create({{}, "a@example.com", "A", Plan::team, true, kNow});
  Credential key;
  key.account = account;
  key.prefix = "gsk_live_abcdefg";
  key.hash = "hash";
  key.scopes = {Scope::send, Scope::approve};
  key.created_at = kNow;
  key.id = store().credentials.insert(key);
  auto holder = store().credentials.find_key_by_hash("hash");
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->key.scopes, key.scopes);
  EXPECT_EQ(holder->account.email, "a@example.com");
  EXPECT_EQ(holder->key.last_used_at, std::nullopt);
  EXPECT_EQ(store().credentials.find_key_by_hash("other"), std::nullopt);

  store().credentials.update_last_used({{key.id, kNow + 5}});
  store().credentials.set_expiry(key, kNow + 10);
  store().credentials.revoke(key, kNow + 20);
  store().credentials.revoke(key, kNow + 30);
  holder = store().credentials.find_key_by_hash("hash");
  EXPECT_EQ(holder->key.last_used_at, kNow + 5);
  EXPECT_EQ(holder->key.expires_at, kNow + 10);
  EXPECT_EQ(holder->key.revoked_at, kNow + 20) << "the first revocation counts";
  EXPECT_THAT(store().credentials.list(CredentialKind::api_key), SizeIs(1));
}

TEST_P(StoreConformance, CredentialsOfEachKindHaveTheirOwnIdsAndOwners) {
  const AccountId account = *store().accounts.create({{}, "a@example.com", "A", Plan::team, true, kNow});
  Credential token{.prefix = "got_live_first", .hash = "hash", .created_at = kNow};
  store().organizations.create("Acme", token);
  Credential key{.account = account, .name = "website", .prefix = "gsk_live_first", .hash = "hash"};
  key.id = store().credentials.insert(key);
  store().credentials.create_message_token({.prefix = "gmt_live_first", .hash = "hash"});
  token = store().credentials.list(CredentialKind::organization_token).at(0);
  ASSERT_EQ(token.id, key.id);
  store().credentials.revoke(key, kNow);
  store().credentials.set_expiry(token, kNow + 10);

  key = store().credentials.list(CredentialKind::api_key).at(0);
  EXPECT_EQ(std::tie(key.owner, key.name, key.prefix),
            std::tuple("a@example.com", "website", "gsk_live_first"));
  EXPECT_EQ(key.revoked_at, kNow);
  EXPECT_EQ(key.expires_at, std::nullopt);
  token = *store().credentials.find_by_hash(CredentialKind::organization_token, "hash");
  EXPECT_EQ(std::tie(token.owner, token.prefix), std::tuple("Acme", "got_live_first"));
  EXPECT_EQ(token.created_at, kNow);
  EXPECT_EQ(token.revoked_at, std::nullopt);
  EXPECT_EQ(token.expires_at, kNow + 10);
  const auto messages = store().credentials.list(CredentialKind::message_token);
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].kind, CredentialKind::message_token);
  EXPECT_EQ(messages[0].owner, "");
  EXPECT_EQ(messages[0].expires_at, std::nullopt);
}

TEST_P(StoreConformance, ImportsItemsAndCountsWhatChanged) {
  GiftItem coffee{{1}, "Coffee", "", {Money{500}, {}, {}, Money{25}}, true, "", "", ""};
  GiftItem ride{{9'007'199'254'740'992}, "Ride", "", {Money{1500}, {}, Money{0}, {}}, false, "", "", ""};
  const std::vector<GiftItem> both{coffee, ride};
  auto counts = store().catalogue.import(both);
  EXPECT_EQ(counts.inserted, 2u);
  coffee.costs.item = {600};
  const std::vector<GiftItem> again{coffee, ride};
  counts = store().catalogue.import(again);
  EXPECT_EQ(counts.updated, 1u);
  EXPECT_EQ(counts.unchanged, 1u);
  EXPECT_EQ(store().catalogue.item({1})->costs.total(), Money{625});
  EXPECT_EQ(store().catalogue.item({2}), std::nullopt);
  EXPECT_THAT(store().catalogue.items(), SizeIs(2));
}

// STATUS-17
TEST_P(StoreConformance, AcceptsAChangeOnceAndGathersItsEventIds) {
  const TransactionId id = one_gift();
  EXPECT_THAT(accept({change(id, Status::opened, 10, "e1"), change(id, Status::opened, 10, "e2")}),
              ElementsAre(AcceptOutcome::accepted, AcceptOutcome::duplicate));
  EXPECT_THAT(accept({change(id, Status::opened, 10, "e3"), change(id, Status::opened, 11, "e1")}),
              ElementsAre(AcceptOutcome::duplicate, AcceptOutcome::accepted))
      << "a known event id with another content is a new change";
  const auto history = store().changes.history(id);
  ASSERT_THAT(history, SizeIs(2));
  EXPECT_THAT(history[0].event_ids, ElementsAre("e1", "e2", "e3"));
  EXPECT_THAT(history[1].event_ids, ElementsAre("e1"));
}

// STATUS-19
TEST_P(StoreConformance, OrphansChangesUntilTheirTransactionAppears) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  EXPECT_THAT(accept({change(coming, Status::opened, 10)}), ElementsAre(AcceptOutcome::orphaned));
  EXPECT_THAT(accept({change(coming, Status::opened, 10)}), ElementsAre(AcceptOutcome::duplicate));
  EXPECT_EQ(store().changes.count_orphaned(), 1);
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 0);
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 1);
  EXPECT_EQ(store().changes.count_orphaned(), 0);
  EXPECT_THAT(store().changes.changes_of(std::span(&coming, 1)), SizeIs(1));
}

// CON-55
TEST_P(StoreConformance, AnActionKeepsWhetherItChangedTheAddress) {
  const TransactionId id = one_gift();
  const auto enqueue = [&](const std::string& email, bool is_readdressed) {
    return store().lifecycle.enqueue_mail(id, kNow, [&](const MailContext&) {
      MailOrder order{MailKind::gift, email};
      order.action = GiftAction{id, kNow, GiftActionKind::resent, "root", "a comment", is_readdressed};
      return std::optional(order);
    });
  };
  ASSERT_TRUE(enqueue("bea@example.org", true));
  ASSERT_TRUE(enqueue("bea@example.org", false));
  const auto actions = store().lifecycle.find_actions(id);
  ASSERT_THAT(actions, SizeIs(2));
  EXPECT_TRUE(actions[0].is_readdressed);
  EXPECT_FALSE(actions[1].is_readdressed);
}

// ARCH-44
TEST_P(StoreConformance, TimersBeginAtTheSmallestTimeAndLookBelowItLater) {
  const NewGiftRequest request = new_request(ClaimLowerBound::kManyRows);
  const TransactionId one = store().gifts.create(std::span(&request, 1)).front().recipients.front().id;
  const auto decide_at = [&](UtcMillis now) {
    const auto no_timer = [](const DueGift&, std::span<const StatusChange>) { return TimerDecision{}; };
    return store().lifecycle.decide_due(now, ClaimLowerBound::kManyRows, no_timer).gifts;
  };
  sql("UPDATE recipient_transaction SET due_at = " + std::to_string(kNow.value));
  ASSERT_EQ(decide_at(kNow), ClaimLowerBound::kManyRows);
  ASSERT_EQ(decide_at(kNow), 0u);
  sql("UPDATE recipient_transaction SET due_at = " +
      std::to_string((kNow - 2 * ClaimLowerBound::kLateMillis).value) +
      " WHERE id = " + std::to_string(one.value));
  std::size_t decided = decide_at(kNow + 1000);
  EXPECT_EQ(decided, GetParam() == sql::Dialect::postgresql ? 0u : 1u) << "dead rows below are not read";
  decided += decide_at(kNow + ClaimLowerBound::kWholeLookMillis);
  EXPECT_EQ(decided, 1u);
}

}  // namespace
}  // namespace giftsync::store
