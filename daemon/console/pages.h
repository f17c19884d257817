// daemon/console: the pages that the table of routes names. Each takes a request that is signed in, has the
// route's permission and, if it posts, the form's token. Any thread.
#pragma once

#include "daemon/console/page_call.h"

namespace giftsync::console {

http::HttpResponse overview_page(const PageCall& call);
/// The list; with format=csv all of its rows as CSV (CON-17, CON-18).
http::HttpResponse gifts_page(const PageCall& call);
/// What became of the gifts of a period; with format=csv its rows as CSV (CON-74).
http::HttpResponse reports_page(const PageCall& call);
http::HttpResponse gift_page(const PageCall& call);
http::HttpResponse audit_page(const PageCall& call);
http::HttpResponse users_page(const PageCall& call);
http::HttpResponse end_sessions(const PageCall& call);

/// API keys (CON-66).
http::HttpResponse keys_page(const PageCall& call);
http::HttpResponse pause_key(const PageCall& call);
http::HttpResponse release_key(const PageCall& call);
http::HttpResponse revoke_key(const PageCall& call);
/// Where events are posted: a list, one endpoint, one attempt, and what an admin does (CON-71).
http::HttpResponse webhooks_page(const PageCall& call);
http::HttpResponse create_webhook(const PageCall& call);
http::HttpResponse webhook_page(const PageCall& call);
http::HttpResponse webhook_attempt_page(const PageCall& call);
http::HttpResponse update_webhook(const PageCall& call);
http::HttpResponse rotate_webhook(const PageCall& call);
http::HttpResponse test_webhook(const PageCall& call);
http::HttpResponse retry_webhook(const PageCall& call);
http::HttpResponse replay_webhook(const PageCall& call);
http::HttpResponse enable_webhook(const PageCall& call);
http::HttpResponse disable_webhook(const PageCall& call);
http::HttpResponse delete_webhook(const PageCall& call);
/// Budgets, and what is paused (CON-67).
http::HttpResponse sending_page(const PageCall& call);
http::HttpResponse release_token(const PageCall& call);
http::HttpResponse pause_mail(const PageCall& call);
http::HttpResponse resume_mail(const PageCall& call);

/// Request records: a list, one of them, and the approver's decision (CON-28 to CON-30).
http::HttpResponse requests_page(const PageCall& call);
http::HttpResponse request_page(const PageCall& call);
http::HttpResponse approve_request(const PageCall& call);
http::HttpResponse reject_request(const PageCall& call);
http::HttpResponse mail_page(const PageCall& call);
http::HttpResponse retry_mails(const PageCall& call);
http::HttpResponse release_mail(const PageCall& call);
http::HttpResponse withdraw_mail(const PageCall& call);
http::HttpResponse retry_mail(const PageCall& call);
http::HttpResponse sources_page(const PageCall& call);
http::HttpResponse source_page(const PageCall& call);
http::HttpResponse release_events(const PageCall& call);
http::HttpResponse purge_events(const PageCall& call);
/// Who gets no gifts (CON-65).
http::HttpResponse do_not_send_page(const PageCall& call);
http::HttpResponse add_do_not_send(const PageCall& call);
http::HttpResponse remove_do_not_send(const PageCall& call);
/// Gift requests that wait for approval: a list, one of them, and the decision (GUARD-29).
http::HttpResponse held_page(const PageCall& call);
http::HttpResponse held_request_page(const PageCall& call);
http::HttpResponse approve_held_request(const PageCall& call);
http::HttpResponse reject_held_request(const PageCall& call);
http::HttpResponse connections_page(const PageCall& call);
http::HttpResponse settings_page(const PageCall& call);
/// Cancels the gifts of a filter (CON-68).
http::HttpResponse cancel_page(const PageCall& call);
http::HttpResponse run_cancel(const PageCall& call);
/// What is kept of a recipient, and its erasure (CON-69).
http::HttpResponse person_page(const PageCall& call);
http::HttpResponse show_person(const PageCall& call);
http::HttpResponse download_person(const PageCall& call);
http::HttpResponse erase_person(const PageCall& call);
// Posts of a gift's page.
http::HttpResponse resend_gift(const PageCall& call);
http::HttpResponse cancel_gift(const PageCall& call);
http::HttpResponse retry_gift(const PageCall& call);
http::HttpResponse rematch_gift(const PageCall& call);
/// The stored decision beside today's answer, as a preview of a rematch. These two and match_page are read by
/// POST where calls of the CRM are paid.
http::HttpResponse gift_match_page(const PageCall& call);
/// The record in the CRM beside the one that giftsync would write.
http::HttpResponse gift_record_page(const PageCall& call);
http::HttpResponse match_page(const PageCall& call);
http::HttpResponse crm_page(const PageCall& call);
/// Posts of the CRM's page: a class of failures.
http::HttpResponse retry_failures(const PageCall& call);

}  // namespace giftsync::console
