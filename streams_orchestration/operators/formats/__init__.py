"""The forms of values in files and messages: how each type is written as text, CSV and JSON, and read from it.

Connectors use this package only, so that a type has one form: what a sink writes, a source with the same parameters
reads. `docs/values.md` has the table. Avro, Protobuf and SQL have types of their own; `messages` and `databases` map
them, and `values.checked` refuses what they let through.
"""
