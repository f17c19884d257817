#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/mail/transports.h"

namespace giftsync::mail {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kLease = 1000;

class FileTransportTest : public testing::Test {
 protected:
  FileTransportTest() {
    std::string name = (fs::temp_directory_path() / "giftsync-outbox-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make a temporary folder");
    folder_ = name;
  }
  ~FileTransportTest() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static mode_t mode(const fs::path& path) {
    struct stat found {};
    return stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
  }

  fs::path folder_;
  sync::OutgoingMail mail_{"t1.g1@example.com", "gifts@example.com", "rose@edge.com",
                           "Subject: hi\r\n\r\n.\r\nBye.\r\n"};
};

// MAIL-31
TEST_F(FileTransportTest, ABatchIsPreparedAndSentTogetherAndOneFaultIsOneMails) {
  const auto transport = make_file_transport(folder_ / "outbox");
  const sync::OutgoingMail unsafe{"../x", "gifts@example.com", "rose@edge.com", "no"};
  const sync::OutgoingMail third{"t3.g1@example.com", "gifts@example.com", "joe@edge.com", "three"};
  const std::vector<const sync::OutgoingMail*> mails{&mail_, &unsafe, &third};
  const auto faults = transport->prepare_all(mails);
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_FALSE(faults[0]);
  EXPECT_TRUE(faults[1]);
  EXPECT_FALSE(faults[2]);
  const auto results = transport->send_all(mails, kLease);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].outcome, sync::SendOutcome::accepted);
  EXPECT_EQ(results[1].outcome, sync::SendOutcome::transport_error);
  EXPECT_EQ(results[2].outcome, sync::SendOutcome::accepted);
  EXPECT_EQ(content(folder_ / "outbox/t1.g1@example.com.eml"), mail_.bytes);
  EXPECT_EQ(content(folder_ / "outbox/t3.g1@example.com.eml"), "three");
}

// MAIL-14
TEST_F(FileTransportTest, PreparesADraftAndSendsByRenaming) {
  const auto transport = make_file_transport(folder_ / "outbox");
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  EXPECT_EQ(content(folder_ / "outbox/.t1.g1@example.com.tmp"), mail_.bytes);
  EXPECT_FALSE(fs::exists(folder_ / "outbox/t1.g1@example.com.eml"));
  ASSERT_TRUE(transport->recover_outcome(mail_.message_id));
  EXPECT_EQ(transport->recover_outcome(mail_.message_id)->outcome, sync::SendOutcome::try_later);

  EXPECT_EQ(transport->send(mail_, kLease).outcome, sync::SendOutcome::accepted);
  EXPECT_EQ(content(folder_ / "outbox/t1.g1@example.com.eml"), mail_.bytes)
      << "dots are not stuffed in files";
  EXPECT_FALSE(fs::exists(folder_ / "outbox/.t1.g1@example.com.tmp"));
  EXPECT_EQ(transport->recover_outcome(mail_.message_id)->outcome, sync::SendOutcome::accepted);
}

TEST_F(FileTransportTest, FilesAreGroupReadableForAnyUmask) {
  for (const mode_t mask : {077, 0}) {
    const mode_t before = umask(mask);
    const auto transport = make_file_transport(folder_);
    transport->prepare(mail_);
    transport->send(mail_, kLease);
    umask(before);
    EXPECT_EQ(mode(folder_ / "t1.g1@example.com.eml"), 0640u);
  }
}

TEST_F(FileTransportTest, CreatesMissingDirectoriesAlsoLater) {
  const auto transport = make_file_transport(folder_ / "a/b/outbox/");
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  EXPECT_EQ(mode(folder_ / "a/b/outbox"), 0750u);
  fs::remove_all(folder_ / "a");
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  EXPECT_EQ(transport->send(mail_, kLease).outcome, sync::SendOutcome::accepted);
}

TEST_F(FileTransportTest, PrepareAndSendAreIdempotent) {
  const auto transport = make_file_transport(folder_);
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  EXPECT_EQ(transport->send(mail_, kLease).outcome, sync::SendOutcome::accepted);
  EXPECT_EQ(transport->send(mail_, kLease).outcome, sync::SendOutcome::accepted) << "its file exists";
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  EXPECT_EQ(transport->send(mail_, kLease).outcome, sync::SendOutcome::accepted);
  transport->discard_marker(mail_.message_id);
  transport->discard_marker(mail_.message_id);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "only the mail remains";
}

// MAIL-15
TEST_F(FileTransportTest, AMarkerIsASecondNameOfTheDraft) {
  const auto transport = make_file_transport(folder_);
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  EXPECT_TRUE(fs::equivalent(folder_ / ".t1.g1@example.com.tmp", folder_ / ".t1.g1@example.com.here"))
      << "ext4 would search ever longer for the free inode of a file that lives so shortly";
}

TEST_F(FileTransportTest, AFaultOfOneMailConcernsNoOtherOfItsBatch) {
  const auto transport = make_file_transport(folder_);
  sync::OutgoingMail other = mail_;
  other.message_id = "t2.g1@example.com";
  fs::create_directory(folder_ / ".t1.g1@example.com.tmp");
  const std::vector<const sync::OutgoingMail*> mails{&mail_, &other};
  const auto faults = transport->prepare_all(mails);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_TRUE(faults[0]);
  EXPECT_FALSE(faults[1]);
  EXPECT_EQ(transport->send(other, kLease).outcome, sync::SendOutcome::accepted);
}

TEST_F(FileTransportTest, SendingAnUnpreparedMailIsATransportFault) {
  const auto result = make_file_transport(folder_)->send(mail_, kLease);
  EXPECT_EQ(result.outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(result.reply, HasSubstr("No such file"));
}

TEST_F(FileTransportTest, AnExpiredLeaseSendsNothing) {
  const auto transport = make_file_transport(folder_);
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  EXPECT_EQ(transport->send(mail_, 0).outcome, sync::SendOutcome::transport_error);
  EXPECT_EQ(transport->recover_outcome(mail_.message_id)->outcome, sync::SendOutcome::try_later);
}

TEST_F(FileTransportTest, AnUnusableDirectoryIsAFaultWithPathAndReason) {
  std::ofstream(folder_ / "file") << "not a folder";
  const auto fault = make_file_transport(folder_ / "file/outbox")->prepare(mail_);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(fault->reply, HasSubstr((folder_ / "file/outbox").string()));
  EXPECT_THAT(fault->reply, HasSubstr("Not a directory"));
  EXPECT_EQ(make_file_transport(folder_ / "file/outbox")->recover_outcome(mail_.message_id), std::nullopt)
      << "without a lookup the outcome is unknown";
}

TEST_F(FileTransportTest, AFailedWriteIsAFault) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8, 8};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto fault = make_file_transport(folder_)->prepare(mail_);
    const bool as_expected = fault && fault->outcome == sync::SendOutcome::transport_error &&
                             fault->reply.find("cannot write") != std::string::npos &&
                             fault->reply.find(folder_.string()) != std::string::npos;
    _exit(as_expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(fs::is_empty(folder_)) << "an incomplete draft would look like a waiting mail";
}

// MAIL-24
TEST_F(FileTransportTest, ACollectedMailCountsAsSent) {
  const auto transport = make_file_transport(folder_);
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  const sync::SendResult sent = transport->send(mail_, kLease);
  ASSERT_EQ(sent.outcome, sync::SendOutcome::accepted);
  EXPECT_EQ(sent.reply, "written to the mail directory") << "CON-60: pages show it";
  fs::remove(folder_ / "t1.g1@example.com.eml");
  EXPECT_EQ(transport->recover_outcome(mail_.message_id)->outcome, sync::SendOutcome::accepted)
      << "it would be sent twice";
}

// MAIL-15
TEST_F(FileTransportTest, AMailPreparedInAnotherDirectoryHasNoOutcome) {
  const auto transport = make_file_transport(folder_ / "before");
  ASSERT_EQ(transport->prepare(mail_), std::nullopt);
  EXPECT_EQ(make_file_transport(folder_ / "after")->recover_outcome(mail_.message_id), std::nullopt)
      << "it would count as sent, and be lost";
  fs::create_directory(folder_ / "after");
  EXPECT_EQ(make_file_transport(folder_ / "after")->recover_outcome(mail_.message_id), std::nullopt);
}

TEST_F(FileTransportTest, RemovesStaleMarkersButNotThoseOfDrafts) {
  make_file_transport(folder_)->prepare(mail_);
  sync::OutgoingMail sent = mail_;
  sent.message_id = "t2.g1@example.com";
  make_file_transport(folder_)->prepare(sent);
  make_file_transport(folder_)->send(sent, kLease);

  const auto transport = make_file_transport(folder_);
  EXPECT_TRUE(transport->has_stale_markers());
  transport->remove_stale_markers([] { return false; });
  EXPECT_TRUE(transport->has_stale_markers()) << "a mail is being sent";
  transport->remove_stale_markers([] { return true; });
  EXPECT_FALSE(transport->has_stale_markers());
  EXPECT_FALSE(fs::exists(folder_ / ".t2.g1@example.com.here"));
  EXPECT_TRUE(fs::exists(folder_ / "t2.g1@example.com.eml"));
  EXPECT_EQ(transport->send(mail_, kLease).outcome, sync::SendOutcome::accepted);
  fs::remove(folder_ / "t1.g1@example.com.eml");
  EXPECT_EQ(transport->recover_outcome(mail_.message_id)->outcome, sync::SendOutcome::accepted)
      << "its marker was kept";
  make_file_transport(folder_ / "not there")->remove_stale_markers([] { return true; });
}

TEST_F(FileTransportTest, AMessageIdCannotEscapeTheDirectory) {
  const auto transport = make_file_transport(folder_ / "outbox");
  for (const std::string& id :
       {std::string("../evil"), std::string("a/b"), std::string("a\0b", 3), std::string()}) {
    mail_.message_id = id;
    EXPECT_EQ(transport->prepare(mail_)->outcome, sync::SendOutcome::transport_error);
    EXPECT_EQ(transport->send(mail_, kLease).outcome, sync::SendOutcome::transport_error);
    EXPECT_EQ(transport->recover_outcome(id), std::nullopt);
    transport->discard_marker(id);
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace giftsync::mail
