#!/usr/bin/env bash
# Tests the alert rules of packaging/monitoring with promtool (tests/monitoring/alerts.test.yml), and checks that promtool
# accepts every query of the dashboard. Takes no arguments and a few seconds; needs no server.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh promtool
PATH=$PATH:$PWD/target/promtool
promtool check rules packaging/monitoring/alerts.yml
promtool test rules tests/monitoring/alerts.test.yml

# promtool checks queries only in rules, so each query becomes a rule. Grafana replaces the variables.
rules=$(mktemp) && trap 'rm -f "$rules"' EXIT
python3 - "$rules" <<'EOF'
import json, sys
with open("packaging/monitoring/dashboard.json") as file:
    panels = json.load(file)["panels"]
queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
assert queries
queries = [query.replace("$instance", ".*").replace("$__rate_interval", "2m") for query in queries]
rules = [{"record": f"dashboard:query:{number}", "expr": query} for number, query in enumerate(queries)]
with open(sys.argv[1], "w") as file:
    json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
EOF
promtool check rules "$rules"
