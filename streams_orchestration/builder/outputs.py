"""The outputs of an operator, as the methods that add operators take them."""

from __future__ import annotations

from typing import Any

from streams_orchestration.builder.nodes import BuildError
from streams_orchestration.builder.places import CallSite
from streams_orchestration.model.containers import is_list


def named_outputs(outputs: Any, place: CallSite) -> list[tuple[str | None, Any]]:
    """Return the name and the schema of each output; both may be None.

    Raises:
        BuildError: `outputs` is not a list of names and of pairs of name and schema.
    """
    pairs: list[tuple[str | None, Any]] = []
    for each in outputs if is_list(outputs) else [None]:
        pair: Any = (each, None) if isinstance(each, str) else each
        name: object = pair[0] if is_list(pair) and len(pair) == 2 else ""
        if name is not None and not (isinstance(name, str) and name.isidentifier()):
            what = f"{each!r:.80} in it" if is_list(outputs) else f"{outputs!r:.80}"
            message = (
                f"outputs: {what} is not an output; say how many streams there are, or what each is called, with its "
                'schema where it has one: outputs=2, outputs=["few", ("many", "n bigint")]'
            )
            raise BuildError(message, place)
        pairs.append((name, pair[1]))
    return pairs
