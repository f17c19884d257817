// schema/store: everything that the store holds of a recipient, found by the address, and its replacement by
// a mark (GUARD-16, GUARD-17). Each call may be repeated: what is erased is not found again. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/enums.h"
#include "schema/ids.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

/// One gift to the person.
struct PersonGift {
  TransactionId id;
  bool is_erased = false;
  /// A worker sends its mail or writes its record at this moment.
  bool is_busy = false;
  /// The CRM does not have its newest state yet, and has not refused it.
  bool waits_for_crm = false;
};

/// One text that names the address, outside of the row of a gift to it.
struct PersonText {
  std::string table;
  std::string column;
  std::string key;   ///< of the row
  std::string text;  ///< of a refused message its body
};

class PersonTraces {
 public:
  explicit PersonTraces(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  // `address_key`: as email_key() returns it.

  /// The gifts to the address, and the erased ones with its mark, by id. An empty mark finds none of those.
  std::vector<PersonGift> gifts(const std::string& address_key, const std::string& mark);
  /// Reads whole tables: for a command, not for a page that is often asked for.
  std::vector<PersonText> texts(const std::string& address_key);
  /// The ids of gifts and events that sources gave and that name the address; an erasure leaves them. As
  /// slow.
  std::vector<PersonText> kept_ids(const std::string& address_key);
  /// Texts about these gifts and request records that need not name the address and that no other record of a
  /// gift shows: kept events of sources, the CRM's last error, notices to the sender; contents, errors,
  /// comments and edits of the request records, also of those that the gifts were sent for.
  std::vector<PersonText> texts_about(std::span<const TransactionId> gifts,
                                      std::span<const std::string> record_ids);
  /// Numbers of request records whose gift was neither sent nor refused, and of held gift requests that wait,
  /// and that name the address.
  std::vector<std::string> open_requests(const std::string& address_key);
  /// The Ids of the request records that these gifts were sent for.
  std::vector<std::string> request_records(std::span<const TransactionId> gifts);

  /// Replaces the address, the name, the message and the phone number of these gifts, and the texts about
  /// them: comments of actions, the relay's replies, the CRM's errors, why they were matched, reasons of
  /// voided changes, notices to the sender, events that are kept. Numbers, costs, times and the status stay.
  /// In transactions of some gifts each, which also queue the gifts whose records giftsync wrote. Returns the
  /// gifts that it changed; one that is busy is left.
  std::vector<TransactionId> erase_gifts(std::span<const TransactionId> gifts, const std::string& mark);
  /// Replaces contents, edits and comments of these request records, which were sent or rejected.
  void erase_request_records(std::span<const std::string> record_ids);
  /// Replaces these texts where they have not changed since; of a closed request record its comments and
  /// edits, too, which may have names alone. Returns how many are erased now, also those that the calls above
  /// have erased.
  std::int64_t erase_texts(std::span<const PersonText> texts, const std::string& address_key,
                           const std::string& mark);
  /// Replaces the address in its entries of the do-not-send list by its keyed hash; returns how many.
  std::int64_t erase_entries(const std::string& address_key, const std::string& address_hash);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
