// schema: the one exception for a broken world (store gone, disk full, CRM's database down). Foreseen
// outcomes are return values; a bug aborts. Only the HTTP dispatcher, the loops and the commands catch it
// (design 2).
#pragma once

#include <stdexcept>
#include <string>

namespace giftsync::schema {

class BrokenWorld : public std::runtime_error {
 public:
  BrokenWorld(bool transient, const std::string& what, bool of_foreign_crm = false)
      : std::runtime_error(what), transient_(transient), of_foreign_crm_(of_foreign_crm) {}
  /// True when trying again later may work without anybody changing anything here: 503 and Retry-After.
  bool transient() const { return transient_; }
  /// It is the database of the CRM that someone else owns, not ours.
  bool of_foreign_crm() const { return of_foreign_crm_; }

 private:
  bool transient_;
  bool of_foreign_crm_;
};

}  // namespace giftsync::schema
