// schema/store: one text of the store's metadata that several processes change, each after the other. Any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "schema/sql/dsn.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

class SharedText {
 public:
  /// Opens nothing. The store exists when the functions are called.
  SharedText(const sql::Dsn& dsn, std::string name);

  /// Gets the stored text, nullopt when there is none, and returns the new one. It may run again after a
  /// conflict, must not use the store, and takes no longer than other writers may wait.
  using Change = std::function<std::string(const std::optional<std::string>& text)>;
  /// Changes of other processes come before or after this one. A text that stays equal is not written. Throws
  /// DependencyError, and what `change` throws.
  void update(const Change& change) const;

  std::optional<std::string> read() const;
  /// For something that one process does at a time, now and then: true, and the text is the present time,
  /// unless it is a time within the last `millis`. By the database's clock (ARCH-17).
  bool begin_after(std::int64_t millis) const;
  void remove() const;

 private:
  const std::shared_ptr<sql::Database> database_;
  const std::string name_;
};

}  // namespace giftsync::store
