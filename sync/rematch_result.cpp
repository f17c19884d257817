// What a rematch compares, and the words for what it found.
#include "platform/digest.h"
#include "schema/enum_words.h"
#include "sync/match_decision.h"
#include "sync/rematch.h"

namespace giftsync::sync {
namespace {

using Kind = RematchResult::Kind;
using schema::store::MatchDecision;

constexpr std::size_t kFingerprintDigits = 16;

constexpr auto kKinds = schema::enum_words<Kind>({{Kind::unchanged, "unchanged"},
                                                  {Kind::relinked, "relinked"},
                                                  {Kind::to_create, "created"},
                                                  {Kind::kept, "manual_links_kept"},
                                                  {Kind::failed, "failed"},
                                                  {Kind::not_found, "deleted_in_crm"}});

}  // namespace

schema::Associations visible_associations(const schema::crm::GiftRecords& records,
                                          const MatchDecision& decision) {
  schema::Associations links = associations_of(decision);
  for (const schema::GiftField lookup : kAssociationLookups) {
    if (!records.has_field(lookup)) schema::clear_lookup(links, lookup);
  }
  return links;
}

std::string describe(const schema::Associations& links) {
  std::string text = !links.contact_id.empty() ? "contact " + links.contact_id
                     : !links.lead_id.empty()  ? "lead " + links.lead_id
                                               : "no one";
  if (!links.account_id.empty()) text += ", account " + links.account_id;
  if (!links.opportunity_id.empty()) text += ", opportunity " + links.opportunity_id;
  return text;
}

std::string_view to_word(RematchResult::Kind kind) {
  return kKinds.word_of(kind);
}

std::string fingerprint(const RematchResult& result) {
  std::string text;
  for (const std::string& part :
       {std::string(to_word(result.kind)), describe(result.from), describe(result.to), result.stage_from,
        result.stage_to, result.reason, result.detail})
    text += std::to_string(part.size()) + ":" + part;
  return platform::sha256_hex(text).substr(0, kFingerprintDigits);
}

}  // namespace giftsync::sync
