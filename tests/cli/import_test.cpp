#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/csv_reader.h"
#include "cli/input_file.h"
#include "cli/status/change_import.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kItemHeader =
    "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n";

std::vector<CsvRow> rows_of(const std::string& text, std::string* fault = nullptr) {
  std::istringstream in(text);
  CsvReader reader(in, "a.csv");
  std::vector<CsvRow> rows;
  while (auto row = reader.next()) rows.push_back(std::move(*row));
  if (fault != nullptr) *fault = reader.fault();
  return rows;
}

TEST(CsvReader, ReturnsTheFirstLineOfEachRow) {
  const auto rows = rows_of(
      "\xEF\xBB\xBF"
      "Id,Note\r\n\r\n1,\"two\nlines, \"\"so\"\"\"\n\n2,x");
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0].cells, ElementsAre("Id", "Note"));
  EXPECT_EQ(rows[1].line, 3u);
  EXPECT_THAT(rows[1].cells, ElementsAre("1", "two\nlines, \"so\""));
  EXPECT_EQ(rows[2].line, 6u);
  EXPECT_THAT(rows[2].cells, ElementsAre("2", "x"));
}

TEST(CsvReader, ParsesRowsAcrossReadsAndEmptyCells) {
  const std::string wide(100'000, 'w');
  const auto rows = rows_of("a,b\n" + wide + ",\n,\"" + wide + "\"\n");
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[1].cells, ElementsAre(wide, ""));
  EXPECT_THAT(rows[2].cells, ElementsAre("", wide));
  EXPECT_EQ(rows[2].line, 3u);
}

// OPS-21
TEST(CsvReader, EndsRowsAtEachKindOfLineEnd) {
  const auto rows = rows_of("a,b\n1,x\r2,\"y\rz\"\r\n3,w\r\r4,v");
  ASSERT_THAT(rows, SizeIs(5));
  EXPECT_THAT(rows[2].cells, ElementsAre("2", "y\rz")) << "content in quotes";
  std::vector<std::size_t> lines;
  for (const CsvRow& row : rows) lines.push_back(row.line);
  EXPECT_THAT(lines, ElementsAre(1u, 2u, 3u, 5u, 7u));
  const std::string wide(65'529, 'w');  // CR ends one read, LF begins the next one
  EXPECT_EQ(rows_of("a,b\n1," + wide + "\r\n2,x\n").back().line, 3u);
  std::string fault;
  rows_of("a\r1\r2\"\r", &fault);
  EXPECT_THAT(fault, HasSubstr("a.csv:3:"));
}

// OPS-21
TEST(CsvReader, ReadsWhatSpreadsheetsSave) {
  const auto cells_of = [](const std::string& text) {
    std::vector<std::vector<std::string>> cells;
    for (const CsvRow& row : rows_of(text)) cells.push_back(row.cells);
    return cells;
  };
  const std::vector<std::vector<std::string>> table{{"Id", "Name"}, {"1", "Jos\u00E9, A"}};
  for (const std::string& text : std::vector<std::string>{
           "Id,Name\n1,\"Jos\u00E9, A\"\n", "Id;Name\r\n1;Jos\u00E9, A\r\n", "Id\tName\n1\tJos\u00E9, A\n",
           "\"Id\";\"Name\"\n\"1\";\"Jos\u00E9, A\"", "sep=;\nId;Name\n1;Jos\u00E9, A\n",
           "\"sep=,\"\nId,Name\n1,\"Jos\u00E9, A\"", "SEP=\t\rId\tName\r1\tJos\u00E9, A",
           "\xEF\xBB\xBF\xEF\xBB\xBFsep=|\nId|Name\n1|Jos\u00E9, A\n",
           "Id,Name,,\n1,\"Jos\u00E9, A\",,\n,,,\n , ,,\n",
           "\u00A0Id ,Name\u00A0\n\u30001,\"\u2003Jos\u00E9, A\"\n", "\n\nId;Name\n1;Jos\u00E9, A\n"})
    EXPECT_EQ(cells_of(text), table) << text;
  EXPECT_THAT(cells_of("code\na;b\n"), ElementsAre(ElementsAre("code"), ElementsAre("a;b")));
  EXPECT_THAT(cells_of("Id;A,B\n"), ElementsAre(ElementsAre("Id;A", "B"))) << "not certain: comma";
  EXPECT_THAT(cells_of("Id,Name\n1,,3\n").back(), SizeIs(3)) << "a cell with text is never dropped";
  EXPECT_EQ(rows_of("sep=;\n\nId;Name\n1;x\n").back().line, 4u);
}

// OPS-21
TEST(CsvReader, ReadsUtf16WithItsByteOrderMark) {
  const std::u16string text = u"\uFEFFId\tName\r\n1\tJos\u00E9 \U0001F381\r\n";
  std::string little;
  std::string big;
  for (const char16_t c : text) {
    little.append({static_cast<char>(c & 0xFF), static_cast<char>(c >> 8)});
    big.append({static_cast<char>(c >> 8), static_cast<char>(c & 0xFF)});
  }
  for (const std::string& bytes : {little, big}) {
    std::string fault;
    const auto rows = rows_of(bytes, &fault);
    ASSERT_THAT(rows, SizeIs(2)) << fault;
    EXPECT_THAT(rows[1].cells, ElementsAre("1", "Jos\u00E9 \U0001F381"));
    EXPECT_THAT(rows_of(bytes.substr(2), &fault), IsEmpty());
    EXPECT_THAT(fault, AllOf(HasSubstr("a.csv:1: found UTF-16 without"), HasSubstr("CSV UTF-8")));
  }
  std::string fault;
  rows_of(little + std::string("\x3C\xD8"
                               "A\0",
                               4),
          &fault);
  EXPECT_THAT(fault, HasSubstr("CSV UTF-8")) << "half a surrogate pair";
}

TEST(CsvReader, ReportsStrayAndOpenQuotationMarks) {
  std::string fault;
  EXPECT_THAT(rows_of("a,b\n1,5\" disk\n2,x\n", &fault), SizeIs(1));
  EXPECT_THAT(fault, AllOf(HasSubstr("a.csv:2:"), HasSubstr("quotation mark")));
  rows_of("a,b\n1,2\n3,\"open\n4,5\n", &fault);
  EXPECT_THAT(fault, AllOf(HasSubstr("a.csv:3:"), HasSubstr("never closed")));
}

TEST(LineReader, ReadsLinesOfAnyKindInBoundedMemory) {
  std::istringstream in("one\r\n\n" + std::string(LineReader::kMaxLineBytes + 10, 'x') + "\nlast");
  LineReader reader(in);
  EXPECT_EQ(reader.next()->text, "one");
  EXPECT_EQ(reader.next()->text, "");
  EXPECT_TRUE(reader.next()->too_long);
  const auto last = reader.next();
  EXPECT_EQ(last->text, "last");
  EXPECT_EQ(last->number, 4u);
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(LineReader, ReadsALineOfExactlyTheMaximumLength) {
  std::istringstream in(std::string(LineReader::kMaxLineBytes, 'x') + "\ny\n");
  LineReader reader(in);
  EXPECT_EQ(reader.next()->text.size(), LineReader::kMaxLineBytes);
  EXPECT_EQ(reader.next()->text, "y");
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(CliItem, ImportsAndUpdates) {
  const CliFixture cli;
  const std::string file =
      cli.write("items.csv",
                std::string(kItemHeader) + "7,Coffee,\"Hot, black\",5.00,,0.25,0.50\n8,Ride,,12,1.5,0,0\n");
  const auto first = cli.run({"item", "import", file});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "2 items: 2 new, 0 changed, 0 unchanged\n");
  EXPECT_THAT(cli.run({"item", "list", "--json"}).out,
              AllOf(HasSubstr("\"gift_id\":7"), HasSubstr("\"total\":\"5.75\""),
                    HasSubstr("\"shipping_cost\":\"1.50\""), HasSubstr("\"shipping_cost\":null"),
                    HasSubstr("Hot, black")));
  const auto second =
      cli.run({"item", "import", "-"},
              "active,transaction_fee,carbon_neutral_cost,shipping_cost,item_cost,description,name,gift_id\n"
              "false,0,0,1.50,12.00,,Ride,8\ntrue,0.50,0.25,,5,\"Hot, black\",Coffee,7\n");
  EXPECT_EQ(second.out, "2 items: 0 new, 1 changed, 1 unchanged\n") << second.err;
  EXPECT_THAT(cli.run({"item", "list"}).out, AllOf(HasSubstr("inactive"), HasSubstr("5.75")));
  const auto physical = cli.run({"item", "import", "-"},
                                std::string(kItemHeader) + "7,Coffee,\"Hot, black\",5.00,0,0.25,0.50\n");
  EXPECT_EQ(physical.out, "1 item: 0 new, 1 changed, 0 unchanged\n")
      << "free shipping differs from no shipping";
}

// OPS-21
TEST(CliItem, ShowsItemsThatHaveNothingToRedeem) {
  const CliFixture cli;
  const auto imported = cli.run({"item", "import", "-"},
                                "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,"
                                "transaction_fee,redemption_text,redemption_link,active\n"
                                "1,Empty,,1,0,0,0,,,true\n2,Text,,1,0,0,0,Show this,,true\n"
                                "3,Link,,1,0,0,0,,https://shop.example/,true\n4,Off,,1,0,0,0,,,false\n"
                                "5,Codes,,1,0,0,0,,,true\n");
  EXPECT_EQ(imported.code, 0);
  EXPECT_THAT(imported.err, HasSubstr("2 items have nothing to redeem (1, 5)"));
  const nlohmann::json status = tests::parse_json(cli.run({"status", "--json"}).out);
  EXPECT_EQ(status["items_without_redemption"], 2);
  EXPECT_EQ(cli.run({"item", "codes", "import", "5", "-"}, "code\nABC\n").code, 0);
  EXPECT_THAT(cli.run({"status"}).out, HasSubstr("items     1 active item has nothing to redeem"));
  const nlohmann::json items = tests::parse_json(cli.run({"item", "list", "--json"}).out);
  const std::vector<std::vector<std::string>> redemption{{}, {"text"}, {"link"}, {}, {"codes"}};
  for (std::size_t i = 0; i < redemption.size(); ++i) EXPECT_EQ(items[i]["redemption"], redemption[i]) << i;
  EXPECT_THAT(cli.run({"item", "list"}).out, HasSubstr("nothing"));
}

// OPS-21, PAGE-18
TEST(CliItem, APictureThatNoPageWouldShowIsAFault) {
  const CliFixture cli;
  const std::string header =
      "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee,picture\n";
  const auto import_of = [&](const std::string& picture) {
    return cli.run({"item", "import", "-"}, header + "7,Bread,,5.00,0,0,0," + picture + "\n");
  };
  for (const std::string wrong :
       {"bread.png", "http://cdn.example/bread.png", "https://cdn.example/a b.png"}) {
    const auto result = import_of(wrong);
    EXPECT_EQ(result.code, 65) << wrong;
    EXPECT_THAT(result.err,
                HasSubstr("picture: found \"" + wrong + "\"; allowed: the https URL of a picture"));
  }
  EXPECT_EQ(import_of("https://cdn.example/bread.png?w=640").code, 0);
  EXPECT_EQ(import_of("").code, 0);
}

// OPS-21
TEST(CliItem, ARedemptionLinkIsWhatAPageCanLinkTo) {
  const CliFixture cli;
  const auto import_link = [&](const std::string& link) {
    return cli.run({"item", "import", "-"},
                   "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,"
                   "transaction_fee,redemption_link\n1,A,,1,0,0,0,\"" +
                       link + "\"\n");
  };
  for (const std::string link : {"https://shop.example", "http://shop.example:8080/a?b=c@d#e", "",
                                 "https://shop.example/caf\xC3\xA9/it's"})
    EXPECT_EQ(import_link(link).code, 0) << link << import_link(link).err;
  for (const std::string link :
       {"ftp://shop.example", "https://", "https:///a", "https://user@shop.example",
        "https://u:p@shop.example/", "https://shop.example/a b", "https://shop.example/a\"\"b",
        "https://shop.example/<b>", "https://shop.example\\@evil.example",
        "https://shop.example/\xE2\x80\xAEgpj", "https://shop.example/\tb"}) {
    EXPECT_EQ(import_link(link).code, 65) << link;
    EXPECT_THAT(import_link(link).err, HasSubstr("redemption_link: found")) << link;
  }
}

// OPS-21
TEST(CliItem, ListsEveryFaultWithLineAndColumnAndImportsNothing) {
  const CliFixture cli;
  const std::string file =
      cli.write("items.csv", std::string(kItemHeader) +
                                 "7,Coffee,,5.00,0,0,0\nseven,,,free,-1,1.999,0\n7,Tea,,1,0,0,0\n9,Few\n");
  const auto result = cli.run({"item", "import", file});
  EXPECT_EQ(result.code, 65);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("items.csv:3: gift_id: found \"seven\""), HasSubstr("items.csv:3: name: found nothing"),
            HasSubstr("items.csv:3: item_cost: found \"free\""),
            HasSubstr("items.csv:3: shipping_cost: found \"-1\""),
            HasSubstr("items.csv:3: carbon_neutral_cost: found \"1.999\""),
            HasSubstr("items.csv:4: gift_id: found 7; allowed: each id once; line 2"),
            HasSubstr("items.csv:5: found 2 cells; allowed: 7"), HasSubstr("nothing was imported")));
  EXPECT_EQ(cli.run({"item", "list", "--json"}).out, "[]\n");
}

// OPS-2
TEST(CliItem, RefusesOtherFiles) {
  const CliFixture cli;
  EXPECT_EQ(cli.run({"item", "import", cli.path("none.csv")}).code, 66);
  EXPECT_EQ(cli.run({"item", "import", cli.path(".")}).code, 66);
  const auto semicolons = cli.run({"item", "import", "-"}, "gift_id;name\n1;A\n");
  EXPECT_EQ(semicolons.code, 65);
  EXPECT_THAT(semicolons.err,
              AllOf(HasSubstr("stdin:1: description: found no such column"), Not(HasSubstr("gift_id"))));
  const std::string header = kItemHeader;
  EXPECT_THAT(cli.run({"item", "import", "-"}, header + "7,#REF!,#N/A,1,0,0,0\n").err,
              AllOf(HasSubstr("stdin:2: name: found \"#REF!\", which a spreadsheet writes"),
                    HasSubstr("stdin:2: description: found \"#N/A\"")));
  const auto misspelt =
      cli.run({"item", "import", "-"},
              "gift_id,name,description,item_cst,shipping_cost,carbon_neutral_cost,transaction_fee\n");
  EXPECT_THAT(misspelt.err,
              AllOf(HasSubstr("did you mean item_cost?"), HasSubstr("item_cost: found no such column")));
  EXPECT_EQ(cli.run({"item", "import", "-"}, "").code, 65);
  EXPECT_EQ(cli.run({"item", "import", "-"}, kItemHeader).code, 65);
}

TEST(CliCrm, ImportsTheGoodRowsAndListsTheRefusedOnes) {
  const CliFixture cli;
  const std::string file = cli.write(
      "contacts.csv",
      "Id,Email,LastName\n003A,rose@example.com,Gonzalez\n,b@example.com,B\n003C,c@example.com,C\n");
  const auto result = cli.run({"crm", "import", "--object", "contact", file});
  EXPECT_EQ(result.code, 65);
  EXPECT_EQ(result.out, "contact: 3 rows: 2 new, 0 changed, 0 unchanged, 1 refused\n");
  EXPECT_THAT(result.err, HasSubstr("contacts.csv:3: "));
  const auto again =
      cli.run({"crm", "import", "--object", "contact", "-"}, "Id,LastName\n003A,Gonzalez-Lee\n003C,C\n");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "contact: 2 rows: 0 new, 1 changed, 1 unchanged, 0 refused\n");
  EXPECT_THAT(cli.run({"match", "--email", "rose@example.com"}).out, HasSubstr("choice: contact 003A"));
}

TEST(CliCrm, ColumnsThatAreNotStandardAreNamed) {
  const CliFixture cli;
  const auto import = [&](const std::string& text) {
    return cli.run({"crm", "import", "--object", "contact", "-"}, text);
  };
  const auto first = import("Id,LastName,emial,Region\n003A,Lee,a@example.com,EMEA\n");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("1 new"));
  EXPECT_THAT(first.err, AllOf(HasSubstr("new custom field: emial (text; did you mean Email?)"),
                               HasSubstr("new custom field: Region (text)\n"), Not(HasSubstr("LastName"))));
  const auto again = import("Id,LastName,emial,Region\n003A,Lee,a@example.com,EMEA\n");
  EXPECT_THAT(again.err, AllOf(HasSubstr("did you mean Email?"), Not(HasSubstr("Region"))))
      << "a known custom field is not reported again, unless it looks misspelt";
  EXPECT_THAT(import("Id,EMAIL,emial\n003A,a@example.com,x\n").err, Not(HasSubstr("did you mean")));
}

// MATCH-2, SYNC-36
TEST(CliCrm, NumbersThatMatchNothingAndDeletedRowsAreTold) {
  const CliFixture cli;
  const auto result =
      cli.run({"crm", "import", "--object", "contact", "-"},
              "Id,Phone,MobilePhone,IsDeleted\n003A,(650) 867-3450,,false\n003B,000-000-0000,,\n"
              "003C,1234567,650-867-3451,false\n003D,,,true\n");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "contact: 4 rows: 3 new, 0 changed, 0 unchanged, 0 refused\n");
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("stdin:3: Phone is not a valid phone number"),
                    HasSubstr("region US (matching.default_region)"), HasSubstr("never match by Phone: 2\n"),
                    Not(HasSubstr("MobilePhone is")),
                    HasSubstr("1 row is deleted (IsDeleted is true) and is not stored; 0 rows of the CRM")));
  EXPECT_EQ(cli.run({"crm", "show", "contact", "003D"}).code, 65);
}

// MATCH-33
TEST(CliCrm, NamesTheCellThatMakesAFieldText) {
  const CliFixture cli;
  cli.write_settings("matching: { contact: { order_by: { field: Priority__c, direction: DESC } } }\n");
  const std::vector<std::string> import{"crm", "import", "--object", "contact", "-"};
  const auto first = cli.run(import,
                             "Id,Email,Priority__c\n003A,a@example.com,9\n003B,a@example.com,10\n"
                             "003C,c@example.com,high\n");
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.err, HasSubstr("Priority__c is text from now on, because line 4 has \"high\""));
  EXPECT_THAT(cli.run({"crm", "check"}).err,
              AllOf(HasSubstr("matching.contact.order_by.field: Priority__c is text"),
                    HasSubstr("contact 003C has \"high\"")));
  EXPECT_THAT(cli.run({"crm", "check", "--json"}).out, HasSubstr("10 before 9"));
  EXPECT_THAT(cli.run({"match", "--email", "a@example.com"}).out,
              AllOf(HasSubstr("choice: contact 003A"), HasSubstr("ordered as text, 10 before 9")));
  EXPECT_THAT(cli.run(import, "Id,Priority__c\n003A,8\n").err,
              HasSubstr("Priority__c stays text, because contact 003C has \"high\""));
  EXPECT_THAT(cli.run(import, "Id,Priority__c\n003C,\n").err,
              HasSubstr("custom field Priority__c is from now on a number, because all its values are"));
  EXPECT_EQ(cli.run({"crm", "check"}).err, "");
  EXPECT_THAT(cli.run({"match", "--email", "a@example.com"}).out,
              AllOf(HasSubstr("choice: contact 003B"), Not(HasSubstr("as text"))));
}

TEST(CliCrm, ADryRunReportsLikeTheImportAndWritesNothing) {
  const CliFixture cli;
  const std::string text =
      "Id,Email,Score\n003A,a@example.com,9\n,b@example.com,10\n003C,c@example.com,high\n";
  const auto plan = cli.run({"crm", "import", "--object", "contact", "-", "--dry-run"}, text);
  EXPECT_EQ(plan.code, 65);
  EXPECT_EQ(plan.out, "contact: 3 rows: 2 new, 0 changed, 0 unchanged, 1 refused. Nothing was written.\n");
  EXPECT_THAT(plan.err, AllOf(HasSubstr("stdin:3: has no Id"), HasSubstr("new custom field: Score (text)"),
                              HasSubstr("Score would be text, because line 4 has \"high\"")));
  EXPECT_EQ(cli.run({"crm", "list", "contact", "--json"}).out, "[]\n");
  EXPECT_EQ(cli.run({"crm", "import", "--object", "contact", "-"}, text).out,
            "contact: 3 rows: 2 new, 0 changed, 0 unchanged, 1 refused\n");
}

// SYNC-66
TEST(CliCrm, ListsRowsPageByPage) {
  const CliFixture cli;
  cli.run(
      {"crm", "import", "--object", "contact", "-"},
      "Id,FirstName,LastName,Email\n003A,Rose,Lee,rose@example.com\n003B,,Kim,kim@example.com\n003C,,,\n");
  const auto first = cli.run({"crm", "list", "contact", "--limit", "2"});
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.out,
              AllOf(HasSubstr("003A  Rose Lee"), HasSubstr("kim@example.com"), Not(HasSubstr("003C"))));
  EXPECT_THAT(first.err, HasSubstr("crm list contact --after 003B"));
  const auto second = cli.run({"crm", "list", "contact", "--after", "003B", "--json"});
  EXPECT_EQ(tests::parse_json(second.out).at(0)["Id"], "003C");
  EXPECT_EQ(tests::parse_json(second.out).at(0)["Email"], nullptr);
  EXPECT_EQ(second.err, "");
  EXPECT_EQ(cli.run({"crm", "list", "lead"}).err, "The CRM has no lead.\n");
  const auto unknown = cli.run({"crm", "list", "contacts"});
  EXPECT_EQ(unknown.code, 64);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("contacts"), HasSubstr("opportunity_contact_role")));
}

// SYNC-66
TEST(CliCrm, ShowsARowOrTheNearestOne) {
  const CliFixture cli;
  cli.run({"crm", "import", "--object", "contact", "-"},
          "Id,Email,Score\n003000000000001AAA,rose@example.com,7\n003000000000002,b@example.com,\n");
  const auto shown = cli.run({"crm", "show", "contact", "003000000000001AAA"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("rose@example.com"), HasSubstr("(empty)"), HasSubstr("score")));
  const auto json = cli.run({"crm", "show", "contact", "003000000000001AAA", "--json"});
  EXPECT_EQ(tests::parse_json(json.out)["Email"], "rose@example.com");
  const auto absent = [&](const std::string& object, const std::string& id) {
    const auto result = cli.run({"crm", "show", object, id});
    EXPECT_EQ(result.code, 65);
    return result.err;
  };
  EXPECT_EQ(cli.run({"crm", "show", "contact", "003000000000001"}).out, shown.out) << "one Id (MATCH-34)";
  EXPECT_THAT(absent("contact", "003000000000002AAB"), HasSubstr("crm show contact 003000000000002\"?"));
  EXPECT_THAT(absent("lead", "003000000000002"), HasSubstr("crm show contact 003000000000002\"?"));
  EXPECT_THAT(absent("contact", "rose@example.com"), HasSubstr("match --email rose@example.com"));
  EXPECT_THAT(absent("contact", "o'brien@example.com"),
              HasSubstr(R"(match --email 'o'\''brien@example.com'")"))
      << "as a shell reads it";
  EXPECT_THAT(absent("gift_record", "7"), HasSubstr("gift show 7\" finds gifts"));
  EXPECT_THAT(absent("contact", "zzz"), HasSubstr("crm list contact\" lists them"));
}

TEST(CliCrm, InvalidAddressesAndRepeatedIdsAreCounted) {
  const CliFixture cli;
  const auto result =
      cli.run({"crm", "import", "--object", "contact", "-"},
              "Id,Email\n003A,a@example.com\n003B,absent\n003C,@\n003A,b@example.com\n003D,\n");
  EXPECT_EQ(result.code, 65);
  EXPECT_THAT(result.out, HasSubstr("5 rows: 4 new, 0 changed, 0 unchanged, 1 refused"));
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("stdin:3: Email holds \"absent\", which is not a complete e-mail address"),
                    HasSubstr("stdin:4: Email holds \"@\""), HasSubstr("incomplete e-mail addresses: 2;"),
                    HasSubstr("1 of the refused rows has an Id that an earlier line")));
  std::string many = "Id,Work_Email\n";
  for (int i = 0; i < 25; ++i) many += "003X" + std::to_string(i) + ",jane@example\n";
  const auto named = cli.run({"crm", "import", "--object", "contact", "-"}, many);
  EXPECT_THAT(named.err, AllOf(HasSubstr("stdin:21: Work_Email holds \"jane@example\""),
                               Not(HasSubstr("stdin:22:")), HasSubstr("incomplete e-mail addresses: 25;")));
}

// SYNC-36
TEST(CliCrm, RowsThatALoneCrEndsAreImported) {
  const CliFixture cli;
  const std::string rows =
      "Id,Email,LastName\n003D,di@x.example,Diaz\r003E,ed@x.example,Eddy\n003F,fi@x.example,Fisk\n";
  EXPECT_THAT(cli.run({"crm", "import", "--object", "contact", "-", "--dry-run"}, rows).out,
              HasSubstr("3 rows: 3 new"));
  EXPECT_EQ(cli.run({"crm", "import", "--object", "contact", "-"}, rows).out,
            "contact: 3 rows: 3 new, 0 changed, 0 unchanged, 0 refused\n");
}

// SYNC-36
TEST(CliCrm, LabelsOfAReportAreNamedByTheAdmin) {
  const CliFixture cli;
  const std::string file = cli.write(
      "my report.csv",
      "Contact ID;First\u00A0Name;Account ID;Mobile;E-mail 2\n003A;Rose;001A;(650) 867-3450;r@x.example\n");
  const auto refused = cli.run({"crm", "import", "--object", "contact", file});
  EXPECT_EQ(refused.code, 65);
  const std::string advice = "crm import --object contact '" + file +
                             "' --map 'Contact ID=Id' --map 'First\u00A0Name=FirstName' --map "
                             "'Account ID=AccountId' --map Mobile=MobilePhone --map 'E-mail 2=E_mail_2'\n";
  EXPECT_THAT(refused.err, AllOf(HasSubstr("column 1 is named \"Contact ID\""), HasSubstr(advice)));
  const auto imported =
      cli.run({"crm", "import", "--object", "contact", file, "--map", "contact id=Id", "--map",
               "First Name=FirstName", "--map", "Account ID=AccountId", "--map", "E-mail 2=E_mail_2"});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_THAT(imported.err, HasSubstr("new custom field: Mobile (text; did you mean MobilePhone?)"));
  EXPECT_EQ(tests::parse_json(cli.run({"crm", "show", "contact", "003A", "--json"}).out)["AccountId"],
            "001A");
  EXPECT_THAT(cli.run({"crm", "import", "--object", "contact", file, "--map", "Contact=Id"}).err,
              AllOf(HasSubstr("--map \"Contact=Id\": there is no such column"), Not(HasSubstr("next:"))));
  EXPECT_EQ(cli.run({"crm", "import", "--object", "contact", file, "--map", "Contact"}).code, 64);
  EXPECT_THAT(cli.run({"crm", "import", "--object", "lead", "-"}, "LeadId,Email\n1,a@x.example\n").err,
              HasSubstr("--map LeadId=Id"));
}

// SYNC-36
TEST(CliCrm, LabelsInAnotherLanguageAreNamedAsFarAsTheyAreKnown) {
  const CliFixture cli;
  const std::string file =
      cli.write("de.csv", "sep=;\nKontakt-ID;Vorname;E-Mail;Telefon\n003A;Rose;r@x.example;030\n");
  const auto refused = cli.run({"crm", "import", "--object", "contact", file});
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.err, HasSubstr(file + " --map Kontakt-ID=Id --map E-Mail=Email\n"));
  EXPECT_EQ(cli.run({"crm", "import", "--object", "contact", file, "--map", "Kontakt-ID=Id", "--map",
                     "E-Mail=Email"})
                .code,
            0);
  EXPECT_THAT(
      cli.run({"crm", "import", "--object", "contact", "-"}, "Kennung;E-Mail\n003A;r@x.example\n").err,
      AllOf(HasSubstr("with the label of the column that identifies the rows for LABEL: "),
            HasSubstr("contact - --map E-Mail=Email --map LABEL=Id\n")));
  EXPECT_THAT(cli.run({"crm", "import", "--object", "contact", "-"}, "Id;E-Mail\n003A;r@x.example\n").err,
              HasSubstr("contact - --map E-Mail=Email\n"));
}

TEST(CliCrm, TheHelpListsTheStandardColumns) {
  const auto help = CliFixture().run({"crm", "import", "--help"});
  EXPECT_THAT(help.out, AllOf(HasSubstr("Id, AssigneeId, PermissionSetName, IsActive, ExpirationDate"),
                              HasSubstr("Standard_User")));
}

TEST(CliCrm, ABrokenFileImportsNothing) {
  const CliFixture cli;
  const auto result =
      cli.run({"crm", "import", "--object", "contact", "-"}, "Id,Email\n003A,a@example.com\n003B,\"open\n");
  EXPECT_EQ(result.code, 65);
  EXPECT_THAT(result.err, AllOf(HasSubstr("stdin:3:"), HasSubstr("nothing was imported")));
  EXPECT_THAT(cli.run({"match", "--email", "a@example.com"}).out, HasSubstr("choice: none"));
  EXPECT_EQ(cli.run({"crm", "import", "--object", "contact", "-"}, "Email\na@example.com\n").code, 65);
  const auto object = cli.run({"crm", "import", "--object", "contract", "-"});
  EXPECT_EQ(object.code, 64);
  EXPECT_THAT(object.err, HasSubstr("opportunity_contact_role"));
}

TEST(CliMatch, ReportsInvalidKeys) {
  const CliFixture cli;
  EXPECT_THAT(cli.run({"match", "--email", "(650) 867-3450"}).err, HasSubstr("use --phone"));
  EXPECT_THAT(cli.run({"match", "--email", "ada"}).err, HasSubstr("it matches nothing"));
  const auto nothing = cli.run({"match", "--phone", "000-000-0000"});
  EXPECT_THAT(nothing.err, HasSubstr("not a valid phone number (region US), or fills a field"));
  EXPECT_THAT(nothing.out, AllOf(HasSubstr("The phone number is not compared"),
                                 HasSubstr("compared as: nothing"), HasSubstr("neither an e-mail address")));
}

TEST(CliMatch, ExplainsInTheOrderOfTheChoice) {
  const CliFixture cli;
  cli.run(
      {"crm", "import", "--object", "contact", "-"},
      "Id,Name,Email,Phone,LastModifiedDate\n003A,Old Pat,pat@example.com,,2024-01-01T00:00:00Z\n"
      "003B,New Pat,PAT@example.com,,2025-01-01T00:00:00Z\n003C,Phone Pat,x@example.com,(650) 867-3450,\n");
  cli.run({"crm", "import", "--object", "lead", "-"}, "Id,Email,IsConverted\n00QA,pat@example.com,false\n");
  const auto result = cli.run({"match", "--email", " Pat@Example.com"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_LT(result.out.find("New Pat"), result.out.find("Old Pat"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("compared as: pat@example.com"), HasSubstr("choice: contact 003B"),
                                HasSubstr("00QA"), HasSubstr("why: ")));
  const auto json = cli.run({"match", "--email", "absent@example.com", "--phone", "650-867-3450", "--json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"contact_id\": \"003C\""),
                              HasSubstr("\"phone_key\": \"+16508673450\""), HasSubstr("\"lead_id\": null")));
}

TEST(CliMatch, NamesAConfiguredFieldThatTheCrmDoesNotHave) {
  const CliFixture cli;
  cli.write_settings("matching: { contact: { email_fields: [Work_Email] } }\n");
  const auto result = cli.run({"match", "--email", "a@example.com"});
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.err, HasSubstr("Work_Email"));
}

constexpr UtcMillis kNow{1'795'264'267'000};

store::StatusChange good(const std::string& line) {
  auto read = parse_change(line, kNow);
  if (read) return *read;
  ADD_FAILURE() << ::testing::PrintToString(read.error());
  return {};
}

ChangeFaults faults_of(const std::string& line) {
  auto read = parse_change(line, kNow);
  return read ? ChangeFaults{} : read.error();
}

TEST(ChangeLine, ParsesIdsAsNumbersAndDigits) {
  const auto change = good(
      R"({"recipient_transaction_id":"42","status":"opened","occurred_at":"2026-11-21T13:00:00+01:00","event_id":"e1","x":1})");
  EXPECT_EQ(change.transaction.value, 42);
  EXPECT_EQ(change.status, Status::opened);
  EXPECT_EQ(to_rfc3339(change.occurred_at), "2026-11-21T12:00:00.000Z");
  EXPECT_EQ(change.received_at, kNow);
  EXPECT_EQ(change.source, "import");
  EXPECT_THAT(change.event_ids, ElementsAre("e1"));
  EXPECT_EQ(
      good(
          R"({"recipient_transaction_id":9007199254740992,"status":"sent","occurred_at":"2026-11-21T12:00:00Z"})")
          .transaction.value,
      kMaxId);
}

TEST(ChangeLine, NamesEveryFaultOfALine) {
  EXPECT_THAT(
      faults_of(
          R"({"recipient_transaction_id":1.5,"status":"openend","occurred_at":"yesterday","event_id":""})"),
      ElementsAre(HasSubstr("recipient_transaction_id: found"),
                  AllOf(HasSubstr("status: found \"openend\""), HasSubstr("did you mean opened?")),
                  HasSubstr("occurred_at: found \"yesterday\""), HasSubstr("event_id: found \"\"")));
  EXPECT_THAT(faults_of("{}"),
              ElementsAre(HasSubstr("recipient_transaction_id: found nothing"),
                          HasSubstr("status: found nothing"), HasSubstr("occurred_at: found nothing")));
}

TEST(ChangeLine, RefusesAnythingButAJsonObject) {
  for (const char* line :
       {"[]", "1", "{\"status\":", "{} {}", "{\"status\":\"sent\",\"status\":\"opened\"}", "\xff"}) {
    EXPECT_THAT(faults_of(line), ElementsAre(HasSubstr("allowed: one JSON object"))) << line;
  }
}

// READ-2, READ-3, READ-4
TEST(ChangeLine, IsReadLeniently) {
  const auto line = [](const std::string& more, const std::string& time = "2026-11-21T12:00:00Z",
                       const std::string& event = "e1") {
    return R"({"recipient_transaction_id":42,"status":"opened","occurred_at":")" + time +
           R"(","event_id":")" + event + "\"" + more + "}";
  };
  for (const std::string& more :
       {std::string(R"(,"note":"\ud83d")"), std::string(",\"note\":\"Ren\xE9\""),
        std::string(R"(,"a":1,"a":2)"), std::string(R"(,"a":"\u0000")"), std::string(R"(,"a":1e999)"),
        ",\"a\":" + std::string(100, '[') + std::string(100, ']')})
    EXPECT_THAT(good(line(more)).event_ids, ElementsAre("e1")) << more;
  EXPECT_EQ(good("\xEF\xBB\xBF" + line("")).transaction.value, 42);
  for (const char* time : {"2026-11-21T12:00:00.000+0000", "2026-11-21T12:00Z", "20261121T120000Z"})
    EXPECT_EQ(to_rfc3339(good(line("", time)).occurred_at), "2026-11-21T12:00:00.000Z") << time;
  EXPECT_THAT(faults_of(line("", "2026-11-21T12:00Z", "\xE9")),
              ElementsAre(HasSubstr("The text at \"/event_id\" has a character that cannot be read")));
  EXPECT_THAT(faults_of(line(R"(,"event_id":"e2")")), ElementsAre(HasSubstr("\"event_id\" appears twice")));
  EXPECT_THAT(faults_of("\xFF\xFE{\"a\":1}"), ElementsAre(HasSubstr("UTF-16")));
}

TEST(ChangeLine, RefusesImplausibleTimes) {
  const auto at = [](const std::string& time) {
    return faults_of(R"({"recipient_transaction_id":1,"status":"opened","occurred_at":")" + time + "\"}");
  };
  EXPECT_THAT(at("2026-11-22T12:31:07Z"), IsEmpty());
  EXPECT_THAT(at("2026-11-22T12:31:08Z"), ElementsAre(HasSubstr("24 hours")));
  EXPECT_THAT(at("2000-01-01T00:00:00Z"), IsEmpty());
  EXPECT_THAT(at("1999-12-31T23:59:59Z"), ElementsAre(HasSubstr("before the year 2000")));
  EXPECT_THAT(at("2026-11-21T12:00:00"), ElementsAre(HasSubstr("ISO 8601")));
}

std::string line_for(TransactionId id, const std::string& status, const std::string& event) {
  return "{\"recipient_transaction_id\":" + std::to_string(id.value) + ",\"status\":\"" + status +
         "\",\"occurred_at\":\"2026-11-21T12:00:00Z\",\"event_id\":\"" + event + "\"}\n";
}

// OPS-23
TEST(CliChange, AppliesTheGoodLinesAndListsTheOthers) {
  const CliFixture cli;
  const auto ids = cli.send_gifts({"a@example.com", "b@example.com"});
  const std::string file = cli.write(
      "c.ndjson", line_for(ids[0], "opened", "e1") + "\n" + line_for(ids[1], "openend", "e2") + "not json\n" +
                      line_for({999}, "opened", "e3") + line_for(ids[1], "delivered", "e4"));
  const auto result = cli.run({"change", "import", file});
  EXPECT_EQ(result.code, 65);
  EXPECT_EQ(result.out, "5 lines: 2 accepted, 0 duplicates, 1 orphaned, 2 refused\n");
  EXPECT_THAT(result.err, AllOf(HasSubstr("c.ndjson:3: status: found \"openend\""), HasSubstr("c.ndjson:4: "),
                                HasSubstr("c.ndjson:5: orphaned: there is no transaction 999 yet")));
  EXPECT_THAT(cli.run({"gift", "show", std::to_string(ids[0].value)}).out,
              AllOf(HasSubstr("opened"), HasSubstr("import"), HasSubstr("e1")));
}

TEST(CliChange, ADuplicateChangesNothing) {
  const CliFixture cli;
  const auto ids = cli.send_gifts({"a@example.com"});
  const std::string lines = line_for(ids[0], "opened", "e1") + line_for({999}, "opened", "e3");
  EXPECT_EQ(cli.run({"change", "import", "-"}, lines).out,
            "2 lines: 1 accepted, 0 duplicates, 1 orphaned, 0 refused\n");
  const auto again = cli.run({"change", "import", "-"}, lines);
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.out, "2 lines: 0 accepted, 2 duplicates, 0 orphaned, 0 refused\n");
  EXPECT_THAT(cli.run({"status", "--json"}).out, HasSubstr("\"orphaned_changes\": 1"));
}

TEST(CliChange, ImportsManyBatchesAndNamesOnlyTheFirstOrphans) {
  const CliFixture cli;
  cli.run({"db", "migrate"});
  std::string lines;
  for (std::int64_t id = 1; id <= 1201; ++id) lines += line_for({id}, "opened", "e");
  const auto result = cli.run({"change", "import", "-"}, lines);
  EXPECT_EQ(result.out, "1201 lines: 0 accepted, 0 duplicates, 1201 orphaned, 0 refused\n");
  EXPECT_THAT(result.err, AllOf(HasSubstr("stdin:20: orphaned"), Not(HasSubstr("stdin:21: orphaned")),
                                HasSubstr("and 1181 more orphaned")));
}

// OPS-19
TEST(CliChange, ShowsABarOnATerminalForLargeFiles) {
  CliFixture cli;
  cli.run({"db", "migrate"});
  std::string blank(3 << 20, '\n');
  const std::string file = cli.write("big.ndjson", blank);
  EXPECT_THAT(cli.run({"change", "import", file}).err,
              AllOf(HasSubstr("100000 lines read"), Not(HasSubstr("\r"))));
  cli.is_terminal = true;
  EXPECT_THAT(cli.run({"change", "import", file}).err,
              AllOf(HasSubstr("\r["), HasSubstr("50 %"), HasSubstr("\033[K")));
  const std::string small = cli.write("small.ndjson", "\n");
  EXPECT_THAT(cli.run({"change", "import", small}).err, IsEmpty());
}

}  // namespace
}  // namespace giftsync::cli
