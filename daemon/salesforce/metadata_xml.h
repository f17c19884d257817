// daemon/salesforce: metadata files of an sfdx source project as trees of elements, and their text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace giftsync::daemon::salesforce {

/// An element has either children or a text.
struct MetadataElement {
  std::string name;
  std::string text = {};
  std::vector<MetadataElement> children = {};
};

MetadataElement metadata_leaf(std::string_view name, std::string_view text);
MetadataElement metadata_flag(std::string_view name, bool value);

/// The document of a metadata type ("CustomField"), indented by four blanks. The elements are in the order in
/// which Salesforce returns them: fullName first, all others by name.
std::string metadata_document(std::string_view type, std::vector<MetadataElement> elements);

}  // namespace giftsync::daemon::salesforce
