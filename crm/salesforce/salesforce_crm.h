// crm/salesforce: an org of Salesforce as a CRM. In guarded mode (ORG-8) the org has giftsync's package,
// whose rules keep an older version from overwriting a newer one, and a request record from being written
// when it is not as it was read. In bare mode (ORG-9) another owner's package is written by one writer at a
// time, without request records. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "crm/row_reader.h"
#include "crm/salesforce/calls/access_token.h"
#include "crm/salesforce/calls/api_client.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/call_governor.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/bare_writes.h"
#include "crm/salesforce/records/legacy_status_log.h"
#include "crm/salesforce/records/request_poll.h"
#include "platform/clock.h"
#include "platform/strict_json.h"

namespace giftsync::salesforce {

struct SalesforceCrmOptions {
  ApiNames names;  ///< without the fields that the org does not have
  crm::MatchFields match_fields;
  std::string api_version = "62.0";
  GovernorOptions governor = {};
  GovernorStorage governor_storage = nullptr;  ///< without it the state lives as long as the CRM
  StatusLogNames status_log = {};
  bool has_tasks = true;
  std::optional<RequestPollOptions> request_records = std::nullopt;  ///< without it there are none
  /// Where the mode that was found is kept. Without it the org is guarded, and nothing is asked of it.
  std::optional<FactStorage> mode_facts = std::nullopt;
  std::optional<BareOptions> bare = std::nullopt;  ///< bare mode; needs mode_facts, excludes request_records
  Clock clock = system_now;
  std::shared_ptr<void> connection = nullptr;  ///< what `client` and the functions use, kept for them
};

/// `client` outlives the CRM. No call is made before the first use.
std::unique_ptr<crm::Crm> make_salesforce_crm(ApiClient& client, SalesforceCrmOptions options);

// The rows of an org as the integration user sees them (SYNC-66): every field that
// describe names, except compound ones, whose parts have fields of their own. Any thread.

class SalesforceRowReader : public crm::RowReader {
 public:
  /// Both outlive this object.
  SalesforceRowReader(OrgCalls& calls, const ApiNames& names) : calls_(calls), names_(names) {}

  std::vector<std::string> objects() override;
  std::vector<crm::CrmRow> page(const std::string& object, const std::string& after,
                                std::size_t limit) override;
  std::optional<crm::CrmRow> find(const std::string& object, const std::string& id) override;

 private:
  /// A field or a path over a lookup.
  struct Column {
    std::string path;
    std::string type;  ///< as describe has it
    std::string name;  ///< as it is shown
  };
  struct ReadableObject {
    std::string api_name;
    std::string key_prefix;  ///< of its Ids
    std::vector<Column> columns = {};
  };

  ReadableObject* find_object(const std::string& object);
  const std::map<std::string, ReadableObject>& known_objects();
  const std::vector<Column>& columns_of(const std::string& object, ReadableObject& readable);
  std::vector<crm::CrmRow> rows_of(const std::string& object, ReadableObject& readable, Select select);

  OrgCalls& calls_;
  const ApiNames& names_;
  std::mutex mutex_;  // guards the following
  std::optional<std::map<std::string, ReadableObject>> objects_;
};

}  // namespace giftsync::salesforce
