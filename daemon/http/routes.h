// daemon/http: all paths that the daemon serves, in one table (routes.cpp): at which door, with which
// methods, who answers, and under which name the log has it. Pure.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::daemon {

/// Who answers, one for each kind of route. Called by any thread; may throw schema::BrokenWorld.
struct Answers {
  /// `named`: what the path has in the place of the pattern's {name}; empty where there is none.
  using Answer = std::function<HttpResponse(const HttpRequest&, std::string_view named)>;
  Answer send_by_email;
  Answer read_request;
  Answer page;
  Answer hand_out_urls;
  Answer send_from_crm;
  Answer metadata;
  Answer status_changes;
  Answer make_record;
  Answer read_record;
  Answer approve_record;
  Answer reject_record;
  /// The router's own, which sets them.
  Answer healthy = {};
  Answer ready = {};
};

/// base_url and admin_url (Spec 1) may be different doors.
enum class Door { both, base, admin };
enum class Methods { post, reads, the_answers_own };

struct Route {
  /// A path. {name} stands for one part of it, {name...} for all that follows, whatever it is.
  std::string_view pattern;
  /// With {name} where the caller's own text was: a gift's link opens it to whoever reads the log.
  std::string_view logged_as;
  Door door;
  Methods methods;
  /// Null: there is nothing, but it is at this door that there would be.
  Answers::Answer Answers::*answer;
};

inline constexpr std::string_view kNoSuchPath = "(no such path)";

struct FoundRoute {
  const Route* route = nullptr;  ///< null: no door serves such a path
  std::string_view named;        ///< part of the path
};
/// The first route of the table that fits.
FoundRoute find_route(std::string_view path);

}  // namespace giftsync::daemon
