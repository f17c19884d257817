// sync: what store and managed CRM hold of a person, by an address, and its erasure (GUARD-16, GUARD-17).
// What is erased is not found again, so an interrupted erasure is continued by the next one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "schema/store/store.h"

namespace giftsync::sync {

struct PersonData {
  std::string address_key;
  std::string mark;                            ///< of the address; empty without the key of erased addresses
  std::vector<TransactionId> open;             ///< gifts that may still be claimed or change: not erased yet
  std::vector<TransactionId> closed;           ///< gifts to be erased
  std::vector<TransactionId> erased;           ///< gifts that were erased before
  std::vector<TransactionId> busy;             ///< closed ones that a worker has, or another CRM has not yet
  std::vector<store::PersonText> texts;        ///< that name the address, outside of its gifts
  std::vector<store::DoNotSendEntry> entries;  ///< of the address on the do-not-send list
  std::vector<std::string> open_requests;  ///< numbers of requests that wait or have no gift; in the store
  bool has_crm = false;                    ///< giftsync keeps the CRM; else the rest is empty
  std::vector<std::string> contacts;       ///< whose address it is, by Id; also ones marked as deleted
  std::vector<std::string> leads;
  std::vector<TransactionId> records;     ///< gift records to the address, also of gifts of others
  std::vector<std::string> crm_requests;  ///< request records to the person that are closed
  std::vector<std::string> open_crm_requests;

  /// Something keeps it from being erased completely.
  bool is_in_use() const {
    return !open.empty() || !busy.empty() || !open_requests.empty() || !open_crm_requests.empty();
  }
  /// Something of it is not erased.
  bool has_traces() const;
  /// "2 gifts, 1 contact, 3 texts": what an erasure changes. Has no name and no address.
  std::string counts_text() const;
  /// "3 gifts, 2 texts": what an export shows.
  std::string export_text() const;
};

/// Changes nothing. A gift that was sent elsewhere counts as closed, because nothing here ends it. Waits for
/// the CRM's match keys. Throws DependencyError.
PersonData find_person(store::Store& store, crm::Crm& crm, const std::string& address);

struct PersonErasure {
  std::int64_t gifts = 0;
  std::int64_t texts = 0;
  std::int64_t entries = 0;
  std::int64_t contacts = 0;
  std::int64_t leads = 0;
  std::int64_t records = 0;
  std::int64_t requests = 0;
};

/// Erases what find_person() found: closed gifts with their records; all else too unless is_in_use(). The
/// event is inserted before the first change. A gift that a worker has taken meanwhile is left with all that
/// is_in_use() leaves: find_person() finds it. The store must have the key of erased addresses. Throws
/// DependencyError; a second run erases the rest.
PersonErasure erase_person(store::Store& store, crm::Crm& crm, PersonData person,
                           const store::AuditEvent& event);

}  // namespace giftsync::sync
