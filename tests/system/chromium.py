"""Debian's Chromium, driven by playwright-core (recipient_browser/browser.mjs), for tests that look at pages."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BROWSER = pathlib.Path(__file__).resolve().parent / "recipient_browser"
INSTALL_SECONDS = 300


def start(test_case):
    """The browser of a class of tests, which ends with it. Skips the tests where npm cannot fetch its parts."""
    for program in ("npm", "node", "chromium"):
        if shutil.which(program) is None:
            raise AssertionError(f"{program} is missing; scripts/install-packages installs it")
    folder = tempfile.mkdtemp(prefix="giftsync-browser.")
    test_case.addClassCleanup(shutil.rmtree, folder, True)
    for file in BROWSER.iterdir():
        shutil.copy(file, folder)
    ended = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, capture_output=True,
                           text=True, timeout=INSTALL_SECONDS, check=False)
    if ended.returncode != 0:
        raise unittest.SkipTest("npm cannot fetch playwright-core: " + ended.stderr[-500:])
    browser = Chromium(folder)
    test_case.addClassCleanup(browser.close)
    return browser


class Chromium:
    """browser.mjs, which runs one command at a time."""

    def __init__(self, folder):
        self.process = subprocess.Popen(["node", "browser.mjs"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.shots = 0

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the browser ended")
        result = json.loads(line)
        if isinstance(result, dict) and "error" in result:
            raise AssertionError(f"{result['error']} in {command}")
        return result

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()
