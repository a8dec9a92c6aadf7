# shellcheck shell=bash
# t-digests in the tour: one with a number for each word, and one merged from 26 digests, one per first letter.
# scripts/tour.sh sources this file and defines the functions and variables that it uses.
# shellcheck disable=SC2154

# Quantiles that are compared with the exact ones.
t_digest_shares=(0.01 0.1 0.25 0.5 0.75 0.9 0.99 0.999)

t_digest_load() {
    heading "t-digest: how are the values distributed?"
    # The number of a word is the sum of its bytes.
    LC_ALL=C awk '
        BEGIN { for (i = 1; i < 256; i++) code[sprintf("%c", i)] = i }
        {
            sum = 0
            for (i = 1; i <= length($0); i++) sum += code[substr($0, i, 1)]
            print sum "\t" $0
        }' "$words" > "$dir/sums"
    LC_ALL=C sort -n "$dir/sums" | cut -f 1 > "$dir/sorted-sums"
    show TDIGEST.CREATE words:digest
    echo "> TDIGEST.ADD words:digest <the sum of each word's bytes>"
    awk -F '\t' '{ print "TDIGEST.ADD\twords:digest\t" $1 }' "$dir/sums" | pipe
    echo "> TDIGEST.ADD words:digest:<first letter> <the same sum>"
    local letter sources=()
    for letter in {a..z}; do
        cli TDIGEST.CREATE "words:digest:$letter" > /dev/null
        sources+=("words:digest:$letter")
    done
    awk -F '\t' 'tolower($2) ~ /^[a-z]/ {
        print "TDIGEST.ADD\twords:digest:" tolower(substr($2, 1, 1)) "\t" $1
    }' "$dir/sums" | pipe
    echo "> TDIGEST.MERGE words:merged 26 words:digest:a ... words:digest:z"
    cli TDIGEST.MERGE words:merged 26 "${sources[@]}" | sed 's/^/  /'
    echo "> ZADD words:zset <the same sum> <the word>"
    awk -F '\t' '{ print "ZADD\twords:zset\t" $1 "\t" $2 }' "$dir/sums" | pipe
}

# t_digest_errors KEY: prints each quantile, the reply, and the difference between the quantile and the rank of the
# reply. Ranks are fractions of all words.
t_digest_errors() {
    cli TDIGEST.QUANTILE "$1" "${t_digest_shares[@]}" \
        | awk -v shares="${t_digest_shares[*]}" '
            FNR == NR { answer[FNR] = $1; next }
            { for (i in answer) { below[i] += $1 < answer[i]; equal[i] += $1 == answer[i] } }
            END {
                n = split(shares, share, " ")
                for (i = 1; i <= n; i++) {
                    low = below[i] / FNR; high = (below[i] + equal[i]) / FNR
                    error = share[i] < low ? low - share[i] : share[i] > high ? share[i] - high : 0
                    printf "%s\t%s\t%.5f\n", share[i], answer[i], error
                }
            }' - "$dir/sorted-sums"
}

t_digest_show() {
    local key share answer error memory zset_memory
    show TDIGEST.QUANTILE words:digest 0.5 0.9 0.999
    show TDIGEST.CDF words:digest 1000
    show TDIGEST.RANK words:digest 1000
    show TDIGEST.TRIMMED_MEAN words:digest 0.1 0.9
    for key in words:digest words:merged; do
        echo
        show TDIGEST.INFO "$key"
        echo "  quantile, reply, error of the rank as a fraction of all words:"
        while read -r share answer error; do
            printf '  %8s %12.2f %12s\n' "$share" "$answer" "$error"
            # The accuracy of a digest with compression 100, with a tolerance for the merge.
            check "the error of quantile $share of $key is too large" "$error <= 0.001 + 0.1 * $share * (1 - $share)"
        done < <(t_digest_errors "$key")
        check "the minimum of $key is wrong" \
            "$(cli TDIGEST.MIN "$key") == $(head -n 1 "$dir/sorted-sums")"
    done
    memory=$(cli MEMORY USAGE words:digest)
    zset_memory=$(cli MEMORY USAGE words:zset SAMPLES 0)
    check "the digest is larger than a hundredth of the sorted set" "$memory * 100 < $zset_memory"
    echo "  memory: $memory bytes; a sorted set of the same values: $zset_memory bytes," \
        "$(awk "BEGIN { printf \"%.0f\", $zset_memory / $memory }") times as much"
}

t_digest_answers() {
    local key
    for key in words:digest words:merged words:digest:q; do
        cli TDIGEST.MIN "$key"
        cli TDIGEST.MAX "$key"
        cli TDIGEST.QUANTILE "$key" "${t_digest_shares[@]}"
        cli TDIGEST.CDF "$key" 1 500 700 900 1000 1100 1500 9999
        cli TDIGEST.TRIMMED_MEAN "$key" 0.01 0.7
    done
}
