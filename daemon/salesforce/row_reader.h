// daemon/salesforce: the rows of an org as the integration user sees them (SYNC-66): every field that
// describe names, except compound ones, whose parts have fields of their own. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/select.h"
#include "platform/strict_json.h"
#include "schema/crm/row_reader.h"

namespace giftsync::daemon::salesforce {

class SalesforceRowReader : public schema::crm::RowReader {
 public:
  /// Both outlive this object.
  SalesforceRowReader(OrgCalls& calls, const ApiNames& names) : calls_(calls), names_(names) {}

  std::vector<std::string> objects() override;
  std::vector<schema::crm::CrmRow> page(const std::string& object, const std::string& after,
                                        std::size_t limit) override;
  std::optional<schema::crm::CrmRow> find(const std::string& object, const std::string& id) override;

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
  std::vector<schema::crm::CrmRow> rows_of(const std::string& object, ReadableObject& readable,
                                           Select select);

  OrgCalls& calls_;
  const ApiNames& names_;
  std::mutex mutex_;  // guards the following
  std::optional<std::map<std::string, ReadableObject>> objects_;
};

}  // namespace giftsync::daemon::salesforce
