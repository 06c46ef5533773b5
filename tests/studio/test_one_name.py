"""In a project one person has one name: other names, from another column or table, would make strangers of them."""

import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.ledger.file import read_ledger
from shoal.studio.hidden import protecting

MEANS = {"name": "means", "table": "days.csv", "k": "4", "multiple": "2"}


@pytest.fixture
def people(project):
    """The table with two further columns that could name its series."""
    table = pl.read_csv(project.table("days.csv"))
    table = table.with_columns(meter="m" + pl.col("id").cast(str), owner="o" + pl.col("id").cast(str))
    table.write_csv(project.table("days.csv"))
    return table


@pytest.fixture
def copy(project, people):
    """The same readings, up to rounding, under other names."""
    renamed = people.select(id="meter", time="time", value=pl.col("value").round(7))
    renamed.write_csv(project.folder / "data" / "copy.csv")
    return "copy.csv"


def make(publisher, what, table="days.csv", **more):
    """A task of means or a release of a table: the page it leads to, or its refusal."""
    if what == "release":
        return publisher.release(table, **more)
    return outcome(publisher, MEANS | {"name": table.partition(".")[0], "table": table} | more)


def outcome(publisher, form):
    answer = publisher.post("/tasks", form)
    return publisher.done(answer) if answer.status_code == 303 else answer


def read_as(publisher, change):
    return publisher.post("/tables/days.csv", change | {"stay": "yes"})


@pytest.mark.parametrize("first", ["means", "release"])
class TestColumns:
    @pytest.mark.parametrize("change", [{"id": "meter"}, {"subject": "owner"}, {"id": "meter", "subject": "id"}])
    def test_other_columns_are_refused_once_something_was_made_of_a_table(self, publisher, people, first, change):
        make(publisher, first)
        answer = read_as(publisher, change)
        assert (answer.status_code, "would count as strangers" in answer.text) == (400, True)

    @pytest.mark.parametrize("change", [{"align": "resample:2h"}, {"id": "id", "value": ["value"]}, {"layout": "long"}])
    def test_what_leaves_the_names_as_they_are_can_still_be_changed(self, publisher, project, people, first, change):
        make(publisher, first)
        assert read_as(publisher, change).status_code == 303
        assert project.reading("days.csv") == change


def test_before_anything_was_made_names_can_be_changed(publisher, people):
    assert read_as(publisher, {"id": "meter"}).status_code == 303
    form = {"name": "open", "table": "days.csv", "source": "public", "statement": "because", "confirmed": "yes"}
    assert outcome(publisher, form) == "/tasks/open"
    assert read_as(publisher, {"id": "owner"}).status_code == 303


def test_a_change_while_a_release_is_made_is_not_overlooked(project, people):
    reading, panel = project.reading("days.csv"), project.panel("days.csv")
    project.set_reading("days.csv", {"id": "meter"})
    protected = protecting(project, "days.csv", panel, reading)
    with pytest.raises(ParameterError, match=r"The reading of days\.csv was changed"), protected:
        raise AssertionError("nothing is made")


@pytest.mark.parametrize("first", ["means", "release"])
@pytest.mark.parametrize("then", ["means", "release"])
@pytest.mark.parametrize("reading", [{}, {"align": "resample:2h"}, {"id": "number", "align": "resample:2h"}])
def test_a_copy_under_other_names_is_refused_unless_they_are_other_people(
    publisher, project, copy, first, then, reading
):
    if "id" in reading:
        renamed = pl.read_csv(project.table(copy)).rename({"id": "number"})
        renamed.write_csv(project.table(copy))
    make(publisher, first)
    project.set_reading(copy, reading)
    refused = make(publisher, then, copy)
    assert refused.status_code == 409
    assert "of copy.csv are the same as series of days.csv" in refused.text
    assert len(read_ledger(project.ledger)) == 1
    made = make(publisher, then, copy, alike="others")
    assert made in ("/tasks/copy", "/drafts/copy-2/release")


def test_the_ledger_and_the_groups_shown_know_the_people_of_a_copy_under_the_same_names(publisher, project, people):
    people.write_csv(project.folder / "data" / "copy.csv")
    publisher.done(publisher.post("/tasks", MEANS))
    made = publisher.release("copy.csv")
    assert made == "/drafts/copy/release"  # within the groups shown of the other table, or the ledger would refuse it
    skipped = publisher.release("copy.csv", ledger="")
    assert (skipped.status_code, "Analysts were shown means of subjects in copy.csv" in skipped.text) == (400, True)


def test_names_of_a_private_table_are_those_it_is_read_with(publisher, project, people):
    # In the copy the column meter has the names that the table has in its column id.
    copy = people.select(meter="id", time="time", value="value")
    copy.write_csv(project.folder / "data" / "copy.csv")
    people.drop("subject", strict=False).write_csv(project.table("days.csv"))
    publisher.release()
    project.set_reading("copy.csv", {"id": "meter"})
    assert publisher.release("copy.csv", reading={"id": "meter"}) == "/drafts/copy/release"
