#include "tests/salesforce/fake_org/foreign_package.h"

#include <array>
#include <regex>
#include <string_view>

namespace giftsync::tests::fake_org {
namespace {

constexpr std::string_view kObject = "objects/Gift_Record__c/";
constexpr std::string_view kSets = "permissionsets/";
constexpr std::string_view kOwnVersion = "Record_Version__c";
constexpr std::string_view kKey = "/RecipientTransactionId__c.field-meta.xml";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string with_name_space(const std::string& text, const std::string& name_space) {
  static const std::regex kCustomName(R"(\b([A-Za-z0-9]+(?:_[A-Za-z0-9]+)*)__(c|r)\b)");
  return std::regex_replace(text, kCustomName, name_space + "__$1__$2");
}

/// Without the permissions on what the package does not have.
std::string kept_permissions(const std::string& text) {
  static const std::regex kBlock(R"(\s*<(fieldPermissions|objectPermissions)>[\s\S]*?</\1>)");
  std::string kept;
  std::size_t done = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kBlock); at != std::sregex_iterator(); ++at) {
    const std::string block = at->str();
    const auto begin = static_cast<std::size_t>(at->position());
    kept += text.substr(done, begin - done);
    done = begin + block.size();
    const bool is_dropped = contains(block, kOwnVersion) || contains(block, "Request_Record__c") ||
                            contains(block, ">Task.") || contains(block, ">Activity.");
    if (!is_dropped) kept += block;
  }
  return kept + text.substr(done);
}

}  // namespace

SourceFiles foreign_package(const SourceFiles& own, const std::string& name_space) {
  SourceFiles files;
  for (const auto& [path, text] : own) {
    if (path.starts_with(kSets)) {
      files[path] = with_name_space(kept_permissions(text), name_space);
      continue;
    }
    const bool is_kept = path.starts_with(kObject) && !contains(path, kOwnVersion) &&
                         !contains(path, "validationRules/") && !contains(path, "listViews/");
    if (!is_kept) continue;
    std::string left = text;
    if (path.ends_with(kKey)) left = std::regex_replace(left, std::regex("<unique>true"), "<unique>false");
    files[with_name_space(path, name_space)] = with_name_space(left, name_space);
  }
  return files;
}

}  // namespace giftsync::tests::fake_org
