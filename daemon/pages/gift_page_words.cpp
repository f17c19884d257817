#include "daemon/pages/gift_page_words.h"

#include <cstdlib>

namespace giftsync::daemon {
namespace {

constexpr std::string_view kToYou = "sent you a gift";

GiftPageWords undecided(GiftPageKind kind) {
  if (kind == GiftPageKind::donate) {
    return {kToYou, "You can give its value to charity",
            "Donating is not possible on this page yet. Nothing has been decided and nothing is lost: please "
            "keep this link; "
            "it will let you donate as soon as that is possible here.",
            "Look at the gift itself instead"};
  }
  return {kToYou, "Your gift is waiting for you",
          "Accepting it is not possible on this page yet. You need not do anything now and nothing is lost: "
          "please keep this "
          "link; it will let you accept your gift as soon as that is possible here.",
          "Give its value to charity instead"};
}

GiftPageWords decided_or_over(schema::Status status) {
  switch (status) {
    case schema::Status::redeemed:
      return {kToYou, "This gift has been accepted", "There is nothing more to do. Enjoy it!", {}};
    case schema::Status::donated:
      return {kToYou, "This gift has been donated", "Its value goes to charity. Thank you!", {}};
    case schema::Status::expired:
      return {kToYou,
              "This gift has expired",
              "The time for accepting it is over. The person who sent it can tell you more.",
              {}};
    default:
      return {kToYou,
              "This gift was taken back",
              "It can no longer be accepted. The person who sent it can tell you more.",
              {}};
  }
}

}  // namespace

GiftPageWords words_for(GiftPageKind kind, schema::Status status) {
  if (kind == GiftPageKind::view) {
    return {"sent a gift",
            "This page only shows how the gift stands",
            "It is meant for the sender's colleagues. Accepting and donating are up to the recipient, who "
            "has links of their "
            "own.",
            {}};
  }
  switch (status) {
    case schema::Status::sent:
    case schema::Status::delivered:
    case schema::Status::undelivered:
    case schema::Status::opened:
      return undecided(kind);
    case schema::Status::redeemed:
    case schema::Status::donated:
    case schema::Status::expired:
    case schema::Status::refunded:
      return decided_or_over(status);
  }
  std::abort();  // a value outside its enumeration: a bug
}

}  // namespace giftsync::daemon
