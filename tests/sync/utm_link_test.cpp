#include <gtest/gtest.h>

#include "sync/gift/gift_links.h"

namespace giftsync::sync {
namespace {

struct LinkCase {
  const char* url;
  const char* campaign;
  const char* linked;
};

// HTTP-9
TEST(UtmLink, GoesIntoTheQueryAndChangesNothingElse) {
  const LinkCase links[] = {
      {"https://a.example", "x", "https://a.example?utm_campaign_id=x"},
      {"https://a.example/p?q=1", "x", "https://a.example/p?q=1&utm_campaign_id=x"},
      {"https://a.example/p?", "x", "https://a.example/p?utm_campaign_id=x"},
      {"https://a.example/p?q=1&", "x", "https://a.example/p?q=1&utm_campaign_id=x"},
      {"https://a.example/p#top?no", "x", "https://a.example/p?utm_campaign_id=x#top?no"},
      {"HTTP://a.example/?q#f", "x", "HTTP://a.example/?q&utm_campaign_id=x#f"},
      {"https://a.example/", "spring & \"50%\" #1/é",
       "https://a.example/?utm_campaign_id=spring%20%26%20%2250%25%22%20%231%2F%C3%A9"},
      {"https://a.example/?utm_campaign_id=theirs", "x", "https://a.example/?utm_campaign_id=theirs"},
      {"https://a.example/?xutm_campaign_id=theirs", "x",
       "https://a.example/?xutm_campaign_id=theirs&utm_campaign_id=x"},
      {"https://a.example/", "", "https://a.example/"},
      {"mailto:a@example.com", "x", "mailto:a@example.com"},
      {"", "x", ""},
  };
  for (const LinkCase& link : links) EXPECT_EQ(add_utm_campaign(link.url, link.campaign), link.linked);
}

}  // namespace
}  // namespace giftsync::sync
