// Faults by script, which a test posts to /__org/faults. Each has a number of times; 0 is for ever. One
// thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/salesforce/fake_org/json_text.h"

namespace giftsync::tests::fake_org {

/// The kinds and their members:
/// - lock {ids}: these records, and records that refer to them, refuse saves with UNABLE_TO_LOCK_ROW.
/// - cut {when: before_commit | after_commit, path}: the connection ends without an answer.
/// - answer {status, body, content_type, headers, path}: this answer instead, nothing is done.
/// - refusal {status, code, message, path}: a call or a part of a composite is refused.
/// - rule {object, formula, message}: a validation rule of the org's own.
/// - row_error {object, status_code, message}: rows of the object are refused (a trigger, a duplicate rule).
/// - interleave {part, method, url, body}: this call of another writer comes before the part of a composite.
/// - component_failure {file, type, name, line, problem}: a deployment fails there.
struct Fault {
  std::string kind;
  int times = 1;
  int skip = 0;  ///< matching calls that pass before the first fault
  Json members;
  bool has_happened = false;
  std::string text(const char* name) const { return members.value(name, std::string()); }
};

class Faults {
 public:
  /// Throws std::runtime_error for an unknown kind.
  void add(const Json& fault);
  void clear() { faults_.clear(); }
  /// How many of all faults ever added have happened, each counted once.
  int happened() const { return happened_; }

  /// Uses up a fault of the kind whose `path` the address contains; nullopt if there is none.
  std::optional<Fault> take(const std::string& kind, const std::string& path);
  /// Uses up a lock of one of the ids and returns that id.
  std::optional<std::string> take_lock(const std::vector<std::string>& ids);
  /// Uses up those for the object.
  std::vector<Fault> take_for_object(const std::string& kind, const std::string& object);
  std::vector<Fault> take_for_part(std::size_t part);

 private:
  bool use(Fault& fault);
  void remove_spent();

  std::vector<Fault> faults_;
  int happened_ = 0;
};

}  // namespace giftsync::tests::fake_org
