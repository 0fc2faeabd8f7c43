"""The screen of `streams top`, made with Textual. A thread reads the catalog, so that keys never wait for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, cast

from rich.console import Group
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static

from streams_orchestration.cli.metrics import facts
from streams_orchestration.cli.terminal import printable_text
from streams_orchestration.cli.top.rows import ASCENDING, COLUMNS, Row, TableView, rows_of
from streams_orchestration.cli.top.table import cells
from streams_orchestration.model.brief import plural
from streams_orchestration.runtime import api

MOST_ROWS = 1000
"""The most rows that are shown; a filter finds other rows."""
MOST_FACTS = 4
"""The most lines about remarkable metrics at the top."""
HELP = """\
F5 t  a tree, or operators only          P T M N  sort by processor, its time, memory of the state, name
F6 >  sort by the next column            R L      sort by tuples a second, by tuples that wait
<     sort by the previous column        I        reverse the order
F4 / \\  only names with these words       Esc      show all again
Z     pause or continue                  F10 q    quit"""


class Screen(App[None]):
    """The application on the terminal, which reads the catalog repeatedly and shows the rows as arranged."""

    CSS = """
    #head { height: auto; max-height: 8; }
    #detail { height: auto; max-height: 8; color: $error; }
    #filter { display: none; }
    DataTable { height: 1fr; }
    """
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "DataTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,h,question_mark", "keys", "Keys", key_display="F1"),
        Binding("f4,slash,backslash", "filter", "Filter", key_display="F4"),
        Binding("f5,t", "tree", "Tree", key_display="F5"),
        Binding("f6,greater_than_sign,full_stop", "sort(1)", "Sort", key_display="F6"),
        Binding("less_than_sign,comma", "sort(-1)", "Sort", show=False),
        Binding("I", "invert", "Invert"),
        Binding("P", "by('CPU')", "CPU", show=False),
        Binding("T", "by('CPU s')", "Time", show=False),
        Binding("M", "by('state kB')", "Memory", show=False),
        Binding("N", "by('name')", "Name", show=False),
        Binding("R", "by('tuples/s')", "Rate", show=False),
        Binding("L", "by('behind')", "Lag", show=False),
        Binding("Z", "hold", "Hold"),
        Binding("escape", "all", "All", show=False),
        Binding("f10,q,ctrl+c", "quit", "Quit", key_display="F10"),
    ]

    def __init__(self, snapshot: api.Snapshot, read: Callable[[], api.Snapshot], delay: float) -> None:
        """Create the screen with a first snapshot; `read` returns the next one every `delay` seconds."""
        super().__init__()
        self.snapshot = snapshot
        self.view = TableView()
        self.held = False
        self.problem = ""
        self.shown: list[Row] = []
        self._read_next = read
        self._delay = delay
        self._keys = False

    def compose(self) -> ComposeResult:
        """Yield the widgets of the screen, from top to bottom."""
        yield Static(id="head", markup=False)
        yield Input(id="filter", placeholder="words in the name; Enter keeps them, Esc shows all", disabled=True)
        yield DataTable[Text](cursor_type="row", zebra_stripes=True)
        yield Static(id="detail", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Show the first snapshot, and begin to read the catalog at intervals."""
        self.table.focus()
        self.refill()
        self.set_interval(self._delay, self.refresh_snapshot)

    @property
    def table(self) -> DataTable[Text]:
        """The table on the screen, with a line for each row."""
        return cast("DataTable[Text]", self.query_one(DataTable))

    @work(thread=True, exclusive=True)
    def refresh_snapshot(self) -> None:
        """Read the catalog and show the new snapshot, or the last one with the error.

        Do nothing while `hold` has stopped reading.
        """
        if self.held:
            return
        try:
            snapshot, problem = self._read_next(), ""
        except api.StreamsRuntimeError as error:
            snapshot, problem = self.snapshot, str(error)
        self.call_from_thread(self.show, snapshot, problem)

    def show(self, snapshot: api.Snapshot, problem: str = "") -> None:
        """Show another snapshot, and the problem with reading the catalog, if there is one."""
        self.snapshot, self.problem = snapshot, problem
        self.refill()

    def refill(self) -> None:
        """Fill the table with the rows of the current view, at most `MOST_ROWS`; the cursor stays on its row."""
        before = self.selected
        rows = self.view.of(rows_of(self.snapshot))
        self.shown = rows[:MOST_ROWS]
        table, tree = self.table, self.view.tree
        x, y = table.scroll_offset
        table.clear(columns=True)
        for column in COLUMNS:
            mark = (" ▲" if self._ascends(column.title) else " ▼") if column.title == self.view.column else ""
            table.add_column(Text(f"{column.title}{mark}"), key=column.title)
        for row in self.shown:
            first, second, *figures = cells(row, tree=tree)
            for text in figures:
                text.justify = "right"
            table.add_row(first, second, *figures)
        paths = [row.path for row in self.shown]
        if before is not None and before.path in paths:
            table.move_cursor(row=paths.index(before.path), scroll=False)
        table.scroll_to(x, y, animate=False)
        self.query_one("#head", Static).update(self._head(len(rows)))
        self._detail()

    @property
    def selected(self) -> Row | None:
        """The row under the cursor; None without rows."""
        row = self.table.cursor_row
        return self.shown[row] if 0 <= row < len(self.shown) else None

    def on_data_table_row_highlighted(self) -> None:
        """Show the problem of the row to which the cursor has moved."""
        self._detail()

    def _ascends(self, title: str) -> bool:
        return (title in ASCENDING) != self.view.inverted

    def _head(self, rows: int) -> Group:
        lines = [self._line()]
        if self.problem:
            lines.append(Text(self.problem, "bold red"))
        if rows > MOST_ROWS:
            lines.append(Text(f"{plural(rows - MOST_ROWS, 'row')} more: / filters", "yellow"))
        standing_out = [line for each in self.snapshot.applications for line in facts(each.metrics)]
        return Group(*map(printable_text, (*lines, *standing_out[:MOST_FACTS])))

    def _line(self) -> Text:
        failed = sum(len(each.failures) for each in self.snapshot.applications)
        states = ", ".join(f"{each.name} {each.status.shown_state}" for each in self.snapshot.applications)
        line = Text.assemble((states or "nothing is deployed", "bold"))
        if failed:
            line.append(f"  {plural(failed, 'unit')} failed", "bold red")
        if self.view.words:
            line.append(f"  filter: {self.view.words}", "yellow")
        if self.held:
            line.append("  held", "yellow")
        return line

    def _detail(self) -> None:
        row = self.selected
        problem = f"{' / '.join(row.path)}: {row.problem}" if row is not None and row.problem else ""
        self.query_one("#detail", Static).update(Text(HELP, "dim") if self._keys else printable_text(Text(problem)))

    def _arrange(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]
        self.refill()

    def action_tree(self) -> None:
        """Switch between the tree and a list of operators only."""
        self._arrange(tree=not self.view.tree)

    def action_sort(self, by: int) -> None:
        """Sort by the column that is this many columns to the right, or left if negative."""
        self.view = self.view.moved(by)
        self.refill()

    def action_by(self, column: str) -> None:
        """Sort by the column with this title."""
        self._arrange(column=column)

    def action_invert(self) -> None:
        """Reverse the order."""
        self._arrange(inverted=not self.view.inverted)

    def action_hold(self) -> None:
        """Stop reading the catalog, or start it again."""
        self.held = not self.held
        self.refill()

    def action_keys(self) -> None:
        """Show or hide the help on keys."""
        self._keys = not self._keys
        self._detail()

    def action_filter(self) -> None:
        """Open the input for a filter."""
        words = self.query_one(Input)
        words.disabled, words.display = False, True
        words.focus()

    def action_all(self) -> None:
        """Remove the filter and show all rows."""
        self.query_one(Input).value = ""
        self.on_input_submitted()
        self._arrange(words="")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Apply the filter while it is typed."""
        self._arrange(words=event.value.strip())

    def on_input_submitted(self) -> None:
        """Close the input, keep the filter, and give the keys back to the table."""
        words = self.query_one(Input)
        words.disabled, words.display = True, False  # keys are for the table again
        self.table.focus()
