// daemon/config: the admin's settings as plain values, complete with defaults. conf/giftsyncd.yaml
// documents each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace giftsync::config {

/// A secret's text. It prints as "********", so that logs and listings cannot show it by accident.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

struct TlsSettings {  ///< server.tls; all empty: the daemon speaks plain HTTP
  std::string
      certificate;  ///< absolute path of a PEM file: the server's certificate, then the intermediate ones
  std::string key;  ///< absolute path of a PEM file
  bool requires_1_3 = false;  ///< server.tls.minimum_version: "1.2" | "1.3"
};

struct ServerSettings {
  std::string listen = "127.0.0.1:8480";
  std::string admin_listen;  ///< empty: admin_url's paths are served on `listen` too
  std::string base_url;      ///< no slash at its end
  std::string admin_url;
  std::vector<std::string> trusted_proxies;  ///< addresses or CIDR blocks
  TlsSettings tls;                           ///< of both listeners
};

struct LimitSettings {
  std::int64_t max_body_bytes = 1 << 20;
  std::int64_t max_recipients = 1000;
  std::int64_t message_code_points = 10000;
  std::int64_t name_code_points = 255;
  bool refuse_placeholders = true;       ///< limits.placeholders: warn | refuse
  std::int64_t requests_per_minute = 0;  ///< for each API key; 0: no limit
  std::int64_t max_connections = 1000;
  std::int64_t max_connections_per_address = 256;
};

struct BudgetSettings {  ///< 0 and "0.00": no limit
  std::int64_t day_gifts = 0;
  std::string day_amount = "0.00";
  std::int64_t month_gifts = 0;
  std::string month_amount = "0.00";
};

struct BudgetsSettings {
  BudgetSettings account;  ///< of each
  BudgetSettings organization;
  BudgetSettings installation;
  std::vector<std::string> warn_at = {"80", "100"};  ///< percent
  bool holds = false;                                ///< on_excess: hold
};

struct BurstSettings {
  std::int64_t gifts = 0;  ///< 0: no limit
  std::int64_t minutes = 10;
  bool holds = false;  ///< on_excess: hold
};

struct ApprovalRuleSettings {  ///< an element of sending.approval.rules
  std::string name;
  std::string amount_above;           ///< empty: no condition
  std::int64_t recipients_above = 0;  ///< 0: no condition
  bool first_gift_to_domain = false;
  // Empty: no condition.
  std::vector<std::string> items;
  std::vector<std::string> accounts;
  std::vector<std::string> credentials;
  std::vector<std::string> endpoints;
};

struct SendingApprovalSettings {
  std::int64_t expire_days = 7;
  std::vector<ApprovalRuleSettings> rules;
};

enum class FrequencyExcess { refuse, warn, hold };

struct FrequencySettings {
  std::int64_t gifts = 0;  ///< 0: no limit
  std::int64_t days = 30;
  bool within_organization = false;  ///< sending.frequency.within: installation | organization
  FrequencyExcess on_excess = FrequencyExcess::refuse;
};

/// Who comes to the do-not-send list without an admin.
struct DoNotSendSettings {
  bool opt_out_link = true;
  bool complaints = true;
  bool bounces = false;
  std::int64_t bounce_days = 90;
};

struct SendingSettings {
  std::string time_zone = "UTC";
  BudgetsSettings budgets;
  BurstSettings burst;
  FrequencySettings frequency;
  SendingApprovalSettings approval;
  std::vector<std::string> allowed_domains;  ///< in the form of sync::do_not_send_pattern(); empty: all
  DoNotSendSettings do_not_send;
};

struct TestSettings {
  bool enabled = true;
  bool mail_sender = false;
  std::int64_t keep_days = 7;
};

/// The feed of events (API-10).
struct FeedSettings {
  bool enabled = false;
  std::int64_t keep_days = 30;
};

enum class StoreBackend { sqlite, postgresql };
struct StoreSettings {
  StoreBackend backend = StoreBackend::sqlite;
  std::string connection;  ///< sqlite: absolute path of the file; postgresql: libpq connection string
  Secret password;         ///< postgresql only; added to the connection string at connect
  std::int64_t first_transaction_id = 1;
};

struct StatusLogSettings {  ///< crm.status_log: the old status-log object of package version 1.1
  std::string object = "crm_status_log";
  std::string transaction_id = "recipienttransactionid";
  std::string status = "status";
  std::string time = "createddate";
};

enum class SalesforceFlow { jwt, client_credentials };
enum class SalesforceMode { guarded, bare };
struct SalesforceSettings {          ///< crm.salesforce
  std::string domain;                ///< "https://acme.my.salesforce.com", no slash at its end
  std::string login = "production";  ///< production | sandbox | a URL: the audience of the assertion
  SalesforceFlow flow = SalesforceFlow::jwt;
  std::string client_id;
  std::string username;  ///< jwt only, as private_key
  Secret private_key;    ///< PEM
  Secret client_secret;  ///< client_credentials only
  std::string api_version = "62.0";
  std::int64_t share = 20;          ///< percent of the org's daily calls, for giftsync
  std::int64_t keep_free = 10;      ///< percent of the org's daily calls, for others
  std::int64_t rows_a_call = 1000;  ///< at most
  SalesforceMode mode = SalesforceMode::guarded;
};

enum class CrmType { sql, salesforce };
enum class CrmKind { managed, external, salesforce };
struct CrmSettings {
  CrmType type = CrmType::sql;
  /// crm.namespace: API names are <namespace>__<Name>__c; empty: <Name>__c, in Salesforce only.
  std::string name_space = "giftsync";
  std::string integration_user;  ///< CRM user id; Actual Sender of gifts that no CRM user triggered
  std::string fallback_owner;    ///< CRM user id; owns what an unknown or inactive user would own
  std::vector<std::pair<std::string, std::string>> sender_aliases;  ///< by email_key()
  std::string record_url;  ///< with {id}, perhaps {object}; may be empty
  std::string connection;  ///< of an external CRM; empty: managed, in the store, or Salesforce
  StoreBackend backend = StoreBackend::postgresql;  ///< this and the following: only with a connection
  Secret password;
  std::string schema;
  std::string id_column = "id";
  std::vector<std::pair<std::string, std::string>> tables;   ///< object to table
  std::vector<std::pair<std::string, std::string>> columns;  ///< "contact.Email" to column or API name
  std::vector<std::pair<std::string, std::string>> objects;  ///< Salesforce: object to API name
  StatusLogSettings status_log;
  SalesforceSettings salesforce;  ///< only with CrmKind::salesforce

  CrmKind kind() const {
    if (type == CrmType::salesforce) return CrmKind::salesforce;
    return connection.empty() ? CrmKind::managed : CrmKind::external;
  }
};

struct OrderBySettings {
  std::string field = "LastModifiedDate";
  bool descending = true;
};
struct PersonMatchingSettings {  ///< matching.contact, matching.lead
  std::vector<std::string> email_fields{"Email"};
  std::vector<std::string> phone_fields{"Phone", "MobilePhone"};
  OrderBySettings order_by;
};
struct OpportunityMatchingSettings {  ///< matching.opportunity
  bool enabled = true;
  OrderBySettings order_by{"CloseDate", false};
};
struct MatchingSettings {
  PersonMatchingSettings contact;
  PersonMatchingSettings lead;
  OpportunityMatchingSettings opportunity;
  bool skip_unmatched = false;  ///< matching.on_no_match: create | skip
  std::string default_region = "US";
};

enum class TaskAssignee { owner, sender, account_owner };
struct TaskSettings {
  bool enabled = false;
  std::string type = "Other";
  std::string initial_status = "Not Started";
  std::string completed_status = "Completed";
  std::string subject = "Gift sent: {name}";
  std::string description;
  std::int64_t due_days = 0;  ///< 0: no due date
  TaskAssignee assignee = TaskAssignee::owner;
};

enum class MailTransportKind { smtp, file };
enum class UndeliveredNotice { never, each, daily };
struct EmailSettings {
  MailTransportKind transport = MailTransportKind::file;
  std::string directory;              ///< file transport: absolute path
  std::string smtp_url;               ///< email.smtp.url
  std::string smtp_username;          ///< email.smtp.username
  Secret smtp_password;               ///< email.smtp.password
  bool smtp_require_tls = true;       ///< email.smtp.require_tls
  std::string smtp_ca_file;           ///< email.smtp.ca_file
  std::string smtp_client_name;       ///< email.smtp.client_name; empty: the default
  std::int64_t smtp_connections = 4;  ///< email.smtp.connections
  std::string from;
  bool delivered_when_accepted = true;  ///< email.delivered_when: accepted | reported
  bool hold_uncertain = false;          ///< email.uncertain: retry | hold
  UndeliveredNotice undelivered_notice = UndeliveredNotice::never;
};

struct CatalogueSettings {
  std::string item_url;                  ///< with {gift_id} as its last segment; may be empty
  std::string currency;                  ///< of all amounts, as ISO 4217 has it; may be empty
  std::int64_t low_code_threshold = 20;  ///< warn the admin at this many codes left of an item
};

/// One of `pages.charities`.
struct CharitySettings {
  std::string name;
  std::string link;  ///< may be empty
};
/// The branding of the recipients' pages and mails.
struct PageSettings {
  std::string company_name;        ///< empty: none is shown
  std::string colour = "#0a6650";  ///< in lower case
  std::string logo;                ///< absolute path; empty: none
  std::string language = "en";     ///< for recipients whose browser accepts no available language
  std::vector<CharitySettings> charities;
};

/// How long gifts live; stamped on each gift when it is sent (LIFE-2).
struct LifecycleSettings {
  std::int64_t expire_unopened_days = 30;
  std::int64_t expire_unopened_link_days = 90;
  std::int64_t expire_opened_days = 365;
  std::int64_t refund_undelivered_days = 7;
  bool refund_at_once = false;  ///< lifecycle.refund: on_day | at_once
  std::int64_t refund_day = 10;
  std::string time_zone = "UTC";
  std::vector<std::string> reminder_days;  ///< whole numbers
};

enum class SourceKind { webhook, poll };
enum class SourceSignature { standard, hmac, basic };
enum class SourcePreset { none, ses, postmark, mailgun, sendgrid };
/// JSON pointers into one event of a source; empty: the source does not report it.
struct SourceFieldSettings {
  std::string transaction_id;
  std::string status;
  std::string occurred_at;
  std::string event_id;
  std::string recipient_email;
  std::string recipient_phone;
  std::string first_name;
  std::string last_name;
  std::string sender_email;
  std::string gift_id;
  std::string message;
  std::string sent_at;
  std::string item_cost;            ///< fields.costs.item
  std::string shipping_cost;        ///< fields.costs.shipping
  std::string carbon_neutral_cost;  ///< fields.costs.carbon_neutral
  std::string transaction_fee;      ///< fields.costs.transaction_fee
};
/// One of `sources`: where status changes come from (SRC-3).
struct SourceSettings {
  std::string name;
  SourceKind kind = SourceKind::webhook;     ///< type: webhook | poll
  SourcePreset preset = SourcePreset::none;  ///< a mail provider's own format and signature
  SourceSignature signature = SourceSignature::standard;
  std::string signature_header;      ///< signature: hmac only
  std::vector<Secret> secrets;       ///< webhook: any of them may match
  bool allow_short_secrets = false;  ///< below kMinSecretBytes
  std::string topic;                 ///< preset ses: the ARN of the SNS topic
  bool external = false;             ///< transactions: own | external
  bool allots_ids = false;           ///< transaction_ids: keep | allot
  std::vector<std::string> may_set;  ///< statuses; empty: all
  SourceFieldSettings fields;
  std::string items;  ///< JSON pointer to the list of events; empty: the whole document
  std::vector<std::pair<std::string, std::string>> status_map;  ///< empty: giftsync's own values
  std::string url;                                              ///< this and the following: poll only
  std::int64_t interval_seconds = 60;
  std::string cursor_pointer;
  std::string cursor_parameter;
  std::string since;           ///< the query parameter's name
  std::int64_t page_size = 0;  ///< items of a full page; 0: not set
  std::int64_t overlap_seconds = 300;
  std::string next;  ///< JSON pointer to the next page's URL, or "link"
  std::vector<std::pair<std::string, Secret>> headers;
  std::string ca_file;
};

/// Sending from inside the CRM and its request records (REQ-36, REQ-41).
struct RequestSettings {
  bool enabled = false;
  bool auto_approved_default = false;    ///< of request records that the CRM's own automation makes
  bool allow_api_auto_approval = false;  ///< a key may set Auto-Approved for its own account
  bool allow_self_approval = false;      ///< requesters may approve their own request records over HTTP
  Secret organization_token;             ///< sends request records
  std::string api_endpoint;              ///< for the CRM's interface; default: the root of base_url
  std::string sending_interface_url;     ///< for the CRM's interface; may be empty
};

enum class SsoKind { oidc, saml, directory };
/// One of `sso.connections` (HTTP-43).
struct SsoConnectionSettings {
  std::string name;
  SsoKind kind = SsoKind::oidc;      ///< type: oidc | saml | directory
  std::vector<std::string> domains;  ///< home-realm discovery; lower case, ASCII
  std::string client_id;             ///< oidc, directory
  Secret client_secret;              ///< oidc, directory
  std::string issuer;                ///< oidc; unchanged, since it is compared byte by byte
  std::string sign_in_url;           ///< this and the following: saml
  std::string certificate;           ///< absolute path
  bool sha1 = false;                 ///< hash: sha256 | sha1
  std::string claim_user_id = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier";
  std::string claim_email = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress";
  std::string claim_name = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name";
  std::string domain;           ///< directory
  bool identity_api_v2 = true;  ///< directory; identity_api: v1 | v2
  std::string ca_file;
  bool redirect_to_login = false;                         ///< redirect: post_back | login; oidc, directory
  std::vector<std::string> algorithms{"RS256", "ES256"};  ///< of ID tokens; oidc, directory
  std::vector<std::string> scopes{"openid", "profile", "email"};  ///< oidc, directory
  std::string tenant_id;           ///< directory; lower case; empty: that of the first sign-in
  bool allow_guests = false;       ///< directory
  std::string next_certificate;    ///< saml; absolute path; empty: none
  std::string provider_entity_id;  ///< saml; empty: any; compared byte by byte
  std::string organization;        ///< its name: whose gifts the connection's users see; empty: by the user
  /// The provider's groups that give a role, each with the role's word (SIGN-16); empty: groups give none.
  std::vector<std::pair<std::string, std::string>> groups;
  std::string groups_claim = "groups";  ///< the claim or attribute with the user's groups
  bool groups_give_operator = false;    ///< whether a group may give the role operator
};
struct SsoSettings {
  std::string auth_url;  ///< no slash at its end
  std::string authority = "https://login.microsoftonline.com";
  std::vector<SsoConnectionSettings> connections;
};

/// Whether users may ask for a sign-in link by mail (SIGN-15).
enum class MailLinks { without_provider, always, never };

/// The web console (CON-9).
struct ConsoleSettings {
  bool enabled = false;
  bool sign_in = false;  ///< through the connections of `sso` (SIGN-8)
  std::vector<std::string> sso_plans{"enterprise", "enterprise_plus"};
  MailLinks mail_links = MailLinks::without_provider;
  std::int64_t idle_minutes = 60;    ///< a session without a request ends
  std::int64_t absolute_hours = 12;  ///< every session ends
  std::int64_t audit_days = 730;     ///< how long audit events are kept
  /// The permission sets of the CRM that give a role (SIGN-10).
  std::vector<std::string> sender_sets{"Standard_User"};
  std::vector<std::string> approver_sets{"Admin"};
  std::vector<std::string> admin_sets{"Admin"};
  std::int64_t permission_set_minutes = 10;  ///< between two looks at a remote CRM
};

struct LogSettings {
  std::string level = "info";  ///< debug | info | warning | error
  bool json = false;           ///< log.format: text | json
};

struct MetricsSettings {
  std::string listen;  ///< empty: no metrics are served
};

/// Mails to those who watch the installation, without a monitoring system.
struct AlertSettings {
  std::vector<std::string> mail_to;  ///< empty: no such mail is sent
  std::string quiet_from;            ///< "22:00"; with quiet_until: no mail leaves in between
  std::string quiet_until;
  std::string time_zone = "UTC";
  std::int64_t digest_minutes = 5;  ///< between two mails; the later one has all that happened meanwhile
};

/// Where events of the feed are posted (HOOK-11).
struct WebhookSettings {
  std::vector<std::string> allowed_networks;  ///< addresses or CIDR blocks beside the public ones
  std::string ca_file;                        ///< empty: the system's certificate authorities
  std::int64_t log_days = 14;                 ///< how long attempts are kept
};

/// Provenance of a value: a line of the settings file, and the reference in that line.
struct ValueProvenance {
  int line = 0;
  std::string reference;  ///< "credential:relay"; "literal" for a secret in the file; empty for other values
};

struct Settings {
  ServerSettings server;
  LimitSettings limits;
  SendingSettings sending;
  TestSettings test;
  FeedSettings feed;
  StoreSettings store;
  CrmSettings crm;
  MatchingSettings matching;
  TaskSettings tasks;
  EmailSettings email;
  CatalogueSettings catalogue;
  PageSettings pages;
  LifecycleSettings lifecycle;
  std::vector<SourceSettings> sources;
  RequestSettings requests;
  SsoSettings sso;
  LogSettings log;
  MetricsSettings metrics;
  AlertSettings alerts;
  WebhookSettings webhooks;
  std::vector<std::string> warnings;  ///< e.g. a literal secret; each with file:line
  std::string file;                   ///< absolute path of the settings file
  /// Where each value in the file stands, by key, "sources[0].url" in a list; other values are defaults.
  std::map<std::string, ValueProvenance> provenance;
  ConsoleSettings console;
};

}  // namespace giftsync::config
