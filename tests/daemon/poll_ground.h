// A real store, and a vendor with a memory that can be told to fail, whose feed is polled by an injected
// clock.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "daemon/sources/poll_step.h"
#include "daemon/sources/poll_wait.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {

using namespace schema;

constexpr UtcMillis kStart{1'800'000'000'000};

/// Serves its events page by page, by cursor, by since-time or by links.
class Vendor {
 public:
  struct Event {
    std::int64_t id;
    std::string word;
    std::int64_t at_seconds;
  };
  std::vector<Event> events;
  std::size_t page_size = 2;
  bool names_next = true;
  std::int64_t since_unit_millis = 1;  ///< it cuts the times it is asked with to such units
  std::deque<WebAnswer> faults;        ///< answered first
  std::vector<WebRequest> asked;
  std::function<void()> before_answer = [] {};

  WebAnswer answer(const WebRequest& request) {
    asked.push_back(request);
    const auto hook = before_answer;  // it may replace itself
    hook();
    if (!faults.empty()) {
      const WebAnswer fault = faults.front();
      faults.pop_front();
      return fault;
    }
    std::vector<Event> wanted = events;
    if (const std::string since = parameter(request.url, "since"); !since.empty()) {
      const auto from = from_rfc3339(since);
      const std::int64_t cut = from->value - from->value % since_unit_millis;
      std::erase_if(wanted, [&](const Event& one) { return one.at_seconds * 1000 < cut; });
    }
    std::string begin_text = parameter(request.url, "after");
    if (begin_text.empty()) begin_text = parameter(request.url, "page");
    const std::size_t begin = begin_text.empty() ? 0 : std::stoul(begin_text);
    nlohmann::json data = nlohmann::json::array();
    std::size_t end = begin;
    for (; end < wanted.size() && end < begin + page_size; ++end)
      data.push_back({{"id", wanted[end].id}, {"what", wanted[end].word}, {"at", wanted[end].at_seconds}});
    WebAnswer answer;
    answer.status = 200;
    nlohmann::json document{{"data", data}, {"cursor", std::to_string(end)}};
    if (names_next && end < wanted.size()) {
      std::string next =
          request.url.substr(0, request.url.find_first_of("?&") + 1) + "page=" + std::to_string(end);
      if (const auto since = parameter(request.url, "since"); !since.empty()) next += "&since=" + since;
      document["next"] = next;
      answer.link = "<https://api.example.com/first>; rel=\"first\", <" + next + ">; rel=\"next\"";
    }
    answer.body = document.dump();
    answer.etag = "\"" + std::to_string(std::hash<std::string>()(answer.body)) + "\"";
    for (const std::string& header : request.headers) {
      if (header != "If-None-Match: " + answer.etag) continue;
      answer = {};
      answer.status = 304;
    }
    return answer;
  }

  static std::string parameter(const std::string& url, const std::string& name) {
    const std::size_t at = url.find(name + "=");
    if (at == std::string::npos) return {};
    std::string value = url.substr(at + name.size() + 1);
    value.resize(std::min(value.find('&'), value.size()));
    for (std::size_t colon = value.find("%3A"); colon != std::string::npos; colon = value.find("%3A"))
      value.replace(colon, 3, ":");
    return value;
  }
};

inline WebAnswer status(int code, const std::string& retry_after = "") {
  WebAnswer answer;
  answer.status = code;
  answer.retry_after = retry_after;
  return answer;
}
inline WebAnswer text(const std::string& body) {
  WebAnswer answer = status(200);
  answer.body = body;
  return answer;
}

class PollGround : public ::testing::Test {
 protected:
  PollGround() {
    settings_.name = "feed";
    settings_.kind = SourceKind::poll;
    settings_.url = "https://api.example.com/events";
    settings_.items = "/data";
    settings_.fields.transaction_id = "/id";
    settings_.fields.status = "/what";
    settings_.fields.occurred_at = "/at";
    settings_.headers = {{"Authorization", Secret("Bearer of news")}};
    by_cursor();
    watch_.open("feed", "", now_);
  }
  void by_cursor() {
    settings_.cursor_pointer = "/cursor";
    settings_.cursor_parameter = "after";
  }
  void by_since(const std::string& next) {
    settings_.cursor_pointer = settings_.cursor_parameter = "";
    settings_.since = "since";
    settings_.overlap_seconds = 100;
    settings_.next = next;
  }
  PollReport step(const std::string& owner = "one") {
    const SourcePlan plan = make_source_plan(settings_, "inst");
    PollTools tools{*store_,
                    intake_,
                    watch_,
                    [this](const WebRequest& request, const auto&) { return vendor_.answer(request); },
                    [this] { return now_; },
                    [this] { return random_; },
                    owner};
    return poll_step(plan, tools, [this] { return keep_going_; });
  }
  /// As at a start or reload of the daemon.
  void start() { forget_outdated_waits({make_source_plan(settings_, "inst")}, *store_, "one", now_); }
  /// As the daemon does it every few seconds; how many waits it has ended.
  std::size_t end_false_waits() {
    return end_false_poll_waits({make_source_plan(settings_, "inst")}, *store_, now_).size();
  }
  SourceStanding standing() { return store_->sources.standings().front(); }
  std::size_t history_of(TransactionId id) { return store_->changes.history(id).size(); }
  void wait(std::int64_t seconds) { now_ = now_ + seconds * 1000; }

  UtcMillis now_ = kStart;
  double random_ = 0.5;
  bool keep_going_ = true;
  SourceSettings settings_;
  TemporaryStore store_;
  SourceWatch watch_{*store_};
  int woken_ = 0;
  SourceIntake intake_{*store_, watch_, [this] { ++woken_; }};
  Vendor vendor_;
};

constexpr std::int64_t kAt = 1'799'990'000;

/// A page of one report that goes on as it says.
inline WebAnswer one_report(TransactionId id, const std::string& key, const std::string& value) {
  return text(R"({"data":[{"id":)" + std::to_string(id.value) + R"(,"what":"opened","at":)" +
              std::to_string(kAt) + R"(}],")" + key + R"(":")" + value + R"("})");
}

}  // namespace giftsync::daemon
