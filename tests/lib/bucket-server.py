#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bucket-server.py: a server of S3's API that fails on request. Needs only the standard library.

The server implements objects (PUT, GET, HEAD, DELETE), listings (version 2), multipart uploads and signatures, with
path-style addresses. Signatures are version 4 and are checked completely, with the digest of the body. Objects stay on
disk, see Store. A conditional PUT gets 501. Each request has a line in the log when it is answered (or when it hangs):

    METHOD TARGET STATUS RECEIVED FAULT        STATUS is 000 without an answer, FAULT is - without a fault

The control file is read again for each request. Each line is a fault, and the first line that matches counts, unless it
is used up. A line counts the requests that reach it:

    METHOD-REGEX TARGET-REGEX FAULT [COUNT]    TARGET is /path?query as sent; COUNT: N times, or A-B: the Ath to the Bth
    clock SECONDS                              the server's clock is so many seconds ahead, also in its Date

A word that begins with # is ignored. A line with such a word is a different line, with its own COUNT. Faults:

    500 503 403 404 400 409 501 301[:URL] 307[:URL], or a name of ERRORS: S3's answer of that kind
    reset            the connection is reset after the request was read; nothing was done
    unanswered       the request is done, then the connection is reset
    cut:N            reset after N bytes of the request's body, or of the answer's if the request has none
    hang[:SECONDS]   the request is read, and never answered
    late:SECONDS     the usual answer, but later
    slow:N           N bytes a second, both ways
    wrong-etag       the ETag of something else
    long-etag        an ETag that is no digest
    truncated[:N]    an answer's body of N bytes (half), with the Content-Length of all, then an orderly end
    short-read       half of an object, with the Content-Length of that half
    flipped          an object with one changed bit in its last byte
    forget           200 or 204, but nothing was done
    complete-200-with-error    200 with spaces and an <Error>
    spaces:SECONDS   an XML answer begins at once, with spaces for that time
    xml-bomb xml-nested xml-huge xml-cut xml-foreign    instead of an XML answer
    page xhtml       200 and a web page for every request: by its type, or well-formed XML with an ETag
    endless          a listing always has one more page
    huge-headers     headers without end
    many-names[:N]   N (100000) more names in a listing
    odd-names        more names in a listing, that a careless client trips over
"""
import argparse
import base64
import bisect
import calendar
import email.utils
import hashlib
import hmac
import http.server
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
import xml.etree.ElementTree
from xml.sax.saxutils import escape

ERRORS = {
    "InternalError": 500, "SlowDown": 503, "ServiceUnavailable": 503, "AccessDenied": 403, "ExpiredToken": 400,
    "InvalidAccessKeyId": 403, "SignatureDoesNotMatch": 403, "RequestTimeTooSkewed": 403, "AccountProblem": 403,
    "NoSuchBucket": 404, "NoSuchKey": 404, "NoSuchUpload": 404, "EntityTooSmall": 400, "EntityTooLarge": 400,
    "InvalidPart": 400, "InvalidPartOrder": 400, "InvalidArgument": 400, "InvalidRequest": 400, "MalformedXML": 400,
    "AuthorizationHeaderMalformed": 400, "XAmzContentSHA256Mismatch": 400, "BadDigest": 400, "RequestTimeout": 400,
    "MissingContentLength": 411, "InvalidRange": 416, "OperationAborted": 409, "BucketNotEmpty": 409,
    "QuotaExceeded": 403, "NotImplemented": 501, "MethodNotAllowed": 405, "PermanentRedirect": 301,
    "TemporaryRedirect": 307,
}
NUMBERS = {"500": "InternalError", "503": "SlowDown", "403": "AccessDenied", "404": "NoSuchKey", "400": "ExpiredToken",
           "409": "OperationAborted", "501": "NotImplemented", "301": "PermanentRedirect", "307": "TemporaryRedirect"}
XMLNS = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
SKEW = 15 * 60
BLOCK = 65536
WRONG_ETAG = "00000000000000000000000000000bad"


class Refused(Exception):
    """An error that S3 answers with."""

    def __init__(self, code, message="", extra="", headers=()):
        Exception.__init__(self, code)
        self.code, self.message, self.extra, self.headers = code, message, extra, headers


class Gone(Exception):
    """The connection is closed."""


def quote(text):
    return urllib.parse.quote(text, safe="-_.~/", errors="surrogateescape")


def rename_into(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


class Store:
    """objects/BUCKET/HASH is an object, HASH the SHA-256 of its key, HASH.json what is known of it;
    uploads/ID/upload.json is an upload, uploads/ID/N and N.json a part."""

    def __init__(self, directory):
        self.objects, self.uploads = directory + "/objects", directory + "/uploads"
        os.makedirs(self.objects, exist_ok=True)
        os.makedirs(self.uploads, exist_ok=True)
        self.lock = threading.RLock()
        self.serial = 0

    def spare(self):
        with self.lock:
            self.serial += 1
            return "%s/.%d.%d" % (self.uploads, os.getpid(), self.serial)

    def bucket(self, name):
        path = self.objects + "/" + name
        if "/" in name or name.startswith(".") or not os.path.isdir(path):
            raise Refused("NoSuchBucket", "The specified bucket does not exist")
        return path

    def path(self, bucket, key):
        return self.bucket(bucket) + "/" + hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()

    @staticmethod
    def known(path):
        with open(path + ".json") as file:
            return json.load(file)

    def put(self, bucket, key, spare, etag):
        path = self.path(bucket, key)
        with self.lock:
            facts = {"key": key, "etag": etag, "size": os.path.getsize(spare), "time": time.time()}
            os.rename(spare, path)
            rename_into(path + ".json", json.dumps(facts))

    def get(self, bucket, key):
        path = self.path(bucket, key)
        with self.lock:
            try:
                return self.known(path), open(path, "rb")
            except FileNotFoundError:
                raise Refused("NoSuchKey", "The specified key does not exist.", "<Key>%s</Key>" % escape(key))

    def remove(self, bucket, key):
        path = self.path(bucket, key)
        with self.lock:
            for name in path + ".json", path:
                if os.path.exists(name):
                    os.unlink(name)

    def list(self, bucket):
        path = self.bucket(bucket)
        with self.lock:
            return [self.known(path + "/" + name[:-5]) for name in os.listdir(path) if name.endswith(".json")]

    def create(self, bucket, key):
        self.bucket(bucket)
        upload = hashlib.sha256(os.urandom(16)).hexdigest()[:32]
        os.mkdir(self.uploads + "/" + upload)
        rename_into("%s/%s/upload.json" % (self.uploads, upload),
                    json.dumps({"bucket": bucket, "key": key, "id": upload, "time": time.time()}))
        return upload

    def upload(self, bucket, key, upload):
        try:
            facts = self.known("%s/%s/upload" % (self.uploads, upload.replace("/", "")))
        except OSError:
            facts = {}
        if (facts.get("bucket"), facts.get("key")) != (bucket, key):
            raise Refused("NoSuchUpload", "The specified upload does not exist.")
        return self.uploads + "/" + upload

    def put_part(self, path, number, spare, etag):
        with self.lock:
            facts = {"number": number, "etag": etag, "size": os.path.getsize(spare), "time": time.time()}
            os.rename(spare, "%s/%d" % (path, number))
            rename_into("%s/%d.json" % (path, number), json.dumps(facts))

    def parts(self, path):
        names = [name for name in os.listdir(path) if re.fullmatch("[0-9]+", name)]
        return [self.known(path + "/" + name) for name in sorted(names, key=int)]

    def all_uploads(self, bucket):
        with self.lock:
            every = [self.known(self.uploads + "/" + name + "/upload") for name in os.listdir(self.uploads)
                     if not name.startswith(".")]
        return sorted((one for one in every if one["bucket"] == bucket), key=lambda one: (one["key"], one["id"]))


class Control:
    """The faults, and the requests that they hit."""

    def __init__(self, path):
        self.path, self.seen, self.lock = path, {}, threading.Lock()

    def lines(self):
        try:
            with open(self.path) as file:
                return [line.strip() for line in file if line.strip() and not line.startswith("#")]
        except FileNotFoundError:
            return []

    def clock(self):
        shift = [int(line.split()[1]) for line in self.lines() if line.startswith("clock ")]
        return time.time() + (shift[-1] if shift else 0)

    def fault(self, method, target):
        with self.lock:
            for line in self.lines():
                words = [word for word in line.split() if not word.startswith("#")]
                if words[0] == "clock" or len(words) < 3:
                    continue
                if not re.fullmatch(words[0], method) or not re.search(words[1], target):
                    continue
                self.seen[line] = self.seen.get(line, 0) + 1
                first, last = self.turns(words[3] if len(words) > 3 else "1-")
                if first <= self.seen[line] <= last:
                    name, _, value = words[2].partition(":")
                    return name, value, words[2]
        return "", "", "-"

    @staticmethod
    def turns(count):
        if "-" not in count:
            return 1, int(count)
        first, last = count.split("-")
        return int(first), int(last) if last else sys.maxsize


def fault_xml(kind):
    """The bodies of xml-KIND, in pieces."""
    if kind == "xml-bomb":
        yield '<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY a0 "aaaaaaaaaa">'
        for n in range(1, 12):
            yield '<!ENTITY a%d "%s">' % (n, ("&a%d;" % (n - 1)) * 10)
        yield "]>\n<ListBucketResult><Contents><Key>&a11;</Key></Contents></ListBucketResult>"
    elif kind == "xml-nested":
        yield DECLARATION + "<ListBucketResult>" + "<a>" * 100000 + "</a>" * 100000 + "</ListBucketResult>"
    elif kind == "xml-huge":
        yield DECLARATION + "<ListBucketResult><Contents><Key>"
        for _ in range(1024):
            yield "x" * BLOCK
        yield "</Key></Contents></ListBucketResult>"
    else:
        yield "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\n<body><p>Welcome<br>to the network</html>\n"


def odd_names(prefix):
    """Names that our client never makes. Another client or a faulty server may produce them."""
    entry = prefix + "2026-01-01T00:00:00Z-000001/"
    return [prefix, prefix + "..", prefix + "../escaped", prefix + "./a", prefix + "/absolute", "/etc/passwd",
            prefix + "\x01\x02\x1b[31mred", prefix + "two\nlines", prefix + "tab\there", prefix + " ",
            prefix + "%2e%2e/x", prefix + "a&b<c>\"d'", prefix + "\u00e9\U0001f4be", prefix + "-rf",
            prefix + "$(touch x)", prefix + "\udcff\udcfe", prefix + "\x9b31m\u202e",
            prefix + "n" * (1024 - len(prefix)), entry, entry + "..", entry + "../../x", entry + "etcd.backup.gz/more",
            entry + "_etcd_backup.meta", prefix + "2026-02-30T99:99:99Z-000002/etcd.backup.gz", prefix + "README",
            "of-somebody-else/etcd.backup.gz"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "bucket-server", ""
    disable_nagle_algorithm = True

    # ---- the connection ----

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(self.server.control.clock() if timestamp is None else timestamp, usegmt=True)

    def log_message(self, format, *args):
        pass

    def handle_expect_100(self):
        self.expects = True
        return True

    def finish(self):
        try:
            http.server.BaseHTTPRequestHandler.finish(self)
        except (OSError, ValueError):
            pass

    def handle(self):
        try:
            http.server.BaseHTTPRequestHandler.handle(self)
        except (Gone, OSError, ValueError):
            self.close_connection = True

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.wfile = open(os.devnull, "wb")
        os.close(self.connection.detach())
        raise Gone()

    def log(self):
        line = "%s %s %03d %d %s\n" % (self.command, self.path, self.status, self.received, self.fault_word)
        os.write(self.server.log, line.encode("utf-8", "backslashreplace"))

    def handle_request(self):
        self.status = self.received = 0
        self.sent = self.done = False
        self.left = int(self.headers.get("Content-Length") or 0)
        self.fault, self.value, self.fault_word = self.server.control.fault(self.command, self.path)
        try:
            try:
                self.before()
                self.answer_request()
            except Refused as refusal:
                self.refuse(refusal)
            if self.left:
                self.close_connection = True
        finally:
            if self.fault != "hang":
                self.log()
            self.expects = False

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request
    expects = False

    def before(self):
        """Faults before the request is done."""
        fault = self.fault
        code = NUMBERS.get(fault, fault)
        if code in ERRORS:
            headers = []
            if ERRORS[code] in (301, 307):
                headers = [("Location", (self.value or "https://other.invalid") + self.path)]
            raise Refused(code, "as told", headers=headers)
        if fault == "reset":
            self.drain()
            self.reset()
        if fault == "hang":
            self.drain()
            self.log()
            self.server.over.wait(float(self.value) if self.value else None)
            self.reset()
        if fault == "late":
            self.server.over.wait(float(self.value))
        if fault == "huge-headers":
            self.drain()
            self.status = 200
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            number = 0
            while not self.server.over.is_set():
                self.wfile.write(b"X-Filler-%d: %s\r\n" % (number, b"x" * 4000))
                number += 1
        if fault in ("page", "xhtml"):
            self.drain()
            body = b"<html><head><title>Console</title></head><body><p>Please sign in.</p></body></html>"
            kind = "text/html; charset=utf-8" if fault == "page" else "application/xml"
            self.begin(200, [("Content-Type", kind), ("Content-Length", str(len(body))), ("ETag", WRONG_ETAG)])
            if self.command != "HEAD":
                self.wfile.write(body)
            self.fault = ""
            raise Refused("")
        if fault.startswith("xml-") and fault != "xml-cut":
            self.drain()
            kind = "text/html" if fault == "xml-foreign" else "application/xml"
            pieces = [piece.encode() for piece in fault_xml(fault)]
            self.begin(200, [("Content-Type", kind), ("Content-Length", str(sum(map(len, pieces))))])
            for piece in pieces:
                self.wfile.write(piece)
            self.fault = ""
            raise Refused("")

    # ---- what comes in ----

    def body(self):
        """The request's body, in blocks."""
        if self.headers.get("Transfer-Encoding"):
            self.close_connection = True
            raise Refused("MissingContentLength", "You must provide the Content-Length HTTP header.")
        if self.expects:
            self.expects = False
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        size, limit = BLOCK, None
        if self.fault == "cut" and self.left:
            limit = int(self.value)
        if self.fault == "slow":
            size = max(1, int(self.value) // 10)
        while self.left:
            if limit is not None and self.received >= limit:
                self.reset()
            want = min(size, self.left, limit - self.received if limit is not None else size)
            block = self.rfile.read(want)
            self.received += len(block)
            self.left -= len(block)
            if len(block) < want:
                self.close_connection = True
                raise Gone()
            if self.fault == "slow":
                self.server.over.wait(0.1)
            yield block

    def drain(self):
        for _ in self.body():
            pass

    def take(self, keep=None):
        """Reads the body, to the file KEEP or into memory, and compares its digest. Gives the MD5, or the bytes."""
        digest, md5, blocks = hashlib.sha256(), hashlib.md5(), []
        for block in self.body():
            digest.update(block)
            md5.update(block)
            if keep:
                keep.write(block)
            else:
                blocks.append(block)
        wanted = self.headers["x-amz-content-sha256"]
        if wanted not in ("UNSIGNED-PAYLOAD", digest.hexdigest()):
            raise Refused("XAmzContentSHA256Mismatch",
                          "The provided 'x-amz-content-sha256' header does not match what was computed.")
        return md5.hexdigest() if keep else b"".join(blocks)

    def split(self):
        path, _, query = self.path.partition("?")
        self.raw_path, pairs = urllib.parse.unquote(path, errors="surrogateescape"), []
        for pair in query.split("&") if query else []:
            name, _, value = pair.partition("=")
            pairs.append((urllib.parse.unquote_plus(name), urllib.parse.unquote_plus(value)))
        self.pairs, self.query = pairs, dict(pairs)
        bucket, _, key = self.raw_path[1:].partition("/")
        return bucket, key

    # ---- who asks ----

    def authenticate(self):
        given = self.headers.get("Authorization", "")
        fields = dict(re.findall(r"(Credential|SignedHeaders|Signature)=([^,\s]+)", given))
        if not given.startswith("AWS4-HMAC-SHA256 ") or len(fields) != 3:
            raise Refused("AccessDenied", "Access Denied")
        dates = self.headers.get_all("x-amz-date") or []
        if len(dates) != 1 or not re.fullmatch(r"\d{8}T\d{6}Z", dates[0]):
            raise Refused("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
        key_id, _, scope = fields["Credential"].partition("/")
        if key_id != self.server.key_id:
            raise Refused("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.",
                          "<AWSAccessKeyId>%s</AWSAccessKeyId>" % escape(key_id))
        now = self.server.control.clock()
        if abs(calendar.timegm(time.strptime(dates[0], "%Y%m%dT%H%M%SZ")) - now) > SKEW:
            raise Refused("RequestTimeTooSkewed",
                          "The difference between the request time and the current time is too large.",
                          "<RequestTime>%s</RequestTime><ServerTime>%s</ServerTime>"
                          % (dates[0], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))))
        if scope != "%s/%s/s3/aws4_request" % (dates[0][:8], self.server.region):
            raise Refused("AuthorizationHeaderMalformed", "The authorization header is malformed; expecting '%s'"
                          % self.server.region, "<Region>%s</Region>" % self.server.region)
        if not self.headers.get("x-amz-content-sha256"):
            raise Refused("InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
        self.check_signature(fields, dates[0], scope, key_id)

    def check_signature(self, fields, date, scope, key_id):
        signed = fields["SignedHeaders"].split(";")
        for name in self.headers:
            if name.lower() not in signed and (name.lower().startswith("x-amz-") or name.lower() == "host"):
                raise Refused("AccessDenied", "There were headers present in the request which were not signed",
                              "<HeadersNotSigned>%s</HeadersNotSigned>" % escape(name.lower()))
        lines = [self.command,
                 urllib.parse.quote(self.raw_path, safe="-_.~/", errors="surrogateescape"),
                 "&".join("%s=%s" % (urllib.parse.quote(name, safe="-_.~"), urllib.parse.quote(value, safe="-_.~"))
                          for name, value in sorted(self.pairs))]
        lines += ["%s:%s" % (name, ",".join(" ".join(value.split()) for value in self.headers.get_all(name) or []))
                  for name in signed]
        lines += ["", fields["SignedHeaders"], self.headers["x-amz-content-sha256"]]
        canonical = "\n".join(lines)
        to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope,
                             hashlib.sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()])
        key = ("AWS4" + self.server.secret).encode()
        for piece in scope.split("/") + [to_sign]:
            key = hmac.new(key, piece.encode(), "sha256").digest()
        if signed != sorted(signed) or not hmac.compare_digest(key.hex(), fields["Signature"]):
            raise Refused("SignatureDoesNotMatch", "The request signature we calculated does not match the signature "
                          "you provided. Check your key and signing method.",
                          "<AWSAccessKeyId>%s</AWSAccessKeyId><StringToSign>%s</StringToSign><SignatureProvided>%s"
                          "</SignatureProvided><CanonicalRequest>%s</CanonicalRequest>"
                          % (escape(key_id), escape(to_sign), escape(fields["Signature"]),
                             escape(canonical.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))))

    # ---- what goes out ----

    def begin(self, status, headers):
        self.status, self.sent = status, True
        if self.fault == "unanswered":
            self.status = 0
            self.reset()
        self.send_response(status)
        self.send_header("x-amz-request-id", "0123456789ABCDEF")
        for name, value in headers:
            if name == "ETag":
                value = '"%s"' % {"wrong-etag": WRONG_ETAG, "long-etag": "e" * 200}.get(self.fault, value)
            self.send_header(name, value)
        self.end_headers()

    def send_body(self, source, size):
        """SIZE bytes from SOURCE(N), unless the fault stops them."""
        stop, block = size, BLOCK
        if self.fault == "truncated":
            stop = min(size, int(self.value) if self.value else size // 2)
        if self.fault == "cut":
            stop = min(size, int(self.value))
        if self.fault == "slow":
            block = max(1, int(self.value) // 10)
        left = stop
        while left and not self.server.over.is_set():
            piece = source(min(block, left))
            left -= len(piece)
            if self.fault == "flipped" and left + size - stop == 0:
                piece = piece[:-1] + bytes([piece[-1] ^ 1])
            self.wfile.write(piece)
            if self.fault == "slow":
                self.server.over.wait(0.1)
        if self.fault == "cut":
            self.wfile.flush()
            self.reset()
        if stop < size:
            self.close_connection = True

    def answer(self, status=200, headers=(), text=None):
        body = (DECLARATION + text).encode("utf-8", "surrogatepass") if text is not None else b""
        if text is not None and self.fault == "xml-cut":
            body = body[:len(body) // 2]
        if text is not None and self.fault == "spaces":
            return self.answer_with_spaces(body)
        headers = list(headers) + ([("Content-Type", "application/xml")] if text is not None else [])
        if status != 204:
            headers.append(("Content-Length", str(len(body))))
        self.begin(status, headers)
        if self.command != "HEAD" and body:
            position = [0]

            def source(count):
                position[0] += count
                return body[position[0] - count:position[0]]
            self.send_body(source, len(body))

    def answer_with_spaces(self, body):
        """In chunks: the declaration, spaces, the rest."""
        def chunk(data):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.begin(200, [("Content-Type", "application/xml"), ("Transfer-Encoding", "chunked")])
        chunk(body[:len(DECLARATION)])
        for _ in range(int(float(self.value) * 10)):
            self.server.over.wait(0.1)
            chunk(b" ")
        chunk(body[len(DECLARATION):])
        self.wfile.write(b"0\r\n\r\n")

    def refuse(self, refusal):
        if not refusal.code or self.sent:
            return
        # An early refusal saves a client that waits for "100 Continue" from sending the body.
        if self.left and not self.expects and not self.headers.get("Transfer-Encoding"):
            self.fault = "" if self.fault in ("cut", "slow") else self.fault
            self.drain()
        text = "<Error><Code>%s</Code><Message>%s</Message>%s<RequestId>0123456789ABCDEF</RequestId></Error>" % (
            refusal.code, escape(refusal.message), refusal.extra)
        headers = list(refusal.headers) + ([("Connection", "close")] if self.left else [])
        self.answer(ERRORS[refusal.code], headers, text)

    # ---- what is asked ----

    def answer_request(self):
        bucket, key = self.split()
        self.authenticate()
        if self.command == "PUT" and (self.headers.get("If-None-Match") or self.headers.get("If-Match")):
            raise Refused("NotImplemented", "A header you provided implies functionality that is not implemented.")
        if self.command in ("GET", "HEAD", "DELETE"):
            self.take()
        name = self.command.lower() + ("_object" if key else "_bucket")
        if not bucket or not hasattr(self, name):
            raise Refused("MethodNotAllowed", "The specified method is not allowed against this resource.")
        getattr(self, name)(*((bucket, key) if key else (bucket,)))

    def put_bucket(self, bucket):
        self.take()
        os.makedirs(self.server.store.objects + "/" + bucket.replace("/", ""), exist_ok=True)
        self.answer(200, [("Location", "/" + bucket)])

    def head_bucket(self, bucket):
        self.server.store.bucket(bucket)
        self.answer()

    def delete_bucket(self, bucket):
        try:
            os.rmdir(self.server.store.bucket(bucket))
        except OSError:
            raise Refused("BucketNotEmpty", "The bucket you tried to delete is not empty")
        self.answer(204)

    def get_bucket(self, bucket):
        self.server.store.bucket(bucket)
        if "uploads" in self.query:
            return self.list_uploads(bucket)
        if "location" in self.query:
            return self.answer(text="<LocationConstraint%s>%s</LocationConstraint>" % (XMLNS, self.server.region))
        if self.query.get("list-type") != "2":
            raise Refused("NotImplemented", "Listings of version 2 only")
        return self.list_objects(bucket)

    def put_object(self, bucket, key):
        store = self.server.store
        path = number = None
        if "uploadId" in self.query:
            path = store.upload(bucket, key, self.query["uploadId"])
            number = self.query.get("partNumber", "")
            if not re.fullmatch("[0-9]{1,5}", number) or not 1 <= int(number) <= 10000:
                raise Refused("InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive")
        store.bucket(bucket)
        spare = store.spare()
        try:
            with open(spare, "wb") as file:
                etag = self.take(file)
            if self.fault == "forget":
                pass
            elif path:
                store.put_part(path, int(number), spare, etag)
            else:
                store.put(bucket, key, spare, etag)
        finally:
            if os.path.exists(spare):
                os.unlink(spare)
        self.answer(200, [("ETag", etag)])

    def get_object(self, bucket, key):
        if "uploadId" in self.query:
            return self.list_parts(bucket, key)
        facts, file = self.server.store.get(bucket, key)
        with file:
            first, last = 0, facts["size"] - 1
            given = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
            if given and given.group(1):
                first = int(given.group(1))
                last = min(last, int(given.group(2))) if given.group(2) else last
            elif given and given.group(2):
                first = max(0, facts["size"] - int(given.group(2)))
            if given and first > last:
                raise Refused("InvalidRange", "The requested range is not satisfiable")
            size = last - first + 1
            if self.fault == "short-read":
                size = size // 2
            headers = [("Content-Type", "binary/octet-stream"), ("Accept-Ranges", "bytes"), ("ETag", facts["etag"]),
                       ("Last-Modified", self.date_time_string(facts["time"])), ("Content-Length", str(size))]
            if given:
                headers.append(("Content-Range", "bytes %d-%d/%d" % (first, first + size - 1, facts["size"])))
            self.begin(206 if given else 200, headers)
            if self.command == "GET":
                file.seek(first)
                self.send_body(file.read, size)

    head_object = get_object

    def delete_object(self, bucket, key):
        if "uploadId" in self.query:
            path = self.server.store.upload(bucket, key, self.query["uploadId"])
            if self.fault != "forget":
                shutil.rmtree(path)
        elif self.fault != "forget":
            self.server.store.remove(bucket, key)
        self.answer(204)

    def post_object(self, bucket, key):
        if "uploads" in self.query:
            self.take()
            upload = self.server.store.create(bucket, key)
            self.answer(text="<InitiateMultipartUploadResult%s><Bucket>%s</Bucket><Key>%s</Key><UploadId>%s</UploadId>"
                        "</InitiateMultipartUploadResult>" % (XMLNS, escape(bucket), escape(key), upload))
        elif "uploadId" in self.query:
            self.complete(bucket, key)
        else:
            raise Refused("NotImplemented", "POST of that kind")

    def complete(self, bucket, key):
        store = self.server.store
        path = store.upload(bucket, key, self.query["uploadId"])
        try:
            root = xml.etree.ElementTree.fromstring(self.take())
            wanted = [(int(part.findtext("{*}PartNumber")), (part.findtext("{*}ETag") or "").strip().strip('"'))
                      for part in root.iterfind("{*}Part")]
        except (xml.etree.ElementTree.ParseError, TypeError, ValueError):
            raise Refused("MalformedXML", "The XML you provided was not well-formed")
        if self.fault == "complete-200-with-error":
            return self.answer(text=" " * 40 + "<Error><Code>InternalError</Code><Message>We encountered an internal "
                               "error. Please try again.</Message><RequestId>0123456789ABCDEF</RequestId></Error>")
        with store.lock:
            etag = self.join(path, wanted, bucket, key)
        self.answer(text="<CompleteMultipartUploadResult%s><Location>%s</Location><Bucket>%s</Bucket><Key>%s</Key>"
                    "<ETag>&quot;%s&quot;</ETag></CompleteMultipartUploadResult>"
                    % (XMLNS, escape("/%s/%s" % (bucket, quote(key))), escape(bucket), escape(key),
                       WRONG_ETAG + "-1" if self.fault == "wrong-etag" else etag))

    def join(self, path, wanted, bucket, key):
        """The object of those parts."""
        store, digests = self.server.store, b""
        have = {part["number"]: part for part in store.parts(path)}
        if not wanted:
            raise Refused("MalformedXML", "You must specify at least one part")
        if [number for number, _ in wanted] != sorted({number for number, _ in wanted}):
            raise Refused("InvalidPartOrder", "The list of parts was not in ascending order.")
        for index, (number, etag) in enumerate(wanted):
            if number not in have or have[number]["etag"] != etag:
                raise Refused("InvalidPart", "One or more of the specified parts could not be found.")
            if have[number]["size"] < self.server.min_part and index + 1 < len(wanted):
                raise Refused("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
            digests += bytes.fromhex(etag)
        etag = "%s-%d" % (hashlib.md5(digests).hexdigest(), len(wanted))
        if self.fault != "forget":
            spare = store.spare()
            with open(spare, "wb") as whole:
                for number, _ in wanted:
                    with open("%s/%d" % (path, number), "rb") as part:
                        shutil.copyfileobj(part, whole)
            store.put(bucket, key, spare, etag)
            shutil.rmtree(path)
        return etag

    # ---- listings ----

    def number(self, name):
        value = self.query.get(name, "1000")
        if not re.fullmatch("[0-9]{1,9}", value):
            raise Refused("InvalidArgument", "Provided %s not an integer or within integer range" % name)
        return min(int(value), 1000)

    def namer(self):
        if self.query.get("encoding-type", "url") != "url":
            raise Refused("InvalidArgument", "Invalid Encoding Method specified in Request")
        if "encoding-type" in self.query:
            return lambda name: escape(quote(name))
        # S3 writes characters that XML cannot express as references, which no parser accepts. This server does the
        # same.
        return lambda name: re.sub("[\x00-\x08\x0b-\x1f]", lambda hit: "&#%d;" % ord(hit.group()), escape(name))

    many = {}  # PREFIX and N: the sorted names of the fault many-names

    @staticmethod
    def stamp(seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))

    def made_up(self, prefix, after, limit):
        names = []
        if self.fault == "many-names":
            count = int(self.value) if self.value else 100000
            if (prefix, count) not in self.many:
                self.many[prefix, count] = ["%sforeign-%06d" % (prefix, n) for n in range(count)]
            names = self.many[prefix, count]
            first = bisect.bisect_right(names, after)
            names = names[first:first + limit + 1]
        elif self.fault == "odd-names":
            names = odd_names(prefix)
        return [{"key": name, "etag": WRONG_ETAG, "size": 3, "time": 1e9} for name in names]

    def list_objects(self, bucket):
        query, name, limit = self.query, self.namer(), self.number("max-keys")
        prefix, delimiter, after = query.get("prefix", ""), query.get("delimiter", ""), query.get("start-after", "")
        if "continuation-token" in query:
            try:
                after = base64.b64decode(query["continuation-token"], validate=True).decode()
            except ValueError:
                raise Refused("InvalidArgument", "The continuation token provided is incorrect")
        every = [one for one in self.server.store.list(bucket) if one["key"].startswith(prefix)] + \
            self.made_up(prefix, after, limit)
        every.sort(key=lambda one: one["key"].encode("utf-8", "surrogateescape"))
        found, last, more = [], None, False
        for one in every:
            key, common = one["key"], None
            if delimiter and key.startswith(prefix) and delimiter in key[len(prefix):]:
                common = key[:key.index(delimiter, len(prefix)) + len(delimiter)]
            shown = common or key
            if (after and (key <= after or common == after)) or (common and common == last):
                continue
            if len(found) == limit:
                more = limit > 0
                break
            last = shown
            if common:
                found.append("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % name(common))
            else:
                found.append("<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>&quot;%s&quot;</ETag><Size>%d"
                             "</Size><StorageClass>STANDARD</StorageClass></Contents>"
                             % (name(key), self.stamp(one["time"]), one["etag"], one["size"]))
        if self.fault == "endless":
            more, last = True, prefix + "%020d" % time.monotonic_ns()
        head = "<Name>%s</Name><Prefix>%s</Prefix>" % (escape(bucket), name(prefix))
        if more:
            head += "<NextContinuationToken>%s</NextContinuationToken>" % base64.b64encode(last.encode()).decode()
        if delimiter:
            head += "<Delimiter>%s</Delimiter>" % name(delimiter)
        if "encoding-type" in query:
            head += "<EncodingType>url</EncodingType>"
        self.answer(text="<ListBucketResult%s>%s<KeyCount>%d</KeyCount><MaxKeys>%d</MaxKeys><IsTruncated>%s"
                    "</IsTruncated>%s</ListBucketResult>"
                    % (XMLNS, head, len(found), limit, str(more).lower(), "".join(found)))

    def list_uploads(self, bucket):
        query, name, limit = self.query, self.namer(), self.number("max-uploads")
        marker = (query.get("key-marker", ""), query.get("upload-id-marker") or "\U0010ffff")
        every = [one for one in self.server.store.all_uploads(bucket)
                 if one["key"].startswith(query.get("prefix", "")) and
                 (not marker[0] or (one["key"], one["id"]) > marker)]
        found, more = every[:limit], len(every) > limit
        head = "<Bucket>%s</Bucket>" % escape(bucket)
        if more and found:
            head += "<NextKeyMarker>%s</NextKeyMarker><NextUploadIdMarker>%s</NextUploadIdMarker>" % (
                name(found[-1]["key"]), found[-1]["id"])
        self.answer(text="<ListMultipartUploadsResult%s>%s<MaxUploads>%d</MaxUploads><IsTruncated>%s</IsTruncated>%s"
                    "</ListMultipartUploadsResult>" % (XMLNS, head, limit, str(more).lower(), "".join(
                        "<Upload><Key>%s</Key><UploadId>%s</UploadId><StorageClass>STANDARD</StorageClass><Initiated>%s"
                        "</Initiated></Upload>" % (name(one["key"]), one["id"], self.stamp(one["time"]))
                        for one in found)))

    def list_parts(self, bucket, key):
        parts = self.server.store.parts(self.server.store.upload(bucket, key, self.query["uploadId"]))
        limit, marker = self.number("max-parts"), int(self.query.get("part-number-marker") or 0)
        parts = [part for part in parts if part["number"] > marker]
        found, more = parts[:limit], len(parts) > limit
        head = "<NextPartNumberMarker>%d</NextPartNumberMarker>" % found[-1]["number"] if more and found else ""
        self.answer(text="<ListPartsResult%s><Bucket>%s</Bucket><Key>%s</Key><UploadId>%s</UploadId>%s<IsTruncated>%s"
                    "</IsTruncated>%s</ListPartsResult>" % (
                        XMLNS, escape(bucket), self.namer()(key), self.query["uploadId"], head, str(more).lower(),
                        "".join("<Part><PartNumber>%d</PartNumber><LastModified>%s</LastModified><ETag>&quot;%s&quot;"
                                "</ETag><Size>%d</Size></Part>"
                                % (part["number"], self.stamp(part["time"]), part["etag"], part["size"])
                                for part in found)))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    tls = None

    def finish_request(self, request, client_address):
        # The handshake runs in the connection's own thread: a client that sends nothing does not block the others.
        if self.tls:
            request.settimeout(60)
            request = self.tls.wrap_socket(request, server_side=True, suppress_ragged_eofs=True)
            request.settimeout(None)
        self.RequestHandlerClass(request, client_address, self)
        if self.tls and request.fileno() >= 0:
            try:
                request.settimeout(1)
                request.unwrap()
            except OSError:
                pass
            request.close()

    def shutdown_request(self, request):
        try:
            http.server.ThreadingHTTPServer.shutdown_request(self, request)
        except OSError:
            pass

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        if not isinstance(error, (OSError, Gone)):
            http.server.ThreadingHTTPServer.handle_error(self, request, client_address)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--control", required=True)
    parser.add_argument("--key-id", required=True)
    parser.add_argument("--secret-file", required=True)
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--cert", help="without: plain http")
    parser.add_argument("--key")
    parser.add_argument("--min-part", type=int, default=5 << 20)
    options = parser.parse_args()
    try:
        server = Server(("127.0.0.1", options.port), Handler)
    except OSError:
        server = Server(("127.0.0.1", 0), Handler)  # the old port is taken
    server.over = threading.Event()
    server.store, server.control = Store(options.directory), Control(options.control)
    server.log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    server.key_id, server.region, server.min_part = options.key_id, options.region, options.min_part
    with open(options.secret_file) as file:
        server.secret = file.read().strip()
    if options.cert:
        server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.tls.load_cert_chain(options.cert, options.key)

    def end(*_):
        server.over.set()
        os._exit(0)
    signal.signal(signal.SIGTERM, end)
    rename_into(options.port_file, "%d\n" % server.server_address[1])
    server.serve_forever()


main()
