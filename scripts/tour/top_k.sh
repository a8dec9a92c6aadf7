# shellcheck shell=bash
# The tour's top-k: the most frequent endings (last three letters) of all words, beside the exact ones.
# To be read by scripts/tour.sh, which has what is used here.
# shellcheck disable=SC2154

top_k_endings() {
    LC_ALL=C sed -n 's/.*\(...\)$/\1/p' "$words"
}

top_k_load() {
    heading "Top-k: what comes most often?"
    show TOPK.RESERVE words:endings 10 100 5 0.9
    echo "> TOPK.ADD words:endings <the last three letters of each word>"
    top_k_endings | sed 's/^/TOPK.ADD\twords:endings\t/' | pipe
}

top_k_show() {
    local endings exact listed found
    show TOPK.INFO words:endings
    endings=$(top_k_endings | LC_ALL=C sort | uniq -c | sort -k 1,1nr -k 2)
    exact=$(head -n 10 <<< "$endings" | awk '{ print $2, $1 }')
    listed=$(cli TOPK.LIST words:endings WITHCOUNT | paste -d ' ' - -)
    printf '> TOPK.LIST words:endings WITHCOUNT, and the exact counts\n'
    awk 'NR == FNR { exact[$2] = $1; next } { printf "  %-4s %6d %6d\n", $1, $2, exact[$1] }' \
        <(echo "$endings") <(echo "$listed")
    found=$(awk 'NR == FNR { exact[$1]; next } $1 in exact { n++ } END { print n + 0 }' \
        <(echo "$exact") <(echo "$listed"))
    echo "  of the ten most frequent endings $found are listed;" \
        "memory: $(cli MEMORY USAGE words:endings) bytes, for $(wc -l <<< "$endings") different endings"
    check "one of the most frequent endings is missing" "$found == 10"
    # Counts are never too large unless two endings share a fingerprint; decay makes them too small.
    awk 'NR == FNR { exact[$2] = $1; next } $2 > exact[$1] || $2 < 0.95 * exact[$1] { exit 1 }' \
        <(echo "$endings") <(echo "$listed") || fail "a count is off by more than a twentieth"
}

top_k_answers() {
    cli TOPK.LIST words:endings WITHCOUNT
    top_k_endings | LC_ALL=C sort -u | ask TOPK.COUNT words:endings
    # With the state of the random numbers, from which the next additions decay.
    cli TOPK.SCANDUMP words:endings 0
}
