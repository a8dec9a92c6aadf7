# shellcheck shell=bash
# Count-min sketch in the tour: how often do words end in the same three letters?
# scripts/tour.sh sources this file and defines the functions and variables that it uses.
# shellcheck disable=SC2154

count_min_error=0.001
count_min_probability=0.002

count_min_load() {
    heading "Count-min sketch: how often was this item added?"
    endings=$dir/endings
    # The first file has the last three letters of each word, the second one each ending with its exact count.
    LC_ALL=C sed -nE 's/.*([a-z]{3})$/\1/p' "$words" > "$endings"
    LC_ALL=C sort "$endings" | uniq -c | sort -k1,1nr -k2 | awk '{ print $2, $1 }' > "$endings.counts"
    show CMS.INITBYPROB endings "$count_min_error" "$count_min_probability"
    echo "> CMS.INCRBY endings <the last three letters of each word> 1"
    sed 's/.*/CMS.INCRBY\tendings\t&\t1/' "$endings" | pipe
}

count_min_show() {
    local total different excess
    total=$(wc -l < "$endings")
    different=$(wc -l < "$endings.counts")
    show CMS.QUERY endings ing ers zzz
    show CMS.INFO endings
    check "the total of the sketch" "$(cli CMS.INFO endings | tail -n 1) == $total"
    # An estimate is never too low, and is rarely too high by more than error * total.
    excess=$(cut -d ' ' -f 1 "$endings.counts" | ask CMS.QUERY endings | paste -d ' ' - "$endings.counts" \
        | awk -v bound="$(awk "BEGIN { print $count_min_error * $total }")" '
            { more = $1 - $3; low += more < 0; high += more > bound; if (more > most) most = more }
            END { print low + 0, high + 0, most + 0 }')
    read -r low high most <<< "$excess"
    check "an estimate is too low" "$low == 0"
    # Tolerance: five standard deviations.
    check "too many estimates are too high by more than error * total" \
        "$high <= $different * $count_min_probability + 5 * sqrt($different * $count_min_probability)"
    echo "  estimates of $different endings: none too low, largest excess $most;"
    echo "  too high by more than error * total: $high (limit: a fraction of $count_min_probability)"
    show CMS.INITBYPROB twice "$count_min_error" "$count_min_probability"
    show CMS.MERGE twice 1 endings WEIGHTS 2
    check "a merge with weight 2 does not double the count" \
        "$(cli CMS.QUERY twice ing) == 2 * $(cli CMS.QUERY endings ing)"
    echo "  memory: $(cli MEMORY USAGE endings) bytes"
}

count_min_answers() {
    cli CMS.INFO endings
    cut -d ' ' -f 1 "$endings.counts" | ask CMS.QUERY endings
    cut -d ' ' -f 1 "$endings.counts" | ask CMS.QUERY twice
}
