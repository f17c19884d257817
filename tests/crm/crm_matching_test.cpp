// Candidates and users, as crm/crm.h specifies their lookups, over every back end.
#include <thread>

#include "tests/crm/crm_conformance.h"

namespace giftsync::crm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kContact = PersonObject::contact;
constexpr auto kLead = PersonObject::lead;

class CrmMatching : public CrmConformance {};
class ManagedCrmMatching : public CrmMatching {};
class SqlCrmMatching : public CrmMatching {};

// MATCH-2
TEST_P(SqlCrmMatching, NumbersThatFillAFieldMatchNothing) {
  sql("INSERT INTO crm_contact (id, phone, mobilephone) VALUES ('c1', '0000000000', '555-555-5555'),"
      " ('c2', '123-456-7890', '800 222 2222'), ('c3', '867-3450', NULL), ('c4', '800 222 2223', NULL)");
  const auto port = crm();
  for (const char* filler : {"000-000-0000", "(000) 000-0000", "5555555555", "(123) 456 7890", "8002222222"})
    EXPECT_THAT(by_phone(*port, kContact, filler), IsEmpty()) << filler;
  EXPECT_THAT(by_phone(*port, kContact, "+1 800-222-2223"), ElementsAre("c4"));
}

// MATCH-1
TEST_P(SqlCrmMatching, WhiteSpaceAtTheEndsOfAnAddressIsIgnored) {
  const bool sqlite = dialect_of(GetParam()) == sql::Dialect::sqlite;
  const auto code = [&](int point) { return (sqlite ? "char(" : "chr(") + std::to_string(point) + ")"; };
  int contact = 0;
  for (const int space : {9, 10, 11, 13, 32, 160, 0x2003, 0x3000, 0xFEFF}) {
    const std::string n = std::to_string(++contact);
    sql("INSERT INTO crm_contact (id, email) VALUES ('c" + n + "', " + code(space) +
        " || 'Cr@X.example' || " + code(space) + " || " + code(13) + ")");
    sql("INSERT INTO crm_user (id, email) VALUES ('u" + n + "', 'u" + n + "@x.example' || " + code(space) +
        ")");
    const std::string key = "u" + n + "@x.example";
    EXPECT_THAT(crm()->directory().find_users_by_email(std::span(&key, 1)).front(), SizeIs(1)) << space;
  }
  EXPECT_THAT(by_email(*crm(), kContact, "cr@x.example"), SizeIs(contact));
}

// MATCH-34
TEST_P(SqlCrmMatching, IdsOf15AndOf18CharactersAreOne) {
  const std::string short_contact = "0035g00000AbCdE";
  const std::string long_contact = short_contact + "AAV";
  const std::string long_lead = "00Q5g00000LeAdXEAV";
  sql("INSERT INTO crm_account (id) VALUES ('0015g00000AcCoUAAV')");
  sql("INSERT INTO crm_contact (id, email, accountid) VALUES ('" + long_contact +
      "', 'ada@x.example', '0015g00000AcCoUAAV')");
  sql("INSERT INTO crm_lead (id, isconverted, convertedcontactid) VALUES ('00Q5g00000LeAdX', true, '" +
      long_contact + "')");
  sql("INSERT INTO crm_user (id, email) VALUES ('0055g00000UsErSAAV', 'u@x.example')");
  sql("INSERT INTO crm_opportunity (id, isclosed) VALUES ('0065g00000OpPoRAAV', false)");
  sql("INSERT INTO crm_opportunity_contact_role (id, contactid, opportunityid) VALUES ('00K1', '" +
      short_contact + "', '0065g00000OpPoRAAV')");
  const auto port = crm();
  Directory& directory = port->directory();
  for (const std::string& contact : {short_contact, long_contact}) {
    EXPECT_THAT(directory.find_open_opportunities(std::span(&contact, 1)).front(), SizeIs(1)) << contact;
    EXPECT_EQ(directory.find_accounts_of_contacts(std::span(&contact, 1)).front(), "0015g00000AcCoUAAV");
    const Associations links{contact, "0015g00000AcCoU", "", "0065g00000OpPoR"};
    EXPECT_THAT(port->gift_records().missing_lookups(std::span(&links, 1)).front(), IsEmpty());
    EXPECT_EQ(port->rows()->find("contact", contact)->id, long_contact);
  }
  for (const std::string user : {"0055g00000UsErS", "0055g00000UsErSAAV"})
    EXPECT_TRUE(directory.find_users_by_id(std::span(&user, 1)).front()) << user;
  const auto converted = directory.find_converted_leads(std::span(&long_lead, 1));
  ASSERT_THAT(converted, SizeIs(1));
  EXPECT_EQ(converted.front().lead_id, long_lead) << "as it was asked for";
  EXPECT_TRUE(converted.front().contact_exists);
}

TEST_P(CrmMatching, AnEmptyCrmReturnsNoCandidates) {
  const std::vector<RecipientMatchKeys> keys{recipient("a@x.com", "6508673450"), recipient("", ""),
                                             recipient("b@x.com")};
  for (const PersonObject object : {kContact, kLead}) {
    const auto results = crm()->directory().find_candidates(object, keys);
    ASSERT_THAT(results, SizeIs(3));
    for (const Candidates& one : results) EXPECT_TRUE(one.by_email.empty() && one.by_phone.empty());
  }
  EXPECT_THAT(crm()->directory().find_candidates(kContact, {}), IsEmpty());
}

// MATCH-1
TEST_P(CrmMatching, PlainSqlRowsAreFoundByAnySpellingOfTheirAddress) {
  sql("INSERT INTO crm_contact (id, firstname, lastname, email, accountid) VALUES"
      " ('c1', 'Rose', 'Gonzalez', '  Rose@EDGE.com ', 'a1')");
  const Candidates found = find(*crm(), kContact, recipient("rose@edge.COM"));
  ASSERT_THAT(ids(found.by_email), ElementsAre("c1"));
  EXPECT_EQ(found.by_email[0].name, "Rose Gonzalez");
  EXPECT_EQ(found.by_email[0].account_id, "a1");
  EXPECT_EQ(found.by_email[0].matched_field, "Email");
  if (!is_salesforce()) {  // an org stamps every record
    EXPECT_EQ(found.by_email[0].order_value, "");
  }
  EXPECT_FALSE(found.by_email[0].converted);
  EXPECT_THAT(by_email(*crm(), kLead, "rose@edge.com"), IsEmpty());
}

// MATCH-1
TEST_P(CrmMatching, InternationalDomainsMatchInEitherForm) {
  // SQLite's lower() folds only ASCII letters; the managed CRM does not use it.
  const std::string domain = is_managed() ? "BÜCHER" : "bücher";
  sql("INSERT INTO crm_contact (id, email) VALUES ('c1', 'ada@" + domain +
      ".EXAMPLE'), ('c2', "
      "'ada@xn--bcher-kva.example')");
  EXPECT_THAT(by_email(*crm(), kContact, "ada@bücher.example"), ElementsAre("c1", "c2"));
}

// MATCH-2
TEST_P(CrmMatching, PhonesMatchInEveryWrittenForm) {
  sql("INSERT INTO crm_contact (id, phone, mobilephone) VALUES ('c1', '(650) 867-3450', NULL),"
      " ('c2', '+44 191 4956203', '650.867.3450'), ('c3', 'ext. 123456', NULL), ('c4', 'call "
      "99-887766554433221100', '')");
  const auto port = crm();
  EXPECT_THAT(by_phone(*port, kContact, "+1 650 867 3450"), ElementsAre("c1", "c2"));
  EXPECT_EQ(find(*port, kContact, recipient("", "6508673450")).by_phone[1].matched_field, "MobilePhone");
  EXPECT_THAT(by_phone(*port, kContact, "0044 191 495 6203"), IsEmpty());  // 00 is no exit code in the US
  EXPECT_THAT(by_phone(*port, kContact, "011 44 191 495 6203"), ElementsAre("c2"));
  EXPECT_THAT(by_phone(*port, kContact, "99 8877 6655 4433 221100"), IsEmpty());  // no number at all
  EXPECT_THAT(by_phone(*port, kContact, "123456"), IsEmpty());
}

TEST_P(CrmMatching, EmailAndPhoneMatchesAreReturnedSeparately) {
  sql("INSERT INTO crm_contact (id, email, phone) VALUES ('c1', 'a@x.com', NULL), ('c2', NULL, '650 867 "
      "3450')");
  const Candidates found = find(*crm(), kContact, recipient("a@x.com", "6508673450"));
  EXPECT_THAT(ids(found.by_email), ElementsAre("c1"));
  EXPECT_THAT(ids(found.by_phone), ElementsAre("c2"));
}

// MATCH-3
TEST_P(CrmMatching, APersonWhoMatchesInSeveralFieldsAppearsOnceUnderTheFirst) {
  sql("ALTER TABLE crm_contact ADD COLUMN work_email TEXT");
  sql("INSERT INTO crm_contact (id, email, work_email) VALUES ('c1', 'a@x.com', 'A@X.COM'), ('c2', "
      "'b@x.com', 'a@x.com')");
  MatchFields fields = default_fields();
  fields.contact.email_fields = {"Work_Email", "EMAIL"};
  const Candidates found = find(*crm(fields), kContact, recipient("a@x.com"));
  ASSERT_THAT(ids(found.by_email), ElementsAre("c1", "c2"));
  EXPECT_EQ(found.by_email[0].matched_field, "Work_Email");
  EXPECT_EQ(found.by_email[1].matched_field, "Work_Email");
  fields.contact.email_fields = {"Email", "Work_Email"};
  EXPECT_EQ(find(*crm(fields), kContact, recipient("a@x.com")).by_email[0].matched_field, "Email");
}

// MATCH-10
TEST_P(CrmMatching, TimesOrderByTimeNullsLastThenId) {
  sql("INSERT INTO crm_contact (id, email, lastmodifieddate) VALUES ('c5', 'a@x.com', NULL), ('c4', "
      "'a@x.com', NULL),"
      " ('c3', 'a@x.com', '2026-01-02 10:00:00'), ('c2', 'a@x.com', '2026-01-02T10:00:00.500Z'),"
      " ('c1', 'a@x.com', '2026-01-02T13:00:00+02:00'), ('C9', 'a@x.com', '2026-01-02T10:00:00Z')");
  MatchFields fields = default_fields();
  const Candidates newest = find(*crm(fields), kContact, recipient("a@x.com"));
  EXPECT_THAT(ids(newest.by_email), ElementsAre("c1", "c2", "C9", "c3", "c4", "c5"));
  EXPECT_EQ(newest.by_email[0].order_value, "2026-01-02T11:00:00.000Z");
  EXPECT_EQ(newest.by_email[1].order_value, "2026-01-02T10:00:00.500Z");
  EXPECT_EQ(newest.by_email[4].order_value, "");
  fields.contact.order_by.descending = false;
  EXPECT_THAT(by_email(*crm(fields), kContact, "a@x.com"), ElementsAre("C9", "c3", "c2", "c1", "c4", "c5"));
}

TEST_P(CrmMatching, NumbersOrderByValueDatesByDateAndTextWithoutCase) {
  sql("ALTER TABLE crm_contact ADD COLUMN score NUMERIC");
  sql("INSERT INTO crm_contact (id, email, score, birthdate, title) VALUES ('c1', 'a@x.com', 9, "
      "'2001-05-07', 'beta'),"
      " ('c2', 'a@x.com', 10.50, '1999-12-31', 'Alpha'), ('c3', 'a@x.com', -3, NULL, '_'),"
      " ('c4', 'a@x.com', NULL, '2001-05-08', 'ALPHA')");
  MatchFields fields = default_fields();
  fields.contact.order_by = {"Score", true};
  const Candidates by_score = find(*crm(fields), kContact, recipient("a@x.com"));
  EXPECT_THAT(ids(by_score.by_email), ElementsAre("c2", "c1", "c3", "c4"));
  EXPECT_EQ(by_score.by_email[0].order_value, "10.5");
  EXPECT_EQ(by_score.by_email[1].order_value, "9");
  fields.contact.order_by = {"Birthdate", false};
  const Candidates by_birth = find(*crm(fields), kContact, recipient("a@x.com"));
  EXPECT_THAT(ids(by_birth.by_email), ElementsAre("c2", "c1", "c4", "c3"));
  EXPECT_EQ(by_birth.by_email[0].order_value, "1999-12-31");
  fields.contact.order_by = {"title", false};
  EXPECT_THAT(by_email(*crm(fields), kContact, "a@x.com"), ElementsAre("c3", "c2", "c4", "c1"));
  fields.contact.order_by = {"Id", true};
  EXPECT_THAT(by_email(*crm(fields), kContact, "a@x.com"), ElementsAre("c4", "c3", "c2", "c1"));
}

// MATCH-12
TEST_P(CrmMatching, LettersOfEveryScriptOrderWithoutCase) {
  sql("INSERT INTO crm_contact (id, email, title) VALUES ('c1', 'a@x.com', 'émile A'), ('c2', 'a@x.com', "
      "'Émile B'), ('c3', 'a@x.com', 'ÉMILE a'), ('c4', 'a@x.com', 'жук'), ('c5', 'a@x.com', 'ЖАБА'), ('c6', "
      "'a@x.com', 'zoe'), ('c7', 'a@x.com', NULL), ('c8', 'a@x.com', '')");
  MatchFields fields = default_fields();
  fields.contact.order_by = {"Title", false};
  EXPECT_THAT(by_email(*crm(fields), kContact, "a@x.com"),
              ElementsAre("c8", "c6", "c1", "c3", "c2", "c5", "c4", "c7"));
  fields.contact.order_by.descending = true;
  EXPECT_THAT(by_email(*crm(fields), kContact, "a@x.com"),
              ElementsAre("c4", "c5", "c2", "c1", "c3", "c6", "c8", "c7"));
}

TEST_P(CrmMatching, PeopleOfSeveralFieldsOrderWithoutCaseAsWell) {
  sql("ALTER TABLE crm_contact ADD COLUMN work_email TEXT");
  sql("INSERT INTO crm_contact (id, email, work_email, title) VALUES ('c1', 'a@x.com', NULL, 'Émile B'), "
      "('c2', NULL, 'a@x.com', 'émile A'), ('c3', 'a@x.com', 'a@x.com', 'ÉMILE C')");
  MatchFields fields = default_fields();
  fields.contact.email_fields = {"Email", "Work_Email"};
  fields.contact.order_by = {"Title", false};
  EXPECT_THAT(by_email(*crm(fields), kContact, "a@x.com"), ElementsAre("c2", "c1", "c3"));
}

TEST_P(CrmMatching, IdsOrderByTheirBytes) {
  sql("INSERT INTO crm_contact (id, email) VALUES ('003b', 'a@x.com'), ('003B', 'a@x.com'), ('003_', "
      "'a@x.com'),"
      " ('0030', 'a@x.com')");
  EXPECT_THAT(by_email(*crm(), kContact, "a@x.com"), ElementsAre("0030", "003B", "003_", "003b"));
}

TEST_P(CrmMatching, LeadsReportWhetherTheyWereConverted) {
  sql("INSERT INTO crm_lead (id, name, email, isconverted) VALUES ('l1', 'Bertha', 'b@x.com', true),"
      " ('l2', NULL, 'b@x.com', false), ('l3', '', 'b@x.com', NULL)");
  const Candidates found = find(*crm(), kLead, recipient("b@x.com"));
  ASSERT_THAT(ids(found.by_email), ElementsAre("l1", "l2", "l3"));
  EXPECT_TRUE(found.by_email[0].converted);
  EXPECT_EQ(found.by_email[0].name, "Bertha");
  EXPECT_EQ(found.by_email[0].account_id, "");
  EXPECT_FALSE(found.by_email[1].converted);
  EXPECT_FALSE(found.by_email[2].converted);
}

// MATCH-11
TEST_P(CrmMatching, TheCapKeepsTheFirstInOrderAndOpenLeadsBeforeConvertedOnes) {
  const std::string numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250) ";
  sql("INSERT INTO crm_contact (id, email) " + numbers + "SELECT 'c' || (1000 + i), 'a@x.com' FROM n");
  sql("INSERT INTO crm_lead (id, email, isconverted) " + numbers +
      "SELECT 'l' || (1000 + i), 'a@x.com', i < 250 FROM n");
  const auto contacts = by_email(*crm(), kContact, "a@x.com");
  ASSERT_THAT(contacts, SizeIs(kMaxCandidates));
  EXPECT_EQ(contacts.front(), "c1001");
  EXPECT_EQ(contacts.back(), "c1200");
  const auto leads = find(*crm(), kLead, recipient("a@x.com")).by_email;
  ASSERT_THAT(leads, SizeIs(kMaxCandidates));
  if (is_salesforce()) {  // it lists converted leads last
    EXPECT_FALSE(leads.front().converted);
    EXPECT_TRUE(leads[1].converted);
    return;
  }
  EXPECT_EQ(leads.back().id, "l1250");
  EXPECT_FALSE(leads.back().converted);
  EXPECT_EQ(leads[198].id, "l1199");
}

// SYNC-35
TEST_P(CrmMatching, ChangesByPlainSqlAreVisibleAtOnce) {
  const auto port = crm();
  sql("INSERT INTO crm_contact (id, email, phone) VALUES ('c1', 'a@x.com', '6508673450')");
  EXPECT_THAT(by_email(*port, kContact, "a@x.com"), ElementsAre("c1"));
  sql("UPDATE crm_contact SET email = 'b@x.com', phone = NULL WHERE id = 'c1'");
  EXPECT_THAT(by_email(*port, kContact, "a@x.com"), IsEmpty());
  EXPECT_THAT(by_phone(*port, kContact, "6508673450"), IsEmpty());
  EXPECT_THAT(by_email(*port, kContact, "b@x.com"), ElementsAre("c1"));
  sql("UPDATE crm_contact SET id = 'c2' WHERE id = 'c1'");
  EXPECT_THAT(by_email(*port, kContact, "b@x.com"), ElementsAre("c2"));
  sql("DELETE FROM crm_contact");
  EXPECT_THAT(by_email(*port, kContact, "b@x.com"), IsEmpty());
  sql("INSERT INTO crm_contact (id, email) VALUES ('c2', 'c@x.com')");
  EXPECT_THAT(by_email(*port, kContact, "b@x.com"), IsEmpty());
  EXPECT_THAT(by_email(*port, kContact, "c@x.com"), ElementsAre("c2"));
  if (!is_managed()) return;
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_match_key_queue"), "0");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_match_key"), "1");
}

TEST_P(CrmMatching, MalformedRowsDoNotAffectTheOthers) {
  sql("INSERT INTO crm_contact (id, email, phone) VALUES ('c0', 'not an address', 'n/a'), ('c1', '" +
      std::string(9000, 'x') + "@x.com', '" + std::string(9000, '7') +
      "'), ('c2', 'a@x.com', '+1 650 867 3450'),"
      " ('it''s \"{c}\\,3', 'a@x.com', '')");
  const auto port = crm();
  EXPECT_THAT(by_email(*port, kContact, "a@x.com"), ElementsAre("c2", "it's \"{c}\\,3"));
  EXPECT_THAT(by_phone(*port, kContact, "6508673450"), ElementsAre("c2"));
  EXPECT_THAT(by_email(*port, kContact, "\"{},\\:x'"), IsEmpty());
}

TEST_P(CrmMatching, ChangedSettingsMatchByNewFieldsWhileOldProcessesContinue) {
  sql("ALTER TABLE crm_contact ADD COLUMN work_email TEXT");
  sql("INSERT INTO crm_contact (id, email, work_email, phone) VALUES ('c1', 'a@x.com', 'w@x.com', '0191 498 "
      "0000')");
  const auto before = crm();
  MatchFields fields = default_fields();
  fields.contact.email_fields = {"Work_Email"};
  fields.default_region = "GB";
  const auto after = crm(fields);
  EXPECT_THAT(by_email(*before, kContact, "w@x.com"), IsEmpty());
  EXPECT_THAT(by_email(*after, kContact, "w@x.com"), ElementsAre("c1"));
  EXPECT_THAT(by_email(*after, kContact, "a@x.com"), IsEmpty());
  EXPECT_THAT(by_email(*before, kContact, "a@x.com"), ElementsAre("c1"));
  EXPECT_THAT(by_phone(*after, kContact, "+44 191 498 0000"), ElementsAre("c1"));
  EXPECT_THAT(by_phone(*before, kContact, "+44 191 498 0000"), IsEmpty());
  sql("UPDATE crm_contact SET work_email = 'v@x.com', email = 'b@x.com'");
  EXPECT_THAT(by_email(*before, kContact, "b@x.com"), ElementsAre("c1"));
  EXPECT_THAT(by_email(*after, kContact, "v@x.com"), ElementsAre("c1"));
}

TEST_P(ManagedCrmMatching, ARecreatedColumnGetsNewMatchKeys) {
  sql("ALTER TABLE crm_contact ADD COLUMN work_email TEXT");
  sql("INSERT INTO crm_contact (id, work_email) VALUES ('c1', 'old@x.com')");
  MatchFields fields = default_fields();
  fields.contact.email_fields = {"Work_Email"};
  EXPECT_THAT(by_email(*crm(fields), kContact, "old@x.com"), ElementsAre("c1"));
  sql("ALTER TABLE crm_contact DROP COLUMN work_email");
  sql("UPDATE crm_contact SET email = 'a@x.com'");
  EXPECT_THAT(by_email(*crm(), kContact, "a@x.com"), ElementsAre("c1"));
  sql("ALTER TABLE crm_contact ADD COLUMN work_email TEXT DEFAULT 'new@x.com'");
  EXPECT_THAT(by_email(*crm(fields), kContact, "old@x.com"), IsEmpty());
  EXPECT_THAT(by_email(*crm(fields), kContact, "new@x.com"), ElementsAre("c1"));
}

// MATCH-3
TEST_P(ManagedCrmMatching, MissingFieldsAreReportedWithTheExistingOnes) {
  MatchFields fields = default_fields();
  fields.contact.phone_fields = {"Phone", "Pager"};
  fields.lead.order_by.field = "Score";
  const auto faults = crm::managed::match_field_faults({address(), "giftsync", fields});
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_THAT(faults[0], testing::AllOf(HasSubstr("matching.contact.phone_fields"), HasSubstr("Pager"),
                                        HasSubstr("mobilephone")));
  EXPECT_THAT(faults[1], testing::AllOf(HasSubstr("matching.lead.order_by.field"), HasSubstr("Score"),
                                        HasSubstr("company")));
  EXPECT_THAT(crm::managed::match_field_faults({address(), "giftsync", default_fields()}), IsEmpty());
  try {
    find(*crm(fields), kContact, recipient("a@x.com"));
    FAIL() << "a missing field was accepted";
  } catch (const DependencyError& error) {
    EXPECT_FALSE(error.transient());
    EXPECT_THAT(error.what(), HasSubstr("Pager"));
  }
  sql("ALTER TABLE crm_contact ADD COLUMN pager TEXT");
  EXPECT_THAT(by_email(*crm(fields), kContact, "a@x.com"), IsEmpty());
}

// SYNC-12
TEST_P(CrmMatching, UsersAreOrderedActiveFirstThenById) {
  sql("INSERT INTO crm_user (id, name, email, isactive) VALUES ('u4', 'Off', 'Sam@x.com', false),"
      " ('u3', 'On', 'sam@X.com', true), ('u2', 'Unsaid', 'sam@x.com', NULL), ('u9', 'Other', 'o@x.com', "
      "true)");
  const std::vector<std::string> keys{"unknown@x.com", email_key("SAM@x.com"), "", email_key("o@x.com"),
                                      email_key("sam@x.com")};
  const auto found = crm()->directory().find_users_by_email(keys);
  ASSERT_THAT(found, SizeIs(5));
  EXPECT_THAT(found[0], IsEmpty());
  ASSERT_THAT(found[1], SizeIs(3));
  EXPECT_EQ(found[1][0].id, "u2");
  EXPECT_TRUE(found[1][0].active);
  EXPECT_EQ(found[1][1].id, "u3");
  EXPECT_EQ(found[1][1].name, "On");
  EXPECT_EQ(found[1][1].email, "sam@X.com");
  EXPECT_EQ(found[1][2].id, "u4");
  EXPECT_FALSE(found[1][2].active);
  EXPECT_THAT(found[2], IsEmpty());
  EXPECT_THAT(found[3], SizeIs(1));
  EXPECT_THAT(found[4], SizeIs(3));
  sql("UPDATE crm_user SET email = 'new@x.com' WHERE id = 'u3'");
  const std::vector<std::string> changed{email_key("new@x.com")};
  EXPECT_THAT(crm()->directory().find_users_by_email(changed)[0], SizeIs(1));
}

TEST_P(CrmMatching, EachContactOfFullBatchesIsFound) {
  sql("INSERT INTO crm_contact (id, email, phone) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
      "FROM n WHERE"
      " i < 4000) SELECT 'c' || i, 'Person' || i || '@X.com', '65086' || (10000 + i) FROM n");
  const auto port = crm();
  const std::size_t rows = port->pace().rows_per_read;
  for (int from = 1; from <= 4000; from += 2000) {
    std::vector<RecipientMatchKeys> batch;
    for (int i = from; i < from + static_cast<int>(rows); ++i) {
      batch.push_back(
          recipient("person" + std::to_string(i) + "@x.com", "65086" + std::to_string(10000 + i)));
    }
    const auto results = port->directory().find_candidates(kContact, batch);
    ASSERT_THAT(results, SizeIs(rows));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string id = "c" + std::to_string(from + static_cast<int>(i));
      ASSERT_THAT(ids(results[i].by_email), ElementsAre(id));
      ASSERT_THAT(ids(results[i].by_phone), ElementsAre(id));
    }
  }
}

TEST_P(CrmMatching, ConcurrentWritersAndLookupsLeaveCorrectMatchKeys) {
  constexpr int kRows = 120;
  const auto first = crm();
  MatchFields other_fields = default_fields();
  other_fields.default_region = "GB";
  const auto second = crm(other_fields);
  const auto look = [](Crm& port) {
    for (int i = 0; i < 30; ++i)
      find(port, kContact, recipient("p" + std::to_string(i) + "@new.com", "6508670000"));
  };
  std::thread looker([&] { look(*first); });
  std::thread other_looker([&] { look(*second); });
  for (int i = 0; i < kRows; ++i) {
    const std::string n = std::to_string(i);
    sql("INSERT INTO crm_contact (id, email) VALUES ('c" + n + "', 'p" + n + "@old.com')");
    if (i > 0)
      sql("UPDATE crm_contact SET email = 'p" + std::to_string(i - 1) + "@new.com' WHERE id = 'c" +
          std::to_string(i - 1) + "'");
  }
  looker.join();
  other_looker.join();
  for (int i = 0; i < kRows - 1; ++i) {
    const std::string n = std::to_string(i);
    ASSERT_THAT(by_email(*first, kContact, "p" + n + "@new.com"), ElementsAre("c" + n));
    ASSERT_THAT(by_email(*second, kContact, "p" + n + "@old.com"), IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(backends, CrmMatching, all_crms(), name_of_crm);
INSTANTIATE_TEST_SUITE_P(backends, SqlCrmMatching, sql_crms(), name_of_crm);
INSTANTIATE_TEST_SUITE_P(backends, ManagedCrmMatching, managed_crms(), name_of_crm);

}  // namespace
}  // namespace giftsync::crm
