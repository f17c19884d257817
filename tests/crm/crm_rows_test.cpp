// Whole rows as an admin reads them, over every back end (SYNC-66).
#include "tests/crm/crm_conformance.h"

namespace giftsync::crm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class CrmRows : public CrmConformance {
 protected:
  static std::vector<std::string> ids(const std::vector<CrmRow>& rows) {
    std::vector<std::string> all;
    for (const CrmRow& row : rows) all.push_back(row.id);
    return all;
  }
};

TEST_P(CrmRows, EveryObjectIsListedWithTheNamesOfItsFields) {
  const auto port = crm();
  RowReader& rows = *port->rows();
  std::vector<std::string> expected = kReadableObjects;
  if (!is_managed() && !is_salesforce())
    std::erase_if(expected, [](const std::string& object) {
      return object == "request_record" || object == "permission_set_assignment";
    });
  if (is_bare()) std::erase(expected, "request_record");
  EXPECT_EQ(rows.objects(), expected) << "an external CRM, or another owner's package, has no such tables";
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid, recipienttransactionstatus) VALUES ('g1', 7, "
      "'sent')");
  const auto gift = rows.find("gift_record", "g1");
  ASSERT_TRUE(gift);
  EXPECT_EQ(gift->text("RecipientTransactionId"), "7");
  EXPECT_EQ(gift->text("RecipientTransactionStatus"), "sent");
  for (const std::string& object : expected) EXPECT_NO_THROW(rows.page(object, "", 1)) << object;
  EXPECT_THAT(rows.page("secret", "", 1), IsEmpty());
  EXPECT_FALSE(rows.find("secret", "g1"));
}

TEST_P(CrmRows, ARowHasEveryFieldAsText) {
  sql("ALTER TABLE crm_contact ADD COLUMN score NUMERIC");
  sql("INSERT INTO crm_contact (id, firstname, lastname, email, birthdate, lastmodifieddate, score) VALUES "
      "('c1', 'Rose', 'Lee', 'rose@edge.com', '2001-02-03', '2026-01-02T03:04:05.006Z', 12.50)");
  sql("INSERT INTO crm_lead (id, isconverted) VALUES ('l1', true), ('l2', NULL)");
  const auto port = crm();
  const auto row = port->rows()->find("contact", "c1");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->id, "c1");
  EXPECT_EQ(row->text("Id"), "c1");
  EXPECT_EQ(row->text("FirstName"), "Rose");
  EXPECT_EQ(row->text("Email"), "rose@edge.com");
  EXPECT_EQ(row->text("Birthdate"), "2001-02-03");
  EXPECT_EQ(row->text("LastModifiedDate"),
            is_salesforce() ? "2026-01-02T03:04:05.000Z" : "2026-01-02T03:04:05.006Z")
      << "an org keeps whole seconds";
  EXPECT_EQ(row->text("score"), "12.5") << "an admin's own column";
  EXPECT_TRUE(row->has("Title"));
  EXPECT_THAT(row->fields,
              Contains(std::pair<std::string, std::optional<std::string>>("Phone", std::nullopt)));
  EXPECT_EQ(port->rows()->find("lead", "l1")->text("IsConverted"), "true");
  EXPECT_EQ(port->rows()->find("lead", "l2")->text("IsConverted"), is_salesforce() ? "false" : "");
  EXPECT_FALSE(port->rows()->find("contact", "C1"));
}

TEST_P(CrmRows, PagesFollowTheBytesOfTheIds) {
  sql("INSERT INTO crm_account (id, name) VALUES ('b', 'B'), ('B', 'large B'), ('a', 'A'), ('a1', 'A1')");
  const auto port = crm();
  EXPECT_THAT(ids(port->rows()->page("account", "", 3)), ElementsAre("B", "a", "a1"));
  EXPECT_THAT(ids(port->rows()->page("account", "a1", 3)), ElementsAre("b"));
  EXPECT_THAT(port->rows()->page("account", "b", 3), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(backends, CrmRows, all_crms(), name_of_crm);

}  // namespace
}  // namespace giftsync::crm
