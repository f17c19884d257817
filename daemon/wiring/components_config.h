// wiring: the configuration of the daemon's components, from the settings. Main thread, at the start.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "daemon/config/settings.h"
#include "daemon/mail/gift_mail.h"
#include "schema/store/store.h"
#include "sync/crm/crm_roles.h"
#include "sync/crm/sync_step.h"
#include "sync/gift/gift_links.h"
#include "sync/gift/lifecycle.h"
#include "sync/mail/delivery_step.h"
#include "sync/request/request_record_step.h"

namespace giftsync::wiring {

/// One for each connection that is used at once.
std::vector<std::unique_ptr<sync::MailTransport>> make_transports(const config::EmailSettings& email);
/// "FILE: ...": SMTP options that do not fit together, such as a password without TLS to another host;
/// nothing would be sent with them.
std::optional<std::string> relay_fault(const config::Settings& settings);

/// Both keep references to `links`, the delivery rules also to `settings`. The caller sets the lease owner.
/// `installation_id` distinguishes this store's mails from others'.
sync::DeliveryRules delivery_rules(const config::Settings& settings, const std::string& installation_id,
                                   const sync::GiftLinks& links);
/// The gift's mail as the settings compose it now.
mail::ReadableMail readable_mail(const config::Settings& settings, const sync::GiftLinks& links,
                                 const store::Gift& gift, const sync::MailIdentity& identity);
/// Changes with every setting that a mail's way depends on, and reveals none of them (MAIL-25).
std::string relay_fingerprint(const config::EmailSettings& email, const sync::LinkSigner& signer);
sync::SyncRules sync_rules_with_links(const config::Settings& settings, const sync::GiftLinks& links);

/// The terms that gifts mailed by giftsync are stamped with.
sync::LifecycleTerms lifecycle_terms(const config::LifecycleSettings& settings);

/// Whose approvers get mails about request records that wait (CON-31).
sync::ApproverNoticeRules approver_notice_rules(const config::Settings& settings, store::Store& store);
/// The rules for validating and sending the CRM's request records (REQ-36). The result keeps references to
/// all arguments.
sync::RequestRecordRules request_record_rules(const config::Settings& settings, store::Store& store,
                                              crm::Crm& crm);

/// The permission sets that give roles of the console (SIGN-10).
sync::CrmRoleRules crm_role_rules(const config::ConsoleSettings& settings);

}  // namespace giftsync::wiring
