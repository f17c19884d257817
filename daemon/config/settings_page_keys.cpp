// The keys of `pages`.
#include "daemon/config/settings_table.h"
#include "daemon/content/logo.h"

namespace giftsync::daemon::config {

KeyTable page_keys() {
  using P = PageSettings;
  const TextForm name = plain_text("a name of at most 255 characters");
  return {
      {"pages.company_name",
       "The company's name, shown to recipients on pages and in mails.",
       Text{setting(&Settings::pages, &P::company_name), name},
       {.example = "\"Edge Communications\""}},
      {"pages.colour",
       "The company's colour; where text in it would be hard to read, pages and mails use a darker or "
       "lighter shade.",
       Text{setting(&Settings::pages, &P::colour),
            {"red, green and blue in hex such as \"#0a6650\", in quotes", check_colour,
             R"({"pattern": "^#[0-9A-Fa-f]{6}$"})"}}},
      {"pages.logo",
       "The company's logo, shown on pages.",
       FilePath{setting(&Settings::pages, &P::logo), std::string(content::kLogoAllowed), true},
       {.example = "\"logo.svg\""}},
      {"pages.language",
       "The language of mails, and of pages for recipients whose browser accepts no available language.",
       Text{setting(&Settings::pages, &P::language),
            {"an available language such as en, de or es", check_language,
             R"({"pattern": "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"})"}}},
      {"pages.charities.name",
       "The charity's name.",
       Text{setting(&Settings::pages, &P::charities, &CharitySettings::name), name},
       {.example = "\"Doctors Without Borders\"", .is_required = true}},
      {"pages.charities.link",
       "The charity's own page.",
       Text{setting(&Settings::pages, &P::charities, &CharitySettings::link),
            {"an https:// URL such as https://charity.example.org", check_sign_in_url, kHttpsQueryPattern}},
       {.example = "\"https://www.doctorswithoutborders.org\""}}};
}

}  // namespace giftsync::daemon::config
