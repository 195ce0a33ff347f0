#!/bin/bash
# Every rule stands in docs/DIAGNOSIS.md (with its anchor) and has a heading in docs/RUNBOOK.md, every scenario of the lab in
# docs/DIAGNOSIS.md, and neither document tells of one that does not exist.
set -u
zscope=$(realpath "$2")
cd "$1" || exit 1
status=0
fail() { echo "$1"; status=1; }
rules=$(grep -oE '\.id = "[a-z-]+"' src/analyze/rules.c | cut -d'"' -f2)
[ "$(wc -w <<<"$rules")" -ge 19 ] || fail "only $(wc -w <<<"$rules") rules were found"
headings=$(sed '/^# What to do, alert by alert/,$d' docs/RUNBOOK.md | grep -E '^## ' | tr -d '#,' | tr ' ' '\n' | grep .)
for rule in $rules; do
	grep -q "^| <a id=\"$rule\"></a>\`$rule\` |" docs/DIAGNOSIS.md || fail "docs/DIAGNOSIS.md: no row for $rule"
	grep -qx -e "$rule" <<<"$headings" || fail "docs/RUNBOOK.md: no heading for $rule"
done
for rule in $headings $(grep -oE '<a id="[a-z-]+"></a>`' docs/DIAGNOSIS.md | cut -d'"' -f2); do
	grep -qx -e "$rule" <<<"$rules" || fail "documented, but no rule: $rule"
done
scenarios=$("$zscope" lab list --json | python3 -c 'import json, sys; print(*(s["name"] for s in json.load(sys.stdin)["scenarios"]))')
[ "$(wc -w <<<"$scenarios")" -ge 10 ] || fail "only $(wc -w <<<"$scenarios") scenarios were listed"
for scenario in $scenarios; do
	grep -q "^| \`$scenario\` |" docs/DIAGNOSIS.md || fail "docs/DIAGNOSIS.md: no row for the scenario $scenario"
done
exit $status
