// Directory::look_up() of a CRM that answers one question at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/empty_crm_parts.h"

namespace giftsync::crm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Knows the contacts and leads whose address begins with "contact" or "lead", and each sender.
class LoggingDirectory : public tests::EmptyDirectory {
 public:
  std::vector<std::string> calls;

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientMatchKeys> recipients) override {
    const std::string name = object == PersonObject::contact ? "contact" : "lead";
    std::string call = name + "s";
    std::vector<Candidates> found;
    for (const RecipientMatchKeys& keys : recipients) {
      call += " " + keys.email_key;
      Candidates& candidates = found.emplace_back();
      if (keys.email_key.starts_with(name)) candidates.by_email.emplace_back().id = keys.email_key;
      if (keys.phone_key.starts_with(name)) candidates.by_phone.emplace_back().id = keys.phone_key;
    }
    calls.push_back(call);
    return found;
  }
  std::vector<std::vector<CrmUser>> find_users_by_email(std::span<const std::string> keys) override {
    std::string call = "users";
    std::vector<std::vector<CrmUser>> found;
    for (const std::string& key : keys) {
      call += " " + key;
      found.push_back({{"005", "", key, true}});
    }
    calls.push_back(call);
    return found;
  }
};

TEST(DirectoryLookUp, LeadsAreSearchedForRecipientsWithoutContact) {
  LoggingDirectory directory;
  const DecisionFacts facts =
      directory.look_up({{{"contact1", ""}, {"lead1", ""}, {"other", "contact2"}, {"lead2", ""}}, {"sam"}});
  EXPECT_THAT(directory.calls,
              ElementsAre("contacts contact1 lead1 other lead2", "leads lead1 lead2", "users sam"));
  ASSERT_THAT(facts.contacts, SizeIs(4));
  ASSERT_THAT(facts.leads, SizeIs(4));
  EXPECT_EQ(facts.contacts[0].by_email.at(0).id, "contact1");
  EXPECT_EQ(facts.contacts[2].by_phone.at(0).id, "contact2");
  EXPECT_TRUE(facts.leads[0].empty());
  EXPECT_EQ(facts.leads[1].by_email.at(0).id, "lead1");
  EXPECT_TRUE(facts.leads[2].empty());
  EXPECT_EQ(facts.leads[3].by_email.at(0).id, "lead2");
  ASSERT_THAT(facts.senders, SizeIs(1));
  EXPECT_EQ(facts.senders[0].at(0).email, "sam");
}

TEST(DirectoryLookUp, OnlyWhatIsAskedIsLookedUp) {
  LoggingDirectory directory;
  directory.look_up({{{"contact1", ""}}, {}});
  directory.look_up({{}, {"sam"}});
  const DecisionFacts none = directory.look_up({});
  EXPECT_THAT(directory.calls, ElementsAre("contacts contact1", "users sam"));
  EXPECT_THAT(none.contacts, IsEmpty());
  EXPECT_THAT(none.senders, IsEmpty());
}

}  // namespace
}  // namespace giftsync::crm
