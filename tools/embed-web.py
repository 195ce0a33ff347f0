#!/usr/bin/env python3
"""embed-web.py WEBDIR WORKDIR OUT.c: bundle the page with esbuild and write it as C arrays, plain and gzipped.

Runs `npm ci` first when web/node_modules is missing or older than the lock file."""
import base64
import fcntl
import gzip
import hashlib
import os
import subprocess
import sys


def install(web):
    lock = os.path.join(web, "package-lock.json")
    done = os.path.join(web, "node_modules", ".package-lock.json")
    # several build directories share one node_modules
    with open(os.path.join(web, "package.json")) as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not os.path.exists(done) or os.path.getmtime(done) < os.path.getmtime(lock):
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=web, check=True, stdout=sys.stderr)
            os.utime(done)


def array(name, data):
    rows = [",".join(str(b) for b in data[i : i + 64]) for i in range(0, len(data), 64)]
    return "static const unsigned char %s[] = {\n%s\n};\n" % (name, ",\n".join(rows))


def main():
    web, work, out = sys.argv[1:4]
    install(web)
    subprocess.run(["node", os.path.join(web, "build.mjs"), os.path.abspath(work)], check=True)
    files = [("/", "index.html", "text/html; charset=utf-8"), ("/app.js", "app.js", "text/javascript; charset=utf-8"), ("/app.css", "app.css", "text/css; charset=utf-8")]
    parts, rows = ['#include "web_assets.h"\n'], []
    for i, (path, name, kind) in enumerate(files):
        with open(os.path.join(work, name), "rb") as f:
            data = f.read()
        packed = gzip.compress(data, 9, mtime=0)
        digest = hashlib.sha256(data).digest()
        parts.append(array("plain%d" % i, data + b"\0"))
        parts.append(array("packed%d" % i, packed))
        rows.append('\t{ "%s", "%s", plain%d, %d, packed%d, %d, "%s", "%s" },' % (
            path, kind, i, len(data), i, len(packed), digest.hex()[:16], base64.b64encode(digest).decode()))
    parts.append("const struct web_asset web_assets[] = {\n%s\n};\nconst size_t n_web_assets = %d;\n" % ("\n".join(rows), len(rows)))
    with open(out, "w") as f:
        f.write("\n".join(parts))


main()
