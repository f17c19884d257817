#include "tests/salesforce/fake_org/soql_plan.h"

#include "platform/text.h"
#include "tests/salesforce/fake_org/record_ids.h"

namespace giftsync::tests::fake_org {
namespace {

constexpr int kTextArea = 255;

class Planner {
 public:
  Planner(Org& org, const std::string& user, const SoqlQuery& query, bool with_deleted)
      : org_(org), user_(user), query_(query), with_deleted_(with_deleted) {}

  QueryPlan plan() {
    const Object* object = org_.schema().find(query_.object);
    if (object == nullptr || !org_.access(user_, *object).can_read) refuse_object();
    plan_.parents.push_back({{}, object, "t0"});
    for (const SoqlPath& path : query_.fields) plan_.fields.push_back(find(path));
    const std::string where = query_.where ? condition(*query_.where) : std::string();
    const std::string order = order_by();
    plan_.sql = "SELECT " + selection() + " FROM " + object->table + " t0" + joins_;
    std::string conditions = with_deleted_ ? "" : "t0.isdeleted = 0";
    if (!where.empty()) conditions += (conditions.empty() ? "" : " AND ") + where;
    if (!conditions.empty()) plan_.sql += " WHERE " + conditions;
    plan_.sql += order + limits();
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse_object() const {
    throw ApiError(
        400, "INVALID_TYPE",
        message_at(query_.text, query_.object_at,
                   "sObject type '" + query_.object +
                       "' is not supported. If you are attempting to use a custom object, be sure to "
                       "append the '__c' after the entity name. Please reference your WSDL or the "
                       "describe call for the appropriate names."));
  }

  [[noreturn]] void refuse(std::size_t at, const std::string& words) const {
    throw ApiError(400, "INVALID_FIELD", message_at(query_.text, at, words));
  }

  [[noreturn]] void refuse_column(const SoqlPath& path, const std::string& name, const Object& object) const {
    refuse(path.at,
           "No such column '" + name + "' on entity '" + object.name +
               "'. If you are attempting to use a custom field, be sure to append the '__c' after the "
               "custom field name. Please reference your WSDL or the describe call for the appropriate "
               "names.");
  }

  PlannedField find(const SoqlPath& path) {
    std::size_t parent = 0;
    for (std::size_t at = 0; at + 1 < path.parts.size(); ++at)
      parent = at == 0 && equal_names(path.parts[0], plan_.parents[0].object->name)
                   ? parent
                   : join(parent, path, path.parts[at]);
    const Object& object = *plan_.parents[parent].object;
    const Field* field = object.find(path.parts.back());
    if (field == nullptr || !org_.access(user_, object, *field).is_readable)
      refuse_column(path, path.parts.back(), object);
    return {parent, field};
  }

  /// The parent by the relationship, joined once.
  std::size_t join(std::size_t child, const SoqlPath& path, const std::string& name) {
    const Object& object = *plan_.parents[child].object;
    const Field* reference = object.find_relationship(name);
    const bool is_known = reference != nullptr && reference->targets.size() == 1 &&
                          org_.schema().find(reference->targets[0]) != nullptr &&
                          org_.access(user_, object, *reference).is_readable;
    if (!is_known)
      refuse(path.at,
             "Didn't understand relationship '" + name +
                 "' in field path. If you are attempting to use a custom relationship, be sure to append "
                 "the '__r' after the custom relationship name. Please reference your WSDL or the "
                 "describe call for the appropriate names.");
    std::vector<std::string> whole = plan_.parents[child].path;
    whole.push_back(reference->relationship);
    for (std::size_t at = 0; at < plan_.parents.size(); ++at) {
      if (plan_.parents[at].path == whole) return at;
    }
    const Object& target = *org_.schema().find(reference->targets[0]);
    const std::string alias = "t" + std::to_string(plan_.parents.size());
    joins_ += " LEFT JOIN " + target.table + " " + alias + " ON " + alias +
              ".id = " + plan_.parents[child].alias + "." + reference->column;
    if (!with_deleted_) joins_ += " AND " + alias + ".isdeleted = 0";
    plan_.parents.push_back({std::move(whole), &target, alias});
    return plan_.parents.size() - 1;
  }

  std::string selection() const {
    if (query_.is_count) return "count(*)";
    std::string text;
    for (const PlannedParent& parent : plan_.parents)
      text += (text.empty() ? "" : ", ") + parent.alias + ".id";
    for (const PlannedField& field : plan_.fields) text += ", " + value(field);
    return text;
  }

  std::string value(const PlannedField& planned) const {
    const PlannedParent& parent = plan_.parents[planned.parent];
    const std::string text = value_sql(*parent.object, *planned.field, parent.alias);
    if (planned.field->kind != Kind::checkbox) return text;
    const std::string checkbox = "coalesce(" + text + ", 0)";
    return planned.parent == 0 ? checkbox
                               : "CASE WHEN " + parent.alias + ".id IS NOT NULL THEN " + checkbox + " END";
  }

  /// In the form that is compared: text without case, times in seconds, amounts as numbers.
  std::string comparable(const PlannedField& planned) const {
    const std::string text = value(planned);
    switch (planned.field->kind) {
      case Kind::id:
      case Kind::reference:
      case Kind::checkbox:
      case Kind::date:
      case Kind::number:
        return text;
      case Kind::currency:
        return "CAST(" + text + " AS REAL)";
      case Kind::date_time:
        return "CAST(strftime('%s', " + text + ") AS INTEGER)";
      default:
        return planned.field->is_case_sensitive ? text : "fold(" + text + ")";
    }
  }

  static SoqlLiteral::Kind literal_kind(const Field& field) {
    switch (field.kind) {
      case Kind::checkbox:
        return SoqlLiteral::Kind::checkbox;
      case Kind::number:
      case Kind::currency:
        return SoqlLiteral::Kind::number;
      case Kind::date:
        return SoqlLiteral::Kind::date;
      case Kind::date_time:
        return SoqlLiteral::Kind::date_time;
      default:
        return SoqlLiteral::Kind::text;
    }
  }

  static std::string type_name(const Field& field) {
    switch (field.kind) {
      case Kind::checkbox:
        return "boolean";
      case Kind::number:
      case Kind::currency:
        return "double";
      case Kind::date:
        return "date";
      case Kind::date_time:
        return "dateTime";
      default:
        return "string";
    }
  }

  void check_literal(const Field& field, const SoqlLiteral& literal, std::size_t at) const {
    const bool wants_text = literal_kind(field) == SoqlLiteral::Kind::text;
    if (literal.kind != SoqlLiteral::Kind::null && literal.kind != literal_kind(field))
      refuse(at, "value of filter criterion for field '" + field.name + "' must be of type " +
                     type_name(field) + " and should " + (wants_text ? "" : "not ") +
                     "be enclosed in quotes");
    const bool is_id = field.kind == Kind::id || field.kind == Kind::reference;
    if (is_id && literal.kind == SoqlLiteral::Kind::text && !is_record_id(literal.text) &&
        org_.is_on("strict_ids"))
      throw ApiError(400, "INVALID_QUERY_FILTER_OPERATOR",
                     message_at(query_.text, at, "invalid ID field: " + literal.text));
  }

  /// A place for the literal's value, or NULL for null and for empty text.
  std::string parameter(const Field& field, const SoqlLiteral& literal, std::size_t at) {
    check_literal(field, literal, at);
    Value value = literal.text;
    if (literal.kind == SoqlLiteral::Kind::null || literal.text.empty()) return "NULL";
    if (field.kind == Kind::id || field.kind == Kind::reference)
      value = to_long_id(literal.text);
    else if (literal.kind == SoqlLiteral::Kind::text && !field.is_case_sensitive)
      value = lower_case(literal.text);
    else if (literal.kind != SoqlLiteral::Kind::text && literal.kind != SoqlLiteral::Kind::date)
      value = parse_number<double>(literal.text).value();
    plan_.parameters.push_back(std::move(value));
    return "?";
  }

  std::string condition(const SoqlCondition& given) {
    if (given.kind == SoqlCondition::Kind::comparison) return comparison(given);
    if (given.kind == SoqlCondition::Kind::negation)
      return "NOT coalesce(" + condition(given.children[0]) + ", 0)";
    std::string text = "(";
    for (const SoqlCondition& child : given.children) {
      if (text.size() > 1) text += given.kind == SoqlCondition::Kind::all ? " AND " : " OR ";
      text += condition(child);
    }
    return text + ")";
  }

  std::string comparison(const SoqlCondition& given) {
    const PlannedField planned = find(given.path);
    const Field& field = *planned.field;
    if (field.kind == Kind::long_text && field.length > kTextArea)
      refuse(given.path.at, "field '" + field.name + "' can not be filtered in a query call");
    const std::string left = comparable(planned);
    if (given.operation == "IN" || given.operation == "NOT IN") return membership(given, field, left);
    const SoqlLiteral& literal = given.literals[0];
    const std::string right = parameter(field, literal, given.path.at);
    if (given.operation == "=") return "(" + left + " IS " + right + ")";
    if (given.operation == "!=") return "(" + left + " IS NOT " + right + ")";
    if (given.operation == "LIKE") return "(" + left + " LIKE " + right + " ESCAPE '\\')";
    return "(" + left + " " + given.operation + " " + right + ")";
  }

  std::string membership(const SoqlCondition& given, const Field& field, const std::string& left) {
    std::string places;
    bool has_null = false;
    for (const SoqlLiteral& literal : given.literals) {
      const std::string place = parameter(field, literal, given.path.at);
      if (place == "NULL")
        has_null = true;
      else
        places += (places.empty() ? "" : ", ") + place;
    }
    const std::string inside =
        "(" + left + " IN (" + places + ")" + (has_null ? " OR " + left + " IS NULL)" : ")");
    return given.operation == "IN" ? inside : "NOT coalesce(" + inside + ", 0)";
  }

  std::string order_by() {
    std::string text;
    for (const SoqlOrder& order : query_.order) {
      const PlannedField planned = find(order.path);
      if (planned.field->kind == Kind::long_text && planned.field->length > kTextArea)
        refuse(order.path.at, "field '" + planned.field->name + "' can not be sorted in a query call");
      text += (text.empty() ? " ORDER BY " : ", ") + comparable(planned) +
              (order.is_descending ? " DESC" : " ASC") +
              (order.has_nulls_last ? " NULLS LAST" : " NULLS FIRST");
    }
    return text;
  }

  std::string limits() const {
    if (!query_.limit && query_.offset == 0) return {};
    return " LIMIT " + (query_.limit ? std::to_string(*query_.limit) : "-1") + " OFFSET " +
           std::to_string(query_.offset);
  }

  Org& org_;
  const std::string& user_;
  const SoqlQuery& query_;
  bool with_deleted_;
  QueryPlan plan_;
  std::string joins_;
};

}  // namespace

QueryPlan plan_query(Org& org, const std::string& user, const SoqlQuery& query, bool with_deleted) {
  return Planner(org, user, query, with_deleted).plan();
}

}  // namespace giftsync::tests::fake_org
