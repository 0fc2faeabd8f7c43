"""The journal: a durable log of input that its senders cannot repeat.

Some servers and clients do not repeat their messages. The host that has the PE of such a source receives the messages
(`runtime/hosts/receivers.py`). One thread serves all sources of the host, and it survives resets and ends of queries. A
message is written to the journal before it is acknowledged. The source's `produce` runs in a task and reads the journal
by message number. Messages before the cut of the unit are removed from the journal (decision 0046).
"""
