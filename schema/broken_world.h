// schema: the one exception for a broken world (store gone, disk full, CRM's database down). Foreseen
// outcomes are return values; a bug aborts. Only the HTTP dispatcher, the loops and the commands catch it
// (design 2).
#pragma once

#include <stdexcept>
#include <string>

namespace giftsync::schema {

class BrokenWorld : public std::runtime_error {
 public:
  BrokenWorld(bool transient, const std::string& what) : std::runtime_error(what), transient_(transient) {}
  /// True when trying again later may work without anybody changing anything here: 503 and Retry-After.
  bool transient() const { return transient_; }

 private:
  bool transient_;
};

}  // namespace giftsync::schema
