#include "daemon/console/gift_filter.h"

#include <algorithm>
#include <array>

#include "platform/text.h"
#include "schema/ids.h"

namespace giftsync::console {
namespace {

using store::CrmFilter;

constexpr std::array kCrmFilters{CrmFilter::any,      CrmFilter::waiting,   CrmFilter::failing,
                                 CrmFilter::rejected, CrmFilter::unmatched, CrmFilter::needs_relink,
                                 CrmFilter::skipped,  CrmFilter::deleted};

constexpr std::array<std::string_view, 15> kNames{
    "status", "find", "error",    "sender", "item",   "source", "campaign",        "since",
    "until",  "crm",  "conflict", "key",    "before", "format", "undelivered_days"};
/// No source has this name (settings: sources).
constexpr std::string_view kOwnSource = "giftsync";
/// A whole key is a secret, which no URL may have.
constexpr std::size_t kMaxKeyPrefix = 16;
constexpr std::int64_t kMaxUndeliveredDays = 3'650;
/// Longer texts are no names.
constexpr std::size_t kMaxFindCodePoints = 100;

/// Why a parameter that was not taken is not applied.
std::string_view why_not(const std::string& name) {
  return std::find(kNames.begin(), kNames.end(), name) == kNames.end() ? "filter_unknown" : "filter_value";
}

bool has_letter(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return is_ascii_letter(c) || static_cast<unsigned char>(c) >= 0x80; });
}

/// A word with letters and digits, as ids of CRMs are.
bool may_be_crm_id(std::string_view text) {
  return has_letter(text) && text.find_first_of("0123456789") != std::string_view::npos &&
         text.find_first_of("# @") == std::string_view::npos && text.size() <= kMaxFindCodePoints;
}

/// Takes what is searched; else why not, as the key of a text.
std::string_view take_find(store::ConsoleGiftFilter& filter, const std::string& text, bool is_masked,
                           const FindExternal& find_external) {
  const std::size_t at = text.rfind('@');
  // An id may be an address, which is asked of no source then: the answer would tell whose gifts there are.
  if (is_masked && at != std::string::npos) return "filter_hidden";
  filter.ids = find_external(text);
  if (const auto number = gift_number(text)) filter.ids.push_back(*number);
  if (!filter.ids.empty()) return {};
  if (may_be_crm_id(text)) filter.crm_id = text;
  if (is_masked) return filter.crm_id.empty() ? "filter_hidden" : "";
  const bool is_address = at != std::string::npos && at > 0 && at + 1 < text.size();
  if (!is_address && (at != std::string::npos || text.starts_with('#') || !has_letter(text) ||
                      count_code_points(text) > kMaxFindCodePoints))
    return "filter_find";
  (is_address ? filter.recipient : filter.name) = text;
  return {};
}

/// Takes one parameter; false when its value is none that it may have.
bool take(GiftQuery& query, const std::string& name, const std::string& value) {
  store::ConsoleGiftFilter& filter = query.filter;
  if (name == "sender")
    filter.sender = value;
  else if (name == "source")
    filter.source = value == kOwnSource ? "" : value;
  else if (name == "item")
    filter.item = value;
  else if (name == "campaign")
    filter.campaign = value;
  else if (name == "error")
    filter.error_class = value;
  else if (name == "status") {
    filter.status = status_from_word(value);
    return filter.status.has_value();
  } else if (name == "key") {
    filter.key = value.substr(0, value.find('.'));  // lists show "gsk_live_Ab3dE5g..."
    return filter.key.size() <= kMaxKeyPrefix;
  } else if (name == "crm") {
    const auto crm = store::crm_filter_from_word(value);
    filter.crm = crm.value_or(CrmFilter::any);
    return crm.has_value();
  } else if (name == "conflict") {
    filter.conflict = value == "1";
    return filter.conflict;
  } else if (name == "since") {
    filter.sent_since = day_from(value);
    return filter.sent_since.has_value();
  } else if (name == "undelivered_days") {
    const auto days = parse_number<std::int64_t>(value);
    if (!days || *days <= 0 || *days > kMaxUndeliveredDays) return false;
    query.undelivered_days = days;
    return true;
  } else if (name == "until") {
    const auto day = day_from(value);
    if (day) filter.sent_until = *day + kDayMillis;
    return day.has_value();
  } else {
    return false;
  }
  return true;
}

/// What the parameter is called on the page: "find" by what it is.
std::string label_of(const GiftQuery& query, const std::string& name) {
  if (name == "conflict") return texts().text("conflict_only");
  if (name == "key") return texts().text("credential");
  if (name != "find") return texts().text(name);
  if (!query.filter.ids.empty()) return texts().text("id");
  if (!query.filter.recipient.empty()) return texts().text("recipient");
  if (query.filter.crm_id.empty()) return texts().text("name_as_sent");
  return texts().text(query.filter.name.empty() ? "crm_id" : "name_or_crm_id");
}

/// What was typed into a field, also if it cannot be applied.
std::string typed(const GiftQuery& query, const std::string& name) {
  if (const auto found = query.kept.find(name); found != query.kept.end()) return found->second;
  const bool is_day = name == "since" || name == "until";  // the field takes nothing else
  for (const NotApplied& parameter : query.not_applied)
    if (parameter.name == name && !is_day) return parameter.value;
  return {};
}

/// Whether the parameter has a field among those that are folded.
bool is_folded(const std::string& name) {
  return why_not(name) != "filter_unknown" && name != "find" && name != "before" && name != "format";
}

}  // namespace

std::optional<UtcMillis> day_from(const std::string& text) {
  return text.size() == 10 ? from_rfc3339(text + "T00:00:00Z") : std::nullopt;
}

std::vector<NotApplied> unknown_filters(const std::map<std::string, std::string>& parameters,
                                        std::initializer_list<std::string_view> names) {
  std::vector<NotApplied> found;
  for (const auto& [name, value] : parameters)
    if (name != "notice" && !value.empty() && std::find(names.begin(), names.end(), name) == names.end())
      found.push_back({name, value, "filter_unknown"});
  return found;
}

void set_not_applied(Data& data, const std::vector<NotApplied>& parameters, const std::string& without) {
  if (parameters.empty()) return;
  Data made;
  made.set("reasons", list_of(parameters, [](const NotApplied& parameter) {
             return Data("text",
                         texts().text(parameter.why, {{"name", parameter.name}, {"value", parameter.value}}));
           }));
  made.set("without", without);
  data.set("not_applied", made);
}

GiftQuery gift_query(const std::map<std::string, std::string>& parameters, bool is_masked,
                     const FindExternal& find_external) {
  GiftQuery query;
  for (const auto& [name, value] : parameters) {
    const std::string text(trimmed(value));
    if (text.empty()) continue;
    std::string_view why;
    if (name == "format" && text == "csv") {
      query.csv = true;
      continue;
    }
    if (name == "before" && parse_number<std::int64_t>(text).value_or(0) > 0) {
      query.before = TransactionId{*parse_number<std::int64_t>(text)};
      continue;
    }
    if (name == "find")
      why = take_find(query.filter, text, is_masked, find_external);
    else if (is_masked && name == "error")
      why = "filter_hidden";
    else if (!take(query, name, text))
      why = why_not(name);
    if (why.empty())
      query.kept[name] = text;
    else
      query.not_applied.push_back({name, text, why});
  }
  return query;
}

namespace {

/// What a filter compares with, in words; empty of one that is on or off.
std::string value_text(const std::string& name, const std::string& value) {
  if (name == "conflict") return {};
  return name == "status" || name == "crm" ? texts().text(name + "_" + value) : value;
}

}  // namespace

std::string describe_filter(const GiftQuery& query) {
  std::string text;
  for (const auto& [name, value] : query.kept) {
    const std::string shown = value_text(name, value);
    text += (text.empty() ? "" : ", ") + label_of(query, name) + (shown.empty() ? "" : ": ") + shown;
  }
  return text;
}

Data filter_chips(const GiftQuery& query, const std::string& list) {
  return list_of(query.kept, [&](const auto& kept) {
    auto rest = query.kept;
    rest.erase(kept.first);
    Data chip;
    chip.set("label", label_of(query, kept.first));
    set_text(chip, "value", value_text(kept.first, kept.second));
    chip.set("without", rest.empty() ? list : list + "?" + query_of(rest));
    return chip;
  });
}

Data filter_form(const GiftQuery& query, bool is_masked) {
  Data form;
  Data statuses(Data::type::list);
  statuses << option_data("", texts().text("any"), !query.filter.status);
  for (const Status status : kAllStatuses) {
    const std::string word(to_word(status));
    statuses << option_data(word, texts().text("status_" + word), query.filter.status == status);
  }
  form.set("statuses", statuses);
  Data crm(Data::type::list);
  for (const CrmFilter kCrmFilter : kCrmFilters) {
    const std::string word(to_word(kCrmFilter));
    crm << option_data(kCrmFilter == CrmFilter::any ? "" : word, texts().text("crm_" + word),
                       query.filter.crm == kCrmFilter);
  }
  form.set("crm_states", crm);
  for (const char* name :
       {"find", "sender", "item", "source", "campaign", "key", "since", "until", "error", "undelivered_days"})
    form.set(name, typed(query, name));
  form.set("conflict", query.filter.conflict);
  form.set("is_masked", is_masked);
  form.set("is_open", std::any_of(query.not_applied.begin(), query.not_applied.end(),
                                  [](const NotApplied& parameter) { return is_folded(parameter.name); }));
  return form;
}

}  // namespace giftsync::console
