#include "daemon/mail/gift_mail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/source_folder.h"
#include "tests/support/json.h"

namespace giftsync::mail {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

GiftMailData chocolates() {
  GiftMailData data;
  data.identity.message_id = "t42.g1@gifts.example.com";
  data.from_address = "gifts@example.com";
  data.gift.request.sender_name = "Ada Lovelace";
  data.gift.request.sender_email = "ada@example.com";
  data.gift.transaction.email = "rose@edge.com";
  data.gift.transaction.first_name = "Rose";
  data.gift.transaction.last_name = "Gonzalez";
  data.gift.transaction.message = "Thank you!\n\nSee you soon,\nAda";
  data.gift.request.item_name = "Box of Chocolates";
  data.gift.request.item_description = "Twelve pralines.";
  data.redemption_url = "https://gifts.example.com/g/abc?x=1&y=2";
  data.donation_url = "https://gifts.example.com/d/abc?x=1&y=2";
  data.identity.date = UtcMillis{1795264267042};  // 2026-11-21T12:31:07.042Z
  return data;
}

/// The mail as an independent mail library reads it (read_mail.py).
nlohmann::json parsed_mail(const sync::OutgoingMail& mail) {
  std::string path = (std::filesystem::temp_directory_path() / "giftsync-mail-XXXXXX").string();
  close(mkstemp(path.data()));
  std::ofstream(path, std::ios::binary) << mail.bytes;
  const auto reader = std::filesystem::path(kSourceFolder) / "tests/support/read_mail.py";
  FILE* pipe = popen(("/usr/bin/python3 '" + reader.string() + "' '" + path + "'").c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  pclose(pipe);
  std::filesystem::remove(path);
  return tests::parse_json(output);
}

nlohmann::json parsed_gift_mail(const GiftMailData& data) {
  return parsed_mail(compose_gift_mail(data));
}

std::string header(const nlohmann::json& mail, const std::string& name) {
  std::string value;
  for (const auto& field : mail.at("headers")) {
    if (field.at(0) == name) value += field.at(1).get<std::string>();
  }
  return value;
}

std::vector<std::string> header_names(const nlohmann::json& mail) {
  std::vector<std::string> names;
  for (const auto& field : mail.at("headers")) names.push_back(field.at(0));
  return names;
}

/// Without the line ends; fails the test at a bare CR or LF.
std::vector<std::string> lines_of(const std::string& bytes) {
  std::vector<std::string> lines;
  std::istringstream stream(bytes);
  for (std::string line; std::getline(stream, line);) {
    EXPECT_TRUE(line.ends_with('\r')) << line;
    if (!line.empty()) line.pop_back();
    EXPECT_EQ(line.find('\r'), std::string::npos) << line;
    lines.push_back(line);
  }
  return lines;
}

const std::vector<std::string> kHeaders{"From",       "Reply-To",       "To",           "Subject",     "Date",
                                        "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"};

// MAIL-10
TEST(GiftMail, HeadersNameSenderRecipientAndItem) {
  const auto mail = parsed_gift_mail(chocolates());
  EXPECT_THAT(mail["defects"], IsEmpty());
  EXPECT_EQ(header_names(mail), kHeaders);
  EXPECT_EQ(header(mail, "From"), "Ada Lovelace <gifts@example.com>");
  EXPECT_EQ(header(mail, "Reply-To"), "Ada Lovelace <ada@example.com>");
  EXPECT_EQ(header(mail, "To"), "Rose Gonzalez <rose@edge.com>");
  EXPECT_EQ(header(mail, "Subject"), "Ada Lovelace sent you a gift: Box of Chocolates");
  EXPECT_EQ(header(mail, "Date"), "Sat, 21 Nov 2026 12:31:07 +0000");
  EXPECT_EQ(header(mail, "Message-ID"), "<t42.g1@gifts.example.com>");
  EXPECT_EQ(mail["types"], nlohmann::json({"multipart/alternative", "text/plain", "text/html"}));
}

TEST(GiftMail, BothPartsContainMessageAndLinks) {
  const auto mail = parsed_gift_mail(chocolates());
  const std::string text = mail["text"];
  EXPECT_THAT(
      text,
      StartsWith("Dear Rose,\n\nAda Lovelace has a gift for you: Box of Chocolates\nTwelve pralines.\n"));
  EXPECT_THAT(text, HasSubstr("\nThank you!\n\nSee you soon,\nAda\n"));
  EXPECT_THAT(text, HasSubstr("\nhttps://gifts.example.com/g/abc?x=1&y=2\n"));
  EXPECT_THAT(text, HasSubstr("\nhttps://gifts.example.com/d/abc?x=1&y=2\n"));
  const std::string html = mail["html"];
  EXPECT_THAT(html, HasSubstr("Thank you!<br><br>See you soon,<br>Ada</div>"));
  EXPECT_THAT(html, HasSubstr("href=\"https://gifts.example.com/g/abc?x=1&amp;y=2\""));
  EXPECT_THAT(html, HasSubstr("href=\"https://gifts.example.com/d/abc?x=1&amp;y=2\""));
  EXPECT_THAT(html, HasSubstr("Box of Chocolates"));
  EXPECT_THAT(html, HasSubstr("Twelve pralines."));
}

TEST(GiftMail, AnAdminReadsWhatTheRecipientReads) {
  const auto mail = parsed_gift_mail(chocolates());
  const ReadableMail shown = readable_gift_mail(chocolates());
  EXPECT_EQ(shown.text, mail["text"]);
  const std::map<std::string, std::string> headers(shown.headers.begin(), shown.headers.end());
  for (const char* name : {"From", "Reply-To", "To", "Subject"})
    EXPECT_EQ(headers.at(name), header(mail, name)) << name;
  EXPECT_EQ(headers.at("Date"), "2026-11-21T12:31:07.042Z");
  EXPECT_EQ("<" + headers.at("Message-ID") + ">", header(mail, "Message-ID"));
}

TEST(GiftMail, EnvelopeAndMessageIdComeFromTheData) {
  const auto mail = compose_gift_mail(chocolates());
  EXPECT_EQ(mail.message_id, "t42.g1@gifts.example.com");
  EXPECT_EQ(mail.envelope_from, "gifts@example.com");
  EXPECT_EQ(mail.envelope_to, "rose@edge.com");
}

// MAIL-11
TEST(GiftMail, EqualDataGiveEqualBytes) {
  EXPECT_EQ(compose_gift_mail(chocolates()).bytes, compose_gift_mail(chocolates()).bytes);
  auto resent = chocolates();
  resent.identity.message_id = "t42.g2@gifts.example.com";
  EXPECT_NE(compose_gift_mail(resent).bytes, compose_gift_mail(chocolates()).bytes);
}

TEST(GiftMail, MissingValuesAreOmitted) {
  auto data = chocolates();
  data.gift.request.sender_name = " ";
  data.gift.transaction.first_name.clear();
  data.gift.transaction.last_name.clear();
  data.gift.request.item_description.clear();
  data.gift.transaction.message = "\n";
  const auto mail = parsed_gift_mail(data);
  EXPECT_EQ(header(mail, "From"), "\"ada@example.com\" <gifts@example.com>");
  EXPECT_EQ(header(mail, "To"), "rose@edge.com");
  EXPECT_THAT(
      mail["text"].get<std::string>(),
      StartsWith("Hello,\n\nada@example.com has a gift for you: Box of Chocolates\n\nSee and accept"));
  EXPECT_THAT(mail["html"].get<std::string>(), HasSubstr("Hello,"));
  EXPECT_THAT(mail["html"].get<std::string>(), Not(HasSubstr("note ink")));
  data.gift.transaction.last_name = "Gonzalez";
  EXPECT_THAT(parsed_gift_mail(data)["text"].get<std::string>(), StartsWith("Dear Gonzalez,"));
}

// MAIL-11
TEST(GiftMail, CallerTextCannotInjectHeaders) {
  for (const std::string end : {"\r\n", "\n", "\r", "\r\n\r\n", "\v", "\f", "\xC2\x85", "\xE2\x80\xA8"}) {
    const std::string evil = "Eve" + end + "Bcc: victim@example.com" + end + "X: y";
    auto data = chocolates();
    data.gift.request.sender_name = data.gift.transaction.first_name = data.gift.transaction.last_name =
        data.gift.request.item_name = evil;
    data.gift.request.item_description = evil;
    data.gift.request.sender_email = "eve@example.com" + end + "Bcc: victim@example.com";
    data.gift.transaction.email = "bob@example.com" + end + "Bcc: victim@example.com";
    data.from_address = "gifts@example.com" + end + "Bcc: victim@example.com";
    const auto composed = compose_gift_mail(data);
    const auto mail = parsed_mail(composed);
    EXPECT_EQ(header_names(mail), kHeaders) << end;
    EXPECT_EQ(composed.envelope_to.find_first_of("\r\n\v\f"), std::string::npos);
    EXPECT_EQ(composed.envelope_from.find_first_of("\r\n\v\f"), std::string::npos);
    lines_of(composed.bytes);
  }
}

TEST(GiftMail, ControlCharactersBecomeSpaces) {
  auto data = chocolates();
  data.gift.request.item_name = std::string("A\0B\aC", 5);
  data.gift.transaction.message = std::string("D\0E\x1b[31m", 8);
  const auto mail = parsed_gift_mail(data);
  EXPECT_EQ(header(mail, "Subject"), "Ada Lovelace sent you a gift: A B C");
  EXPECT_THAT(mail["text"].get<std::string>(), HasSubstr("\nD E [31m\n"));
}

// MAIL-11
TEST(GiftMail, CallerTextIsEscapedInHtml) {
  const std::string evil =
      "</div></title><script>alert('x')</script>\" onmouseover=\"x {{item}} {{{item}}} &amp;";
  auto data = chocolates();
  data.gift.request.sender_name = data.gift.transaction.first_name = data.gift.request.item_name =
      data.gift.request.item_description = data.gift.transaction.message = evil;
  data.redemption_url = "https://example.com/\"><script>";
  const auto mail = parsed_gift_mail(data);
  EXPECT_THAT(mail["html"].get<std::string>(), Not(HasSubstr("<script")));
  EXPECT_THAT(mail["html"].get<std::string>(), Not(HasSubstr("\" onmouseover")));
  EXPECT_THAT(mail["html"].get<std::string>(), HasSubstr("{{item}} {{{item}}} &amp;amp;"))
      << "template syntax in a value is not expanded";
  EXPECT_THAT(mail["text"].get<std::string>(), HasSubstr("\n" + evil + "\n")) << "text is not escaped";
}

TEST(GiftMail, EncodesNamesAndSubjectsOfAllScripts) {
  auto data = chocolates();
  data.gift.request.sender_name = "Zo\u00eb \u00c5ngstr\u00f6m, \"Q\" (\u30eb\u30fc\u30b7\u30fc)";
  data.gift.transaction.first_name = "\u65e5\u672c";
  data.gift.transaction.last_name = "\u592a\u90ce";
  data.gift.request.item_name = "\u00dcberraschung \U0001F381";
  for (int i = 0; i < 60; ++i) data.gift.request.item_name += " \u8d08\u308a\u7269";
  const auto mail = parsed_gift_mail(data);
  EXPECT_THAT(mail["defects"], IsEmpty());
  EXPECT_EQ(mail["names"]["From"], data.gift.request.sender_name);
  EXPECT_EQ(mail["names"]["Reply-To"], data.gift.request.sender_name);
  EXPECT_EQ(mail["names"]["To"], "\u65e5\u672c \u592a\u90ce");
  EXPECT_EQ(header(mail, "Subject"),
            data.gift.request.sender_name + " sent you a gift: " + data.gift.request.item_name);
}

TEST(GiftMail, InternationalDomainsAreSentAsAscii) {
  auto data = chocolates();
  data.gift.transaction.email = "rose@b\u00fccher.example";
  data.gift.request.sender_email = "ada@b\u00fccher.example";
  data.from_address = "gifts@b\u00fccher.example";
  const auto composed = compose_gift_mail(data);
  EXPECT_EQ(composed.envelope_to, "rose@xn--bcher-kva.example");
  EXPECT_EQ(composed.envelope_from, "gifts@xn--bcher-kva.example");
  const auto mail = parsed_mail(composed);
  EXPECT_EQ(mail["addresses"]["To"], nlohmann::json({"rose@xn--bcher-kva.example"}));
  EXPECT_EQ(mail["addresses"]["Reply-To"], nlohmann::json({"ada@xn--bcher-kva.example"}));
  EXPECT_THAT(mail["text"].get<std::string>(), HasSubstr("ada@b\u00fccher.example"));
}

TEST(GiftMail, LineBreaksOfAllKindsAreKept) {
  auto data = chocolates();
  data.gift.transaction.message = "one\r\ntwo\rthree\n\n\n  six\n.\n..\nFrom here\n-- \n";
  const auto mail = parsed_gift_mail(data);
  EXPECT_THAT(mail["text"].get<std::string>(),
              HasSubstr("\none\ntwo\nthree\n\n\n  six\n.\n..\nFrom here\n-- \n"));
  EXPECT_THAT(mail["html"].get<std::string>(),
              HasSubstr("one<br>two<br>three<br><br><br>  six<br>.<br>..<br>From here<br>"));
}

struct Message {
  std::string name;
  std::string text;
  std::string encoding;
};
class AnyMessage : public testing::TestWithParam<Message> {};

TEST_P(AnyMessage, ArrivesUnchangedInShortLines) {
  auto data = chocolates();
  data.gift.transaction.message = GetParam().text;
  const auto composed = compose_gift_mail(data);
  for (const std::string& line : lines_of(composed.bytes)) EXPECT_LE(line.size(), 78u) << line;
  const auto mail = parsed_mail(composed);
  EXPECT_THAT(mail["defects"], IsEmpty());
  EXPECT_THAT(mail["text"].get<std::string>(), HasSubstr("\n" + data.gift.transaction.message + "\n"));
  EXPECT_THAT(mail["html"].get<std::string>(), HasSubstr(data.gift.transaction.message));
  EXPECT_EQ(mail["encodings"][0], GetParam().encoding);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    GiftMail, AnyMessage,
    testing::Values(Message{"OneLongWord", repeated("x", 10000), "quoted-printable"},
                    Message{"Messages", repeated("many words ", 900) + "end", "quoted-printable"},
                    Message{"Emoji", repeated("\U0001F381", 10000), "base64"},
                    Message{"Hebrew", repeated("\u05e9\u05dc\u05d5\u05dd ", 2000) + "!", "base64"},
                    Message{"EqualSigns", repeated("=3D=", 2000), "quoted-printable"},
                    Message{"Tabs", "a\tb\t\tc", "quoted-printable"}),
    [](const auto& test) { return test.param.name; });

TEST(GiftMail, ALongNameWithoutSpacesStaysBelowTheHardLimit) {
  auto data = chocolates();
  data.gift.request.sender_name = std::string(255, 'n');
  data.gift.transaction.first_name = repeated("\u65e5", 255);
  data.gift.request.item_name = std::string(255, 'i');
  const auto composed = compose_gift_mail(data);
  for (const std::string& line : lines_of(composed.bytes)) EXPECT_LE(line.size(), 998u);
  const auto mail = parsed_mail(composed);
  EXPECT_EQ(mail["decoded"]["From"], data.gift.request.sender_name + " <gifts@example.com>");
  EXPECT_EQ(mail["decoded"]["To"], data.gift.transaction.first_name + " Gonzalez <rose@edge.com>");
  EXPECT_EQ(mail["decoded"]["Subject"],
            data.gift.request.sender_name + " sent you a gift: " + data.gift.request.item_name);
}

// MAIL-12
TEST(GiftMail, UsesTheCompanysBrandingAndLanguage) {
  auto data = chocolates();
  data.branding = {"de", "Edge & <Sons>", content::color_scheme_of("#0b5cad")};
  const auto mail = parsed_gift_mail(data);
  EXPECT_THAT(mail["defects"], IsEmpty());
  EXPECT_EQ(header(mail, "Subject"), "Ada Lovelace hat Ihnen ein Geschenk geschickt: Box of Chocolates");
  const std::string html = mail["html"];
  EXPECT_THAT(html, HasSubstr("<html lang=\"de\">"));
  EXPECT_THAT(html, HasSubstr(">Edge &amp; &lt;Sons&gt;</p>"));
  EXPECT_THAT(html, HasSubstr("background:#0b5cad"));
  EXPECT_THAT(html, HasSubstr("Guten Tag <bdi>Rose</bdi>,"));
  EXPECT_THAT(
      html, HasSubstr("aria-hidden=\"true\">Ada Lovelace hat ein Geschenk f\u00fcr Sie: Box of Chocolates."))
      << "the preview text of a mail list";
  const std::string text = mail["text"];
  EXPECT_THAT(
      text, StartsWith("Guten Tag Rose,\n\nAda Lovelace hat ein Geschenk f\u00fcr Sie: Box of Chocolates\n"));
  EXPECT_THAT(text, HasSubstr("\nGeschenk ansehen und annehmen:\nhttps://gifts.example.com/g/abc?x=1&y=2\n"));
  EXPECT_THAT(text, HasSubstr("\n-- \nEdge & <Sons>\n"));
}

TEST(GiftMail, AReminderIsMarkedAsSuch) {
  auto data = chocolates();
  EXPECT_THAT(parsed_gift_mail(data)["text"].get<std::string>(), Not(HasSubstr("reminder")));
  data.identity.is_reminder = true;
  const auto mail = parsed_gift_mail(data);
  EXPECT_EQ(header(mail, "Subject"), "Reminder: Ada Lovelace sent you a gift: Box of Chocolates");
  for (const char* form : {"text", "html"})
    EXPECT_THAT(mail[form].get<std::string>(), HasSubstr("A kind reminder"));
}

// MAIL-37, GUARD-5
TEST(GiftMail, OffersToSendNoMoreGifts) {
  auto data = chocolates();
  for (const char* absent : {"List-Unsubscribe", "Do not send me gifts"})
    EXPECT_THAT(compose_gift_mail(data).bytes, Not(HasSubstr(absent)));
  // GMime would encode a word of this length.
  data.stop_url = "https://gifts.some-long-name.example.com/of/our/company/g/" + std::string(90, 's');
  const auto composed = compose_gift_mail(data);
  EXPECT_THAT(composed.bytes, HasSubstr("\r\nList-Unsubscribe: <" + data.stop_url +
                                        ">\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"));
  EXPECT_EQ(composed.bytes, compose_gift_mail(data).bytes);
  const auto mail = parsed_mail(composed);
  EXPECT_THAT(mail["defects"], IsEmpty());
  EXPECT_EQ(header(mail, "List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
  EXPECT_THAT(mail["text"].get<std::string>(),
              testing::EndsWith("\nDo not send me gifts:\n" + data.stop_url + "\n"));
  EXPECT_THAT(mail["html"].get<std::string>(), HasSubstr("href=\"" + data.stop_url + "\""));
  data.branding.language = "de";
  EXPECT_THAT(parsed_gift_mail(data)["html"].get<std::string>(),
              HasSubstr(">Bitte keine Geschenke schicken</a>"));
}

TEST(GiftMail, TheHtmlLoadsNoExternalResources) {
  const std::string html = parsed_gift_mail(chocolates())["html"];
  for (const std::string tag : {"<img", "<link", "<script", "src=", "url(", "@import"}) {
    EXPECT_THAT(html, Not(HasSubstr(tag)));
  }
}

}  // namespace
}  // namespace giftsync::mail
