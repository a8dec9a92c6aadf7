# shellcheck shell=bash
# The tour's Bloom filters: one made for all words, and one made for 1,000 that grew six times.
# To be read by scripts/tour.sh, which has what is used here.
# shellcheck disable=SC2154

bloom_rate=0.01

bloom_load() {
    heading "Bloom filters: has this been seen?"
    show BF.RESERVE words:bloom "$bloom_rate" "$word_count"
    echo "> BF.ADD words:bloom <each word>"
    sed 's/^/BF.ADD\twords:bloom\t/' "$words" | pipe
    show BF.RESERVE words:grown "$bloom_rate" 1000
    echo "> BF.ADD words:grown <each word>"
    sed 's/^/BF.ADD\twords:grown\t/' "$words" | pipe
    echo "> SADD words:set <each word>"
    sed 's/^/SADD\twords:set\t/' "$words" | pipe
}

# bloom_count KEY FILE: how many of the file's words the filter says it has seen.
bloom_count() {
    ask BF.MEXISTS "$1" < "$2" | grep -cx 1 || true
}

bloom_show() {
    local key found rate memory set_memory
    show BF.MEXISTS words:bloom apple "zoo's" aple
    for key in words:bloom words:grown; do
        echo
        show BF.INFO "$key"
        found=$(bloom_count "$key" "$words")
        check "a word that was added is missing from $key" "$found == $word_count"
        rate=$(awk "BEGIN { printf \"%.5f\", $(bloom_count "$key" "$strangers") / $stranger_count }")
        # Five standard deviations of a sample of this size.
        check "false positives of $key" \
            "$rate <= $bloom_rate + 5 * sqrt($bloom_rate * (1 - $bloom_rate) / $stranger_count)"
        memory=$(cli MEMORY USAGE "$key")
        set_memory=$(cli MEMORY USAGE words:set SAMPLES 0)
        check "$key is no smaller than a fifth of the set" "$memory * 5 < $set_memory"
        echo "  words that were added and are found:  $found of $word_count"
        echo "  false positives among $stranger_count others: $rate (promised: at most $bloom_rate)"
        echo "  memory: $memory bytes; the same words as a SET: $set_memory bytes," \
            "$(awk "BEGIN { printf \"%.0f\", $set_memory / $memory }") times as much"
    done
}

bloom_answers() {
    local key
    for key in words:bloom words:grown; do
        cli BF.INFO "$key"
        cat "$words" "$strangers" | ask BF.MEXISTS "$key"
    done
}
