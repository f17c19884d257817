#include "sync/rematch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "schema/text.h"
#include "sync/decision.h"
#include "sync/given_links.h"

namespace giftsync::sync {
namespace {

using schema::Associations;
using schema::GiftField;
using schema::GiftMirror;
using schema::MatchDecision;
using schema::MirrorState;
using schema::RowResult;
using schema::TransactionId;
using Kind = Rematch::Kind;

bool is_matched(const Associations& links) {
  return !links.contact_id.empty() || !links.lead_id.empty();
}

void set_links(MatchDecision& decision, const Associations& links) {
  decision.contact_id = links.contact_id;
  decision.account_id = links.account_id;
  decision.lead_id = links.lead_id;
  decision.opportunity_id = links.opportunity_id;
}

/// Whether `to` leaves a lookup empty that `from` has.
bool takes_away(const Associations& from, const Associations& to) {
  const auto taken = [](const std::string& one, const std::string& other) {
    return !one.empty() && other.empty();
  };
  return taken(from.contact_id, to.contact_id) || taken(from.lead_id, to.lead_id) ||
         taken(from.account_id, to.account_id) || taken(from.opportunity_id, to.opportunity_id);
}

/// A new decision, or why there is none.
struct Fresh {
  std::optional<MatchDecision> decision;
  std::string note;
};

/// A gift and how it is linked so far.
struct Known {
  const schema::Gift* gift;
  const GiftMirror* mirror;
};
using Origins = std::map<schema::GiftRequestId, schema::RequestOrigin>;

/// What the request records of these gifts name and the CRM still has.
Origins standing_origins(schema::Store& store, schema::Crm& crm, const std::vector<Known>& known) {
  std::vector<const schema::Gift*> gifts;
  for (const Known& one : known) gifts.push_back(one.gift);
  Origins origins = origins_of(store, gifts);
  forget_vanished(crm, origins);
  for (const Known& one : known) {
    const auto origin = origins.find(one.gift->request.id);
    if (origin == origins.end()) continue;
    // An account that the CRM refused once is not offered again.
    if (one.mirror->decision.account_id != origin->second.account_id) origin->second.account_id.clear();
  }
  return origins;
}

std::vector<Fresh> decided_anew(schema::Store& store, schema::Crm& crm, const RematchRules& rules,
                                const std::vector<Known>& known) {
  std::vector<schema::RecipientKeys> recipients;
  for (const Known& one : known) recipients.push_back(recipient_keys(*one.gift, rules.match_fields));
  std::vector<MatchDecision> decisions = decide(crm, rules.match_fields, recipients);
  const Origins origins = standing_origins(store, crm, known);
  std::vector<GivenLinks> given;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto origin = origins.find(known[i].gift->request.id);
    if (origin != origins.end()) given.push_back({&decisions[i], &origin->second});
  }
  apply_given_links(crm, rules.match_fields, given);
  std::vector<Fresh> fresh;
  for (MatchDecision& decision : decisions) fresh.push_back({std::move(decision), ""});
  return fresh;
}

Fresh followed(const schema::ConvertedLead* lead) {
  if (!lead) return {};
  if (lead->contact_id.empty()) return {std::nullopt, "its lead was converted without a contact"};
  if (!lead->contact_exists) {
    return {std::nullopt,
            "its lead was converted to contact " + lead->contact_id + ", which is not in the CRM"};
  }
  MatchDecision decision;
  decision.contact_id = lead->contact_id;
  decision.account_id = lead->account_id;
  decision.reason = "Lead " + lead->lead_id + " was converted to contact " + lead->contact_id +
                    (lead->contact_name.empty() ? "" : " (" + lead->contact_name + ")") + ".";
  return {std::move(decision), ""};
}

std::vector<Fresh> followed_leads(schema::Store& store, schema::Crm& crm, const RematchRules& rules,
                                  const std::vector<Known>& known) {
  std::vector<std::string> ids;
  for (const Known& one : known) ids.push_back(one.mirror->decision.lead_id);
  const std::vector<schema::ConvertedLead> leads = crm.converted_leads(ids);
  std::map<std::string, const schema::ConvertedLead*> by_id;
  for (const schema::ConvertedLead& lead : leads) by_id[lead.lead_id] = &lead;
  std::vector<Fresh> fresh;
  std::vector<MatchDecision> decisions;
  std::vector<Known> moved;
  for (const Known& one : known) {
    const auto lead = by_id.find(one.mirror->decision.lead_id);
    fresh.push_back(followed(lead == by_id.end() ? nullptr : lead->second));
    if (!fresh.back().decision) continue;
    decisions.push_back(*fresh.back().decision);
    moved.push_back(one);
  }
  if (moved.empty()) return fresh;
  add_opportunities(crm, rules.match_fields, decisions);
  Origins origins = standing_origins(store, crm, moved);
  std::vector<GivenLinks> given;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const auto origin = origins.find(moved[i].gift->request.id);
    if (origin == origins.end()) continue;
    origin->second.lead_id.clear();  // it is the contact now
    given.push_back({&decisions[i], &origin->second});
  }
  apply_given_links(crm, rules.match_fields, given);
  auto next = decisions.begin();
  for (Fresh& one : fresh) {
    if (one.decision) one.decision = std::move(*next++);
  }
  return fresh;
}

/// What a record holds of what matching decides.
struct Held {
  Associations links;
  Associations standing;  ///< without what leads to rows that are gone
  std::string stage;      ///< Deal Stage
};

/// One chunk: looked at, written to the CRM, then to the store.
class Chunk {
 public:
  Chunk(schema::Store& store, schema::Crm& crm, const RematchRules& rules,
        const std::vector<GiftMirror>& mirrors, schema::UtcMillis now)
      : store_(store), crm_(crm), rules_(rules), mirrors_(mirrors), now_(now) {}

  std::vector<Rematch> run() {
    load();
    for (std::size_t i = 0; i < mirrors_.size(); ++i) judge(i);
    if (rules_.dry_run) return std::move(results_);
    relink();
    keep_decisions();
    return std::move(results_);
  }

 private:
  Associations links_of(const MatchDecision& decision) const { return links_shown(crm_, decision); }
  /// Likewise what a record of this CRM can show.
  std::string stage_of(const MatchDecision& decision) const {
    return crm_.has_field(GiftField::deal_stage) ? decision.deal_stage : "";
  }

  void load() {
    std::vector<TransactionId> ids;
    for (const GiftMirror& mirror : mirrors_) {
      ids.push_back(mirror.transaction);
      Rematch& result = results_.emplace_back();
      result.transaction = mirror.transaction;
      result.from = links_of(mirror.decision);
      result.stage_from = stage_of(mirror.decision);
    }
    load_links(ids);
    const std::vector<schema::Gift> gifts = store_.gifts.gifts(ids);
    std::vector<Known> known;
    for (const schema::Gift& gift : gifts) {
      const auto mirror = std::find_if(mirrors_.begin(), mirrors_.end(), [&](const GiftMirror& one) {
        return one.transaction == gift.transaction.id;
      });
      known.push_back({&gift, &*mirror});
      if (!gift.transaction.origin.empty()) sent_elsewhere_.insert(gift.transaction.id);
    }
    std::vector<Fresh> fresh = rules_.follow_leads ? followed_leads(store_, crm_, rules_, known)
                                                   : decided_anew(store_, crm_, rules_, known);
    for (std::size_t i = 0; i < gifts.size(); ++i) fresh_[gifts[i].transaction.id] = std::move(fresh[i]);
  }

  void load_links(const std::vector<TransactionId>& ids) {
    const std::vector<schema::GiftRecord> records = crm_.find_gift_records(ids);
    std::vector<Associations> links;
    for (const schema::GiftRecord& record : records) links.push_back(associations_of(record));
    const std::vector<std::vector<GiftField>> lost = crm_.lost_lookups(links);
    for (std::size_t i = 0; i < records.size(); ++i) {
      Held& held = held_[records[i].transaction()];
      held.links = held.standing = links[i];
      if (const auto* stage = std::get_if<std::string>(&records[i].get(GiftField::deal_stage)))
        held.stage = *stage;
      for (const GiftField lookup : lost[i]) clear(held.standing, lookup);
    }
  }

  void judge(std::size_t i) {
    const GiftMirror& mirror = mirrors_[i];
    Rematch& result = results_[i];
    const auto held = held_.find(mirror.transaction);
    if (held != held_.end()) {
      result.from = held->second.links;
      result.stage_from = held->second.stage;
    }
    result.to = result.from;
    result.stage_to = result.stage_from;
    if (mirror.state == MirrorState::gone || (held == held_.end() && mirror.was_written())) {
      result.kind = Kind::gone;
      result.note = "its record was deleted in the CRM";
      return;
    }
    if (held != held_.end() && !mirror.was_written() && !sent_elsewhere_.contains(mirror.transaction)) {
      result.kind = Kind::kept;
      result.note =
          "the CRM has a record of this Transaction Id, and giftsync does not know that it wrote it";
      return;
    }
    Fresh& fresh = fresh_[mirror.transaction];
    if (!fresh.decision) {
      result.kind = fresh.note.empty() ? Kind::unchanged : Kind::kept;
      result.note = fresh.note;
      return;
    }
    set_stage(mirror.decision, *fresh.decision);
    result.to = links_of(*fresh.decision);
    result.reason = fresh.decision->reason;
    if (held == held_.end())
      judge_without_record(i);
    else
      judge_record(i, held->second);
  }

  /// Deal Stage is the stamp of one opportunity at one sending: with another opportunity, or none, it goes,
  /// and only a sending stamps it anew.
  void set_stage(const MatchDecision& before, MatchDecision& next) const {
    const auto most = static_cast<std::size_t>(schema::field_of(GiftField::deal_stage).length);
    if (next.opportunity_id == before.opportunity_id)
      next.deal_stage = before.deal_stage;
    else if (rules_.is_sending)
      next.deal_stage.resize(schema::truncated(next.deal_stage, most).size());
    else
      next.deal_stage.clear();
  }

  /// Whether the record's Deal Stage is what giftsync wrote and is to be another one.
  bool moves_stage(std::size_t i, const Held& record) {
    const GiftMirror& before = mirrors_[i];
    return record.stage == before.decision.deal_stage &&
           record.stage != fresh_[before.transaction].decision->deal_stage;
  }

  void judge_without_record(std::size_t i) {
    const bool skip = rules_.skip_unmatched && !is_matched(results_[i].to);
    const bool was_skipped = mirrors_[i].state == MirrorState::skipped;
    if (was_skipped ? skip : results_[i].to == results_[i].from) return;
    results_[i].kind = Kind::to_make;
    plan(i, skip ? MirrorState::skipped : MirrorState::decided);
  }

  void judge_record(std::size_t i, const Held& record) {
    const GiftMirror& mirror = mirrors_[i];
    const Associations& held = record.links;
    const Associations& standing = record.standing;
    Rematch& result = results_[i];
    const Associations written = links_of(mirror.decision);
    if (result.to == held) {
      // The record is right already; a rematch that was killed half-way, or somebody by hand, did it. A gift
      // that an admin named is told of as it was decided now: its address may be another.
      const bool has_others_stage = moves_stage(i, record);
      if (has_others_stage) result.kind = Kind::relinked;
      if (has_others_stage || held != written || mirror.needs_rematch ||
          (rules_.over_corrections && is_news(mirror, result.reason)))
        plan(i, mirror.state);
      return;
    }
    const bool has_lost = standing != held;
    // A correction made by hand that leads nowhere any more is none.
    const bool is_corrected = held != written && (!has_lost || is_matched(standing));
    const bool is_left_alone = !is_matched(result.to) && takes_away(held, result.to);
    if (has_lost && (is_corrected || is_left_alone) && !rules_.over_corrections) {
      keep_standing(i, standing);
      return;
    }
    if (is_corrected && !rules_.over_corrections) {
      result.kind = Kind::kept;
      result.note = "linked by hand to " + in_words(held) + " (giftsync wrote " + in_words(written) +
                    "); --gift " + std::to_string(mirror.transaction.value) + " overwrites it";
      if (mirror.needs_rematch) let_go(i);
      return;
    }
    if (is_left_alone && !rules_.over_corrections) {
      result.kind = Kind::kept;
      result.note = "nobody matches now; its links stay";
      return;
    }
    result.kind = Kind::relinked;
    if (held != written)
      result.note =
          "overwrites a link made by hand: " + in_words(held) + " (giftsync wrote " + in_words(written) + ")";
    plan(i, mirror.state);
  }

  /// What leads to a row that is gone is taken out of the record, and nothing else of it.
  void keep_standing(std::size_t i, const Associations& standing) {
    Rematch& result = results_[i];
    MatchDecision& decision = *fresh_[result.transaction].decision;
    set_links(decision, standing);
    set_stage(mirrors_[i].decision, decision);
    decision.reason = "Lookups that lead nowhere any more were emptied, the others stay.";
    result.to = standing;
    result.reason = decision.reason;
    result.kind = Kind::relinked;
    plan(i, mirrors_[i].state);
  }

  static bool is_news(const GiftMirror& mirror, const std::string& reason) {
    return mirror.decision.reason.find(reason) == std::string::npos;
  }

  /// The decision that will stand when all goes well.
  void plan(std::size_t i, MirrorState state) {
    const GiftMirror& before = mirrors_[i];
    const MatchDecision& fresh = *fresh_[before.transaction].decision;
    Rematch& result = results_[i];
    if (result.kind == Kind::to_make ||
        (result.kind == Kind::relinked && moves_stage(i, held_.at(before.transaction))))
      result.stage_to = stage_of(fresh);
    schema::Redecision planned{before, before.decided_at, result.kind == Kind::to_make};
    GiftMirror& mirror = planned.mirror;
    mirror.state = state;
    mirror.decided_at = std::max(now_, before.decided_at + 1);
    mirror.needs_rematch = false;
    set_links(mirror.decision, associations_of(fresh));
    mirror.decision.deal_stage = fresh.deal_stage;
    mirror.decision.reason = "Decided anew on " + schema::to_rfc3339(now_) + " by an admin's command. " +
                             fresh.reason + " Before: " + in_words(result.from) + ".";
    if (fresh.opportunity_id != before.decision.opportunity_id)
      warn_of_deal_stage(mirror.decision, what_becomes_of_stage(before, fresh));
    if (before.state == MirrorState::skipped && rules_.tasks_enabled) mirror.task = schema::TaskState::wanted;
    planned_.emplace_back(i, std::move(planned));
  }

  /// In words, of a gift whose opportunity is another one now; empty where there is nothing to be told.
  std::string what_becomes_of_stage(const GiftMirror& before, const MatchDecision& next) const {
    const std::string& was = before.decision.deal_stage;
    const auto held = held_.find(before.transaction);
    if (held != held_.end() && crm_.has_field(GiftField::deal_stage) && held->second.stage != was &&
        held->second.stage != next.deal_stage)
      return "Deal Stage stays as somebody in the CRM wrote it.";
    if (rules_.is_sending) return "";
    if (!was.empty())
      return "Deal Stage was emptied: \"" + was +
             "\" was the stage of another opportunity, and a rematch never fills it.";
    return next.opportunity_id.empty() ? "" : "Deal Stage stays empty: a rematch never fills it.";
  }

  /// Somebody put right by hand what the CRM had refused: the gift waits for no rematch any more.
  void let_go(std::size_t i) {
    const GiftMirror& before = mirrors_[i];
    schema::Redecision planned{before, before.decided_at, false};
    planned.mirror.decided_at = std::max(now_, before.decided_at + 1);
    planned.mirror.needs_rematch = false;
    settled_by_hand_.push_back(std::move(planned));
  }

  void relink() {
    std::vector<schema::GiftRelink> rows;
    std::vector<std::size_t> row_plans;
    for (std::size_t p = 0; p < planned_.size(); ++p) {
      const Rematch& result = results_[planned_[p].first];
      if (result.kind != Kind::relinked) continue;
      schema::GiftRelink& row = rows.emplace_back();
      row = {result.transaction, result.from, result.to};
      if (const Held& record = held_.at(result.transaction); moves_stage(planned_[p].first, record)) {
        row.stage_from = record.stage;
        row.stage_to = planned_[p].second.mirror.decision.deal_stage;
      }
      row_plans.push_back(p);
    }
    if (rows.empty()) return;
    const std::vector<RowResult> answers = crm_.relink_gift_records(rows);
    for (std::size_t i = 0; i < answers.size(); ++i) settle(planned_[row_plans[i]], answers[i]);
  }

  void settle(std::pair<std::size_t, schema::Redecision>& plan, const RowResult& answer) {
    Rematch& result = results_[plan.first];
    switch (answer.kind) {
      case RowResult::Kind::created:
      case RowResult::Kind::updated:
        break;
      case RowResult::Kind::unchanged:
        result.kind = Kind::kept;
        result.note = "somebody linked it by hand just now";
        return;
      case RowResult::Kind::gone:
        result.kind = Kind::gone;
        result.note = answer.reason;
        return;
      case RowResult::Kind::retry:
      case RowResult::Kind::rejected:
        result.kind = Kind::failed;
        result.note = answer.reason;
        return;
    }
    MatchDecision& decision = plan.second.mirror.decision;
    Associations links = associations_of(decision);
    for (const GiftField field : answer.cleared) {
      plan.second.mirror.needs_rematch = true;
      result.note += std::string(result.note.empty() ? "" : "; ") +
                     std::string(schema::field_of(field).label) + " vanished from the CRM and stays empty";
      clear(links, field);
      if (field != GiftField::opportunity) continue;
      decision.deal_stage.clear();
      if (result.stage_to != result.stage_from) result.stage_to.clear();
    }
    set_links(decision, links);
    result.to = links_of(decision);
  }

  void keep_decisions() {
    std::vector<schema::Redecision> decisions = settled_by_hand_;
    for (const auto& [i, planned] : planned_) {
      const Kind kind = results_[i].kind;
      if (kind == Kind::unchanged || kind == Kind::relinked || kind == Kind::to_make)
        decisions.push_back(planned);
    }
    const std::vector<TransactionId> kept = store_.sync.redecide(decisions, now_);
    for (const schema::Redecision& one : decisions) {
      if (std::find(kept.begin(), kept.end(), one.mirror.transaction) != kept.end()) continue;
      Rematch& result = *std::find_if(results_.begin(), results_.end(), [&](const Rematch& r) {
        return r.transaction == one.mirror.transaction;
      });
      result.kind = Kind::failed;
      result.note = "it is being synced just now; run the command again";
    }
  }

  schema::Store& store_;
  schema::Crm& crm_;
  const RematchRules& rules_;
  const std::vector<GiftMirror>& mirrors_;
  const schema::UtcMillis now_;
  std::map<TransactionId, Held> held_;
  std::set<TransactionId> sent_elsewhere_;
  std::map<TransactionId, Fresh> fresh_;
  std::vector<Rematch> results_;
  std::vector<std::pair<std::size_t, schema::Redecision>> planned_;  ///< with the place of their result
  std::vector<schema::Redecision> settled_by_hand_;
};

}  // namespace

schema::Associations links_shown(const schema::Crm& crm, const MatchDecision& decision) {
  Associations links = associations_of(decision);
  if (!crm.has_field(GiftField::recipient_contact)) links.contact_id.clear();
  if (!crm.has_field(GiftField::account)) links.account_id.clear();
  if (!crm.has_field(GiftField::recipient_lead)) links.lead_id.clear();
  if (!crm.has_field(GiftField::opportunity)) links.opportunity_id.clear();
  return links;
}

std::string in_words(const schema::Associations& links) {
  std::string text = !links.contact_id.empty() ? "contact " + links.contact_id
                     : !links.lead_id.empty()  ? "lead " + links.lead_id
                                               : "nobody";
  if (!links.account_id.empty()) text += ", account " + links.account_id;
  if (!links.opportunity_id.empty()) text += ", opportunity " + links.opportunity_id;
  return text;
}

std::string_view to_word(Rematch::Kind kind) {
  switch (kind) {
    case Kind::unchanged:
      return "unchanged";
    case Kind::relinked:
      return "relinked";
    case Kind::to_make:
      return "made";
    case Kind::kept:
      return "kept";
    case Kind::failed:
      return "failed";
    case Kind::gone:
      return "gone";
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::vector<Rematch> rematch(schema::Store& store, schema::Crm& crm, const RematchRules& rules,
                             const std::vector<GiftMirror>& mirrors, schema::UtcMillis now) {
  if (mirrors.empty()) return {};
  return Chunk(store, crm, rules, mirrors, now).run();
}

}  // namespace giftsync::sync
