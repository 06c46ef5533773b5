"""Formats that a definition describes."""

import pytest

from shoal import read_panel
from shoal.errors import InputError

HEAD = "100,NEM12,202407020101,MDPY,RETY\n200,VAAA000001,E1,,E1,,7000,kWh,30,\n"
DAY = "300,20240630," + ",".join(["0.5"] * 48) + ",A\n"


@pytest.mark.parametrize("lines", ["400,1,40,N,,\n" + DAY, DAY + "400,40,49,N,,\n", DAY + "400,0,3,N,,\n"])
def test_a_record_about_intervals_that_no_day_has_is_refused(tmp_path, lines):
    (tmp_path / "x.csv").write_text(HEAD + lines + "900\n")
    with pytest.raises(InputError, match="A 400 record of the NEM12 file is not about intervals of a day before it"):
        read_panel(tmp_path / "x.csv")


def test_intervals_without_a_reading_are_missing(tmp_path):
    (tmp_path / "x.csv").write_text(HEAD + DAY + "400,2,4,N,,\n400,5,48,A,,\n900\n")
    assert read_panel(tmp_path / "x.csv", missing="keep").n_missing == 3
