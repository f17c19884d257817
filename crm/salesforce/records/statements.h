// crm/salesforce: the SOQL of each query to the org. A query for many values is one statement or
// more, each with the part of the values that it asks for. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crm/directory.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/soql.h"
#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/request_record.h"

namespace giftsync::salesforce {

/// Values of one statement whose rows should fit into one page.
inline constexpr std::size_t kPageRows = 2000;

// The directory. E-mail keys are asked in both spellings of an international domain. Rows come in the order
// of the settings, nulls last, then by Id.

std::vector<Statement> persons_by_email(const ApiNames& names, crm::PersonObject object,
                                        const crm::PersonMatchFields& fields,
                                        std::span<const std::string> email_keys);
/// `spellings` of each phone number, as an org may hold it.
std::vector<Statement> persons_by_phone(const ApiNames& names, crm::PersonObject object,
                                        const crm::PersonMatchFields& fields,
                                        std::span<const std::vector<std::string>> spellings);
/// Open opportunities of the contacts with these addresses: it needs no Id, so it fits into the call of the
/// contacts.
std::vector<Statement> roles_by_email(const ApiNames& names, const std::vector<std::string>& email_fields,
                                      const crm::OrderBy& order, std::span<const std::string> email_keys);
std::vector<Statement> roles_by_contact(const ApiNames& names, const crm::OrderBy& order,
                                        std::span<const std::string> contact_ids);
std::vector<Statement> users_by_email(const ApiNames& names, std::span<const std::string> email_keys);
std::vector<Statement> users_by_id(const ApiNames& names, std::span<const std::string> ids);
std::vector<Statement> accounts_of_contacts(const ApiNames& names, std::span<const std::string> contact_ids);
std::vector<Statement> owners_of_accounts(const ApiNames& names, std::span<const std::string> account_ids);
std::vector<Statement> converted_leads(const ApiNames& names, std::span<const std::string> lead_ids);
std::vector<Statement> persons_by_id(const ApiNames& names, crm::PersonObject object,
                                     std::span<const std::string> ids);
std::vector<Statement> opportunities_by_id(const ApiNames& names, std::span<const std::string> ids);
std::vector<Statement> permission_set_assignments(std::span<const std::string> user_ids);
/// Selects those of active users.
std::vector<Statement> permission_set_assignments_by_email(const ApiNames& names,
                                                           std::span<const std::string> email_keys);
/// The permission sets inside of permission set groups.
std::vector<Statement> permission_set_group_parts(std::span<const std::string> group_ids);
/// For queryAll: whether a lookup's target was deleted or merged. Users cannot be deleted: only their Ids.
std::vector<Statement> lookup_targets(const ApiNames& names, std::string_view object,
                                      std::span<const std::string> ids);

// Gift records and tasks.

std::vector<Statement> gifts_by_transaction(const ApiNames& names,
                                            std::span<const TransactionId> transactions);
/// Only Id, version, address, sent time: what decides about a record that is there already.
std::vector<Statement> gift_keys_by_transaction(const ApiNames& names,
                                                std::span<const TransactionId> transactions);
/// With LastModifiedDate.
std::vector<Statement> gift_times_by_transaction(const ApiNames& names,
                                                 std::span<const TransactionId> transactions);
/// What a relink compares, with LastModifiedDate.
std::vector<Statement> gift_links_by_transaction(const ApiNames& names,
                                                 std::span<const TransactionId> transactions);
std::string gift_page(const ApiNames& names, TransactionId after, std::size_t limit);
std::string gift_page_in_status(const ApiNames& names, Status status, TransactionId after, std::size_t limit);
std::string transactions_between(const ApiNames& names, TransactionId from, TransactionId below,
                                 std::size_t limit);
std::string transactions_below(const ApiNames& names, TransactionId below, std::size_t limit);
/// Nullopt: no gift record can have that address or contact.
std::optional<std::string> transactions_by_email(const ApiNames& names, const std::string& email_key);
std::optional<std::string> transactions_by_contact(const ApiNames& names, const std::string& contact_id);
/// For queryAll: tasks older than a year are archived.
std::string task_page(const ApiNames& names, TransactionId after, std::size_t limit);
std::vector<Statement> tasks_by_transaction(const ApiNames& names,
                                            std::span<const TransactionId> transactions);

// Request records.

std::vector<Statement> requests_by_id(const ApiNames& names, std::span<const std::string> ids);
std::vector<Statement> requests_by_key(const ApiNames& names, std::span<const std::string> creation_keys);
/// Nullopt for a number that no record can have.
std::optional<std::string> request_by_number(const ApiNames& names, const std::string& number);
std::optional<std::string> request_page(const ApiNames& names, const std::string& after,
                                        std::optional<RequestRecordStatus> status, std::size_t limit);
/// Those that wait for approval or sending: Ids and stamps.
std::string open_requests(const ApiNames& names);
/// For queryAll: what was written or deleted since then, by time and Id.
std::string changed_requests(const ApiNames& names, UtcMillis since);

}  // namespace giftsync::salesforce
