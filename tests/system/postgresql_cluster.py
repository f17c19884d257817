"""PostgreSQL clusters of a test's own: a primary and its synchronous standby, to kill and to promote. Run by
scripts/with-postgresql, which names the server's programs."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import daemon_fixture

ROLE = "giftsync"
DATABASE = "giftsync"


def as_owner(*command):
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else list(command)


class Cluster:
    """One server with its data folder. Commits are durable; every local connection is trusted."""

    def __init__(self, name):
        self.name = name
        self.programs = pathlib.Path(os.environ["GIFTSYNC_TEST_PG_BIN"])
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"giftsync-{name}."))
        self.folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self.data = self.folder / "data"
        self.port = daemon_fixture.free_port()

    def run(self, program, *arguments):
        ended = subprocess.run(as_owner(str(self.programs / program), *map(str, arguments)), stdin=subprocess.DEVNULL, cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                               timeout=2 * daemon_fixture.TIMEOUT_SECONDS)
        if ended.returncode != 0:
            raise AssertionError(f"{self.name}: {program} {arguments} ended with {ended.returncode}:\n{ended.stdout}")

    def make_primary(self):
        self.run("initdb", "--pgdata", self.data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8",
                 "--no-sync")
        self.start()
        self.sql(f"CREATE ROLE {ROLE} LOGIN", "postgres")
        self.sql(f"CREATE DATABASE {DATABASE} OWNER {ROLE}", "postgres")
        return self

    def make_standby_of(self, primary):
        """A streaming standby, for which the primary's commits wait from now on until it has applied them."""
        self.run("pg_basebackup", "--pgdata", self.data, "--host", "127.0.0.1", "--port", str(primary.port), "--username", "postgres",
                 "--write-recovery-conf", "--checkpoint", "fast", "--no-sync", "--wal-method", "stream",
                 "--dbname", f"application_name={self.name}")
        self.start()
        primary.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{self.name}'", "postgres")
        primary.sql("ALTER SYSTEM SET synchronous_commit = 'remote_apply'", "postgres")
        primary.sql("SELECT pg_reload_conf()", "postgres")
        daemon_fixture.wait_until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication", "postgres") == "sync",
                                  "the standby to be synchronous", pace_seconds=0.2)
        return self

    def control(self, *arguments):
        self.run("pg_ctl", "-D", self.data, "-l", self.folder / "server.log", "-w", "-t", "60", "-s", *arguments)

    def start(self):
        self.control("-o", f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder} "
                           "-c max_connections=100", "start")

    def stop(self, mode="immediate"):
        self.control("-m", mode, "stop")

    def is_running(self):
        """Also false for one that was killed and left its pid file."""
        try:
            process = (self.data / "postmaster.pid").read_text(encoding="ascii").split()[0]
        except FileNotFoundError:
            return False
        return pathlib.Path(f"/proc/{process}").exists()

    def kill(self):
        """All its processes at once, as when its machine loses power."""
        postmaster = int((self.data / "postmaster.pid").read_text(encoding="ascii").split()[0])
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True, check=True).stdout
        for process in [postmaster, *map(int, listed.split())]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        daemon_fixture.wait_until(lambda: not pathlib.Path(f"/proc/{postmaster}").exists(), "the server to be gone")

    def promote(self):
        self.control("promote")

    def sql(self, statement, database=DATABASE):
        """The only value, as text."""
        return subprocess.run([str(self.programs / "psql"), "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p",
                               str(self.port), "-U", "postgres", "-c", statement, database], capture_output=True, text=True, check=True,
                              timeout=daemon_fixture.TIMEOUT_SECONDS).stdout.strip()

    def close(self):
        try:
            if self.is_running():
                self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def connection_to(*clusters):
    """One connection string that leads to whichever of them is the primary."""
    ports = ",".join(str(one.port) for one in clusters)
    hosts = ",".join("127.0.0.1" for _ in clusters)
    return f"host={hosts} port={ports} user={ROLE} dbname={DATABASE} target_session_attrs=read-write connect_timeout=3"
