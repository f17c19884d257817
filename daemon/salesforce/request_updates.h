// daemon/salesforce: writes request records, each only while it is as it was read (REQ-56): giftsync names
// the LastModifiedDate that it read and a new mark, and a rule of the package refuses the row when the record
// has another one. The same call reads the records again, unless the row is alone (ORG-21): who follows needs
// no further call, and a lost answer is decided by the mark, because such a write is never sent twice. One
// call at a time; the object is made for it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/composite.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/record_json.h"
#include "daemon/salesforce/request_revision.h"
#include "schema/crm/request_records.h"

namespace giftsync::daemon::salesforce {

/// Of records that giftsync wrote: a caller goes on with the record that it read before, and with what it
/// wrote itself. Any thread.
class WrittenRevisions {
 public:
  /// The revision of the record after the writes that began at `read`; `read` itself without any. Nullopt
  /// when the record must be read again: the caller does not expect the `state` that the last write left, or
  /// the revision is not known.
  std::optional<RequestRevision> current(const std::string& record_id, const RequestRevision& read,
                                         const std::string& state) const;
  /// Nullopt: it is not known.
  void note_write(const std::string& record_id, const RequestRevision& read, std::string state,
                  std::optional<RequestRevision> written);
  void forget(const std::string& record_id);

 private:
  struct Written {
    std::string read;  ///< the LastModifiedDate of the read record
    std::string state;
    std::optional<RequestRevision> revision;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Written, std::less<>> written_;  // guarded by mutex_
};

class RequestUpdates {
 public:
  RequestUpdates(OrgCalls& calls, const ApiNames& names, WrittenRevisions& revisions)
      : calls_(calls), names_(names), revisions_(revisions) {}

  std::vector<schema::crm::RowResult> run(std::span<const schema::crm::RequestRecordUpdate> updates);

 private:
  /// One row of a call.
  struct Row {
    std::size_t position = 0;  ///< of the updates
    RequestRevision read;      ///< as the caller read it
    std::string mark;
    std::string json;
    std::string named = {};  ///< the LastModifiedDate in `json`
  };
  using ReadRows = std::map<std::string, ReadRecord<schema::RequestRecord>, std::less<>>;
  void plan();
  void write(std::span<const Row> rows);
  void take(const Row& row, const RowAnswer& answer, const ReadRows& now, platform::UtcMillis as_of);
  bool is_as_read(const Row& row, const ReadRows& now) const;
  void take_lost(std::span<const Row> rows, const std::string& reason);
  void note_written(const Row& row, const ReadRows& now, platform::UtcMillis as_of);
  ReadRows read_rows(const CompositePart* part) const;

  OrgCalls& calls_;
  const ApiNames& names_;
  WrittenRevisions& revisions_;
  std::span<const schema::crm::RequestRecordUpdate> updates_;
  std::vector<schema::crm::RowResult> results_;
  std::vector<Row> rows_;
  bool has_results_ = false;
};

}  // namespace giftsync::daemon::salesforce
