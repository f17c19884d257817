// The sections of giftsyncd.yaml. `schema` holds what the JSON Schema cannot derive from single keys: the
// counterparts of cross_checks.cpp, crm_checks.cpp, source_checks.cpp and sso_checks.cpp.
#include "daemon/config/settings_keys.h"

namespace giftsync::daemon::config {
namespace {

constexpr const char* kWholeFileSchema = R"([
  {"if": {"required": ["crm"], "properties": {"crm": {"type": "object", "required": ["connection"]}}},
   "then": {"properties": {"requests": {"properties": {"enabled": {"const": false}}}}}},
  {"if": {"required": ["crm"], "properties": {"crm": {"type": "object", "required": ["salesforce"], "properties":
     {"salesforce": {"type": "object", "required": ["mode"], "properties": {"mode": {"const": "bare"}}}}}}},
   "then": {"properties": {"requests": {"properties": {"enabled": {"const": false}}}}}}])";

constexpr const char* kCrmSchema = R"([
  {"if": {"properties": {"type": {"const": "salesforce"}}, "required": ["type"]},
   "then": {"required": ["salesforce"], "properties": {"connection": false, "backend": false, "password": false,
     "schema": false, "id_column": false, "tables": false,
     "status_log": {"properties": {"object": {"pattern": "^[^.]*$"}}},
     "salesforce": {"type": "object", "required": ["domain", "client_id"],
       "if": {"properties": {"flow": {"const": "client_credentials"}}, "required": ["flow"]},
       "then": {"required": ["client_secret"]}, "else": {"required": ["username", "private_key"]}}}},
   "else": {"dependentRequired": {"columns": ["connection"]},
     "properties": {"objects": false, "salesforce": {"maxProperties": 0}}}}])";

constexpr const char* kSourceSchema = R"([
  {"if": {"properties": {"preset": {"enum": ["ses", "postmark", "mailgun", "sendgrid"]}}, "required": ["preset"]},
   "then": {"properties": {"signature": false, "items": false, "status_map": false, "transactions": false,
     "fields": false,
     "may_set": {"type": "array", "items": {"enum": ["delivered", "undelivered", "opened"]}}}},
   "else": {"required": ["fields"], "properties": {
     "fields": {"type": "object", "required": ["transaction_id", "status", "occurred_at"]}}}},
  {"if": {"properties": {"preset": {"const": "ses"}}, "required": ["preset"]},
   "then": {"properties": {"secret": false}},
   "else": {"if": {"not": {"properties": {"type": {"const": "poll"}}, "required": ["type"]}},
     "then": {"required": ["secret"]}}},
  {"if": {"required": ["cursor"], "properties": {"cursor": {"type": "object", "minProperties": 1}}},
   "then": {"properties": {"since": false, "next": false}}},
  {"if": {"required": ["since"]},
   "then": {"oneOf": [{"required": ["page_size"]}, {"required": ["next"]}]}}])";

constexpr const char* kSsoSchema = R"([
  {"if": {"required": ["connections"], "properties": {"connections": {"type": "array", "minItems": 1}}},
   "then": {"required": ["auth_url"]}}])";

constexpr const char* kConnectionSchema = R"([
  {"if": {"properties": {"type": {"const": "saml"}}, "required": ["type"]},
   "then": {"properties": {"client_id": false, "client_secret": false, "redirect": false, "algorithms": false,
                           "scopes": false}},
   "else": {"required": ["client_id", "client_secret"]}},
  {"if": {"properties": {"type": {"const": "oidc"}}},
   "then": {"required": ["domains"], "properties": {"domains": {"minItems": 1}}}},
  {"properties": {"scopes": {"contains": {"const": "openid"}}}}])";

}  // namespace

const std::vector<SettingsSection>& settings_sections() {
  static const std::vector<SettingsSection> sections{
      {"", "The settings of giftsyncd.", kWholeFileSchema},
      {"server", "Where the daemon listens, and the URLs under which it is reached."},
      {"limits", "Limits for callers."},
      {"store", "giftsync's own database."},
      {"crm", "The CRM that has one gift record for every gift.", kCrmSchema},
      {"crm.status_log", "Where package version 1.1 logged status changes."},
      {"crm.salesforce", "The org of Salesforce of type: salesforce, and how giftsync calls it."},
      {"matching", "How a gift is matched to a contact, lead and opportunity."},
      {"matching.contact", "Contacts are searched first."},
      {"matching.contact.order_by", "Which of several matching contacts is taken."},
      {"matching.lead", "Leads that are not converted are searched when no contact matches."},
      {"matching.lead.order_by", "Which of several matching leads is taken."},
      {"matching.opportunity",
       "An open opportunity is found through the contact's opportunity contact roles."},
      {"matching.opportunity.order_by", "Which of several open opportunities is taken."},
      {"tasks",
       "A task in the CRM for each gift (Related To: the gift record; Name: the contact, if one matched)."},
      {"email", "How gifts are mailed."},
      {"email.smtp", "The relay of transport: smtp."},
      {"catalogue", "The items that can be sent."},
      {"pages", "The branding of the pages and mails that recipients see."},
      {"pages.charities",
       "The charities of which a recipient may choose one to donate a gift's value to; with none the "
       "sender's company chooses."},
      {"lifecycle",
       "How long gifts live. A gift keeps the values in force when it was sent: a change here applies only "
       "to gifts that are sent afterwards. A gift is opened once its recipient has tapped, clicked or "
       "pressed a key on its page, or has accepted or donated it; a visit alone is not enough. A source can "
       "also report it as opened."},
      {"sources",
       "Where status changes come from besides giftsync itself: webhooks that others call, feeds that "
       "giftsync polls.",
       kSourceSchema},
      {"sources.fields", "Where the parts of an event are."},
      {"sources.fields.costs", "Where the costs of a gift of an external source are."},
      {"sources.cursor", "How a poll continues."},
      {"requests", "Request records, and sending from inside the CRM."},
      {"sso", "Single sign-on: the connections to the identity providers of customers.", kSsoSchema},
      {"sso.connections", "The connections; giftsyncctl sso list and sso check show and check them.",
       kConnectionSchema},
      {"sso.connections.claims", "The attributes of the provider that identify the user."},
      {"console",
       "The web console for people who do not log in to the server; giftsyncctl user creates its users."},
      {"console.permission_sets",
       "The permission sets of the CRM that give its users a role here. Anyone who may assign them in the "
       "CRM "
       "may so become an admin of the console; the roles operator and auditor are granted by command only."},
      {"log", "The daemon's log, on standard error."}};
  return sections;
}

}  // namespace giftsync::daemon::config
