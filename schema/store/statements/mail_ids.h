// schema/store: which rows of the mail outbox are mails of gifts, whose id is the gift's, and which are
// others.
#pragma once

#include <cstdint>

#include "schema/ids.h"

namespace giftsync::store {

/// The transaction ids of senders' mails are below the negative of this, those of approvers' mails above.
inline constexpr std::int64_t kSenderMailIds = 1'000'000'000'000'000;
/// Those of test gifts (TEST-2) are below these.
inline constexpr std::int64_t kTestMailIds = 2'000'000'000'000'000;
/// Those of mails with a sign-in link (SIGN-15) are below these.
inline constexpr std::int64_t kSignInMailIds = 3'000'000'000'000'000;
constexpr bool is_sign_in_mail(TransactionId mail) {
  return mail.value < -kSignInMailIds;
}
constexpr bool is_test_mail(TransactionId mail) {
  return mail.value < -kTestMailIds && !is_sign_in_mail(mail);
}
constexpr bool is_mail_to_sender(TransactionId mail) {
  return mail.value < -kSenderMailIds && mail.value >= -kTestMailIds;
}
/// The mail of that test gift, and back.
constexpr TransactionId test_mail_of(TransactionId gift) {
  return {-kTestMailIds - gift.value};
}
constexpr TransactionId test_gift_of(TransactionId mail) {
  return test_mail_of(mail);
}
/// The user to whom that mail with a sign-in link goes.
constexpr UserId sign_in_user_of(TransactionId mail) {
  return {-kSignInMailIds - mail.value};
}

}  // namespace giftsync::store
