"""The representations of values in files and messages: each type in text, CSV, JSON and SPL's notations.

All connectors use this package, so every type has a single representation, and a source reads what a sink with the same
parameters wrote. `docs/values.md` has the table. Avro, Protobuf and SQL have their own types; `messages` and
`databases` map them.
"""
