#include <memory>

#include "daemon/cli/change_import.h"
#include "daemon/cli/commands.h"

namespace giftsync::daemon {

void add_change_commands(Commands& commands) {
  CLI::App* noun = commands.noun("change", "Status changes of gifts");
  const auto path = std::make_shared<std::string>();
  CLI::App* verb = commands.verb(*noun, "import",
                                 "Bring status changes in from a file with one JSON object a line: "
                                 "recipient_transaction_id (a number or its digits as "
                                 "text), status (sent, delivered, undelivered, opened, redeemed, donated, "
                                 "expired, refunded), occurred_at (RFC 3339) "
                                 "and, if there is one, event_id. Lines that are refused are listed by "
                                 "number; all others are applied. Changes of "
                                 "transactions that are not known yet are held until they appear. Importing "
                                 "a file again changes nothing.",
                                 {"change import changes.ndjson", "change import - < changes.ndjson"});
  verb->add_option("FILE", *path, "The file; - reads stdin")->required();
  commands.run(verb, [path](const Console& console, Installation& place) {
    auto opened = InputFile::open(*path, console);
    if (const auto* refusal = std::get_if<Refusal>(&opened))
      return console.fail(refusal->exit_code, refusal->lines.front());
    return import_changes(console, place.store.changes, std::get<InputFile>(opened));
  });
}

}  // namespace giftsync::daemon
