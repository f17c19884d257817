// One suite for the store over every back end: whatever it promises in schema/store/ it keeps on SQLite and
// PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>

#include "tests/schema/store_ground.h"

namespace giftsync::schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

class StoreConformance : public StoreGround {
 protected:
  Store& store() { return *store_; }

  NewGiftRequest asked(std::size_t recipients, SendMode mode = SendMode::email) {
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
    const NewGiftRequest request = asked(1, mode);
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

TEST_P(StoreConformance, organizations_have_tokens_and_accounts) {
  OrganizationToken token;
  token.prefix = "got_live_first";
  token.hash = "hash 1";
  token.created_at = kNow;
  const auto edge = store().organizations.create("Edge Communications", token);
  ASSERT_TRUE(edge.has_value());
  token.hash = "hash 2";
  EXPECT_FALSE(store().organizations.create(" edge COMMUNICATIONS", token).has_value());
  EXPECT_FALSE(store().organizations.find_token("hash 2").has_value()) << "all of it or nothing";
  token.organization = *edge;
  token.expires_at = kNow + 5;
  const OrganizationTokenId second = store().organizations.add_token(token);
  store().organizations.revoke(second, kNow + 1);
  store().organizations.revoke(second, kNow + 2);
  const auto found = store().organizations.find_token("hash 2");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->organization_name, "Edge Communications");
  EXPECT_EQ(found->revoked_at, kNow + 1) << "the first revocation stands";
  EXPECT_EQ(found->expires_at, kNow + 5);
  EXPECT_FALSE(store().organizations.tokens().front().revoked_at.has_value());

  Account account;
  account.email = "Ana@example.com";
  account.organization = *edge;
  store().accounts.create(account);
  account.email = "bob@example.com";
  account.organization.reset();
  store().accounts.create(account);
  EXPECT_EQ(store().organizations.organization("EDGE communications")->accounts, 1);
  const std::vector<std::string> keys{"ana@example.com", "bob@example.com", "nobody@example.com", ""};
  const auto accounts = store().accounts.accounts_by_email_key(keys);
  ASSERT_THAT(accounts, SizeIs(2));
  EXPECT_EQ(accounts.at("ana@example.com").organization, edge);
  EXPECT_FALSE(accounts.at("bob@example.com").organization.has_value());
  EXPECT_TRUE(store().accounts.set_organization("BOB@example.com", edge));
  EXPECT_TRUE(store().accounts.set_organization("ana@example.com", std::nullopt));
  EXPECT_FALSE(store().accounts.set_organization("nobody@example.com", edge));
  EXPECT_EQ(store().accounts.account_by_email("bob@example.com")->organization, edge);
  EXPECT_FALSE(store().accounts.account_by_email("ana@example.com")->organization.has_value());
}

INSTANTIATE_TEST_SUITE_P(BackEnds, StoreConformance, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(StoreConformance, MigratingAgainChangesNothing) {
  const TransactionId id = one_gift();
  migrate_store(database_->address());
  EXPECT_EQ(store_version(database_->address()), kStoreVersion);
  EXPECT_THAT(store().gifts.gifts(std::span(&id, 1)), SizeIs(1));
}

TEST_P(StoreConformance, AStoreOfVersionOneKeepsWhoVoidedWhat) {
  const TransactionId id = one_gift();
  accept({change(id, Status::opened, 10), change(id, Status::redeemed, 20)});
  const ChangeId wrong = store().changes.history(id).front().id;
  store().changes.void_change(wrong, {kNow + 30, "ana", "the wrong gift"});
  store_.reset();
  {
    sql::Database database(database_->address());
    database.write([](soci::session& session) {
      session << "DROP TABLE change_review";
      session << "DROP INDEX source_aside_held";
      session << "ALTER TABLE source_aside DROP COLUMN change_id";
      session << "ALTER TABLE source_aside DROP COLUMN sent_id";
      session << "ALTER TABLE source DROP COLUMN to_judge";
      session << "UPDATE store_fact SET value = '1' WHERE name = 'version'";
    });
  }
  ASSERT_EQ(store_version(database_->address()), 1);
  migrate_store(database_->address());
  EXPECT_EQ(store_version(database_->address()), kStoreVersion);
  store_ = std::make_unique<Store>(database_->address());
  const auto history = store().changes.history(id);
  ASSERT_THAT(history, SizeIs(2));
  ASSERT_THAT(history[0].reviews, SizeIs(1));
  EXPECT_EQ(history[0].reviews[0].kind, ReviewKind::voided);
  EXPECT_EQ(history[0].reviews[0].by, "ana");
  EXPECT_EQ(history[0].reviews[0].reason, "the wrong gift");
  EXPECT_EQ(history[0].reviews[0].at, kNow + 30);
  EXPECT_THAT(history[1].reviews, IsEmpty());
  EXPECT_EQ(store().changes.restore_change(wrong, {kNow + 40, "bob", ""}).kind,
            RestoreOutcome::Kind::restored);
  EXPECT_THAT(store().changes.history(id)[0].reviews, SizeIs(2));
}

TEST_P(StoreConformance, AStoreOfVersionOneFoldsAnewWhatWasSentBeforeItsFirstReport) {
  store().sources.open("vendor", "vendor", kNow);
  SourceReport page;
  page.source = page.origin = "vendor";
  page.now = kNow;
  for (const std::int64_t id : {9'000'000'001, 9'000'000'002}) {
    SourceItem& item = page.items.emplace_back();
    item.change = StatusChange{{}, "vendor", {id}, Status::sent, kNow, kNow, {}};
    item.gift.emplace();
    item.gift->id = {id};
    item.gift->email = "ada@example.com";
    item.gift->sent_at = kNow;
  }
  SourceItem earlier = page.items.front();
  earlier.change->occurred_at = kNow - 500;
  page.items.push_back(earlier);
  ASSERT_EQ(store().sources.accept(page).kind, SourceReceipt::Kind::taken);
  store_.reset();
  sql("DELETE FROM sync_mark");
  sql("DROP TABLE change_review");
  sql("DROP INDEX source_aside_held");
  sql("ALTER TABLE source_aside DROP COLUMN change_id");
  sql("ALTER TABLE source_aside DROP COLUMN sent_id");
  sql("ALTER TABLE source DROP COLUMN to_judge");
  sql("UPDATE store_fact SET value = '1' WHERE name = 'version'");
  migrate_store(database_->address());
  store_ = std::make_unique<Store>(database_->address());
  const auto claims = store().sync.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims.front().transaction.value, 9'000'000'001);
}

TEST_P(StoreConformance, RefusesAStoreNewerThanItself) {
  sql("UPDATE store_fact SET value = '999' WHERE name = 'version'");
  try {
    migrate_store(database_->address());
    FAIL() << "a newer store was accepted";
  } catch (const BrokenWorld& fault) {
    EXPECT_FALSE(fault.transient());
    EXPECT_THAT(fault.what(), testing::HasSubstr("999"));
  }
}

TEST_P(StoreConformance, KeepsTheFirstValueOfAFact) {
  EXPECT_EQ(store().fact("fingerprint"), std::nullopt);
  EXPECT_EQ(store().settle_fact("fingerprint", "one"), "one");
  EXPECT_EQ(store().settle_fact("fingerprint", "two"), "one");
}

TEST_P(StoreConformance, IsUnusedUntilItsFirstRequest) {
  EXPECT_TRUE(store().is_unused());
  store().check_writable();
  one_gift();
  EXPECT_FALSE(store().is_unused());
}

TEST_P(StoreConformance, CreatesARequestWholeAndReadsItBack) {
  NewGiftRequest request = asked(3);
  request.request.utm_campaign_id = "spring";
  const CreateOutcome outcome = store().gifts.create(std::span(&request, 1)).front();
  EXPECT_EQ(outcome.kind, CreateOutcome::Kind::created);
  ASSERT_THAT(outcome.recipients, SizeIs(3));

  const auto read = store().gifts.request(outcome.request);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->item_name, request.request.item_name);
  EXPECT_EQ(read->costs, request.request.costs);
  EXPECT_EQ(read->utm_campaign_id, "spring");
  EXPECT_EQ(read->mode, SendMode::email);
  const auto recipients = store().gifts.recipients(outcome.request);
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

TEST_P(StoreConformance, AnswersWhatDoesNotExistWithNothing) {
  EXPECT_EQ(store().gifts.request({4711}), std::nullopt);
  EXPECT_THAT(store().gifts.recipients({4711}), IsEmpty());
  const TransactionId unknown{4711};
  EXPECT_THAT(store().gifts.gifts(std::span(&unknown, 1)), IsEmpty());
  EXPECT_EQ(store().gifts.highest_transaction_id(), std::nullopt);
}

TEST_P(StoreConformance, GivesEachRequestOfAGroupIdsOfItsOwn) {
  std::vector<NewGiftRequest> group;
  for (int i = 0; i < 40; ++i) group.push_back(asked(i % 3 + 1));
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

TEST_P(StoreConformance, ReplaysAnIdempotencyKeyAndRefusesItForAnotherBody) {
  NewGiftRequest first = asked(2);
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

TEST_P(StoreConformance, ReplaysWithinOneGroup) {
  NewGiftRequest request = asked(1);
  request.idempotency = IdempotencyKey{"twice", "same"};
  const std::vector<NewGiftRequest> group{request, request};
  const auto outcomes = store().gifts.create(group);
  EXPECT_EQ(outcomes[0].kind, CreateOutcome::Kind::created);
  EXPECT_EQ(outcomes[1].kind, CreateOutcome::Kind::replayed);
  EXPECT_EQ(outcomes[1].request, outcomes[0].request);
  EXPECT_EQ(outcomes[1].recipients.front().id, outcomes[0].recipients.front().id);
}

TEST_P(StoreConformance, ThreadsThatUseOneKeyCreateOneRequest) {
  NewGiftRequest request = asked(1);
  request.idempotency = IdempotencyKey{"race", "same"};
  std::vector<GiftRequestId> seen(8);
  std::vector<std::thread> threads;
  for (auto& id : seen) {
    threads.emplace_back([&] { id = store().gifts.create(std::span(&request, 1)).front().request; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(std::set<GiftRequestId>(seen.begin(), seen.end()), SizeIs(1));
}

TEST_P(StoreConformance, IdsThatAreUsedUpAreAFaultThatHarmsNoGift) {
  const TransactionId before = one_gift();
  store().gifts.start_transaction_ids_at({kMaxId - 100});
  EXPECT_THROW(one_gift(), BrokenWorld) << "a block has no room below 2^53";
  EXPECT_THAT(store().gifts.gifts(std::span(&before, 1)), SizeIs(1));
}

TEST_P(StoreConformance, StartsTransactionIdsWhereTold) {
  one_gift();
  store().gifts.start_transaction_ids_at({5'000'000});
  EXPECT_EQ(one_gift(), TransactionId{5'000'000});
  store().gifts.start_transaction_ids_at({10});
  EXPECT_EQ(one_gift(), TransactionId{5'000'001}) << "ids never go back";
  Store other(database_->address());
  const NewGiftRequest request = asked(1);
  EXPECT_GT(other.gifts.create(std::span(&request, 1)).front().recipients.front().id,
            TransactionId{5'000'001});
}

TEST_P(StoreConformance, FindsAccountsByAnySpelling) {
  Account account{{}, "Ada@Example.com", "Ada", Plan::enterprise_plus, true, kNow};
  const auto id = store().accounts.create(account);
  ASSERT_TRUE(id);
  EXPECT_EQ(store().accounts.create(account), std::nullopt) << "one account for an address";
  const auto found = store().accounts.account_by_email(" ada@example.COM");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, *id);
  EXPECT_EQ(found->plan, Plan::enterprise_plus);
  EXPECT_TRUE(store().accounts.set_active("ADA@example.com", false));
  EXPECT_FALSE(store().accounts.account_by_email("ada@example.com")->active);
  EXPECT_FALSE(store().accounts.set_active("nobody@example.com", false));
}

TEST_P(StoreConformance, ChangesAnAccountsPlanAndTellsTheOneBefore) {
  const AccountId ada =
      *store().accounts.create({{}, "Ada@example.com", "Ada", Plan::individual, true, kNow});
  store().accounts.create({{}, "bob@example.com", "Bob", Plan::team, true, kNow});
  ApiKey key;
  key.account = ada;
  key.prefix = "gsk_live_abcdefg";
  key.hash = "hash";
  key.created_at = kNow;
  store().accounts.add_key(key);
  EXPECT_EQ(store().accounts.set_plan(" ADA@example.com", Plan::enterprise), Plan::individual);
  EXPECT_EQ(store().accounts.account_by_email("ada@example.com")->plan, Plan::enterprise);
  EXPECT_EQ(store().accounts.find_key("hash")->account.plan, Plan::enterprise);
  EXPECT_EQ(store().accounts.set_plan("ada@example.com", Plan::enterprise), Plan::enterprise);
  EXPECT_EQ(store().accounts.account_by_email("bob@example.com")->plan, Plan::team) << "another account's";
  EXPECT_EQ(store().accounts.set_plan("nobody@example.com", Plan::team), std::nullopt);
}

TEST_P(StoreConformance, KeepsKeysWithTheirLife) {
  const AccountId account = *store().accounts.create({{}, "a@example.com", "A", Plan::team, true, kNow});
  ApiKey key;
  key.account = account;
  key.prefix = "gsk_live_abcdefg";
  key.hash = "hash";
  key.scopes = {Scope::send, Scope::approve};
  key.created_at = kNow;
  const KeyId id = store().accounts.add_key(key);
  auto holder = store().accounts.find_key("hash");
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->key.scopes, key.scopes);
  EXPECT_EQ(holder->account.email, "a@example.com");
  EXPECT_EQ(holder->key.last_used_at, std::nullopt);
  EXPECT_EQ(store().accounts.find_key("other"), std::nullopt);

  store().accounts.note_used({{id, kNow + 5}});
  store().accounts.set_expiry(id, kNow + 10);
  store().accounts.revoke(id, kNow + 20);
  store().accounts.revoke(id, kNow + 30);
  holder = store().accounts.find_key("hash");
  EXPECT_EQ(holder->key.last_used_at, kNow + 5);
  EXPECT_EQ(holder->key.expires_at, kNow + 10);
  EXPECT_EQ(holder->key.revoked_at, kNow + 20) << "the first revocation counts";
  EXPECT_THAT(store().accounts.keys(), SizeIs(1));
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

TEST_P(StoreConformance, AcceptsAChangeOnceAndGathersItsEventIds) {
  const TransactionId id = one_gift();
  EXPECT_THAT(accept({change(id, Status::opened, 10, "e1"), change(id, Status::opened, 10, "e2")}),
              ElementsAre(AcceptOutcome::accepted, AcceptOutcome::repeated));
  EXPECT_THAT(accept({change(id, Status::opened, 10, "e3"), change(id, Status::opened, 11, "e1")}),
              ElementsAre(AcceptOutcome::repeated, AcceptOutcome::accepted))
      << "a known event id with another content is a new change";
  const auto history = store().changes.history(id);
  ASSERT_THAT(history, SizeIs(2));
  EXPECT_THAT(history[0].event_ids, ElementsAre("e1", "e2", "e3"));
  EXPECT_THAT(history[1].event_ids, ElementsAre("e1"));
}

TEST_P(StoreConformance, HoldsChangesUntilTheirTransactionAppears) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  EXPECT_THAT(accept({change(coming, Status::opened, 10)}), ElementsAre(AcceptOutcome::held));
  EXPECT_THAT(accept({change(coming, Status::opened, 10)}), ElementsAre(AcceptOutcome::repeated));
  EXPECT_EQ(store().changes.count_held(), 1);
  EXPECT_EQ(store().changes.release_held(kNow), 0);
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(store().changes.release_held(kNow), 1);
  EXPECT_EQ(store().changes.count_held(), 0);
  EXPECT_THAT(store().changes.changes_of(std::span(&coming, 1)), SizeIs(1));
}

}  // namespace
}  // namespace giftsync::schema
