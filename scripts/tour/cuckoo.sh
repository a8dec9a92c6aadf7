# shellcheck shell=bash
# The tour's cuckoo filter: all words go in, every tenth goes out again.
# To be read by scripts/tour.sh, which has what is used here.
# shellcheck disable=SC2154

cuckoo_load() {
    heading "Cuckoo filters: has this been seen, and not been taken back?"
    show CF.RESERVE words:cuckoo "$((word_count * 5 / 4))" BUCKETSIZE 4
    echo "> CF.ADD words:cuckoo <each word>"
    sed 's/^/CF.ADD\twords:cuckoo\t/' "$words" | pipe
    awk 'NR % 10 == 0' "$words" > "$dir/taken"
    awk 'NR % 10' "$words" > "$dir/left"
    echo "> CF.DEL words:cuckoo <each tenth word>"
    sed 's/^/CF.DEL\twords:cuckoo\t/' "$dir/taken" | pipe
}

# cuckoo_count FILE: how many of the file's words the filter says are in.
cuckoo_count() {
    ask CF.MEXISTS words:cuckoo < "$1" | grep -cx 1 || true
}

cuckoo_show() {
    local left found rate taken promised memory
    left=$(wc -l < "$dir/left")
    show CF.INFO words:cuckoo
    found=$(cuckoo_count "$dir/left")
    check "a word that is in is missing" "$found == $left"
    rate=$(awk "BEGIN { printf \"%.5f\", $(cuckoo_count "$strangers") / $stranger_count }")
    taken=$(awk "BEGIN { printf \"%.5f\", $(cuckoo_count "$dir/taken") / $(wc -l < "$dir/taken") }")
    # Two buckets of four one-byte fingerprints a look-up, of 255 that there are.
    promised=$(awk 'BEGIN { printf "%.5f", 2 * 4 / 255 }')
    check "false positives" "$rate <= $promised"
    # Fewer words were taken than asked about: five standard deviations more.
    check "words that were taken out are still there" "$taken <= $promised + 5 * sqrt($promised / 10000)"
    memory=$(cli MEMORY USAGE words:cuckoo)
    echo "  words that are in and are found:      $found of $left"
    echo "  false positives among $stranger_count others: $rate (promised: at most $promised)"
    echo "  of the words that were taken out:     $taken are still said to be in"
    echo "  memory: $memory bytes"
}

cuckoo_answers() {
    cli CF.INFO words:cuckoo
    cat "$words" "$strangers" | ask CF.MEXISTS words:cuckoo
}
