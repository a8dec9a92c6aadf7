# shellcheck shell=bash
# Bloom filters in the tour: one with the capacity for all words, and one for 1,000 words that grows.
# scripts/tour.sh sources this file and defines the functions and variables that it uses.
# shellcheck disable=SC2154

bloom_rate=0.01

bloom_load() {
    heading "Bloom filters: was this item added?"
    show BF.RESERVE words:bloom "$bloom_rate" "$word_count"
    echo "> BF.ADD words:bloom <each word>"
    sed 's/^/BF.ADD\twords:bloom\t/' "$words" | pipe
    show BF.RESERVE words:grown "$bloom_rate" 1000
    echo "> BF.ADD words:grown <each word>"
    sed 's/^/BF.ADD\twords:grown\t/' "$words" | pipe
    echo "> SADD words:set <each word>"
    sed 's/^/SADD\twords:set\t/' "$words" | pipe
}

# bloom_count KEY FILE: prints how many words of the file BF.MEXISTS finds.
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
        check "an added word is missing from $key" "$found == $word_count"
        rate=$(awk "BEGIN { printf \"%.5f\", $(bloom_count "$key" "$absent") / $absent_count }")
        # Tolerance: five standard deviations of a sample of this size.
        check "false positives of $key" \
            "$rate <= $bloom_rate + 5 * sqrt($bloom_rate * (1 - $bloom_rate) / $absent_count)"
        memory=$(cli MEMORY USAGE "$key")
        set_memory=$(cli MEMORY USAGE words:set SAMPLES 0)
        check "$key is larger than a fifth of the set" "$memory * 5 < $set_memory"
        echo "  added words that are found: $found of $word_count"
        echo "  false positive rate of $absent_count other items: $rate (limit: $bloom_rate)"
        echo "  memory: $memory bytes; a SET of the same words: $set_memory bytes," \
            "$(awk "BEGIN { printf \"%.0f\", $set_memory / $memory }") times as much"
    done
}

bloom_answers() {
    local key
    for key in words:bloom words:grown; do
        cli BF.INFO "$key"
        cat "$words" "$absent" | ask BF.MEXISTS "$key"
    done
}
