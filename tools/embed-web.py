#!/usr/bin/env python3
"""embed-web.py WEBDIR WORKDIR RUNBOOK.md OUT.c: bundle the page with esbuild and write it as C arrays, plain and gzipped; the runbook as a page beside it.

Runs `npm ci` first when web/node_modules is missing or older than the lock file."""
import base64
import fcntl
import gzip
import hashlib
import html
import os
import re
import subprocess
import sys


def install(web):
    lock = os.path.join(web, "package-lock.json")
    done = os.path.join(web, "node_modules", ".package-lock.json")
    # several build directories share one node_modules
    with open(os.path.join(web, "package.json")) as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not os.path.exists(done) or os.path.getmtime(done) < os.path.getmtime(lock):
            # no package needs its own script to run, and a build runs nobody else's
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"], cwd=web, check=True, stdout=sys.stderr)
            os.utime(done)


def array(name, data):
    rows = [",".join(str(b) for b in data[i : i + 64]) for i in range(0, len(data), 64)]
    return "static const unsigned char %s[] = {\n%s\n};\n" % (name, ",\n".join(rows))


def inline(text):
    parts = re.split(r"(`[^`]+`)", text)
    return "".join("<code>%s</code>" % html.escape(p[1:-1]) if i % 2 else re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html.escape(p)) for i, p in enumerate(parts))


def runbook(text):
    """The few forms that the runbook is written in: headings, paragraphs, numbered lists, code, emphasis."""
    out, listed, paragraph = [], False, []

    def flush():
        if paragraph:
            out.append("<p>%s</p>" % inline(" ".join(paragraph)))
            paragraph.clear()

    for line in text.splitlines() + [""]:
        head, item = re.match(r"(#+) (.*)", line), re.match(r"\d+\. (.*)", line)
        if head or item or not line.strip():
            flush()
        if listed and not item:
            if line.strip() and not head:
                out[-1] = out[-1][:-5] + " " + inline(line.strip()) + "</li>"
                continue
            out.append("</ol>")
            listed = False
        if head:
            # one section for several names: each is an anchor
            names = [n.strip().lower() for n in head.group(2).split(",")] if len(head.group(1)) == 2 else []
            marks = "".join('<a id="%s"></a>' % html.escape(n, True) for n in names)
            level = len(head.group(1))
            out.append("%s<h%d>%s</h%d>" % (marks, level, inline(head.group(2)), level))
        elif item:
            if not listed:
                out.append("<ol>")
            listed = True
            out.append("<li>%s</li>" % inline(item.group(1)))
        elif line.strip():
            paragraph.append(line.strip())
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Runbook - zombiescope</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/app.css">\n</head>\n<body>\n<main id="app" class="runbook">\n'
        '<p><a href="/">to the recording</a></p>\n%s\n</main>\n</body>\n</html>\n' % "\n".join(out)
    )


def main():
    web, work, book, out = sys.argv[1:5]
    install(web)
    subprocess.run(["node", os.path.join(web, "build.mjs"), os.path.abspath(work)], check=True)
    files = [("/", "index.html", "text/html; charset=utf-8"), ("/app.js", "app.js", "text/javascript; charset=utf-8"), ("/app.css", "app.css", "text/css; charset=utf-8")]
    with open(book, encoding="utf-8") as f, open(os.path.join(work, "runbook.html"), "w", encoding="utf-8") as page:
        page.write(runbook(f.read()))
    files.append(("/runbook", "runbook.html", "text/html; charset=utf-8"))
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
