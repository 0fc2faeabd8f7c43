"""Observation of running applications: status, metrics, profiles, and samples of tuples.

Status and metrics are read from the catalog alone (`reading.py`, `metrics_reading.py`). `snapshots.py` reads all
applications, the machines and the disk, for `streams top` and for exported metrics. The table `exposition/families.py`
has the name, kind, unit and snapshot field of each metric. Prometheus' text and OpenTelemetry's points are both made
from it (decision 0071). `samples.py` shows tuples: it opens the segments of the last batch on request, at no cost to
tasks and hosts (decision 0073). `profiles/` measures the costs of an application for decoupling.
"""
