// daemon/console: what pages ask the CRM. Where its calls are paid a page asks after the press of a button
// only, while there are calls to spare, and shows what it costs (CON-24). Any thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "daemon/console/page_call.h"
#include "matching/rematch.h"

namespace giftsync::console {

/// Whether the page asks: always where calls cost nothing, else only as the response to a post.
bool asks_crm(const PageCall& call);
/// Asks; returns why it could not, as a sentence; empty when it could. Of a CRM that is not in
/// the store two pages ask at a time, others learn that at once, and a question ends after 3 s, after 10 s
/// where calls are paid (CON-24, ORG-16).
std::string ask_crm(const PageCall& call, const std::function<void(crm::Crm&)>& ask);
/// The same for what may write: a call of it is not broken off.
std::string change_crm(const PageCall& call, const std::function<void(crm::Crm&)>& change);
/// The fields of the query, or of the form that was posted.
const std::map<std::string, std::string>& parameters_of(const PageCall& call);

/// Calls of a remote CRM: of an explanation and the dry run of a rematch, and of those with the rematch
/// itself.
inline constexpr int kMostPreviewCalls = 12;
inline constexpr int kMostRematchCalls = 16;
/// "Costs up to 12 calls of the CRM."; empty where calls cost nothing.
std::string cost_text(const PageCall& call, int most_calls);

/// Sets `ask` {url, token, cost}: the form that posts to `path`, such as "/match", to ask the CRM. Sets
/// nothing where calls cost nothing.
void set_ask(const PageCall& call, const std::string& path, int most_calls, Data& data);
/// Sets `away`, unless empty, and `calls_left` after paid calls.
void set_outcome(const PageCall& call, const std::string& away, Data& data);

/// The settings' rules, for one gift that the user has named.
matching::RematchRules rematch_rules(const PageCall& call);

}  // namespace giftsync::console
