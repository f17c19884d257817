"""Signing in to the console of a daemon under test."""
import http.client
import re
import urllib.parse

import daemon_fixture


class Browser:
    """Keeps the cookies of one console, and follows no redirect."""

    def __init__(self, fixture):
        self.fixture, self.cookies = fixture, {}

    def send(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.fixture.port, timeout=60)
        if self.cookies:
            headers.setdefault("Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        if method == "POST":
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        for cookie in response.headers.get_all("Set-Cookie") or []:
            name, value = cookie.split(";")[0].split("=", 1)
            self.cookies[name] = value
        connection.close()
        return response, text

    def get(self, path, **headers):
        return self.send("GET", path, **headers)

    def post(self, path, fields=None, **headers):
        headers.setdefault("Origin", self.fixture.url)
        return self.send("POST", path, urllib.parse.urlencode(fields or {}), **headers)


class ConsoleTestCase(daemon_fixture.DaemonTestCase):
    """Tests with a `fixture` whose console is enabled."""

    def link(self, email, *more):
        printed = self.fixture.ctl("console", "sign-in-link", "--user", email, *more)
        self.assertRegex(printed, rf"^{re.escape(self.fixture.url)}/console/link/[-_A-Za-z0-9]{{43}}\n$")
        return urllib.parse.urlsplit(printed.strip()).path

    def signed_in(self, email, roles):
        self.fixture.ctl("user", "create", "--email", email, "--grant", roles)
        browser = Browser(self.fixture)
        response, _ = browser.post(self.link(email))
        self.assertEqual((response.status, response.headers["Location"]), (303, "/console/"))
        return browser
