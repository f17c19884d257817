#include "schema/crm/gift_records.h"

namespace giftsync::schema::crm {

RowResult id_conflict_result(TransactionId transaction) {
  return {
      RowResult::Kind::rejected,
      "the CRM has a gift record with the Transaction Id " + std::to_string(transaction.value) +
          " that giftsync did not write; it stays unchanged. Give it another Transaction Id in the CRM, one "
          "that no gift has: then giftsync creates this gift's record within minutes",
      {}};
}

}  // namespace giftsync::schema::crm
