#!/usr/bin/python3
"""Signing in to the console of a real daemon through real identity providers over TLS: OpenID Connect (npm's oidc-provider) and
SAML (npm's samlp), on one daemon and across two; replies that are used twice or come to another browser, responses that no
sign-in waits for, roles from the CRM, and `sso sign-in-test` with SAML."""
import json
import pathlib
import ssl
import subprocess
import urllib.parse
import urllib.request

import daemon_fixture
import identity_providers
from sign_in_browser import Browser
from sso_test import DAY, make_certificate

AUTH_URL = "https://login.example.com"
CALLBACK = AUTH_URL + "/login/callback?connection="
ENTITY_ID = "https://idp.example.com/metadata"
ROLE_SECONDS = 100  # the daemon looks every 30 s


class ConsoleSignIn(daemon_fixture.DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.openid = identity_providers.install(cls, identity_providers.OPENID)
        cls.saml = identity_providers.install(cls, identity_providers.SAML)

    def begin(self, store=None, groups=None):
        """A running daemon with a connection to each provider. `groups`: of both connections."""
        self.fixture = self.new_fixture(store=store)
        folder = self.fixture.folder
        self.key, self.certificate = make_certificate(folder, "tls", -1 * DAY, 300 * DAY)
        signing_key, signing_certificate = make_certificate(folder, "signing", -1 * DAY, 300 * DAY)
        openid_port, saml_port = daemon_fixture.free_port(), daemon_fixture.free_port()
        identity_providers.start(self, self.openid, "sign_in_provider.mjs", self.key, self.certificate, str(openid_port),
                                 CALLBACK + "acme")
        identity_providers.start(self, self.saml, "provider.mjs", self.key, self.certificate, str(saml_port), signing_key,
                                 signing_certificate, CALLBACK + "edge")
        pathlib.Path(self.fixture.write("client-secret", "hush hush+%")).chmod(0o600)
        connections = [
            {"name": "acme", "client_id": "giftsync", "client_secret": "file:client-secret", "domains": ["acme.com"],
             "issuer": f"https://localhost:{openid_port}", "ca_file": self.certificate},
            {"name": "edge", "type": "saml", "sign_in_url": f"https://localhost:{saml_port}/sso", "domains": ["acme.example"],
             "certificate": signing_certificate, "provider_entity_id": ENTITY_ID}]
        if groups:
            connections[0]["groups"] = groups
            connections[1].update(groups=groups, groups_claim="http://schemas.passportjs.com/groups")
        self.providers = {"acme": f"https://localhost:{openid_port}", "edge": f"https://localhost:{saml_port}"}
        self.settings = ("sso: " + json.dumps({"auth_url": AUTH_URL, "connections": connections}) + "\n"
                         "console: { enabled: true, sign_in: true }\n")
        self.fixture.write_settings(self.settings)
        self.fixture.start()

    def browser(self, auth=None):
        """`auth`: the daemon that auth_url leads to."""
        return Browser(self.certificate, {AUTH_URL: (auth or self.fixture).url})

    def go_to_provider(self, browser, email):
        """From the page that was wanted to the provider's first URL."""
        page = browser.follow(browser.open(self.fixture.url + "/console/gifts?status=sent"))
        self.assertIn('name="email"', page.body)
        page = browser.submit(page, email=email)
        refresh = page.headers["Refresh"]
        self.assertTrue(refresh.startswith("0; url=/console/sign-in/start?"), refresh)
        started = browser.open(urllib.parse.urljoin(page.url, refresh.split("url=")[1]))
        self.assertEqual(started.status, 303, started.body)
        return started.location

    def openid_reply(self, browser):
        return browser.sign_in_at_provider(self.go_to_provider(browser, "rose@acme.com"), "rose", AUTH_URL)

    def saml_form(self, browser):
        """The provider's page with the response."""
        page = browser.open(self.go_to_provider(browser, "ana@acme.example"))
        self.assertEqual(browser.form_of(page)[0], CALLBACK + "edge")
        return page

    def finish_url(self, page):
        self.assertEqual(page.status, 303, page.body)
        self.assertTrue(page.location.startswith(self.fixture.url + "/console/sign-in/finish?attempt="), page.location)
        return page.location

    def expect_session(self, browser, finish_url, email):
        page = browser.open(finish_url)
        self.assertEqual(page.location, self.fixture.url + "/console/gifts?status=sent", self.fixture.log())
        self.assertEqual(browser.open(page.location).status, 200)
        self.assertEqual([one["user"] for one in self.fixture.ctl_json("session", "list")], [email])

    def sign_in_path(self, page):
        return page.location.removeprefix(self.fixture.url + "/console/sign-in")

    def test_openid_connect(self):
        self.begin()
        self.fixture.ctl("user", "create", "--email", "rose@acme.com", "--grant", "operator")
        browser, other = self.browser(), self.browser()
        reply = self.openid_reply(browser)
        url = self.finish_url(other.open(reply))
        self.assertEqual(self.sign_in_path(other.open(url)), "?refused=1", "another browser")
        self.expect_session(browser, url, "rose@acme.com")
        self.assertEqual(self.sign_in_path(browser.open(url)), "?refused=1", "the second time")
        self.assertEqual(self.sign_in_path(browser.open(reply)), "?refused=1", "the same code again")
        again = browser.open(self.fixture.url + "/console/sign-in/start?again=1&connection=acme&return=%2Fconsole%2Fsources").location
        self.assertIn("&max_age=0", again)
        proof = browser.sign_in_at_provider(again, "rose", AUTH_URL)
        self.assertEqual(browser.open(self.finish_url(browser.open(proof))).location, self.fixture.url + "/console/sources")
        self.assertEqual(len(self.fixture.ctl_json("session", "list")), 1)
        page = browser.open(self.fixture.url + "/console/")
        self.assertEqual(self.sign_in_path(browser.submit(page, "/sign-out")), "?signed_out=1")
        self.assertEqual(browser.open(self.fixture.url + "/console/").status, 303)

    def test_saml(self):
        self.begin()
        self.fixture.ctl("user", "create", "--email", "ana@acme.example", "--grant", "sender")
        browser, other = self.browser(), self.browser()
        form = self.saml_form(browser)
        url = self.finish_url(browser.submit(form))
        self.assertEqual(self.sign_in_path(other.open(url)), "?refused=1", "another browser")
        self.expect_session(browser, url, "ana@acme.example")
        self.assertEqual(self.sign_in_path(browser.submit(form)), "?begin=edge", "the same response again")
        self.assertEqual(self.sign_in_path(browser.submit(form, RelayState="")), "?begin=edge", "without a request")
        offered = other.follow(other.submit(form))
        self.assertIn('href="/console/sign-in/start?connection=edge"', offered.body)
        second = self.saml_form(other)
        self.assertEqual(self.sign_in_path(other.submit(second, SAMLResponse=browser.form_of(form)[1]["SAMLResponse"])), "?refused=1",
                         "the response to another request")
        refused = self.fixture.ctl_json("audit", "list", "--action", "sign-in")[0]
        self.assertEqual((refused["outcome"], refused["rule"]), ("refused", "SAML-15"))
        log = self.fixture.whole_log()
        for secret in (browser.form_of(form)[1]["RelayState"], browser.form_of(form)[1]["SAMLResponse"][:40]):
            self.assertNotIn(secret, log)

    def test_roles_from_the_crm(self):
        self.begin()
        fixture = self.fixture
        fixture.ctl("crm", "import", "--object", "user",
                    fixture.write("u.csv", "Id,Name,Email,IsActive\nu1,Ana,Ana@acme.example,true\n"))
        fixture.ctl("crm", "import", "--object", "permission_set_assignment",
                    fixture.write("p.csv", "Id,AssigneeId,PermissionSetName,IsActive,ExpirationDate\np1,u1,Admin,true,\n"))
        browser = self.browser()
        self.expect_session(browser, self.finish_url(browser.submit(self.saml_form(browser))), "ana@acme.example")
        self.assertEqual(browser.open(fixture.url + "/console/users").status, 200, "an admin")
        fixture.query("UPDATE crm_permission_set_assignment SET permissionsetname = 'Sales'")
        daemon_fixture.wait_until(lambda: browser.open(fixture.url + "/console/users").status == 403, "the role to end",
                                  ROLE_SECONDS, 1)
        changes = fixture.ctl_json("audit", "list", "--action", "user.crm-roles")
        self.assertEqual([one["detail"] for one in changes], ["now none, before admin, approver"])

    def set_groups(self, connection, *names):
        context = ssl.create_default_context(cafile=self.certificate)
        url = self.providers[connection] + "/groups?" + urllib.parse.quote(",".join(names))
        urllib.request.urlopen(urllib.request.Request(url, b""), timeout=20, context=context).close()

    def roles_of(self, email):
        user = next(one for one in self.fixture.ctl_json("user", "list") if one["email"] == email)
        return [(one["role"], one["origin"], one["granted_by"]) for one in user["roles"]]

    def test_roles_from_groups(self):
        self.begin(groups={"Gift approvers": "approver", "Gift admins": "admin"})
        fixture = self.fixture
        ways = [("acme", "rose@acme.com", self.openid_reply), ("edge", "ana@acme.example", None)]
        for connection, email, reply in ways:
            with self.subTest(connection):
                def sign_in():
                    browser = self.browser()
                    page = browser.open(reply(browser)) if reply else browser.submit(self.saml_form(browser))
                    return browser, browser.open(self.finish_url(page))

                self.set_groups(connection, "Sales")
                browser, page = sign_in()
                self.assertEqual(self.sign_in_path(page), "?no_role=1", "a person of the provider without a role")
                self.assertIn("none of your groups gives one", browser.open(page.location).body)
                self.assertNotIn(email, [one["email"] for one in fixture.ctl_json("user", "list")])
                self.set_groups(connection, "Sales", "Gift admins")
                browser, page = sign_in()
                self.assertEqual(page.location, fixture.url + "/console/gifts?status=sent", fixture.log())
                self.assertEqual(self.roles_of(email), [("admin", "group", "Gift admins")])
                self.assertIn("from a group", browser.open(fixture.url + "/console/users").body)
                self.set_groups(connection, "Gift approvers", "Sales")
                browser, page = sign_in()
                self.assertEqual(self.roles_of(email), [("approver", "group", "Gift approvers")])
                self.assertEqual(browser.open(fixture.url + "/console/users").status, 404)
                self.set_groups(connection, "Sales")
                browser, page = sign_in()
                self.assertEqual(self.sign_in_path(page), "?no_role=1", "the last group is left")
                self.assertEqual(self.roles_of(email), [])
        changes = fixture.ctl_json("audit", "list", "--action", "user.group-roles")
        self.assertEqual([one["detail"] for one in changes][:2], ["now none, before approver", "now approver, before admin"])
        self.assertIn("Gift approvers", fixture.ctl("settings", "show", "--json"))

    def test_a_link_by_mail_beside_a_provider(self):
        self.begin(groups={"Gift admins": "admin"})
        fixture = self.fixture
        page = self.browser().open(fixture.url + "/console/sign-in")
        self.assertNotIn('name="by"', page.body, "by default a provider alone signs people in")
        self.assertIn("Owners of accounts with the plan enterprise or enterprise plus may sign in", page.body)
        fixture.write_settings(self.settings.replace("sign_in: true", "sign_in: true, mail_links: always"))
        fixture.restart()
        self.set_groups("acme", "Gift admins")
        browser = self.browser()
        self.expect_session(browser, self.finish_url(browser.open(self.openid_reply(browser))), "rose@acme.com")
        fixture.ctl("user", "create", "--email", "ben@home.example", "--grant", "approver")
        for email in ("rose@acme.com", "ben@home.example"):
            other = self.browser()
            asked = other.submit(other.open(fixture.url + "/console/sign-in"), email=email, by="link")
            self.assertEqual(self.sign_in_path(asked)[:8], "?asked=1")
        daemon_fixture.wait_until(lambda: list(fixture.outbox.glob("sign_in-*.eml")), "the mail")
        mails = [one.read_text(encoding="utf-8") for one in fixture.outbox.glob("sign_in-*.eml")]
        self.assertEqual(len(mails), 1, "whose role is from a group signs in at the provider")
        self.assertIn("To: ben@home.example", mails[0])

    def test_two_daemons(self):
        self.begin(daemon_fixture.store_settings("postgresql"))
        self.fixture.ctl("user", "create", "--email", "ana@acme.example", "--grant", "sender")
        second = self.new_fixture(store=self.fixture.store, folder=self.fixture.folder, name="second", more=self.settings)
        second.start()
        browser = self.browser(auth=second)
        form = self.saml_form(browser)
        url = browser.submit(form).location
        self.assertTrue(url.startswith(second.url + "/console/sign-in/finish?"), url)
        at_first = self.browser()
        self.assertEqual(self.sign_in_path(at_first.submit(form)), "?begin=edge", "the other daemon has it already")
        self.assertEqual(browser.open(url).status, 303)
        for fixture in (self.fixture, second):
            self.assertEqual(browser.open(fixture.url + "/console/gifts").status, 200)
        self.assertEqual(browser.open(url.replace(second.url, self.fixture.url)).location,
                         self.fixture.url + "/console/sign-in?refused=1")

    def test_the_command_with_saml(self):
        self.begin()
        command = [daemon_fixture.GIFTSYNCCTL, "--config", str(self.fixture.settings), "sso", "sign-in-test", "edge", "--json"]
        browser = self.browser()

        def run(person):
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as test:
                url = next(line.strip() for line in test.stderr if line.strip().startswith("https://"))
                out, _ = test.communicate(person(url) + "\n", timeout=daemon_fixture.TIMEOUT_SECONDS)
            return test.returncode, json.loads(out)

        def save(url):
            field = browser.form_of(browser.open(url))[1]["SAMLResponse"]
            return self.fixture.write("response", field)

        code, result = run(save)
        self.assertEqual(code, 0, result)
        self.assertEqual((result["identity"]["subject"], result["identity"]["address"]), ("u-4711", "ana@acme.example"))
        self.assertEqual(len(result["rules"]), 19)
        code, result = run(lambda url: str(self.fixture.folder / "response"))
        self.assertEqual((code, result["rules"][-1]["rule"]), (65, "SAML-15"), "the response to another request")


if __name__ == "__main__":
    daemon_fixture.main()
