#!/usr/bin/python3
"""relay.py: a mail relay that takes one mail and breaks the connection off before it says whether it took it. giftsync cannot
know then whether the mail arrives, and holds it (email.uncertain: hold). Prints its port and ends after that mail."""
import socket

with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    connection, _ = server.accept()
    with connection, connection.makefile("rb") as lines:
        connection.sendall(b"220 relay.brightpath.example\r\n")
        for line in lines:
            connection.sendall(b"354 go on\r\n" if line.upper().startswith(b"DATA") else b"250 relay.brightpath.example\r\n")
            if line.upper().startswith(b"DATA"):
                break
        for line in lines:
            if line == b".\r\n":
                break
