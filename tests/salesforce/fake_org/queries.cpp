#include "tests/salesforce/fake_org/queries.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "platform/text.h"
#include "tests/salesforce/fake_org/record_ids.h"
#include "tests/salesforce/fake_org/soql_plan.h"

namespace giftsync::tests::fake_org {
namespace {

Json attributes_of(const Object& object, const std::string& id, const std::string& version) {
  return {{"type", object.name},
          {"url", "/services/data/" + version + "/sobjects/" + object.name + "/" + id}};
}

/// The JSON object of a parent within the record; null where the lookup is empty.
Json* place_of(Json& record, const QueryPlan& plan, std::size_t parent, const Cells& row,
               const std::string& version) {
  Json* place = &record;
  const std::vector<std::string>& path = plan.parents[parent].path;
  for (std::size_t depth = 0; depth < path.size(); ++depth) {
    const std::vector<std::string> prefix(path.begin(),
                                          path.begin() + static_cast<std::ptrdiff_t>(depth) + 1);
    const auto at = static_cast<std::size_t>(std::ranges::find(plan.parents, prefix, &PlannedParent::path) -
                                             plan.parents.begin());
    if (!row[at]) {
      (*place)[path[depth]] = nullptr;
      return nullptr;
    }
    if (!place->contains(path[depth]))
      (*place)[path[depth]] = {{"attributes", attributes_of(*plan.parents[at].object, *row[at], version)}};
    place = &(*place)[path[depth]];
  }
  return place;
}

Json record_of(const QueryPlan& plan, const Cells& row, const std::string& version) {
  Json record{{"attributes", attributes_of(*plan.parents[0].object, row[0].value_or(""), version)}};
  for (std::size_t at = 0; at < plan.fields.size(); ++at) {
    const PlannedField& planned = plan.fields[at];
    Json* place = place_of(record, plan, planned.parent, row, version);
    if (place != nullptr)
      (*place)[planned.field->name] =
          json_of(*planned.field, value_of(*planned.field, row[plan.parents.size() + at]));
  }
  return record;
}

/// For checks of the statements: each as a JSON text on a line.
void keep_statement(const std::string& soql) {
  const char* path = std::getenv("GIFTSYNC_FAKE_ORG_STATEMENTS");
  if (path != nullptr) std::ofstream(path, std::ios::app) << Json(soql).dump() << '\n';
}

}  // namespace

Json Queries::query(const std::string& user, const std::string& soql, bool with_deleted,
                    const std::string& version, std::size_t page) {
  keep_statement(soql);
  const SoqlQuery query = parse_soql(soql);
  const QueryPlan plan = plan_query(org_, user, query, with_deleted);
  const std::vector<Cells> rows = org_.database().run(plan.sql, plan.parameters);
  if (query.is_count)
    return {{"totalSize", parse_number<std::int64_t>(*rows[0][0]).value()},
            {"done", true},
            {"records", Json::array()}};
  Cursor cursor{{}, std::clamp<std::size_t>(page, 200, kPage), org_.now() + kLocatorMillis};
  for (const Cells& row : rows) cursor.records.push_back(record_of(plan, row, version));
  const std::string id = make_record_id("01g", next_cursor_++);
  Json first = page_of(id, cursor, 0, version);
  if (!first["done"].get<bool>()) cursors_[id] = std::move(cursor);
  return first;
}

Json Queries::more(const std::string& locator, const std::string& version) {
  const std::size_t dash = locator.rfind('-');
  const auto found = cursors_.find(locator.substr(0, dash));
  const auto begin = dash == std::string::npos
                         ? std::nullopt
                         : parse_number<std::size_t>(std::string_view(locator).substr(dash + 1));
  if (found == cursors_.end() || !begin || org_.now() > found->second.ends_at)
    throw ApiError(400, "INVALID_QUERY_LOCATOR", "invalid query locator");
  return page_of(found->first, found->second, *begin, version);
}

Json Queries::page_of(const std::string& id, const Cursor& cursor, std::size_t begin,
                      const std::string& version) const {
  const std::size_t size = cursor.records.size();
  const std::size_t end = std::min(begin + cursor.page, size);
  Json answer{{"totalSize", size}, {"done", end == size}};
  if (end < size)
    answer["nextRecordsUrl"] = "/services/data/" + version + "/query/" + id + "-" + std::to_string(end);
  answer["records"] = Json::array();
  for (std::size_t at = begin; at < end; ++at) answer["records"].push_back(cursor.records[at]);
  return answer;
}

}  // namespace giftsync::tests::fake_org
