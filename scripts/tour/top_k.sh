# shellcheck shell=bash
# Top-k in the tour: the most frequent endings (last three letters) of all words, with the exact counts.
# scripts/tour.sh sources this file and defines the functions and variables that it uses.
# shellcheck disable=SC2154

top_k_endings() {
    LC_ALL=C sed -n 's/.*\(...\)$/\1/p' "$words"
}

top_k_load() {
    heading "Top-k: which items occur most often?"
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
    echo "  listed endings among the ten most frequent ones: $found;" \
        "memory: $(cli MEMORY USAGE words:endings) bytes, for $(wc -l <<< "$endings") different endings"
    check "one of the most frequent endings is missing" "$found == 10"
    # A count is too high only if two endings share a fingerprint. Decay makes counts too low.
    awk 'NR == FNR { exact[$2] = $1; next } $2 > exact[$1] || $2 < 0.95 * exact[$1] { exit 1 }' \
        <(echo "$endings") <(echo "$listed") || fail "a count is too high, or too low by more than 5 %"
}

top_k_answers() {
    cli TOPK.LIST words:endings WITHCOUNT
    top_k_endings | LC_ALL=C sort -u | ask TOPK.COUNT words:endings
    # The dump includes the state of the random number generator, which decides how later additions decay.
    cli TOPK.SCANDUMP words:endings 0
}
