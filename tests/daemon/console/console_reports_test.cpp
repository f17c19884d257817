// Numbers and charts of the console: what charts are drawn of, the overview's numbers, and reports as a page
// and as CSV.
#include <gmock/gmock.h>

#include "daemon/console/charts.h"
#include "sync/crm/gift_folds.h"
#include "tests/daemon/console/console_fixture.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kMarkup = "<script>alert(1)</script>\" onload=\"x";

std::string text_in(const Data& data, const std::string& name) {
  const Data* const found = data.get(name);
  return found == nullptr ? std::string() : found->string_value();
}
std::vector<std::string> texts_in(const Data& data, const std::string& list, const std::string& name) {
  std::vector<std::string> found;
  for (const Data& one : data.get(list)->list_value()) found.push_back(text_in(one, name));
  return found;
}
GiftNumbers numbers_with(std::int64_t sent, std::int64_t opened, std::int64_t redeemed,
                         std::int64_t donated) {
  GiftNumbers numbers;
  numbers[Measure::sent] = sent;
  numbers[Measure::opened] = opened;
  numbers[Measure::redeemed] = redeemed;
  numbers[Measure::donated] = donated;
  return numbers;
}

// covers: CON-72
TEST(ChartsTest, AGridHasRoundStepsFromZeroOverTheGreatestValue) {
  struct Expected {
    std::int64_t greatest;
    std::uint64_t step;
    std::uint64_t steps;
  };
  for (const auto& [greatest, step, steps] : {Expected{0, 5, 4},
                                              {1, 1, 2},
                                              {3, 1, 3},
                                              {5, 2, 3},
                                              {20, 5, 4},
                                              {21, 8, 3},
                                              {312, 80, 4},
                                              {1'618, 500, 4},
                                              {40'001, 20'000, 3}}) {
    EXPECT_EQ(grid_of(greatest).step, step) << greatest;
    EXPECT_EQ(grid_of(greatest).steps, steps) << greatest;
  }
  for (const std::int64_t greatest : {std::int64_t{999'999'999'999}, INT64_MAX}) {
    const Grid grid = grid_of(greatest);
    EXPECT_GE(grid.top(), static_cast<std::uint64_t>(greatest));
    EXPECT_THAT(grid.steps, AllOf(testing::Ge(2u), testing::Le(4u)));
  }
}

// covers: CON-72
TEST(ChartsTest, NumbersAreShortAndGrouped) {
  EXPECT_EQ(grouped(std::int64_t{0}), "0");
  EXPECT_EQ(grouped(std::int64_t{999}), "999");
  EXPECT_EQ(grouped(std::int64_t{-1'618}), "-1,618");
  EXPECT_EQ(grouped(std::int64_t{1'000'000}), "1,000,000");
  EXPECT_EQ(grouped(Money{6'194'000}), "61,940.00");
  EXPECT_EQ(grouped(Money{-5}), "-0.05");
  EXPECT_EQ(short_number(9'000), "9,000");
  EXPECT_EQ(short_number(40'000), "40k");
  EXPECT_EQ(short_number(1'200'000), "1.2M");
  EXPECT_EQ(short_number(8'000'000'000), "8bn");
  EXPECT_EQ(share_text(1, 3), "33.3 %");
  EXPECT_EQ(share_text(1, 0), "");
  EXPECT_EQ(length_of(1, 0), "0%");
  EXPECT_EQ(length_of(5, 3), "100.0%");
  EXPECT_EQ(span_text(45), "45 s");
  EXPECT_EQ(span_text(59 * 60), "59 min");
  EXPECT_EQ(span_text(5 * 3'600 + 10 * 60), "5 h 10 min");
  EXPECT_EQ(span_text(2 * 86'400), "2 d");
  EXPECT_EQ(day_label(20'778, 20'778), "21 Nov");
  EXPECT_EQ(day_label(20'778, 20'878), "21 Nov 2026");
}

// covers: CON-72
TEST(ChartsTest, ColumnsAndLinesLieInTheStretchedDrawing) {
  using Form = ChartSeries::Form;
  Chart chart;
  chart.label = "Gifts";
  chart.head = "Day";
  chart.points = {"1 Nov", "2 Nov"};
  chart.series = {{.name = "Sent", .tint = "sent", .form = Form::columns, .values = {4, 0}, .total = "4"},
                  {.name = "Opened", .tint = "seen", .form = Form::dashed, .values = {2, 0}}};
  chart.nothing = "No gift";
  const Data data = chart_data(chart);
  EXPECT_EQ(text_in(data, "box"), "0 0 20 100");
  EXPECT_THAT(texts_in(data, "lines_of_grid", "y"), ElementsAre("100%", "75%", "50%", "25%", "0%"));
  EXPECT_THAT(texts_in(data, "lines_of_grid", "value"), ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(texts_in(data, "columns", "path"), ElementsAre("M1.5 100V0h7V100z")) << "none of an empty day";
  EXPECT_THAT(texts_in(data, "lines", "path"), ElementsAre("M5 50L15 100"));
  EXPECT_THAT(texts_in(data, "slots", "title"),
              ElementsAre("1 Nov: Sent 4, Opened 2", "2 Nov: Sent 0, Opened 0"));
  EXPECT_THAT(texts_in(data, "dates", "text"), ElementsAre("1 Nov")) << "each seventh";
  EXPECT_THAT(texts_in(*data.get("table"), "rows", "name"), ElementsAre("1 Nov", "2 Nov"));
  EXPECT_EQ(data.get("nothing"), nullptr);
  for (ChartSeries& series : chart.series) series.values = {0};
  chart.points = {"1 Nov"};
  const Data empty = chart_data(chart);
  EXPECT_EQ(text_in(empty, "nothing"), "No gift");
  EXPECT_TRUE(empty.get("lines")->is_empty_list());
  EXPECT_THAT(texts_in(empty, "slots", "x"), ElementsAre("0%")) << "the axes and the table stay";
}

// covers: CON-72
TEST(ChartsTest, TheFourPartsOfABarAreAllGifts) {
  EXPECT_THAT(parts_of(numbers_with(10, 6, 3, 1)), ElementsAre(3, 1, 2, 4));
  EXPECT_THAT(parts_of(numbers_with(10, 0, 3, 1)), ElementsAre(3, 1, 0, 6)) << "openings are not known";
  EXPECT_THAT(parts_of(numbers_with(2, 9, 3, 3)), ElementsAre(2, 0, 0, 0)) << "never more than were sent";
  EXPECT_THAT(parts_of({}), ElementsAre(0, 0, 0, 0));
  const Data data = stacked_bars_data(
      "Gifts", "Campaign",
      {{.name = "a", .numbers = numbers_with(100'000, 2, 1, 1)}, {.name = "b", .numbers = {}}});
  const Data& first = data.get("bars")->list_value()[0];
  EXPECT_EQ(text_in(first, "what"), "Redeemed 1, Donated 1, Opened only 0, Not opened 99,998");
  EXPECT_THAT(texts_in(first, "parts", "width"), ElementsAre("0.4%", "0.4%", "99.21%"));
  EXPECT_TRUE(data.get("bars")->list_value()[1].get("parts")->is_empty_list());
}

// covers: CON-73
TEST(ChartsTest, AChangeSaysWhetherItIsBetter) {
  struct Expected {
    std::optional<double> by;
    Change::Kind kind;
    std::string icon;
    std::string tint;
    std::string text;
  };
  for (const auto& expected : {Expected{12.44, Change::Kind::more_is_better, "rise", "better", "12.4 %"},
                               {-1.3, Change::Kind::more_is_better, "fall", "worse", "1.3 %"},
                               {9.1, Change::Kind::plain, "rise", "", "9.1 %"},
                               {-0.04, Change::Kind::plain, "", "", "same"}}) {
    const auto data = change_data({.by = expected.by, .kind = expected.kind});
    ASSERT_TRUE(data);
    EXPECT_EQ(text_in(*data, "icon"), expected.icon);
    EXPECT_EQ(text_in(*data, "tint"), expected.tint);
    EXPECT_EQ(text_in(*data, "text"), expected.text);
  }
  EXPECT_FALSE(change_data({.by = relative_change(5, 0)})) << "there is nothing to compare with";
  EXPECT_FALSE(change_of_share(1, 2, 0, 0));
  EXPECT_DOUBLE_EQ(*relative_change(3, 2), 50);
  EXPECT_DOUBLE_EQ(*change_of_share(1, 2, 1, 4), 25);
}

class ConsoleReports : public ConsoleFixture {
 protected:
  void send_gifts(std::size_t gifts, const std::string& campaign, AccountId account = {1},
                  std::optional<OrganizationId> organization = {}, std::int64_t days_ago = 0) {
    store::NewGiftRequest request;
    request.request.account = account;
    request.request.organization = organization;
    request.request.created_at = now_ - days_ago * kDayMillis;
    request.request.costs.item = Money{500};
    if (!campaign.empty()) request.request.utm_campaign_id = campaign;
    for (std::size_t i = 0; i < gifts; ++i)
      request.recipients.push_back({std::to_string(i) + "@example.com", "", "", ""});
    last_ = store_.gifts.create(std::span(&request, 1)).front().recipients.back().id;
    while (store_.rollups.add_deltas() > 0) continue;
  }
  /// The last gift is redeemed an hour after it was sent.
  void redeem() {
    store::StatusChange change{{}, "test", last_, Status::redeemed, now_ + kHourMillis, now_, {}};
    change.premise = Premise::none;
    store_.changes.accept(std::span(&change, 1));
    sync::FoldPlace place;
    while (sync::fold_step(store_, place, now_ + kDayMillis).more) continue;
    while (store_.rollups.add_deltas() > 0) continue;
  }
  std::string csv(const std::string& query) { return get("/console/reports?format=csv&" + query).body; }

  TransactionId last_;
};

// covers: CON-73
TEST_F(ConsoleReports, TheOverviewHasTheNumbersOf30DaysAgainstThoseBefore) {
  send_gifts(1, "", {1}, {}, 40);
  send_gifts(2, "");
  redeem();
  sign_in(user("ana@example.com", {Role::auditor}));
  const std::string page = get("/console/").body;
  EXPECT_THAT(page, AllOf(HasSubstr("against the 30 days before"), HasSubstr("Spend</span> <strong>10.00"),
                          HasSubstr("<span class=\"hidden\">more: </span>100.0 %</span>"),
                          HasSubstr("Redeemed</span> <strong>1 <span class=\"quiet\">50.0 %</span>"),
                          HasSubstr("role=\"img\" aria-label=\"Gifts by day: 2 sent,"),
                          HasSubstr("Show as a table"), HasSubstr("From sent to redeemed")));
  EXPECT_THAT(page, Not(HasSubstr("style=")));
}

// covers: CON-73
TEST_F(ConsoleReports, ASenderSeesTheNumbersOfTheOwnAccountAlone) {
  store::Account account;
  account.email = "app@example.com";
  const AccountId own = store_.accounts.create(account).value();
  send_gifts(2, "autumn", own);
  send_gifts(5, "autumn", {own.value + 1});
  sign_in(user("app@example.com", {Role::sender}));
  EXPECT_THAT(get("/console/").body, HasSubstr("aria-label=\"Gifts by day: 2 sent,"));
  EXPECT_THAT(csv(""), HasSubstr("\r\n2026-11,value,2,"));
  for (const char* refused : {"by=campaign", "by=month&campaign=autumn"}) {
    EXPECT_EQ(get("/console/reports?format=csv&" + std::string(refused)).status, 400) << refused;
    EXPECT_THAT(get("/console/reports?" + std::string(refused)).body, Not(HasSubstr("autumn</bdi></a>")));
  }
  sign_in(user("ben@example.com", {Role::sender}));
  EXPECT_THAT(get("/console/").body, Not(HasSubstr("Gifts by day")));
  EXPECT_THAT(get("/console/reports").body, HasSubstr("has no active account here"));
}

// covers: CON-74
TEST_F(ConsoleReports, AReportIsBarsATableAndTheSameRowsAsCsv) {
  send_gifts(3, kMarkup);
  send_gifts(2, "=SUM(A1)");
  redeem();
  send_gifts(1, "");
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string page = get("/console/reports").body;
  EXPECT_THAT(page,
              AllOf(HasSubstr("What became of the gifts"), HasSubstr("No campaign"), HasSubstr(">All</td>"),
                    HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script>alert")),
                    HasSubstr("Redeemed 1, Donated 0, Opened only 0, Not opened 1"),
                    HasSubstr("Half of the redeemed ones")));
  EXPECT_THAT(page, HasSubstr("/console/reports?by=month&amp;campaign=%3DSUM%28A1%29&amp;days=30"));
  const std::string file = csv("");
  EXPECT_THAT(file, HasSubstr("campaign,kind,sent,delivered,"));
  EXPECT_THAT(file, HasSubstr("'=SUM(A1)")) << "SEC-1: it is no formula";
  EXPECT_THAT(file, HasSubstr("\r\n,none,1,"));
  EXPECT_EQ(std::count(file.begin(), file.end(), '\n'), 4);
  const std::string months = csv("by=month&campaign=%3DSUM%28A1%29");
  EXPECT_THAT(months, HasSubstr("\r\n2026-11,value,2,"));
  EXPECT_THAT(get("/console/reports?by=month&campaign=%3DSUM%28A1%29").body,
              HasSubstr("Campaign <strong><bdi>=SUM(A1)</bdi></strong>"));
}

// covers: CON-74
TEST_F(ConsoleReports, TheAddressIsTheReport) {
  send_gifts(1, "old", {1}, {}, 40);
  send_gifts(1, "new");
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(csv(""), AllOf(HasSubstr("new,value"), Not(HasSubstr("old,value"))));
  EXPECT_THAT(csv("days=90"), HasSubstr("old,value"));
  EXPECT_THAT(csv("until=2026-11-10&since=2026-10-01"),
              AllOf(Not(HasSubstr("new,value")), HasSubstr("old,value")));
  EXPECT_THAT(get("/console/reports?since=2020-01-01&until=2020-01-31").body,
              AllOf(HasSubstr("No gift in this period"), HasSubstr("days=365")));
  for (const char* refused :
       {"by=weekday", "days=8", "since=yesterday", "since=2026-11-02&until=2026-11-01", "x=1",
        "by=item&campaign=new", "by=month&campaign=new&source=s", "by=month&account=x"}) {
    const auto page = get("/console/reports?" + std::string(refused));
    EXPECT_EQ(page.status, 200);
    EXPECT_THAT(page.body, AllOf(HasSubstr("One filter does not apply"), Not(HasSubstr("What became"))))
        << refused;
    EXPECT_EQ(get("/console/reports?format=csv&" + std::string(refused)).status, 400) << refused;
  }
}

// covers: CON-74
TEST_F(ConsoleReports, AnOrganizationSeesItsOwnGifts) {
  store::Credential token;
  token.hash = "acme";
  const OrganizationId acme = store_.organizations.create("Acme", token).value();
  store::Account account;
  account.email = "tim@other.example";
  const AccountId other = store_.accounts.create(account).value();
  send_gifts(2, "ours", {77}, acme);
  send_gifts(4, "theirs", other);
  sign_in(user("ana@example.com", {Role::admin}, acme));
  EXPECT_THAT(csv(""), AllOf(HasSubstr("ours,value,2,"), Not(HasSubstr("theirs"))));
  EXPECT_THAT(get("/console/").body, HasSubstr("aria-label=\"Gifts by day: 2 sent,"));
  EXPECT_THAT(get("/console/reports?by=month&account=" + std::to_string(other.value)).body,
              AllOf(HasSubstr("No gift in this period"), Not(HasSubstr("tim@other.example"))));
}

// covers: CON-74
TEST_F(ConsoleReports, APageIsSmallWhereThereAreManyCampaigns) {
  for (int i = 0; i < 40; ++i) send_gifts(1, "a campaign of a department " + std::to_string(i));
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string page = get("/console/reports?days=365").body;
  EXPECT_THAT(page, HasSubstr("<strong><bdi>Others</bdi></strong>"));
  EXPECT_LT(page.size(), 60'000u);
  EXPECT_THAT(csv("days=365"), HasSubstr("\r\n,other,10,"));
}

// covers: CON-73 CON-74 CON-75 HTTP-60
TEST_F(ConsoleReports, AmountsNameTheCurrencyOfTheSettings) {
  send_gifts(2, "autumn");
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(csv(""), HasSubstr(",mean_redeem_seconds\r\n"));
  EXPECT_THAT(get("/console/reports").body, HasSubstr(">Spend</th>"));
  options_.in_force = &in_force_;
  in_force_.catalogue.currency = "EUR";
  console_ = std::make_unique<Console>(store_, options_);
  EXPECT_THAT(csv(""), AllOf(HasSubstr(",mean_redeem_seconds,currency\r\n"), HasSubstr(",EUR\r\n")));
  EXPECT_THAT(get("/console/reports").body,
              AllOf(HasSubstr(">Spend EUR</th>"), HasSubstr("data-label=\"Per redeemed EUR\"")));
  EXPECT_THAT(get("/console/").body,
              HasSubstr("Spend</span> <strong>10.00 <span class=\"quiet\">EUR</span></strong>"));
  EXPECT_THAT(get("/console/gifts?since=2026-11-01").body, HasSubstr(">Sent 2, cost 10.00 EUR<"));
}

// covers: CON-75
TEST_F(ConsoleReports, AListOfGiftsHasItsCountWhereReportsHaveIt) {
  send_gifts(3, "autumn", {1}, {}, 2);
  send_gifts(2, "spring");
  sign_in(user("ana@example.com", {Role::admin}));
  const auto counted = [&](const std::string& query) {
    const std::string page = get("/console/gifts?" + query).body;
    const std::size_t at = page.find(">Sent ");
    const std::size_t end = page.find("<", at);
    return at == std::string::npos ? std::string() : page.substr(at + 1, end - at - 1);
  };
  EXPECT_EQ(counted("since=2026-11-01"), "Sent 5, cost 25.00");
  EXPECT_EQ(counted("since=2026-11-01&until=2026-11-20"), "Sent 3, cost 15.00");
  EXPECT_EQ(counted("since=2026-11-01&campaign=spring"), "Sent 2, cost 10.00");
  for (const char* query : {"", "campaign=spring", "since=2026-11-01&status=sent", "since=2020-01-01",
                            "since=2026-11-01&campaign=spring&source=giftsync"})
    EXPECT_EQ(counted(query), "") << query;
}

}  // namespace
}  // namespace giftsync::console
