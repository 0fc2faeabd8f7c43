"""The outputs of an operator, as the methods that add operators take them."""

from __future__ import annotations

from typing import Any

from streams_orchestration.builder.nodes import BuildError
from streams_orchestration.builder.places import CallSite


def named_outputs(outputs: Any, place: CallSite) -> list[tuple[str | None, Any]]:
    """Return the name and the schema of each output; both may be None.

    Raises:
        BuildError: `outputs` is not a list of names and of pairs of name and schema.
    """
    pairs: list[tuple[str | None, Any]] = []
    for each in outputs if isinstance(outputs, list | tuple) else [None]:
        pair: Any = (each, None) if isinstance(each, str) else each
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        named = is_pair and (pair[0] is None or (isinstance(pair[0], str) and pair[0].isidentifier()))
        if not named:
            what = f"{each!r:.80} in it" if isinstance(outputs, list | tuple) else f"{outputs!r:.80}"
            message = (
                f"outputs: {what} is not an output; say how many streams there are, or what each is called, with its "
                'schema where it has one: outputs=2, outputs=["few", ("many", "n bigint")]'
            )
            raise BuildError(message, place)
        pairs.append((pair[0], pair[1]))
    return pairs
