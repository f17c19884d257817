"""Real identity providers on loopback over TLS for tests of sign-in, installed with npm from a folder beside this file."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

INSTALL_SECONDS = 300
FOLDER = pathlib.Path(__file__).resolve().parent
OPENID = FOLDER / "openid_provider"
SAML = FOLDER / "saml_provider"


def install(test_class, source):
    """A copy of the folder with its packages, until the end of the class; skips it when npm cannot fetch them."""
    folder = tempfile.mkdtemp(prefix="giftsync-idp.")
    test_class.addClassCleanup(shutil.rmtree, folder, True)
    for file in source.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    ended = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                           capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if ended.returncode != 0:
        raise unittest.SkipTest(f"npm cannot fetch {source.name}: " + ended.stderr[-500:])
    return folder


def start(test, folder, program, *arguments):
    """Runs the program until the end of the test, or of the class of tests; returns once it is ready."""
    add_cleanup = test.addClassCleanup if isinstance(test, type) else test.addCleanup
    provider = subprocess.Popen(["node", program, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True)
    add_cleanup(provider.stdout.close)
    add_cleanup(provider.wait)
    add_cleanup(provider.kill)
    if not any(line.strip() == "ready" for line in iter(provider.stdout.readline, "")):
        raise AssertionError("the provider ended")
