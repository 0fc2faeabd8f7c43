"""Profiles: what a running application costs, measured over a stated time."""
