"""A browser without a screen for tests of sign-in: keeps cookies per origin, follows redirects one by one, and posts forms.
Hosts that exist only in settings are served by the daemon's port."""
import html
import http.cookies
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request

FORM = re.compile(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', re.S | re.I)
INPUT = re.compile(r"<input[^>]*>", re.I)
ATTRIBUTE = re.compile(r'([a-z-]+)="([^"]*)"', re.I)
TIMEOUT_SECONDS = 30


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Page:
    def __init__(self, url, response):
        self.url = url
        self.status = response.status if hasattr(response, "status") else response.code
        self.headers = response.headers
        self.body = response.read().decode(errors="replace")

    @property
    def location(self):
        location = self.headers.get("Location")
        return urllib.parse.urljoin(self.url, location) if location else None


class Browser:
    def __init__(self, certificate, hosts=None):
        """`hosts`: {"https://login.example.com": "http://127.0.0.1:8480"}"""
        self.hosts = hosts or {}
        self.cookies = {}
        self.opener = urllib.request.build_opener(
            _NoRedirect, urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=certificate)))

    def open(self, url, form=None, page_url=None):
        """One request; no redirect is followed. A form is posted from a page of the same site, or from `page_url`: a post from
        another site carries no SameSite=Lax cookies, which all of giftsync's are."""
        parts = urllib.parse.urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        real = url.replace(origin, self.hosts.get(origin, origin), 1)
        jar = self.cookies.setdefault(parts.hostname, {})
        page = urllib.parse.urlsplit(page_url or url)
        is_cross_site = form is not None and page.hostname != parts.hostname
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())} if jar and not is_cross_site else {}
        if form is not None:
            headers["Origin"] = f"{page.scheme}://{page.netloc}"
            headers["Sec-Fetch-Site"] = "cross-site" if is_cross_site else "same-origin"
        request = urllib.request.Request(real, urllib.parse.urlencode(form).encode() if form is not None else None, headers)
        try:
            response = self.opener.open(request, timeout=TIMEOUT_SECONDS)
        except urllib.error.HTTPError as other:
            response = other
        with response:
            page = Page(url, response)
        for line in page.headers.get_all("Set-Cookie") or []:
            for name, morsel in http.cookies.SimpleCookie(line).items():
                if morsel.value and morsel["max-age"] != "0":
                    jar[name] = morsel.value
                else:
                    jar.pop(name, None)
        return page

    def follow(self, page, until=None):
        """Follows redirects; stops before a URL that begins with `until` and returns that URL."""
        for _ in range(12):
            if page.location is None:
                return page
            if until is not None and page.location.startswith(until):
                return page.location
            page = self.open(page.location)
        raise AssertionError("too many redirects, the last one to " + page.url)

    @staticmethod
    def form_of(page, to=""):
        """(URL, fields) of the page's first form, or of the first one that posts to a URL that ends so."""
        action, content = next(form for form in FORM.findall(page.body) if form[0].endswith(to))
        inputs = [dict(ATTRIBUTE.findall(one)) for one in INPUT.findall(content)]
        fields = {one["name"]: html.unescape(one.get("value", "")) for one in inputs if "name" in one}
        return urllib.parse.urljoin(page.url, html.unescape(action)), fields

    def submit(self, page, to="", **values):
        """Posts the page's form with these fields."""
        url, fields = self.form_of(page, to)
        return self.open(url, {**fields, **values}, page.url)

    def sign_in_at_provider(self, url, user, until):
        """Signs in at oidc-provider's own forms; the URL to which it sends the browser back."""
        page = self.follow(self.open(url), until)
        for _ in range(4):
            if isinstance(page, str):
                return page
            fields = {"login": user, "password": "any"} if 'name="login"' in page.body else {}
            page = self.follow(self.submit(page, **fields), until)
        raise AssertionError("the provider does not send the browser back: " + str(page))
