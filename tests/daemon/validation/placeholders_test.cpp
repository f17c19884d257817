#include "daemon/validation/placeholders.h"

#include <gtest/gtest.h>

#include <string>

namespace giftsync::validation {
namespace {

// HTTP-24
TEST(Placeholder, FindsUnfilledMergeFields) {
  for (const std::string text :
       {"{{name}}", "{{ contact.first_name }}", "{{lead.First Name:default=friend}}", "{{{Recipient.Name}}}",
        "{{1}}", "{% if name %}", "{!Contact.FirstName}", "${first_name}", "@{triggerBody()?['name']}",
        "<%= name %>", "%%first_name%%", "*|FNAME|*", "[[firstname]]", "[[ First Name ]]", "<FIRST_NAME>",
        "<NAME>", "<first name>", "[FIRST_NAME]", "[First Name]", "[name]", "[Your Name]", "{first_name}",
        "{FIRST_NAME}", "{firstName}", "%FIRSTNAME%", "%first_name%", "%COMPANY_NAME%",
        "\u00abFirst_Name\u00bb", "\u00ab First Name \u00bb", "<GIFT_LINK>",
        // Salesforce, its flows, and Salesforce Marketing Cloud
        "{!Contact.Name}", "{!$Record.FirstName}", "{!$User.FirstName}", "%%First Name%%",
        "%%=v(@firstName)=%%",
        // HubSpot, Marketo, Mailchimp, Outreach, Zoho, SendGrid, Campaign Monitor
        "{{ contact.firstname | default(\"there\") }}",
        "{{personalization_token('contact.firstname', 'there')}}", "{{my.giftLink}}", "$!{lead.FirstName}",
        "*|IF:FNAME|*", "{{first_name}}", "${!Contacts.First Name}", "$[FNAME|there]$",
        "[%first_name | there%]", "[firstname,fallback=there]", "{FirstName|there}",
        "[[FIRSTNAME OR \"there\"]]", "[[custom \"city\"]]", "#{first_name}",
        // Word, Outlook, and what imitates them
        "\u00abName\u00bb", "\u00abFirst_Name\u00bb", "\u00abGifts_Sender_Name\u00bb", "\u00abVorname\u00bb",
        "<<Name>>", "<<Opportunity_Name>>",
        // other languages, scripts, and how text generators leave them
        "[Vorname]", "[Nombre]", "{{\u0438\u043c\u044f}}", "{{\u540d\u524d}}", "<First Name>",
        "[Recipient's Name]", "[Recipient\u2019s Name]", "[Your Position]", "{gift_link}"}) {
    const std::string around = "Dear " + text + ", thank you";
    EXPECT_EQ(find_placeholder(around), text) << text;
    EXPECT_EQ(find_placeholder(text), text);
  }
}

// HTTP-24
TEST(Placeholder, IgnoresOrdinaryText) {
  for (const std::string text :
       {"", "I <3 coffee, 5 > 3", "a < b and c > d", "[sic]", "[1]", "see [a] and [b]", "100%",
        "5% today, 10% tomorrow", "100%%", "100%% sure, 50%% off", "{smile}", ":-{ :-}", "{}", "{{}}",
        "{{ }}", "[[ ]]", "$5", "${", "${5}", "@rose", "me@example.com", "Rose <rose@example.com>",
        "https://example.com/a?b=%20c%20d", "*wink*", "<b>bold</b>", "<br>", "<BR/>", "[OK]", "[x] done",
        "\u00ab Bonjour \u00bb", "\u00abNa\u00efve\u00bb", "WELL_DONE", "*|* *|*", "{{ never closed",
        "<FIRST_NAME", "%%", "%%%%", "{ a\nname }",
        // symbols of people
        "I <3 you", "<3", "\u2764 <3 {{ \u2764 }} {{\U0001F600}}",
        "\U0001F389\U0001F389 [\U0001F381] {\U0001F600}", "<T_T> [O_O] {o_o} <<o_o>> {^_^}",
        "<- ->, <-> and =>", "%", "100% {fun}", "a 50%-off voucher, 20% for you",
        "{family} [friends] <colleagues>", "[[1]] [[2]]", "[[see the notes of Monday]]", "#1 {team} of #2026",
        "$100 {or so}",
        // people, addresses and links
        "Tom & Jerry <tom@example.com>", "Ana Lima <ana_lima@example.com>, [Rose] {Kim}",
        "https://example.com/form?contact[name]=Rose&contact[address][email]=a%40b.example",
        "https://example.com/a%20name%20b?x=1%2C2",
        "Questions? [Contact](https://example.com/contact) us, or [email](mailto:a@b.example)",
        "<a href=\"https://example.com\">here</a> <p>and</p>",
        // quotations
        "\u00ab Contact \u00bb, \u00ab Name \u00bb", "\u00ab\u202fContact\u202f\u00bb",
        "\u00abHerzlichen Gl\u00fcckwunsch\u00bb", "<<Bonjour>>, <<un grand merci>>",
        "\u300c\u540d\u524d\u300d \u3010FIRST_NAME\u3011 \u300aname\u300b \u3008name\u3009",
        "\u201ename\u201c \"name\" 'name' (name) *name* _name_ ~name~ |name|", "[__]", "<_A>", "\xC2"}) {
    EXPECT_EQ(find_placeholder(text), std::nullopt) << text << " -> " << find_placeholder(text).value_or("");
  }
}

// HTTP-24
TEST(Placeholder, FindsTheFirstOfSeveral) {
  EXPECT_EQ(find_placeholder("100% of {{a}} and <NAME>"), "{{a}}");
  EXPECT_EQ(find_placeholder("{not this} [nor this] %%this_one%% {{a}}"), "%%this_one%%");
}

}  // namespace
}  // namespace giftsync::validation
