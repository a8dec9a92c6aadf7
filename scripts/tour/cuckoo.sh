# shellcheck shell=bash
# Cuckoo filter in the tour: adds all words and deletes every tenth.
# scripts/tour.sh sources this file and defines the functions and variables that it uses.
# shellcheck disable=SC2154

cuckoo_load() {
    heading "Cuckoo filters: was this item added and not deleted?"
    show CF.RESERVE words:cuckoo "$((word_count * 5 / 4))" BUCKETSIZE 4
    echo "> CF.ADD words:cuckoo <each word>"
    sed 's/^/CF.ADD\twords:cuckoo\t/' "$words" | pipe
    awk 'NR % 10 == 0' "$words" > "$dir/taken"
    awk 'NR % 10' "$words" > "$dir/left"
    echo "> CF.DEL words:cuckoo <each tenth word>"
    sed 's/^/CF.DEL\twords:cuckoo\t/' "$dir/taken" | pipe
}

# cuckoo_count FILE: prints how many words of the file CF.MEXISTS finds.
cuckoo_count() {
    ask CF.MEXISTS words:cuckoo < "$1" | grep -cx 1 || true
}

cuckoo_show() {
    local left found rate taken limit memory
    left=$(wc -l < "$dir/left")
    show CF.INFO words:cuckoo
    found=$(cuckoo_count "$dir/left")
    check "an added word is missing" "$found == $left"
    rate=$(awk "BEGIN { printf \"%.5f\", $(cuckoo_count "$absent") / $absent_count }")
    taken=$(awk "BEGIN { printf \"%.5f\", $(cuckoo_count "$dir/taken") / $(wc -l < "$dir/taken") }")
    # A lookup compares two buckets of four fingerprints. There are 255 different fingerprints.
    limit=$(awk 'BEGIN { printf "%.5f", 2 * 4 / 255 }')
    check "too many false positives" "$rate <= $limit"
    # The sample of deleted words is smaller. Tolerance: five standard deviations.
    check "too many deleted words are found" "$taken <= $limit + 5 * sqrt($limit / 10000)"
    memory=$(cli MEMORY USAGE words:cuckoo)
    echo "  remaining words that are found: $found of $left"
    echo "  false positive rate of $absent_count other items: $rate (limit: $limit)"
    echo "  false positive rate of the deleted words: $taken"
    echo "  memory: $memory bytes"
}

cuckoo_answers() {
    cli CF.INFO words:cuckoo
    cat "$words" "$absent" | ask CF.MEXISTS words:cuckoo
}
