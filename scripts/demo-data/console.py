#!/usr/bin/python3
"""What a browser does with the console; the session is a cookie in a file.

console.py sign-in LINK SESSION                         opens a sign-in link and presses its button
console.py press SESSION URL ACTION [FIELD=VALUE ...]   presses the button of a page that posts to URL/ACTION
console.py check SESSION BASE <pages                    fails unless each page has its text, and prints both.
                                                        A line is: PATH TAB TEXT TAB anything
"""
import html
import pathlib
import re
import sys
import urllib.error
import urllib.parse
import urllib.request


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def call(url, cookie="", form=None):
    """The response, of a redirect too, and its text."""
    origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))
    body = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(url, body, {"Cookie": cookie, "Origin": origin})
    try:
        response = urllib.request.build_opener(NoRedirect).open(request, timeout=20)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        return response, response.read().decode()


def sign_in(link, session):
    response, _ = call(link, form={})
    if response.status != 303:
        sys.exit(f"the link does not work: {response.status}")
    pathlib.Path(session).write_text(response.headers["Set-Cookie"].split(";")[0], encoding="ascii")


def press(session, url, action, *entries):
    cookie = pathlib.Path(session).read_text(encoding="ascii")
    _, page = call(url, cookie)
    target = urllib.parse.urlsplit(url).path + "/" + action
    form = re.search(rf'<form[^>]* action="{re.escape(target)}"[^>]*>(.*?)</form>', page, re.S)
    if not form:
        sys.exit(f"{url} has no button for {action}")
    fields = {name: html.unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form.group(1))}
    response, _ = call(f"{url}/{action}", cookie, {**fields, **dict(entry.split("=", 1) for entry in entries)})
    if response.status != 303:
        sys.exit(f"{url}: {action} ended with {response.status}")
    # What was done is said to the browser that did it, by a cookie (CON-38).
    cookies = [cookie, *(one.split(";")[0] for one in response.headers.get_all("Set-Cookie", []))]
    _, page = call(urllib.parse.urljoin(url, response.headers["Location"]), "; ".join(cookies))
    notice = re.search(r'<p class="(?:note|done)" role="status">([^<]*)<', page, re.S)
    print(html.unescape(notice.group(1)) if notice else response.headers["Location"])


def check(session, base):
    cookie = pathlib.Path(session).read_text(encoding="ascii")
    for line in sys.stdin:
        path, text, _ = line.rstrip("\n").split("\t")
        response, page = call(base + path, cookie)
        shown = page.replace("<wbr>", "")  # where a long address may break
        if response.status != 200 or html.escape(text) not in shown:
            sys.exit(f"{path}: {response.status}, without {text}")
        print(f"{path:<46}  {text}")


if __name__ == "__main__":
    {"sign-in": sign_in, "press": press, "check": check}[sys.argv[1]](*sys.argv[2:])
