#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""proxy.py LOG [USER:PASSWORD]: a proxy for CONNECT (RFC 9110, 9.3.6) on a free port of the loopback, which it prints. It
writes each target to LOG. Without the right user and password it answers 407."""
import base64
import socket
import sys
import threading


def pipe(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    finally:
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(client):
    head = b""
    while b"\r\n\r\n" not in head:
        data = client.recv(4096)
        if not data:
            return
        head += data
    method, target = head.split(b" ", 2)[:2]
    wanted = len(sys.argv) > 2 and b"Basic " + base64.b64encode(sys.argv[2].encode())
    allowed = not wanted or wanted.lower() in head.lower()
    with open(sys.argv[1], "a") as log:
        log.write("%s %s %s\n" % (method.decode(), target.decode(), "passed" if allowed else "refused"))
    if not allowed:
        client.sendall(b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="test"\r\n'
                       b"Content-Length: 0\r\nConnection: close\r\n\r\n")
        client.close()
        return
    host, port = target.decode().rsplit(":", 1)
    server = socket.create_connection((host, int(port)))
    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
    threading.Thread(target=pipe, args=(server, client), daemon=True).start()
    pipe(client, server)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
