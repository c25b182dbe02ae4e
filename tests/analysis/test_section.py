"""Sections as data: what is drawn of each block, and what the common ones say of a summary."""

from __future__ import annotations

from enum import IntEnum

import pytest

from aeroloop.analysis import common_sections as common
from aeroloop.analysis.page import Document, render
from aeroloop.analysis.section import (
    Block,
    Column,
    Facts,
    Listing,
    Note,
    Section,
    Table,
    Text,
    bold,
    check_grade,
    code,
)


class Colour(IntEnum):
    DARK_RED = 3


def drawn(*blocks: Block) -> str:
    verdict = Section("verdict", "Passed", ())
    html = render(Document("tab", "heading", "subtitle", "passed", verdict, [Section("own", "Own", blocks)]))
    return html[html.index('<h2 id="own">Own</h2>') : html.index("</body>")]


@pytest.mark.parametrize(
    ("block", "html"),
    [
        (Text("a < b"), "<p>a &lt; b</p>"),
        (Text("so " + bold("a < b") + " & " + code("x")), "<p>so <b>a &lt; b</b> &amp; <code>x</code></p>"),
        (Note("small"), '<p class="small soft">small</p>'),
        (Facts(["seed <1>"]), "<li>seed &lt;1&gt;</li>"),
        (Listing("two\nlines"), "<pre>two\nlines</pre>"),
        (Table([Column("A", "name"), Column("B")], []), '<thead><tr><th>A</th><th class="n">B</th></tr></thead>'),
        (Table([Column("", "name"), Column("")], [("a", "1")]), '<tr><th scope="row">a</th><td class="n">1</td></tr>'),
        (Table([Column("", "text")], [(check_grade(False),)]), '<td><span class="failed">failed</span></td>'),
    ],
)
def test_a_block_is_drawn_and_only_marked_up_words_are_markup(block: Block, html: str) -> None:
    assert html in drawn(block)


def test_blocks_keep_their_order_and_a_table_without_titles_has_no_head() -> None:
    html = drawn(Note("first"), Table([Column("", "name")], [("second",)]), Text("third"))
    assert html.index("first") < html.index("second") < html.index("third")
    assert "<thead" not in html


def test_a_row_without_a_cell_for_each_column_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        drawn(Table([Column("A"), Column("B")], [("1",)]))


def table(section: Section) -> Table:
    [found] = [block for block in section.blocks if isinstance(block, Table)]
    return found


def test_each_of_several_vehicles_has_a_column_of_metrics() -> None:
    metrics = {"flown_s": 9.0, "lost": 2.0, "v0_flown_s": 9.5, "v1_flown_s": 9.0, "very_s": 1.0}
    found = table(common.metrics_section({"metrics": metrics}))
    assert [column.title for column in found.columns] == ["Metric", "Worst", "v0", "v1"]
    assert [row[1:] for row in found.rows] == [("9", "9.5", "9"), ("2", "–", "–"), ("1", "–", "–")]
    alone = table(common.metrics_section({"metrics": {"flown_s": None}}))
    assert [row[1:] for row in alone.rows] == [("not measured",)]


@pytest.mark.parametrize(
    ("value", "words"), [(3.0, "dark red"), (4.0, "4"), (None, "not measured"), ("gyro off", "gyro off")]
)
def test_the_value_of_an_event_has_its_name(value: float | str | None, words: str) -> None:
    event = {"t_s": 1.0, "source": "board", "event": "PAINTED", "value": value, "vehicle": 1}
    summary = {"events": [event], "events_total": 7, "metrics": {}}
    section = common.events_section(summary, {"PAINTED": Colour})
    assert table(section).rows == [("1", "board", "painted", words)]
    assert section.blocks[0] == Note("The first 1 of 7.")
    several = common.events_section({**summary, "metrics": {"v1_flown_s": 1.0}}, {})
    assert table(several).rows[0][1] == "board of vehicle 1"


def test_links_count_what_any_of_them_counts() -> None:
    links = {"at_plant": {"frames_in": 3}, "at_board": None, "radio": {"frames_in": 4, "lost": 1}}
    found = table(common.links_section({"links": links}))
    assert [column.title for column in found.columns] == ["Counter", "at plant", "at board", "radio"]
    assert found.rows == [("frames in", "3", "–", "4"), ("lost", "–", "–", "1")]
    assert common.links_section({"links": {"at_board": None}}).blocks == [Note("No link was counted.")]
