// crm: reads the rows of a CRM as an admin sees them (SYNC-66): every object, every field, as text.
// Reads only. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace giftsync::crm {

/// The objects that a CRM may have.
extern const std::vector<std::string> kReadableObjects;

/// One row: its fields in the table's order, by their API names without prefix and suffix; a field that
/// giftsync has no name for has its column's.
struct CrmRow {
  std::string id;
  std::vector<std::pair<std::string, std::optional<std::string>>> fields;  ///< nothing: null

  bool has(std::string_view field) const;
  /// Empty when it is null or there is none.
  std::string text(std::string_view field) const;
};

class RowReader {
 public:
  virtual ~RowReader() = default;

  /// Those of kReadableObjects that this CRM has.
  virtual std::vector<std::string> objects() = 0;
  /// The first rows with an Id above `after`, in the order of the Ids' bytes. Rows without an Id are left
  /// out. Empty for an object that the CRM does not have.
  virtual std::vector<CrmRow> page(const std::string& object, const std::string& after,
                                   std::size_t limit) = 0;
  virtual std::optional<CrmRow> find(const std::string& object, const std::string& id) = 0;
};

}  // namespace giftsync::crm
