// crm: the rows of a person in a CRM that giftsync keeps itself, for export and erasure (GUARD-16, GUARD-17).
// Each call may be repeated. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "schema/ids.h"

namespace giftsync::crm {

/// The gift record of an erased gift, with the Name that giftsync gives it now.
struct ErasedGiftRecord {
  TransactionId transaction;
  std::string name;
};

/// Whose request records.
struct RequestRecordsOf {
  std::string email_key;
  std::vector<std::string> contacts;  ///< of records without an address, by Id
  std::vector<std::string> leads;
  std::vector<std::string> records;  ///< of gifts to the person, whatever their address is
};

/// What stands for a person's texts.
struct ErasureMarks {
  std::string text;     ///< for names, messages and all other texts
  std::string address;  ///< for addresses: another one for each person
};

class PersonRows {
 public:
  virtual ~PersonRows() = default;

  /// The Ids of the request records to the person that are not erased, by Id. `is_closed`: those that were
  /// sent or rejected, else the others.
  virtual std::vector<std::string> request_records(const RequestRecordsOf& person, const ErasureMarks& marks,
                                                   bool is_closed) = 0;
  /// The Ids of contacts or leads with the address that are marked as deleted: lookups do not find those.
  virtual std::vector<std::string> deleted_people(PersonObject object, const std::string& email_key) = 0;

  /// Replaces every text of these contacts or leads but states, sources and the CRM's own Ids by the marks,
  /// and removes their dates, such as the birthdate; one that may not be empty becomes 1970-01-01. Returns
  /// how many rows it changed.
  virtual std::int64_t erase_people(PersonObject object, std::span<const std::string> ids,
                                    const ErasureMarks& marks) = 0;
  /// Replaces Name, Recipient Email, Recipient Phone Number and Message of these records, and the subject and
  /// the description of their tasks. Returns how many records it changed.
  virtual std::int64_t erase_gift_records(std::span<const ErasedGiftRecord> records,
                                          const ErasureMarks& marks) = 0;
  /// Replaces the recipient's address and names, the message and the Error Log. Returns how many rows it
  /// changed.
  virtual std::int64_t erase_request_records(std::span<const std::string> ids, const ErasureMarks& marks) = 0;
};

}  // namespace giftsync::crm
