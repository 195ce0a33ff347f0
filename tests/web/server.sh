#!/bin/bash
# The server against bad clients: what may not be asked, absurd parameters, slow and many clients, a store that is damaged or
# vanishes while it is served. Every error is JSON with the right status; nothing crashes, leaks or hangs.
set -u
build=$1
work=$(mktemp -d)
failed=0
pids=()
cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap cleanup EXIT
check() { # check WHAT WANTED GOT
	if [ "$2" = "$3" ]; then echo "ok   $1"; else echo "FAIL $1: wanted '$2', got '$3'"; failed=1; fi
}

until_true() { # COMMAND...: waits up to a minute for what must come
	local end=$((SECONDS + 60))
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

"$build/tests/web/make-store" "$work/store" 8 300 || exit 2
# as a user without any right, but to read the store
chmod 755 "$work"
runas=()
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chown -R nobody "$work/store"
	install -m 755 "$build/zscope" "$work/zscope"
	runas=(setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all --bounding-set=-all)
else
	cp "$build/zscope" "$work/zscope"
fi
"${runas[@]}" "$work/zscope" serve --store "$work/store" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
pids+=("$server")
until_true test -s "$work/url"
url=$(cat "$work/url")
port=${url##*:} port=${port%/}
answers() { [ "$(status "$1")" = "$2" ]; }
status() { curl -s -m 60 -o "$work/body" -w '%{http_code}' "$@"; }
json_error() { jq -e '.error.status and .error.text' "$work/body" >/dev/null && echo yes || echo no; }

# who may ask
check "the page" 200 "$(status "$url")"
for method in POST PUT DELETE PATCH OPTIONS HEAD TRACE; do
	check "$method is refused" 405 "$(status -X $method $([ $method = HEAD ] && echo -I) "${url}api/v1/status")"
done
check "a body does not help" 405 "$(status --data-binary @/etc/hostname "${url}api/v1/status")"
for host in evil.example "evil.example:$port" "localhost.evil.example:$port" "127.0.0.1:1" "localhost@evil.example" "" "[::1" "169.254.169.254"; do
	check "Host '$host' is refused" 403 "$(status -H "Host: $host" "${url}api/v1/status")"
	check "Host '$host': a JSON error" yes "$(json_error)"
done
check "Host localhost is served" 200 "$(status -H "Host: localhost:$port" "${url}api/v1/status")"
for origin in http://evil.example null "http://localhost.evil.example:$port" "https://127.0.0.1:$port" "http://127.0.0.1:1"; do
	check "Origin $origin is refused" 403 "$(status -H "Origin: $origin" "${url}api/v1/status")"
done
check "our own Origin is served" 200 "$(status -H "Origin: http://127.0.0.1:$port" "${url}api/v1/status")"
check "another site's fetch is refused" 403 "$(status -H 'Sec-Fetch-Site: cross-site' "${url}api/v1/status")"
check "a link from an alert opens the runbook" 200 "$(status -H 'Sec-Fetch-Site: cross-site' "${url}runbook")"
check "a link from a ticket opens the page" 200 "$(status -H 'Sec-Fetch-Site: cross-site' "$url")"
check "scrapes share a connection" 1 "$(curl -s -o /dev/null -w '%{num_connects}\n' "${url}metrics" -o /dev/null "${url}metrics" | awk '{ n += $1 } END { print n }')"
check "a GET with a body ends the connection" 2 "$(curl -s -X GET --data x -o /dev/null -w '%{num_connects}\n' "${url}metrics" -o /dev/null "${url}metrics" | awk '{ n += $1 } END { print n }')"

# headers
curl -s -D "$work/head" -o /dev/null --compressed "$url"
for want in "content-security-policy: default-src 'none'; script-src 'self'" "x-content-type-options: nosniff" "x-frame-options: deny" "content-encoding: gzip" "referrer-policy: no-referrer"; do
	grep -qi "^$want" "$work/head" && got=yes || got=no
	check "header $want" yes $got
done
etag=$(sed -n 's/^[Ee][Tt]ag: //p' "$work/head" | tr -d '\r')
check "not sent again when it is known" 304 "$(status --compressed -H "If-None-Match: $etag" "$url")"
check "no inline script" 0 "$(curl -s "$url" | grep -cE '<script>|onload=|javascript:')"

# what is asked
while read -r want path; do
	got=$(status --path-as-is "${url}$path")
	check "/$path" "$want" "$got"
	[ "$want" = 200 ] || check "/$path: a JSON error" yes "$(json_error)"
done <<'EOF'
404 nothing
404 api/v1/nothing
404 api/v2/status
400 ../../etc/passwd
400 %2e%2e/%2e%2e/etc/passwd
400 api/v1/status%00
400 api/v1/cores?cols=0
400 api/v1/cores?cols=999999999999999999999999
400 api/v1/cores?cols=-5
400 api/v1/cores?mode=%3Cscript%3E
400 api/v1/cores?from=yesterdayish
400 api/v1/cores?from=now&to=-1h
404 api/v1/cores?from=@1000&to=@2000
404 api/v1/flame?from=@9000000000&to=@9000000100
400 api/v1/flame?cpu=x
200 api/v1/flame?cpu=4000000000
200 api/v1/flame?comm=%22%3E%3Cimg%20onerror%3E
400 api/v1/overview?points=1
400 api/v1/events?limit=0
200 api/v1/events?limit=5&source=kmsg
404 api/v1/cores/at?time=@1
400 api/v1/cores/at
200 api/v1/why
200 api/v1/zombies
200 api/v1/zombies?to=-100s
200 api/v1/zombies?from=-200s&to=-100s
400 api/v1/zombies?from=-100s&to=-200s
400 api/v1/zombies?to=soon
404 api/v1/zombies/now
200 api/v1/heat?cols=60
400 api/v1/heat?cols=0
200 api/v1/heat?comm=worker&cols=60
200 api/v1/flame?unit=kubelet.service
200 api/v1/units
200 api/v1/resets
200 api/v1/resets?event=none
400 api/v1/resets?limit=0
404 api/v1/resets?from=@1000&to=@2000
200 metrics
EOF
# exact where every second is read, and the same however it is cut
sum() { curl -s "${url}api/v1/$1" | jq '[.counts[][]] | add'; }
check "heat: wide columns hold the same samples" "$(sum heat)" "$(sum 'heat?cols=7')"
check "heat: without a filter and with one that takes all" "$(sum heat)" "$(sum 'heat?unit=*')"
check "flame: as many samples as the heat map" "$(sum heat)" "$(curl -s "${url}api/v1/flame" | jq .samples)"
check "zombies: named, with owner and forecast" "64 true 3" "$(curl -s "${url}api/v1/zombies" | jq -r '"\(.zombies | length) \(.forecast.reaches_ns > 0) \(.groups | length)"')"
# both onsets, what reclaim took and who paid, who makes them: as `zscope zombies --json`
check "zombies: two onsets" "70000 true 38400000000 true" "$(curl -s "${url}api/v1/zombies" | jq -r '.forecast | "\(.threshold) \(.reaches_ns > .to_ns) \(.ram_limit_bytes) \(.ram_reaches_ns > .to_ns and .ram_bytes_now > 0 and .ram_bytes_per_day > 0)"')"
check "zombies: what reclaim took" "500 limit wall 12500000000 31000 5150 kswapd cpu null" "$(curl -s "${url}api/v1/zombies" | jq -r '.cost.reclaim.groups | "\(.[0].passes) \(.[0].kind) \(.[0].times) \(.[0].total_ns) \(.[0].zombies_below) \(.[0].payers[0].pid) \(.[1].kind) \(.[1].times) \(.[1].freed_bytes)"')"
check "zombies: who makes them" "60 812 5" "$(curl -s "${url}api/v1/zombies" | jq -r '"\(.churn.groups[0].made) \(.churn.groups[0].creator.pid) \([.groups[].created_every_s // empty] | first)"')"
check "zombies: the same as the command says" "" "$(diff <(curl -s "${url}api/v1/zombies" | jq -S '{forecast, churn, cost, groups, rate_per_hour}') <("$work/zscope" zombies --store "$work/store" --from -1h --json | jq -S '{forecast, churn, cost, groups, rate_per_hour}'))"
to=$(curl -s "${url}api/v1/status" | jq .to_ns) from=$((to / 1000000000 - 300))
# the page's verdict looks as far back as the command's
told() { jq -S '[.unknown[] | select(.what == "history" or (.why | test("history")))]'; }
check "why: unknown as the command says" "" "$(diff <(curl -s "${url}api/v1/why?from=@$((from + 200))&to=@$((from + 260))" | told) <("$work/zscope" why --store "$work/store" --from "@$((from + 200))" --to "@$((from + 260))" --json | told))"
check "zombies: reclaim of a window" "100 stat-reads" "$(curl -s "${url}api/v1/zombies?from=@$((from + 61))&to=@$((from + 100))" | jq -r '"\(.cost.reclaim.groups[0].passes) \(.cost.verdict)"')"
check "zombies: no measurement ended in the window" "null what reclaim takes" "$(curl -s "${url}api/v1/zombies?from=@$((from + 200))&to=@$((from + 230))" | jq -r '"\(.cost.reclaim) \([.unknown[].what | select(test("reclaim"))][0])"')"
check "zombies: before the first census, the counts of that second" "59760 null owners" "$(curl -s "${url}api/v1/zombies?to=@$((from + 1))" | jq -r '"\(.dying) \(.groups) \(.unknown[0].what)"')"
long=$(head -c 5000 /dev/zero | tr '\0' a)
check "a very long address" 414 "$(status "${url}api/v1/status?a=$long")"
many=$(printf 'a=b&%.0s' $(seq 60))
check "very many parameters" 414 "$(status "${url}api/v1/status?$many")"
for path in status overview cores events flame heat zombies why units resets; do
	curl -s --compressed "${url}api/v1/$path" | jq -e '.schema and .host and .time and .kernel' >/dev/null && got=yes || got=no
	check "$path is JSON with schema, host, time and kernel" yes $got
done
# nothing but JSON comes from the API, whatever it is asked
python3 -c 'import socket, sys; s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); s.sendall(b"GARBAGE\r\n\r\n\0\xff" * 50)' "$port" 2>/dev/null
check "garbage on the wire" 200 "$(status "$url")"

# 200 parallel clients, and 100 that never finish their request
python3 - "$port" >"$work/many" <<'PY'
import socket, sys, threading, time
port = int(sys.argv[1])
slow = []
for i in range(100):
    s = socket.create_connection(("127.0.0.1", port), timeout=10)
    s.sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: loc")
    slow.append(s)
ok = []
def ask(i):
    path = ["status", "overview?points=300", "cores?cols=300", "events", "flame?from=-90s", "heat"][i % 6]
    try:
        s = socket.create_connection(("127.0.0.1", port), timeout=60)
        s.sendall(f"GET /api/v1/{path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while True:
            part = s.recv(65536)
            if not part: break
            data += part
        if data.startswith(b"HTTP/1.1 200") or data.startswith(b"HTTP/1.1 503"): ok.append(data[9:12])
    except OSError as e:
        print("client", i, e, file=sys.stderr)
threads = [threading.Thread(target=ask, args=(i,)) for i in range(200)]
start = time.time()
for t in threads: t.start()
for t in threads: t.join()
print(len(ok), ok.count(b"200"))
print(f"{time.time() - start:.1f} s", file=sys.stderr)
PY
check "200 parallel clients beside 100 slow ones are all answered" 200 "$(cut -d' ' -f1 "$work/many")"
echo "     $(cat "$work/many") (answered, with 200)"
rss=$(awk '/VmHWM/ {print $2}' /proc/$server/status)
check "memory stays below 128 MB ($rss kB)" yes "$([ "$rss" -lt 131072 ] && echo yes)"
before=$(awk '/VmRSS/ {print $2}' /proc/$server/status)
for _ in $(seq 300); do echo "url=\"${url}api/v1/overview?points=400\""; echo 'output="/dev/null"'; done >"$work/urls"
curl -s -K "$work/urls"
after=$(awk '/VmRSS/ {print $2}' /proc/$server/status)
check "300 more answers leak nothing ($before → $after kB)" yes "$([ "$after" -lt $((before + 8192)) ] && echo yes)"

# live: server-sent events
timeout 120 curl -sN "${url}api/v1/live" >"$work/live" &
until_true grep -q '^data: {"from_ns"' "$work/live"
check "live tells the span" yes "$(grep -q '^data: {"from_ns"' "$work/live" && echo yes)"

# a damaged segment: skipped and named; the rest is served
seg=$(ls "$work/store"/*.seg | sed -n 2p)
printf 'garbage' | dd of="$seg" bs=1 seek=3000 conv=notrunc status=none
check "flame over a damaged segment" 200 "$(status "${url}api/v1/flame")"
# the store vanishes, and comes back
mv "$work/store" "$work/away"
until_true answers "${url}api/v1/overview" 410
check "a vanished store" 410 "$(status "${url}api/v1/overview")"
check "a vanished store: a JSON error" yes "$(json_error)"
check "a vanished store: flame" 410 "$(status "${url}api/v1/flame")"
check "a vanished store: metrics say so" 0 "$(curl -s "${url}metrics" | sed -n 's/^zscope_store_readable //p')"
check "a vanished store: status" 200 "$(status "${url}api/v1/status")"
mv "$work/away" "$work/store"
until_true answers "${url}api/v1/overview" 200
check "it comes back" 200 "$(status "${url}api/v1/overview")"

# the kernel's log is older than the recording: what was not recorded is not what the verdict is about
"$build/tests/web/make-store" "$work/early" 4 120 "$(date +%s)" 1 || exit 2
"$build/zscope" serve --store "$work/early" --listen 127.0.0.1:0 >"$work/url3" 2>&1 &
early=$!
pids+=("$early")
until_true test -s "$work/url3"
check "why: around an event of the recording, not before it" "true unit-crash-loop" "$(curl -s "$(cat "$work/url3")api/v1/why" | jq -r '"\(.to_ns > .from_ns) \(.verdict.id)"')"
check "events: also what was before the recording" net-driver-reset "$(curl -s "$(cat "$work/url3")api/v1/events" | jq -r '.events[0].id')"
kill -TERM $early
wait $early

kill -TERM $server
wait $server
check "SIGTERM ends it cleanly, with a client listening" 0 $?
pids=()
check "nothing on stderr" 0 "$(wc -c <"$work/log")"
"$work/zscope" serve --store "$work/none" --listen 127.0.0.1:0 >"$work/url2" 2>"$work/said2" &
pids+=($!)
until_true test -s "$work/url2"
check "a store that is not there yet is named" "zscope: $work/none: no recording there; start one with 'zscope record --store $work/none'; waiting for it" "$(cat "$work/said2")"
check "a store that is not there yet" 410 "$(status "$(cat "$work/url2")api/v1/overview")"
"$work/zscope" serve --store /dev/null --listen 127.0.0.1:0 >"$work/out" 2>"$work/err"
check "a store that cannot be one" "2 zscope: /dev/null: Not a directory: --store takes the one that 'zscope record' or 'zscope import' wrote" "$? $(cat "$work/err")"
"$work/zscope" serve --listen nonsense >/dev/null 2>&1
check "bad usage" 2 $?

# libmicrohttpd is loaded by serve and by nothing else. Looked for under a name that no library has: one line says what to install.
check "zscope is linked with libz, not with libmicrohttpd" "libz" "$(ldd "$work/zscope" | grep -oE 'libz\>|libmicrohttpd|libgnutls' | sort -u | tr '\n' ' ' | sed 's/ $//')"
LC_ALL=C sed 's/libmicrohttpd\.so\./libmicrohttpd.no./g' "$work/zscope" >"$work/without"
chmod 755 "$work/without"
timeout 60 "$work/without" serve --store "$work/store" --listen 127.0.0.1:0 >"$work/out" 2>"$work/err"
check "serve without libmicrohttpd" "2 0 1" "$? $(wc -c <"$work/out") $(wc -l <"$work/err")"
check "it says what to install" yes "$(grep -qE '^zscope: serve needs (libmicrohttpd[0-9]+): apt-get install \1 \(.*No such file' "$work/err" && echo yes)"
"$work/without" version >/dev/null
check "other commands do without it" 0 $?
# another library under its name
mkdir "$work/lib"
ln -s "$(ldd "$work/zscope" | sed -n 's/.*libz\.so.* => \([^ ]*\) .*/\1/p')" "$work/lib/$(grep -aoE -m1 'libmicrohttpd\.so\.[0-9]+' "$work/zscope" | head -n 1)"
LD_LIBRARY_PATH=$work/lib timeout 60 "$work/zscope" serve --store "$work/store" --listen 127.0.0.1:0 >"$work/out" 2>"$work/err"
check "serve with a library that is none" "2 0 1" "$? $(wc -c <"$work/out") $(grep -cE '^zscope: libmicrohttpd.* has no MHD_' "$work/err")"
exit $failed
