"""The part of systemd that a service with FileDescriptorStoreMax= sees: takes its notices, keeps the sockets that it hands over,
and gives them to the next process."""
import array
import fcntl
import os
import pathlib
import socket
import threading


class ServiceManager:
    def __init__(self, folder):
        self.path = str(pathlib.Path(folder) / "notify")
        self.kept = {}  # name: descriptor
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.server.bind(self.path)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                data, ancillary, _, _ = self.server.recvmsg(65536, socket.CMSG_SPACE(16 * array.array("i").itemsize))
            except OSError:
                return
            if not data:
                return
            notice = dict(line.split("=", 1) for line in data.decode().splitlines())  # a barrier ends when its descriptor is closed
            descriptors = array.array("i")
            for level, kind, content in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    descriptors.frombytes(content)
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)  # the next process gets copies alone
            self.take(notice, list(descriptors))

    def take(self, notice, descriptors):
        name = notice.get("FDNAME")
        if "FDSTORE" in notice and name not in self.kept:
            self.kept[name] = descriptors.pop()
        if "FDSTOREREMOVE" in notice and name in self.kept:
            os.close(self.kept.pop(name))
        for descriptor in descriptors:
            os.close(descriptor)

    def launch(self):
        """Arguments of subprocess.Popen and its environment: the next process gets what is kept, from descriptor 3 on."""
        kept = dict(self.kept)
        environment = {"NOTIFY_SOCKET": self.path, "LISTEN_FDS": str(len(kept)), "LISTEN_FDNAMES": ":".join(kept)}

        def hand_over():
            # Copied away first: none is overwritten by another one. The copies end with exec.
            copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100) for descriptor in kept.values()]
            for place, copy in enumerate(copies):
                os.dup2(copy, 3 + place)

        return {"preexec_fn": hand_over, "close_fds": False}, environment

    def close(self):
        self.server.close()
        for descriptor in self.kept.values():
            os.close(descriptor)
