// Imports into the managed CRM, over every back end.
#include "crm/sql/managed/csv_import.h"

#include <filesystem>
#include <fstream>

#include "crm/sql/columns.h"
#include "platform/text.h"
#include "tests/crm/crm_conformance.h"
#include "tests/source_folder.h"

namespace giftsync::crm::managed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Row = std::vector<std::string>;

class CsvImportTest : public CrmConformance {
 protected:
  /// The first row is the header; the others are on lines 2, 3, ...
  ImportResult load(ImportObject object, const std::vector<Row>& rows,
                    ImportMode mode = ImportMode::write) const {
    const auto loading = make_csv_import(address(), object, rows.front(), mode);
    for (std::size_t i = 1; i < rows.size(); ++i) loading->detect_types(i + 1, rows[i]);
    for (std::size_t i = 1; i < rows.size(); ++i) loading->add(i + 1, rows[i]);
    return loading->finish();
  }
  static std::vector<std::size_t> counts(const ImportResult& result) {
    return {result.inserted, result.updated, result.unchanged, result.refused.size()};
  }
};

/// Lines with comma-separated cells, quoted where necessary; no cell of these files contains a line feed.
std::vector<Row> read_csv(const std::filesystem::path& file) {
  std::vector<Row> rows;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    Row& row = rows.emplace_back(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
        row.back() += line[i++];
      } else if (line[i] == '"') {
        quoted = !quoted;
      } else if (line[i] == ',' && !quoted) {
        row.emplace_back();
      } else if (line[i] != '\r') {
        row.back() += line[i];
      }
    }
  }
  return rows;
}

TEST_P(CsvImportTest, StandardColumnsAreThoseOfTheTables) {
  for (const ImportObject object : {ImportObject::contact, ImportObject::lead, ImportObject::account,
                                    ImportObject::opportunity, ImportObject::opportunity_contact_role,
                                    ImportObject::user, ImportObject::permission_set_assignment}) {
    std::vector<std::string> standard;
    for (const std::string& name : standard_columns(object)) standard.push_back(ascii_lower(name));
    sql::Database database(address());
    std::vector<std::string> existing;
    database.read([&](soci::session& session) {
      for (const auto& column : crm::sql_crm::columns_of(session, "crm_" + std::string(to_word(object))))
        existing.push_back(column.name);
    });
    EXPECT_THAT(standard, testing::UnorderedElementsAreArray(existing)) << to_word(object);
  }
}

// SYNC-36
TEST_P(CsvImportTest, ARowThatIsDeletedIsRemoved) {
  const Row header{"Id", "Email", "IsDeleted"};
  load(ImportObject::contact,
       {header, {"c1", "a@x.com", "false"}, {"c2", "a@x.com", ""}, {"c3", "a@x.com", "0"}});
  EXPECT_THAT(by_email(*crm(), PersonObject::contact, "a@x.com"), ElementsAre("c1", "c2", "c3"));
  const std::vector<Row> file{
      header, {"c1", "a@x.com", "TRUE"}, {"c2", "a@x.com", "false"}, {"c4", "a@x.com", "1"}};
  for (const ImportMode mode : {ImportMode::plan, ImportMode::write}) {
    const ImportResult result = load(ImportObject::contact, file, mode);
    EXPECT_THAT(counts(result), ElementsAre(0, 1, 0, 0));
    EXPECT_EQ(result.deleted, 2U);
    EXPECT_EQ(result.removed, 1U);
  }
  EXPECT_THAT(by_email(*crm(), PersonObject::contact, "a@x.com"), ElementsAre("c2", "c3"));
  sql("UPDATE crm_contact SET isdeleted = 'true' WHERE id = 'c3'");
  EXPECT_THAT(by_email(*crm(), PersonObject::contact, "a@x.com"), ElementsAre("c2")) << "plain SQL marked it";
}

// MATCH-34
TEST_P(CsvImportTest, IdsOf15CharactersAreStoredWith18) {
  load(ImportObject::contact,
       {{"Id", "Email", "AccountId"}, {"0035g00000AbCdEAAV", "a@x.com", " 0015g00000AcCoU "}});
  const std::vector<Row> again{
      {"Id", "Email"}, {"0035g00000AbCdE", "b@x.com"}, {"0035g00000AbCdEAAV", "c@x.com"}};
  EXPECT_THAT(counts(load(ImportObject::contact, again)), ElementsAre(0, 1, 0, 1))
      << "one Id twice in a file";
  EXPECT_EQ(scalar("SELECT id || ' ' || email || ' ' || accountid FROM crm_contact"),
            "0035g00000AbCdEAAV b@x.com 0015g00000AcCoUAAV");
  load(ImportObject::opportunity, {{"Id", "IsClosed"}, {"0065g00000OpPoRAAV", "false"}});
  load(ImportObject::opportunity_contact_role,
       {{"Id", "ContactId", "OpportunityId"}, {"00K1", "0035g00000AbCdE", "0065g00000OpPoR"}});
  const std::string contact = "0035g00000AbCdE";
  EXPECT_THAT(crm()->directory().find_open_opportunities(std::span(&contact, 1)).front(), SizeIs(1));
}

// MATCH-34
TEST_P(CsvImportTest, ARowUnderTheShortIdGetsTheLongOne) {
  sql("INSERT INTO crm_contact (id, email, title) VALUES ('0035g00000AbCdE', 'a@x.com', 'Dr'), "
      "('0035g00000AbCdF', 'b@x.com', NULL), ('0035g00000AbCdFAAV', 'b@x.com', NULL)");
  const std::vector<Row> file{{"Id", "Email"},
                              {"0035g00000AbCdE", "a@x.com"},
                              {"0035g00000AbCdFAAV", "f@x.com"},
                              {"0035g00000AbCdG", "g@x.com"}};
  EXPECT_THAT(counts(load(ImportObject::contact, file, ImportMode::plan)), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(counts(load(ImportObject::contact, file)), ElementsAre(1, 1, 1, 0));
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM crm_contact"), "3");
  EXPECT_EQ(scalar("SELECT title FROM crm_contact WHERE id = '0035g00000AbCdEAAV'"), "Dr");
  EXPECT_THAT(by_email(*crm(), PersonObject::contact, "a@x.com"), ElementsAre("0035g00000AbCdEAAV"));
}

TEST_P(CsvImportTest, NewColumnsAreReportedBeforeTheyAreAdded) {
  const Row header{"Id", "emial", "Email"};
  EXPECT_THAT(make_csv_import(address(), ImportObject::contact, header)->new_columns(), ElementsAre("emial"));
  load(ImportObject::contact, {header, {"c1", "x", "rose@edge.com"}});
  EXPECT_THAT(make_csv_import(address(), ImportObject::contact, header)->new_columns(), IsEmpty());
}

// SYNC-36
TEST_P(CsvImportTest, RowsAreInsertedUpdatedOrUnchangedById) {
  const std::vector<Row> first{{"Id", "LASTNAME", "email", "LastModifiedDate"},
                               {"c1", "Gonzalez", "rose@edge.com", "2026-01-02T03:04:05.006Z"},
                               {"c2", "Kim", "kim@edge.com", ""}};
  EXPECT_THAT(counts(load(ImportObject::contact, first)), ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(counts(load(ImportObject::contact, first)), ElementsAre(0, 0, 2, 0));
  EXPECT_THAT(counts(load(ImportObject::contact,
                          {{"Email", "Id"}, {"", "c1"}, {"kim@edge.com", "c2"}, {"n@x.com", "c3"}})),
              ElementsAre(1, 1, 1, 0));
  EXPECT_EQ(scalar("SELECT lastname FROM crm_contact WHERE id = 'c1'"), "Gonzalez");
  EXPECT_EQ(scalar("SELECT email FROM crm_contact WHERE id = 'c1'"), "null");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_contact"), "3");
}

TEST_P(CsvImportTest, AnUnchangedFileLeavesRowsUntouchedWhateverTheTypes) {
  const std::vector<Row> rows{{"Id", "Amount", "CloseDate", "IsClosed", "LastModifiedDate", "Probability"},
                              {"o1", "80000.0", "2021-10-21", "false", "2026-01-02T03:04:05+0000", "50.50"},
                              {"o2", "0", "", "TRUE", "2026-01-02", ""}};
  EXPECT_THAT(counts(load(ImportObject::opportunity, rows)), ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(counts(load(ImportObject::opportunity, rows)), ElementsAre(0, 0, 2, 0));
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_opportunity WHERE isclosed AND amount = 0"), "1");
  EXPECT_EQ(scalar("SELECT id FROM crm_opportunity WHERE amount > 79999.5 AND NOT isclosed"), "o1");
}

// SYNC-36
TEST_P(CsvImportTest, UnknownColumnsBecomeCustomFieldsOfTheCommonType) {
  const std::vector<Row> rows{
      {"Id", "Email", "Score", "Zip", "Renewal", "Seen_At", "Work_Phone", "Note", "Empty", "Big"},
      {"c1", "a@x.com", "9", "00501", "2026-01-02", "2026-01-02T03:04:05Z", "(650) 867-3450", "5", "",
       "12345678901234567"},
      {"c2", "a@x.com", "10.5", "10001", "", "2026-01-03", "", "five", "", "1"},
      {"c3", "a@x.com", "", "", "2025-12-31", "2026-01-02T03:04:05.500+02:00", "6508673450", "", "", ""}};
  EXPECT_THAT(counts(load(ImportObject::contact, rows)), ElementsAre(3, 0, 0, 0));
  EXPECT_THAT(counts(load(ImportObject::contact, rows)), ElementsAre(0, 0, 3, 0));
  MatchFields fields = default_fields();
  fields.contact.phone_fields = {"Work_Phone"};
  const auto order = [&](const char* field, bool descending) {
    fields.contact.order_by = {field, descending};
    return by_email(*crm(fields), PersonObject::contact, "a@x.com");
  };
  EXPECT_THAT(order("Score", true), ElementsAre("c2", "c1", "c3"));
  EXPECT_THAT(order("Zip", false), ElementsAre("c1", "c2", "c3"));
  EXPECT_THAT(order("renewal", false), ElementsAre("c3", "c1", "c2"));
  EXPECT_THAT(order("Seen_At", false), ElementsAre("c3", "c1", "c2"));
  EXPECT_THAT(order("note", false), ElementsAre("c1", "c2", "c3"));
  EXPECT_THAT(by_phone(*crm(fields), PersonObject::contact, "+1 650 867 3450"), ElementsAre("c1", "c3"));
  EXPECT_EQ(scalar("SELECT cast(zip as text) FROM crm_contact WHERE id = 'c1'"), "00501");
  EXPECT_EQ(scalar("SELECT cast(big as text) FROM crm_contact WHERE id = 'c1'"), "12345678901234567");
}

// SYNC-37
TEST_P(CsvImportTest, ACustomFieldGetsItsTypeFromItsFirstValues) {
  const auto import = [&](const std::string& score, const std::string& renewal, const std::string& note) {
    return counts(load(ImportObject::contact,
                       {{"Id", "Email", "Score", "Renewal", "Note", "Title"},
                        {"c1", "a@x.com", score.empty() ? "" : "9", renewal, note, ""},
                        {"c2", "a@x.com", score, renewal.empty() ? "" : "2026-01-02", note, note}}));
  };
  MatchFields fields = default_fields();
  fields.contact.order_by = {"Score", true};
  const auto port = crm(fields);
  EXPECT_THAT(import("", "", ""), ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(by_email(*port, PersonObject::contact, "a@x.com"), ElementsAre("c1", "c2"));
  EXPECT_THAT(import("10", "2026-01-01", ""), ElementsAre(0, 2, 0, 0));
  EXPECT_THAT(import("10", "2026-01-01", ""), ElementsAre(0, 0, 2, 0));
  EXPECT_THAT(by_email(*port, PersonObject::contact, "a@x.com"), ElementsAre("c2", "c1"))
      << "10 is more than 9, also for a CRM object that read the type before";
  EXPECT_THAT(import("many", "2026-01-01", ""), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(import("10", "2026-01-01", "00501"), ElementsAre(0, 2, 0, 0));
  EXPECT_THAT(import("10", "2026-01-01", "5 of 6"), ElementsAre(0, 2, 0, 0));
  sql::Database database(address());
  const auto columns =
      database.read([&](soci::session& session) { return crm::sql_crm::columns_of(session, "crm_contact"); });
  EXPECT_EQ(crm::sql_crm::find_column(columns, "score")->type, crm::sql_crm::ColumnType::number);
  EXPECT_EQ(crm::sql_crm::find_column(columns, "renewal")->type, crm::sql_crm::ColumnType::date);
  EXPECT_EQ(crm::sql_crm::find_column(columns, "note")->type, crm::sql_crm::ColumnType::text)
      << "it had values";
  EXPECT_EQ(crm::sql_crm::find_column(columns, "title")->type, crm::sql_crm::ColumnType::text)
      << "it is standard";
}

// SYNC-37
TEST_P(CsvImportTest, TheValueThatMakesAFieldTextIsNamed) {
  const Row header{"Id", "Email", "Score"};
  const std::vector<Row> mixed{header, {"c1", "a@x.com", "9"}, {"c2", "a@x.com", "high"}, {"c3", "", "10"}};
  const ImportResult first = load(ImportObject::contact, mixed);
  ASSERT_THAT(first.text_fields, SizeIs(1));
  EXPECT_EQ(first.text_fields[0].field, "Score");
  EXPECT_EQ(first.text_fields[0].most, "number");
  EXPECT_EQ(first.text_fields[0].line, 3u);
  EXPECT_EQ(first.text_fields[0].value, "high");
  EXPECT_TRUE(first.text_fields[0].is_new);
  const ImportResult again = load(ImportObject::contact, mixed);
  ASSERT_THAT(again.text_fields, SizeIs(1));
  EXPECT_FALSE(again.text_fields[0].is_new);
  const ImportResult other = load(ImportObject::contact, {header, {"c1", "a@x.com", "8"}});
  ASSERT_THAT(other.text_fields, SizeIs(1)) << "the value is in another row than the file's";
  EXPECT_EQ(other.text_fields[0].line, 0u);
  EXPECT_EQ(other.text_fields[0].id, "c2");
  EXPECT_THAT(
      load(ImportObject::contact, {{"Id", "Note"}, {"c1", "one"}, {"c2", "two"}, {"c3", "3"}}).text_fields,
      IsEmpty())
      << "most values are plain text";
}

// SYNC-37
TEST_P(CsvImportTest, ATextFieldBecomesANumberOnceAllItsValuesAre) {
  const Row header{"Id", "Email", "Score", "Since", "Seen"};
  load(ImportObject::contact, {header,
                               {"c1", "a@x.com", " 9 ", "2026-01-02", "2026-01-02"},
                               {"c2", "a@x.com", "high", "soon", "now"},
                               {"c3", "a@x.com", "9.0E8", "2026-01-03", "2026-01-02T03:04:05+0000"},
                               {"c4", "a@x.com", "10", "", ""}});
  MatchFields fields = default_fields();
  fields.contact.order_by = {"Score", true};
  const auto port = crm(fields);
  EXPECT_THAT(by_email(*port, PersonObject::contact, "a@x.com").front(), "c2");
  const ImportResult result =
      load(ImportObject::contact, {{"Id", "Score", "Since", "Seen"}, {"c2", "", "2026-01-01", ""}});
  EXPECT_THAT(counts(result), ElementsAre(0, 1, 0, 0));
  ASSERT_THAT(result.type_changes, SizeIs(3));
  EXPECT_EQ(result.type_changes[0].field, "Score");
  EXPECT_EQ(result.type_changes[0].type, "number");
  EXPECT_EQ(result.type_changes[1].type, "date");
  EXPECT_EQ(result.type_changes[2].type, "date and time");
  EXPECT_THAT(by_email(*port, PersonObject::contact, "a@x.com"), ElementsAre("c3", "c4", "c1", "c2"))
      << "also for a CRM object that ordered by text before";
  EXPECT_EQ(scalar("SELECT cast(score as text) FROM crm_contact WHERE id = 'c3'"), "900000000");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_contact WHERE score > 9.5"), "2");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_match_key_queue"), "0");
  EXPECT_THAT(counts(load(ImportObject::contact, {{"Id", "Score", "Since", "Seen"},
                                                  {"c3", "9.0E8", "2026-01-03", "2026-01-02T03:04:05Z"},
                                                  {"c4", "many", "", ""}})),
              ElementsAre(0, 0, 1, 1))
      << "it has the type from now on";
}

TEST_P(CsvImportTest, ATextFieldInAViewStaysText) {
  load(ImportObject::contact, {{"Id", "Score"}, {"c1", "9"}, {"c2", "high"}});
  sql("CREATE VIEW admins_own AS SELECT score FROM crm_contact");
  const ImportResult result = load(ImportObject::contact, {{"Id", "Score"}, {"c2", " 10"}});
  EXPECT_THAT(counts(result), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(result.type_changes, IsEmpty());
  EXPECT_THAT(result.kept_as_text, ElementsAre("Score"));
  EXPECT_EQ(scalar("SELECT score FROM crm_contact WHERE id = 'c2'"), " 10") << "nothing is changed";
}

// SYNC-36
TEST_P(CsvImportTest, APlanTellsWhatAnImportWouldDoAndWritesNothing) {
  load(ImportObject::contact, {{"Id", "Email", "Score", "Empty", "Birthdate"},
                               {"c1", "a@x.com", "9", "", "2001-02-03"},
                               {"c2", "b@x.com", "high", "", ""},
                               {"c3", "c@x.com", "10", "", ""}});
  const std::vector<Row> rows{{"Id", "Email", "Score", "Empty", "New", "Birthdate"},
                              {"c1", "a@x.com", "9", "", "", "2001-02-03"},
                              {"c2", "b@x.com", "11", "", "", ""},
                              {"c3", "c@x.com", "10", "7", "", ""},
                              {"c4", "d@x.com", "12", "", "5", ""},
                              {"c4", "d@x.com", "12", "", "", ""},
                              {"c5", "d@x.com", "12", "", "", "2001-02-31"}};
  const ImportResult plan = load(ImportObject::contact, rows, ImportMode::plan);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_contact"), "3");
  EXPECT_EQ(scalar("SELECT score FROM crm_contact WHERE id = 'c2'"), "high");
  EXPECT_THAT(make_csv_import(address(), ImportObject::contact, rows.front())->new_columns(),
              ElementsAre("New"));
  const ImportResult real = load(ImportObject::contact, rows);
  EXPECT_THAT(counts(plan), ElementsAre(1, 2, 1, 2));
  EXPECT_EQ(counts(plan), counts(real));
  EXPECT_EQ(plan.duplicate_ids, real.duplicate_ids);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(plan.refused.at(i).line, real.refused.at(i).line);
    EXPECT_EQ(plan.refused.at(i).reason, real.refused.at(i).reason);
  }
  ASSERT_THAT(plan.type_changes, SizeIs(1));
  ASSERT_THAT(real.type_changes, SizeIs(1));
  EXPECT_EQ(plan.type_changes[0].field, "Score");
  EXPECT_EQ(counts(load(ImportObject::contact, rows, ImportMode::plan)),
            counts(load(ImportObject::contact, rows)))
      << "for an unchanged file too";
}

TEST_P(CsvImportTest, APlanTellsWhatWouldMakeAFieldText) {
  const std::vector<Row> rows{{"Id", "Score"}, {"c1", "9"}, {"c2", "high"}};
  const ImportResult plan = load(ImportObject::contact, rows, ImportMode::plan);
  ASSERT_THAT(plan.text_fields, SizeIs(1));
  EXPECT_EQ(plan.text_fields[0].line, 3u);
  EXPECT_TRUE(plan.text_fields[0].is_new);
  load(ImportObject::contact, rows);
  const ImportResult other = load(ImportObject::contact, {{"Id", "Score"}, {"c1", "10"}}, ImportMode::plan);
  ASSERT_THAT(other.text_fields, SizeIs(1));
  EXPECT_EQ(other.text_fields[0].id, "c2");
}

// MATCH-33
TEST_P(CsvImportTest, AnOrderByTextThatHoldsNumbersIsWarnedOf) {
  load(ImportObject::contact,
       {{"Id", "Score", "Note"}, {"c1", "9", "good"}, {"c2", "high", "bad"}, {"c3", "10", "5"}});
  load(ImportObject::opportunity, {{"Id", "Name"}, {"o1", "2025"}, {"o2", "2026"}});
  MatchFields fields = default_fields();
  const auto warnings = [&] { return match_order_warnings({address(), "giftsync", fields}); };
  EXPECT_THAT(warnings(), IsEmpty());
  fields.contact.order_by = {"Note", true};
  EXPECT_THAT(warnings(), IsEmpty()) << "most of its values are text";
  fields.contact.order_by = {"Score", true};
  fields.opportunity.order_by = {"Name", false};
  EXPECT_THAT(warnings(),
              ElementsAre(testing::AllOf(HasSubstr("matching.contact.order_by.field: Score is text"),
                                         HasSubstr("contact c2 has \"high\""), HasSubstr("crm import")),
                          testing::AllOf(HasSubstr("matching.opportunity.order_by.field: Name"),
                                         HasSubstr("order by a custom field"))));
  load(ImportObject::contact, {{"Id", "Score"}, {"c2", "11"}});
  EXPECT_THAT(warnings(), SizeIs(1)) << "Score is a number now";
}

TEST_P(CsvImportTest, AFieldWithAnIndexIsImported) {
  load(ImportObject::contact, {{"Id", "Score"}, {"c1", ""}});
  sql("CREATE INDEX admins_own ON crm_contact (score)");
  const ImportResult result = load(ImportObject::contact, {{"Id", "Score"}, {"c1", "9"}});
  EXPECT_THAT(counts(result), ElementsAre(0, 1, 0, 0));
  sql::Database database(address());
  // PostgreSQL rebuilds the index.
  EXPECT_THAT(result.kept_as_text, SizeIs(database.dialect() == sql::Dialect::sqlite ? 1 : 0));
  EXPECT_EQ(scalar("SELECT cast(score as text) FROM crm_contact WHERE id = 'c1'"), "9");
}

// SYNC-38
TEST_P(CsvImportTest, ATypeSetByAConcurrentImportApplies) {
  const std::vector<std::string> header{"Id", "Score", "Since"};
  const std::vector<Row> rows{{"c1", "many", ""}, {"c2", "7", "2026-01-02"}, {"c3", "", "long ago"}};
  const auto first = make_csv_import(address(), ImportObject::contact, header);
  for (const Row& row : rows) first->detect_types(2, row);
  for (std::size_t i = 0; i < rows.size(); ++i) first->add(i + 2, rows[i]);  // the columns are text now
  EXPECT_THAT(counts(load(ImportObject::contact, {header, {"c4", "10", "2026-03-04"}})),
              ElementsAre(1, 0, 0, 0));
  const ImportResult result = first->finish();
  EXPECT_THAT(counts(result), ElementsAre(1, 0, 0, 2));
  ASSERT_THAT(result.refused, SizeIs(2));
  EXPECT_EQ(result.refused[0].line, 2u);
  EXPECT_THAT(result.refused[0].reason, HasSubstr("Score holds \"many\""));
  EXPECT_EQ(result.refused[1].line, 4u);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_contact WHERE score > 6"), "2");
}

TEST_P(CsvImportTest, SpreadsheetNumberFormatsAreAccepted) {
  const std::vector<Row> rows{{"Id", "Revenue", "Code"},
                              {"a1", "9.0E8", "1E5"},
                              {"a2", "1.5e-3", "12E4"},
                              {"a3", "-1.234E+03", "2E5"},
                              {"a4", "12.50", "3E5"}};
  EXPECT_THAT(counts(load(ImportObject::account, rows)), ElementsAre(4, 0, 0, 0));
  EXPECT_THAT(counts(load(ImportObject::account, rows)), ElementsAre(0, 0, 4, 0));
  EXPECT_EQ(scalar("SELECT cast(revenue as text) FROM crm_account WHERE id = 'a1'"), "900000000");
  EXPECT_EQ(scalar("SELECT cast(revenue as text) FROM crm_account WHERE id = 'a2'"), "0.0015");
  EXPECT_EQ(scalar("SELECT cast(revenue as text) FROM crm_account WHERE id = 'a3'"), "-1234");
  EXPECT_EQ(scalar("SELECT cast(code as text) FROM crm_account WHERE id = 'a2'"), "12E4") << "a code";
  const auto import =
      make_csv_import(address(), ImportObject::account, Row{"Id", "Margin", "Since", "Seen", "Zip", "None"});
  EXPECT_EQ(import->detected_type("Margin"), "no values yet");
  import->detect_types(2, Row{"a1", "1E1", "2026-01-02", "2026-01-02T03:04:05Z", "00501", ""});
  EXPECT_EQ(import->detected_type("Margin"), "number");
  EXPECT_EQ(import->detected_type("Since"), "date");
  EXPECT_EQ(import->detected_type("Seen"), "date and time");
  EXPECT_EQ(import->detected_type("Zip"), "text");
  EXPECT_EQ(import->detected_type("None"), "no values yet");
}

TEST_P(CsvImportTest, BadRowsAreRefusedWithTheirLineNumber) {
  load(ImportObject::contact, {{"Id", "Score"}, {"c0", "1"}});
  const ImportResult result =
      load(ImportObject::contact, {{"Id", "Email", "Score", "Birthdate", "LastModifiedDate"},
                                   {"c1", "a@x.com", "many", "", ""},
                                   {"", "a@x.com", "1", "", ""},
                                   {"c2", "a@x.com"},
                                   {"c3", "a@x.com", "1", "", "", ""},
                                   {"c4", "ok@x.com", "2", "2001-02-28", ""},
                                   {"c4", "again@x.com", "2", "", ""},
                                   {"c5",
                                    "b\xFF"
                                    "d@x.com",
                                    "", "", ""},
                                   {"c6", std::string("nul\0@x.com", 10), "", "", ""},
                                   {"c7", "a@x.com", "", "2001-02-29", ""},
                                   {"c8", "a@x.com", "", "", "yesterday"},
                                   {std::string(256, 'x'), "", "", "", ""},
                                   {" c9 ", "", "", "", ""}});
  EXPECT_THAT(counts(result), ElementsAre(2, 0, 0, 10));
  std::vector<std::size_t> lines;
  for (const RefusedRow& row : result.refused) lines.push_back(row.line);
  EXPECT_THAT(lines, ElementsAre(2, 3, 4, 5, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(result.refused[0].reason,
              testing::AllOf(HasSubstr("Score"), HasSubstr("\"many\""), HasSubstr("number")));
  EXPECT_THAT(result.refused[1].reason, HasSubstr("no Id"));
  EXPECT_THAT(result.refused[2].reason, HasSubstr("has 2 cells, the header has 5"));
  EXPECT_THAT(result.refused[3].reason, HasSubstr("has 6 cells"));
  EXPECT_THAT(result.refused[4].reason, HasSubstr("line 6"));
  EXPECT_THAT(result.refused[5].reason, HasSubstr("UTF-8"));
  EXPECT_THAT(result.refused[7].reason, HasSubstr("Birthdate"));
  EXPECT_THAT(result.refused[8].reason, HasSubstr("LastModifiedDate"));
  EXPECT_EQ(scalar("SELECT email FROM crm_contact WHERE id = 'c4'"), "ok@x.com");
  EXPECT_EQ(scalar("SELECT id FROM crm_contact WHERE id = 'c9'"), "c9");
}

// SYNC-36
TEST_P(CsvImportTest, WhatASpreadsheetWroteInPlaceOfAValueIsRefused) {
  struct Case {
    Row row;
    std::string reason;  ///< empty: it is imported
  };
  const std::vector<Case> cases{
      {{"c1", "#N/A", "", "", "", "5"}, "AccountId holds \"#N/A\", which a spreadsheet writes for a formula"},
      {{"c2", " #BEZUG! ", "", "", "", ""}, "correct or empty the cell"},
      {{"c3", "", "########", "", "", ""}, "a column that is too narrow"},
      {{"c4", "", "2.06555E+09", "", "", ""},
       "Phone holds \"2.06555E+09\", to which a spreadsheet has rounded a number"},
      {{"c5", "1,2E+15", "", "", "", ""}, "rounded"},
      {{"c6", "", "", "11/28/2026 9:15 AM", "", ""}, "the order of day and month is not certain"},
      {{"c7", "", "", "28.11.2026", "", ""}, "a time such as 2026-11-21T12:31:07Z is needed, since"},
      {{"c8", "", "", "", "2.06555E+09", ""}, "Work_Phone holds"},
      {{"c9", "", "", "", "", "#DIV/0!"}, "Score holds"},
      {{"Total", "", "", "", "", "5"}, "as a total or another line of a report; delete the line"},
      {{"Grand Totals (13 records)", "", "", "", "", ""}, "line of a report"},
      {{"ID", "AccountId", "Phone", "", "Work_Phone", ""}, "line of a report"},
      {{"Contact ID", "", "", "", "", ""}, "line of a report"},
      {{"totally", "#1", "+1 206 555 0100", "2026-11-28", "(206) 555-0100", "2.5E+01"}, ""},
      {{"counter", "", "206E555", "", "", "7"}, ""},
  };
  std::vector<Row> rows{{"Id", "AccountId", "Phone", "LastModifiedDate", "Work_Phone", "Score"}};
  for (const Case& one : cases) rows.push_back(one.row);
  const ImportResult result = load(ImportObject::contact, rows);
  EXPECT_THAT(counts(result), ElementsAre(2, 0, 0, cases.size() - 2));
  for (std::size_t i = 0; i < result.refused.size(); ++i) {
    EXPECT_EQ(result.refused[i].line, i + 2);
    EXPECT_THAT(result.refused[i].reason, HasSubstr(cases[i].reason));
  }
  EXPECT_THAT(result.text_fields, IsEmpty()) << "a refused cell makes no field text";
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_contact WHERE score > 6.5"), "2");
}

TEST_P(CsvImportTest, ARowRejectedByTheDatabaseIsRefusedAlone) {
  sql("CREATE UNIQUE INDEX one_address ON crm_contact (email)");
  const ImportResult result =
      load(ImportObject::contact, {{"Id", "Email"}, {"c1", "a@x.com"}, {"c2", "a@x.com"}, {"c3", "b@x.com"}});
  EXPECT_THAT(counts(result), ElementsAre(2, 0, 0, 1));
  EXPECT_EQ(result.refused[0].line, 3u);
}

TEST_P(CsvImportTest, EveryObjectCanBeImported) {
  EXPECT_THAT(counts(load(ImportObject::user,
                          {{"Id", "Name", "Email", "IsActive"}, {"u1", "Sam", "sam@x.com", "true"}})),
              ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(counts(load(ImportObject::lead, {{"Id", "Company", "Email", "IsConverted", "ConvertedContactId",
                                                "ConvertedAccountId", "Status"},
                                               {"l1", "Co", "l@x.com", "1", "c1", "a1", "Open"}})),
              ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(counts(load(ImportObject::account, {{"Id", "Name"}, {"a1", "Co"}})), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(counts(load(ImportObject::opportunity_contact_role,
                          {{"Id", "ContactId", "OpportunityId", "Role", "IsPrimary"},
                           {"r1", "c1", "o1", "", "false"}})),
              ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(counts(load(ImportObject::permission_set_assignment,
                          {{"Id", "AssigneeId", "PermissionSetName", "IsActive", "ExpirationDate"},
                           {"p1", "u1", "Admin", "false", "2026-01-02"}})),
              ElementsAre(1, 0, 0, 0));
  const std::vector<std::string> keys{"sam@x.com"};
  EXPECT_THAT(crm()->directory().find_users_by_email(keys)[0], SizeIs(1));
  EXPECT_TRUE(find(*crm(), PersonObject::lead, recipient("l@x.com")).by_email.at(0).converted);
  for (const char* object : {"contact", "lead", "account", "opportunity", "opportunity_contact_role", "user",
                             "permission_set_assignment"}) {
    ASSERT_TRUE(parse_import_object(object).has_value()) << object;
    EXPECT_EQ(to_word(*parse_import_object(object)), object);
  }
  EXPECT_EQ(parse_import_object("task"), std::nullopt);
}

TEST_P(CsvImportTest, LookupsSeeImportedRows) {
  const auto port = crm();
  load(ImportObject::contact, {{"Id", "Email"}, {"c1", "a@x.com"}});
  EXPECT_THAT(by_email(*port, PersonObject::contact, "a@x.com"), ElementsAre("c1"));
  load(ImportObject::contact, {{"Id", "Email"}, {"c1", "b@x.com"}});
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_match_key_queue"), "0");
  EXPECT_THAT(by_email(*port, PersonObject::contact, "b@x.com"), ElementsAre("c1"));
}

TEST_P(CsvImportTest, AllBatchesAreImported) {
  const Row header{"Id", "LastName", "Email", "Phone", "Description"};
  const auto loading = make_csv_import(address(), ImportObject::contact, header);
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::string n = std::to_string(i);
    loading->add(i + 2, Row{"c" + n, "Person " + n, "p" + n + "@x.com", "",
                            i % 1000 == 0 ? std::string(1'500'000, 'x') : "short"});
  }
  EXPECT_THAT(counts(loading->finish()), ElementsAre(3000, 0, 0, 0));
  EXPECT_THAT(by_email(*crm(), PersonObject::contact, "P2999@x.com"), ElementsAre("c2999"));
}

TEST_P(CsvImportTest, TheSalesforceOrgImportsAndMatches) {
  const std::filesystem::path folder = std::filesystem::path(kSourceFolder) / "../shared/data/salesforce-org";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const char* object : {"account", "contact", "lead", "opportunity", "opportunity_contact_role"}) {
    const std::vector<Row> rows = read_csv(folder / (std::string(object) + ".csv"));
    const ImportResult result = load(*parse_import_object(object), rows);
    EXPECT_THAT(counts(result), ElementsAre(rows.size() - 1, 0, 0, 0)) << object;
    EXPECT_THAT(counts(load(*parse_import_object(object), rows)), ElementsAre(0, 0, rows.size() - 1, 0))
        << object;
  }
  const auto port = crm();
  EXPECT_THAT(by_email(*port, PersonObject::contact, "ROSE@EDGE.com"), SizeIs(1));
  EXPECT_THAT(by_email(*port, PersonObject::contact, "ldcruz@uog.com"), SizeIs(1));
  EXPECT_THAT(by_email(*port, PersonObject::contact, "example@example.com"), SizeIs(testing::Gt(1)));
  EXPECT_THAT(by_email(*port, PersonObject::contact, "bertha@fcof.net"), IsEmpty());
  EXPECT_THAT(by_email(*port, PersonObject::lead, "bertha@fcof.net"), SizeIs(1));
  EXPECT_THAT(by_email(*port, PersonObject::contact, "pat@pyramid.net"), SizeIs(1));
  EXPECT_THAT(by_email(*port, PersonObject::lead, "pat@pyramid.net"), SizeIs(1));
  EXPECT_THAT(by_email(*port, PersonObject::contact, "unknown@missing.test"), IsEmpty());
}

TEST(ImportHeader, AllHeaderFaultsAreReported) {
  const auto faults = [](const Row& header) { return import_header_faults(header); };
  EXPECT_THAT(faults({"\xEF\xBB\xBFId", " Email ", "Custom_1"}), IsEmpty());
  EXPECT_THAT(faults({"Email"}), ElementsAre(HasSubstr("no column Id")));
  EXPECT_THAT(faults({"Id", "e-mail", "", "xmin", "ID", "x\" TEXT); DROP TABLE crm_contact; --", "\xFF"}),
              ElementsAre(HasSubstr("column 2"), HasSubstr("column 3"), HasSubstr("xmin"),
                          HasSubstr("column 5"), HasSubstr("column 6"), HasSubstr("column 7")));
  EXPECT_THAT(faults({"Id", std::string(61, 'a')}), SizeIs(1));
  Row wide{"Id"};
  for (int i = 0; i < 500; ++i) wide.push_back("c" + std::to_string(i));
  EXPECT_THAT(faults(wide), ElementsAre(HasSubstr("at most 500")));
}

INSTANTIATE_TEST_SUITE_P(backends, CsvImportTest, managed_crms(), name_of_crm);

}  // namespace
}  // namespace giftsync::crm::managed
