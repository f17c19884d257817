// crm/salesforce: writes request records, each only while it is as it was read (REQ-56): giftsync names
// the LastModifiedDate that it read and a new mark, and a rule of the package refuses the row when the record
// has another one. The same call reads the records again, unless the row is alone (ORG-21): who follows needs
// no further call, and a lost answer is decided by the mark, because such a write is never sent twice. One
// call at a time; the object is made for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/request_records.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/composite.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/calls/record_json.h"
#include "platform/time.h"

namespace giftsync::salesforce {

// RequestRecord::revision of an org: when the record was modified last, as Salesforce
// wrote it, and when it was read. Pure.

/// Stamps have whole seconds: only an edit in a later second than the last one shows.
inline constexpr std::int64_t kRecentEditMillis = 2 * kSecondMillis;

struct RequestRevision {
  std::string last_modified;
  UtcMillis read_at;  ///< by the org's clock, or somewhat before

  /// Every edit after the read has another LastModifiedDate. A claim and a decision need it (REQ-56).
  bool is_distinct() const;
};

std::string to_text(const RequestRevision& revision);
/// Nullopt for a record that was not read from an org.
std::optional<RequestRevision> parse_revision(const std::string& text);

/// Revisions of records that giftsync wrote: a caller goes on with the record that it read, and with what it
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

  std::vector<crm::RowResult> run(std::span<const crm::RequestRecordUpdate> updates);

 private:
  /// One row of a call.
  struct Row {
    std::size_t position = 0;  ///< of the updates
    RequestRevision read;      ///< as the caller read it
    std::string mark;
    std::string json;
    std::string named = {};  ///< the LastModifiedDate in `json`
  };
  using ReadRows = std::map<std::string, ReadRecord<RequestRecord>, std::less<>>;
  void plan();
  void write(std::span<const Row> rows);
  void take(const Row& row, const RowAnswer& answer, const ReadRows& now, UtcMillis as_of);
  bool is_as_read(const Row& row, const ReadRows& now) const;
  void take_lost(std::span<const Row> rows, const std::string& reason);
  void note_written(const Row& row, const ReadRows& now, UtcMillis as_of);
  ReadRows read_rows(const CompositePart* part) const;

  OrgCalls& calls_;
  const ApiNames& names_;
  WrittenRevisions& revisions_;
  std::span<const crm::RequestRecordUpdate> updates_;
  std::vector<crm::RowResult> results_;
  std::vector<Row> rows_;
  bool has_results_ = false;
};

}  // namespace giftsync::salesforce
