"""What somebody who knows the format can do to a release: change its files, and make the certificate fit them."""

import json

import polars as pl

from shoal.release import release_candidate
from shoal.release.certificate import Certificate, digest_file, read_certificate


def release(candidate, to, **options):
    return release_candidate(candidate, to, summary="Test.", **options)


def forge(out, name, change, **more):
    """Change a table, and what the certificate says of it and besides."""
    change(pl.read_parquet(out / name)).write_parquet(out / name)
    certificate = read_certificate(out)
    update = {"files": certificate.files | {name: digest_file(out / name)}} | more
    (out / "release.json").write_bytes(certificate.model_copy(update=update).sealed().as_bytes())


def edit_certificate(out, change):
    """Change what the certificate says, and seal it again."""
    content = json.loads((out / "release.json").read_text(encoding="utf-8"))
    change(content)
    (out / "release.json").write_bytes(Certificate.model_validate(content).sealed().as_bytes())


def reseal(out, **changes):
    """Make the certificate agree with the folder, and say what suits the forger: counts__series=3 and the like."""

    def change(content):
        for path, value in changes.items():
            *folders, last = path.split("__")
            place = content
            for folder in folders:
                place = place[int(folder) if folder.isdigit() else folder]
            place[last] = value
        found = [p for p in out.rglob("*") if p.is_file() and p.name != "release.json"]
        content["files"] = {p.relative_to(out).as_posix(): digest_file(p).model_dump() for p in sorted(found)}

    edit_certificate(out, change)
