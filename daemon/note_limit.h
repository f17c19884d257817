// daemon: keeps what a loop notes for the operator from flooding the log when the same happens to thousands
// of gifts: the first notes of a kind are told, further ones counted, and the count told once an hour. One
// thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "schema/time.h"

namespace giftsync::daemon {

class NoteLimit {
 public:
  /// So many notes of one kind are told in an hour.
  static constexpr std::size_t kMostOfKind = 20;

  /// The lines to log now: those of `notes` that are told, and the counts that are due. To be asked now and
  /// then without any notes as well.
  std::vector<std::string> lines(const std::vector<std::string>& notes, schema::UtcMillis now);

 private:
  struct Kind {
    schema::UtcMillis begun;
    std::size_t told = 0;
    std::size_t untold = 0;
    std::string last;  ///< of the untold ones
  };
  std::map<std::string, Kind> kinds_;
};

}  // namespace giftsync::daemon
