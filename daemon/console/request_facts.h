// daemon/console: what the page of a request record shows of its content: what an approver decides by, the
// fields that an approval binds to, and costs. For an auditor without what names the recipient (CON-28).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/console/access.h"
#include "daemon/console/page_call.h"

namespace giftsync::console {

/// The edits that a page lists.
inline constexpr std::size_t kMaxEdits = 20;

struct ShownRequest {
  store::RequestRecordEntry entry;
  std::vector<store::RequestRecordTransition> transitions = {};
  std::vector<store::RequestRecordEdit> edits = {};      ///< the newest, at most kMaxEdits + 1
  std::optional<sync::LoadedRequestRecord> loaded = {};  ///< what a CRM of SQL has
  bool is_own = false;

  const std::string& name() const { return name_of_request(entry); }
  std::string content() const;  ///< what an approval binds to, as one text; empty without `loaded`
};

/// Both texts with `between`, or the one that is not empty.
std::string joined(const std::string& first, const std::string& between, const std::string& second);

/// The CRM's names of the people whom the record names by Id; without those that it does not know, and empty
/// where the page does not ask the CRM.
using Names = std::map<RequestRecordField, std::string>;
Names names_of(const PageCall& call, const ShownRequest& shown);

/// The inverse of ShownRequest::content().
RequestRecord parsed_content(const std::string& content);
/// What an approval applies to: of the CRM, or what was approved where the page does not ask it.
std::optional<RequestRecord> content_of(const ShownRequest& shown);

/// {label, value} of the fields that an approval binds to, without empty ones.
Data fields_data(const RequestRecord& record, bool is_masked, const Names& names);
/// {label, value, old} of those that differ from `before`: items by name and number, and behind the fields
/// the total costs, by the catalogue of now, if they differ.
Data difference_data(const PageCall& call, const RequestRecord& record, const RequestRecord& before);
/// The edited fields with their old and new values, shortened (CON-54); empty when no value looks different.
std::string edit_text(const store::RequestRecordEdit& edit, bool is_masked);
/// What an approver decides by: {item, who, address, cost}; `cost` is absent where the catalogue has no such
/// item. And adds what more of it there is: sender and message.
Data essence_of(const PageCall& call, const RequestRecord& record);
void add_essence(Data& lines, const PageCall& call, const RequestRecord& record, const Names& names);
/// The parts of the cost that are not zero, and where the request comes from.
Data details_of(const PageCall& call, const ShownRequest& shown);

}  // namespace giftsync::console
