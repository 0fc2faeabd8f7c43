"""Judges a report of pip-audit, which calls a package well that it could not look up."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(report: str) -> int:
    """Say what a report means; returns the exit status: 1 for vulnerabilities, 2 when something was not looked up."""
    text = Path(report).read_text(encoding="utf-8")
    packages = json.loads(text)["dependencies"] if text.strip() else []
    looked_up = [package for package in packages if "skip_reason" not in package]
    if not looked_up:
        print("No database of vulnerabilities could be reached: nothing of requirements.lock was audited.")
        return 2
    known = [package for package in looked_up if package["vulns"]]
    for package in known:
        for entry in package["vulns"]:
            mended = ", ".join(entry["fix_versions"]) or "no version"
            print(f"{package['name']} {package['version']}: {entry['id']}, mended by {mended}")
    skipped = sorted(package["name"] for package in packages if "skip_reason" in package)
    if skipped:
        print(f"Not looked up: {', '.join(skipped)}")
    print(f"{len(looked_up)} packages were looked up; {len(known)} have known vulnerabilities.")
    return 1 if known else 2 if skipped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
