#!/usr/bin/env bash
# ddsketch 3.0.1 (Python): the average of a sketch that was written and read is 0, and a merge with one has a wrong average.
#
# The samples are 1 to 1,000, with the average 500.5. The protobuf message has no field for the sum, so that the sketch read from it has the
# count 1,000, the average 0 and the same quantiles. Merged with the original, it has the count 2,000 and the average 250.25.
cd "$(dirname "$0")"
. lib/packages.sh
python_with ddsketch==3.0.1 protobuf==7.36.2 <<'END'
from ddsketch import DDSketch
from ddsketch.pb.proto import DDSketchProto

written = DDSketch()
for sample in range(1, 1001):
    written.add(sample)
read = DDSketchProto.from_proto(DDSketchProto.to_proto(written))
merged = DDSketchProto.from_proto(DDSketchProto.to_proto(written))
merged.merge(written)
for name, sketch in ("written", written), ("read", read), ("merged", merged):
    print(name, "count:", sketch.count, "average:", sketch.avg, "median:", sketch.get_quantile_value(.5))
assert [sketch.avg for sketch in (written, read, merged)] == [500.5, 0, 250.25]
assert merged.count == 2000
END
