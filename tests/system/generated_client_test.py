#!/usr/bin/python3
"""A client made from docs/openapi.yaml by npm's openapi-typescript and openapi-fetch does the main job at a real daemon: its program
(generated_client/main_job.ts) compiles by typescript's strict rules, sends a gift, reads it, is refused, and approves a held
request."""
import shutil
import subprocess

import daemon_fixture
import identity_providers

APPROVER = "rose@example.com"
RULES = "sending:\n  approval:\n    rules:\n      - { name: several, recipients_above: 1 }\n"
COMPILE = ["--strict", "--noUncheckedIndexedAccess", "--skipLibCheck", "--target", "es2022", "--module", "nodenext",
           "--lib", "es2022,dom,dom.iterable"]


class GeneratedClient(daemon_fixture.DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        for program in ("npm", "node"):
            if shutil.which(program) is None:
                raise AssertionError(f"{program} is missing; scripts/install-packages installs it")
        cls.folder = identity_providers.install(cls, identity_providers.FOLDER / "generated_client")

    def run_node(self, *arguments):
        ended = subprocess.run(["node", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout

    # HTTP-36, GUARD-26
    def test_it_does_the_main_job(self):
        description = str(daemon_fixture.ROOT / "docs" / "openapi.yaml")
        self.run_node("node_modules/openapi-typescript/bin/cli.js", description, "--output", "api.d.ts")
        self.run_node("node_modules/typescript/bin/tsc", *COMPILE, "main_job.ts")
        fixture = self.new_fixture(more=RULES).seed().start()
        fixture.ctl("account", "create", "--email", APPROVER, "--name", "Rose", "--plan", "team")
        approver = fixture.new_key(APPROVER, "--scope", "approve")
        self.assertEqual(self.run_node("main_job.js", fixture.url, fixture.key, approver), "done\n")


if __name__ == "__main__":
    daemon_fixture.main()
