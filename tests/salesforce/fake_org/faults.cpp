#include "tests/salesforce/fake_org/faults.h"

#include <algorithm>
#include <stdexcept>

namespace giftsync::tests::fake_org {
namespace {

constexpr int kSpent = -1;

}  // namespace

void Faults::add(const Json& fault) {
  Fault made{fault.at("kind"), fault.value("times", 1), fault.value("skip", 0), fault, false};
  constexpr const char* kKinds[] = {"lock", "cut",       "answer",     "refusal",
                                    "rule", "row_error", "interleave", "component_failure"};
  if (std::ranges::find(kKinds, made.kind) == std::end(kKinds))
    throw std::runtime_error("no kind of fault: " + made.kind);
  faults_.push_back(std::move(made));
}

/// True when the fault happens now.
bool Faults::use(Fault& fault) {
  if (fault.skip > 0) {
    --fault.skip;
    return false;
  }
  if (!fault.has_happened) ++happened_;
  fault.has_happened = true;
  if (fault.times > 0 && --fault.times == 0) fault.times = kSpent;
  return true;
}

void Faults::remove_spent() {
  std::erase_if(faults_, [](const Fault& fault) { return fault.times == kSpent; });
}

std::optional<Fault> Faults::take(const std::string& kind, const std::string& path) {
  for (Fault& fault : faults_) {
    if (fault.kind != kind || path.find(fault.text("path")) == std::string::npos || !use(fault)) continue;
    Fault taken = fault;
    remove_spent();
    return taken;
  }
  return std::nullopt;
}

std::optional<std::string> Faults::take_lock(const std::vector<std::string>& ids) {
  for (Fault& fault : faults_) {
    if (fault.kind != "lock") continue;
    for (const Json& locked : fault.members.at("ids")) {
      const auto found = std::ranges::find(ids, locked.get<std::string>());
      if (found == ids.end() || !use(fault)) continue;
      std::string id = *found;
      remove_spent();
      return id;
    }
  }
  return std::nullopt;
}

std::vector<Fault> Faults::take_for_object(const std::string& kind, const std::string& object) {
  std::vector<Fault> taken;
  for (Fault& fault : faults_) {
    if (fault.kind == kind && fault.text("object") == object && use(fault)) taken.push_back(fault);
  }
  remove_spent();
  return taken;
}

std::vector<Fault> Faults::take_for_part(std::size_t part) {
  std::vector<Fault> taken;
  for (Fault& fault : faults_) {
    if (fault.kind == "interleave" && fault.members.value("part", std::size_t{0}) == part && use(fault))
      taken.push_back(fault);
  }
  remove_spent();
  return taken;
}

}  // namespace giftsync::tests::fake_org
