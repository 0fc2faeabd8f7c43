"""Streams between PEs and applications: segments, their readers, their visibility, and their removal.

**Segment numbers.** A segment number is never used twice. A reset retracts the segments after the cut, and the replay
continues after the highest number that was ever written. So a reset does not change the position of a reader: replayed
tuples have higher numbers than all tuples before, and the retracted segments that the reader had not reached leave a
gap. A reader that is itself reset finds only valid segments.

**Visibility.** An operator outside of a region reads the region's streams epoch by epoch. If the producer declares
`visibility: read_uncommitted`, the operator reads them batch by batch instead. A PE that reads several streams of
another PE then sees the segments of a batch on all of these streams, or on none.

**Uncommitted streams.** A current batch may name retracted segments of a stream that is read uncommitted. These
segments stay on disk until every reader has passed them. Such a stream ends when the last epoch is complete, because a
replay may follow before.
"""
