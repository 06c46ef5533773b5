"""A bar in a notebook as on a terminal, and nothing in a pipe."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import shoal


class Notebook:
    """What a kernel's IPython offers, as far as a bar needs it; `shown` has every state of the cell."""

    def __init__(self):
        self.shown = []
        self.shell = SimpleNamespace(kernel=object())

    def display(self, content, display_id):
        assert display_id is True
        self.update(content)
        return self

    def update(self, content):
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch):
    made = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: made.shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=made.display, HTML=str))
    return made


def test_a_notebook_shows_each_step_and_clears_the_bar(notebook):
    shoal.anonymize(np.arange(40.0).reshape(20, 2), k=3)
    names = [text.split("</progress> ")[1] for text in notebook.shown if text]
    assert list(dict.fromkeys(names)) == ["reading", "grouping", "checking"]
    assert notebook.shown[-1] == ""


def test_the_bar_goes_where_work_fails(notebook):
    with pytest.raises(shoal.ShoalError):
        shoal.anonymize(np.arange(40.0).reshape(20, 2), k=300)
    assert notebook.shown[-1] == ""


def test_names_of_steps_are_escaped_and_a_known_length_is_drawn(notebook):
    from shoal.process.progress import steps

    with steps() as watched:
        watched.start("<b>")
        watched.advance(0, 4)
    assert '<progress value="0" max="4"></progress> &lt;b&gt;' in notebook.shown


def test_ipython_on_a_terminal_and_a_pipe_get_no_notebook_bar(notebook, capfd):
    notebook.shell = SimpleNamespace()  # a shell without a kernel
    shoal.anonymize(np.arange(40.0).reshape(20, 2), k=3)
    assert notebook.shown == []
    assert capfd.readouterr() == ("", "")
