"""Lines of the source: errors of tuples name them, and code that only moves stays the same application."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.cli.converting import convert
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration.runtime.stepping import StepError

MAIN = """int32 last(list<int32> l,
           int32 n) {
  if (n == 3)
    return l[n];
  return 0;
}
composite Main {
  graph
    stream<int32 n> Src = Beacon() { param iterations : 5; output Src : n = (int32) IterationCount(); }
    () as Shown = Custom(Src) {
      logic
        state : {
          mutable int32 seen = 0; // a comment
          mutable map<int32, int32> known = {};
        }
        onTuple Src : {
          seen++;
          if (n % 2 == 0) { known[n] = seen; }
          else {
            // nothing
            for (int32 i in [1, 2])
              seen += FAULT;
          }
        }
        onPunct Src : {
          seen = 0;
        }
    }
}
"""
FAULTS = {
    "a statement in a loop": ("known[n]", ":22: the map has no key 1;"),
    "a function": ("last([1], n)", ":4: the index is outside of the list"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_of_a_tuple_names_the_line_of_its_statement(fault: str, tmp_path: Path):
    expression, message = FAULTS[fault]
    (tmp_path / "Main.spl").write_text(MAIN.replace("FAULT", expression))
    assert convert(tmp_path / "Main.spl", Options(), tmp_path / "Main.yaml") == 0
    with pytest.raises(StepError, match=rf"Shown: .*Main\.spl{message}"):
        run_in_process(yaml.safe_load((tmp_path / "Main.yaml").read_text()), {})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("composite Main", "// a comment\n\ncomposite Main"),
        ("seen++;\n", "seen ++ ; "),
        ("{ known[n] = seen; }", "{\n known[n] = seen;\n}"),
        ("[1, 2])\n", "[1, /* two */ 2]) "),
    ],
)
def test_an_application_that_is_formatted_in_another_way_is_the_same(before: str, after: str, tmp_path: Path):
    text = MAIN.replace("FAULT", "last([1], n)")
    assert before in text
    (tmp_path / "Main.spl").write_text(text)
    first = compile_spec(tmp_path / "Main.spl")
    (tmp_path / "Main.spl").write_text(text.replace(before, after))
    second = compile_spec(tmp_path / "Main.spl")
    assert fingerprint(first) == fingerprint(second)
    assert {each.action for each in preview(first, second).units} == {"run on"}


def test_an_application_with_another_statement_is_another_one(tmp_path: Path):
    text = MAIN.replace("FAULT", "last([1], n)")
    (tmp_path / "Main.spl").write_text(text)
    first = fingerprint(compile_spec(tmp_path / "Main.spl"))
    (tmp_path / "Main.spl").write_text(text.replace("seen = 0;\n        }\n    }", "seen = 1;\n        }\n    }"))
    assert fingerprint(compile_spec(tmp_path / "Main.spl")) != first
