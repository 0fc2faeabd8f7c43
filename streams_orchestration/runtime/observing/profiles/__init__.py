"""Profiles: the costs of a running application, measured over a stated time."""
