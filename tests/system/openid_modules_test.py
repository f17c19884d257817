#!/usr/bin/python3
"""Forged sign-ins through a real OpenID provider (npm's oidc-provider): a proxy before it forges one thing at a time, and each is
refused by its rule, in the audit log too, while what a provider may do signs the user in. openid_modules.py lists them, and the
OpenID Foundation's modules for which they stand. EVERY_MODULE=1 runs all; without it those that are quick and tell most."""
import json
import os
import pathlib
import urllib.parse

import daemon_fixture
import identity_providers
from forging_proxy import Forgery, ForgingProxy
from openid_modules import (AUTH_URL, ELSEWHERE, OTHER, OWN, SECRET, SUITE, keys, later_keys, make_modules, ours, token)
from sign_in_browser import Browser
from sso_test import DAY, make_certificate

EVERY_MODULE = bool(os.environ.get("EVERY_MODULE"))
PERSONS = [f"p{number}" for number in range(12)]  # connections of tests that are not in the list
WANTED = "/console/gifts"
REFUSED, UNAVAILABLE = "/console/sign-in?refused=1", "/console/sign-in?unavailable=1"


class OpenidModules(daemon_fixture.DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = identity_providers.install(cls, identity_providers.OPENID)
        cls.fixture = daemon_fixture.DaemonFixture()
        cls.addClassCleanup(cls.fixture.close)
        key, cls.certificate = make_certificate(cls.fixture.folder, "tls", -1 * DAY, 300 * DAY)
        port = daemon_fixture.free_port()
        cls.proxy = ForgingProxy(key, cls.certificate, port)
        cls.addClassCleanup(cls.proxy.close)
        cls.modules = {f"m{number}": module for number, module in enumerate(make_modules(cls.proxy.url))}
        names = [*cls.modules, *PERSONS]
        identity_providers.start(cls, folder, "sign_in_provider.mjs", key, cls.certificate, str(port),
                                 " ".join(f"{AUTH_URL}/login/callback?connection={name}" for name in names), cls.proxy.url)
        cls.start_daemon(names)
        cls.provider_cookies = {}
        cls.networks = 0
        cls.unused_persons = list(PERSONS)

    @classmethod
    def start_daemon(cls, names):
        """A connection for each module, because what a daemon knows of a provider is kept for an hour. The user is linked to all
        of them, so that a token that is believed gives a session."""
        fixture = cls.fixture
        pathlib.Path(fixture.write("client-secret", SECRET)).chmod(0o600)
        connections = [{"name": name, "client_id": "giftsync", "client_secret": "file:client-secret",
                        "domains": [f"{name}.example"], "issuer": cls.proxy.url, "ca_file": cls.certificate} for name in names]
        fixture.write_settings("sso: " + json.dumps({"auth_url": AUTH_URL, "connections": connections}) + "\n"
                               "console: { enabled: true, sign_in: true }\n")
        text = fixture.settings.read_text(encoding="utf-8")
        # Each browser is in a network of its own: a network's requests and audited refusals are limited.
        fixture.settings.write_text(text.replace("server: {", 'server: { trusted_proxies: ["127.0.0.1"],', 1), encoding="utf-8")
        fixture.start()
        fixture.ctl("user", "create", "--email", "rose@acme.com", "--grant", "operator")
        fixture.query("INSERT INTO user_identity (user_id, connection, tenant, subject, last_email, linked_at, last_sign_in_at) "
                      "SELECT id, column1, '', 'rose', 'rose@acme.com', 0, 0 FROM console_user, (VALUES " +
                      ", ".join(f"('{name}')" for name in names) + ")")

    def setUp(self):
        self.proxy.set(Forgery())

    def browser(self):
        """In a network of its own, and signed in at the provider as soon as one of them was."""
        type(self).networks += 1
        browser = Browser(self.certificate, {AUTH_URL: self.fixture.url})
        browser.network = f"192.0.2.{self.networks}"
        browser.opener.addheaders.append(("X-Forwarded-For", browser.network))
        browser.cookies["localhost"] = self.provider_cookies
        return browser

    def person(self):
        """A connection that no test has used."""
        return self.unused_persons.pop()

    def start(self, browser, connection):
        started = browser.open(f"{self.fixture.url}/console/sign-in/start?connection={connection}&return=%2Fconsole%2Fgifts")
        self.assertEqual(started.status, 303, started.body)
        return started.location

    def provider_reply(self, browser, connection):
        """The URL at which the provider sends the browser back."""
        return browser.sign_in_at_provider(self.start(browser, connection), "rose", AUTH_URL)

    def path(self, page):
        return page.location.removeprefix(self.fixture.url)

    def come_back(self, browser, url):
        """The path to which a reply leads in the end."""
        path = self.path(browser.open(url))
        if path.startswith("/console/sign-in/finish?"):
            return self.path(browser.open(self.fixture.url + path))
        return path

    def sign_in(self, browser, connection):
        url = self.start(browser, connection)
        if url.startswith(self.fixture.url):
            return url.removeprefix(self.fixture.url)
        return self.come_back(browser, browser.sign_in_at_provider(url, "rose", AUTH_URL))

    def sees_the_console(self, browser):
        return browser.open(self.fixture.url + WANTED).status == 200

    def audited(self):
        """The last event of each network."""
        events = self.fixture.ctl_json("audit", "list", "--action", "sign-in", "--limit", "1000")
        return {event["network"]: event for event in reversed(events)}

    def expect_accepted(self, browser, path):
        self.assertEqual(path, WANTED, self.fixture.log(5))
        self.assertTrue(self.sees_the_console(browser))

    def expect_refused(self, browser, path, rule, text):
        """In the audit log."""
        self.assertEqual(path, REFUSED)
        self.assertFalse(self.sees_the_console(browser))
        event = self.audited()[browser.network]
        self.assertEqual((event["outcome"], event["rule"]), ("refused", rule), event)
        self.assertIn(text, event["detail"])

    # ---- The list
    def test_modules(self):
        browsers, paths = {}, {}
        chosen = {name: module for name, module in self.modules.items() if EVERY_MODULE or module.in_ci}
        for name, module in chosen.items():
            browsers[name] = self.browser()
            self.proxy.set(module.forgery)
            with self.subTest(module.name):
                paths[name] = self.sign_in(browsers[name], name)
                self.assertEqual(self.proxy.count(ELSEWHERE), 0, "asked where only a forger leads")
                self.assertEqual(self.sees_the_console(browsers[name]), not module.rule)
        events = self.audited()
        errors = dict(self.fixture.query("SELECT name, last_error FROM sign_in_connection_state"))
        for name, path in paths.items():
            with self.subTest(chosen[name].name):
                self.check(chosen[name], path, events.get(browsers[name].network), errors.get(name, ""))

    def check(self, module, path, event, last_error):
        if not module.rule:
            self.assertEqual((path, event["outcome"]), (WANTED, "done"))
            return
        self.assertIn(path, (REFUSED, UNAVAILABLE))
        if module.place == "log":
            self.assertIsNone(event)
            log = self.fixture.whole_log()
            self.assertTrue(any(f"refused by {module.rule}: " in line and module.text in line.replace('\\"', '"')
                                for line in log.splitlines()), log)
            return
        self.assertTrue(last_error.startswith(module.rule + ": "), last_error)
        self.assertIn(module.text, last_error)
        if module.place == "start":
            self.assertIsNone(event)
        else:
            self.assertEqual((event["outcome"], event["rule"]), ("refused", module.rule), event)
            self.assertIn(module.text, event["detail"])

    def test_the_list_stands_for_the_suite(self):
        names = [module.name for module in self.modules.values()]
        self.assertEqual(len(names), len(set(names)))
        for one, standing in SUITE.items():
            for name in [] if isinstance(standing, str) else standing:
                self.assertTrue(name in names or hasattr(self, name), f"{one}: {name}")

    def test_what_is_asked(self):
        browser, name = self.browser(), self.person()
        self.expect_accepted(browser, self.sign_in(browser, name))
        asked = {request.endpoint: request for request in self.proxy.seen}
        begun = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
            next(one.path for one in self.proxy.seen if one.path.startswith("/auth?"))).query))
        self.assertEqual((begun["response_type"], begun["code_challenge_method"]), ("code", "S256"))
        self.assertEqual(begun["redirect_uri"], f"{AUTH_URL}/login/callback?connection={name}")
        self.assertLessEqual({"openid", "email"}, set(begun["scope"].split()))
        self.assertTrue(all(len(begun[one]) >= 43 for one in ("state", "nonce", "code_challenge")))
        exchange = asked["token"]
        self.assertTrue(exchange.headers["Authorization"].startswith("Basic "))
        self.assertEqual(set(exchange.form()), {"grant_type", "code", "redirect_uri", "code_verifier"})
        self.assertTrue(asked["userinfo"].headers["Authorization"].startswith("Bearer "))
        self.assertEqual((asked["userinfo"].method, asked["userinfo"].body), ("GET", b""))

    # ---- Keys that change
    def rotate(self, *_):
        self.assertEqual(self.proxy.ask_provider("POST", "/rotate").status, 200)

    def test_keys_that_rotate_just_before_signing(self):
        self.proxy.set(Forgery(before={"token": self.rotate}))
        browser = self.browser()
        self.expect_accepted(browser, self.sign_in(browser, self.person()))
        self.assertEqual(self.proxy.count("keys"), 2)

    def test_keys_that_rotate(self):
        name = self.person()
        for _ in range(2):
            browser = self.browser()
            self.expect_accepted(browser, self.sign_in(browser, name))
            self.rotate()
        self.assertEqual(self.proxy.count("keys"), 2)

    def test_keys_without_names_that_rotate(self):
        name = self.person()
        for key in (OWN, OTHER):
            self.proxy.set(token(header={"kid": None}, sign=key.sign) | keys(key.jwk_without_kid()))
            browser = self.browser()
            self.expect_accepted(browser, self.sign_in(browser, name))

    def test_unknown_keys_are_looked_for_once(self):
        name = self.person()
        self.proxy.set(ours(header={"kid": "unknown"}) | later_keys(lambda answer: None))
        for _ in range(3):
            self.sign_in(self.browser(), name)
        self.assertEqual(self.proxy.count("keys"), 3 - 1)

    # ---- Two browsers
    def test_states_of_two_browsers_are_swapped(self):
        name = self.person()
        one, other = self.browser(), self.browser()
        replies = [self.provider_reply(browser, name) for browser in (one, other)]
        codes = [urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["code"][0] for url in replies]
        for browser, url, own, foreign in ((one, replies[0], codes[0], codes[1]), (other, replies[1], codes[1], codes[0])):
            self.expect_refused(browser, self.come_back(browser, url.replace(own, foreign)), "OIDC-3", "invalid_grant")

    def test_a_code_is_replayed(self):
        name = self.person()
        one, other = self.browser(), self.browser()
        first = self.provider_reply(one, name)
        self.expect_accepted(one, self.come_back(one, first))
        self.assertEqual(self.come_back(self.browser(), first), REFUSED, "the whole reply again")
        second = self.provider_reply(other, name)
        code_of = {url: urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["code"][0] for url in (first, second)}
        self.expect_refused(other, self.come_back(other, second.replace(code_of[second], code_of[first])), "OIDC-3",
                            "invalid_grant")
        self.assertIn("refused by OIDC-2: The reply's state is unknown, older than 10 minutes or used.", self.fixture.whole_log())

    def test_a_reply_comes_to_another_browser(self):
        name = self.person()
        victim, attacker = self.browser(), self.browser()
        self.start(victim, name)
        reply = self.provider_reply(attacker, name)
        self.assertEqual(self.come_back(victim, reply), REFUSED)
        self.assertFalse(self.sees_the_console(victim))
        self.assertIn("refused by SIGN-1: No sign-in of this browser is waiting", self.fixture.whole_log())


if __name__ == "__main__":
    daemon_fixture.main()
