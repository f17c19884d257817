// daemon/salesforce: single records that a proof makes, changes, reads and deletes. Any thread for write().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/salesforce/answers.h"
#include "daemon/salesforce/api_client.h"
#include "daemon/salesforce/json_row.h"

namespace giftsync::daemon::salesforce {

/// What the org did with one record.
struct TrialOutcome {
  std::string id;    ///< of a record that was made
  std::string code;  ///< empty: done
  std::string message;
  bool is_done() const { return code.empty(); }
  /// "done", or code and words.
  std::string text() const { return is_done() ? "done" : code + ": " + message; }
};

class TrialRecords {
 public:
  TrialRecords(ApiClient& client, std::string api_version);

  /// By POST of Collections, as the adapter does. `row` has its object.
  TrialOutcome create(const std::string& object, const JsonRow& row);
  /// By PATCH of Collections; `row` has the record's id.
  TrialOutcome write(const JsonRow& row);
  /// The field's value as text; nullopt for null and for what cannot be read.
  std::optional<std::string> value(const std::string& object, const std::string& id,
                                   const std::string& field);
  TrialOutcome remove(const std::string& id);
  /// Deletes what was made and is there still. Returns those that stay: "Gift_Record__c a0G...".
  std::vector<std::string> remove_all();

 private:
  TrialOutcome send(const std::string& method, const JsonRow& row);
  AnswerBody call(const ApiRequest& request);

  ApiClient& client_;
  const std::string api_version_;
  struct Made {
    std::string object;
    std::string id;
  };
  std::vector<Made> made_;
};

}  // namespace giftsync::daemon::salesforce
