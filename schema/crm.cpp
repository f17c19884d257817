#include "schema/crm.h"

namespace giftsync::schema {

RowResult refused_for_strangers_record(TransactionId transaction) {
  return {
      RowResult::Kind::rejected,
      "the CRM has a gift record with the Transaction Id " + std::to_string(transaction.value) +
          " that giftsync did not write; it is left as it is. Give it another Transaction Id in the CRM, one "
          "that no gift has: then this gift's record is made within minutes",
      {}};
}

}  // namespace giftsync::schema
