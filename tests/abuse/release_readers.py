"""Releases of every form: certificates, manifests and tables, whose seals and digests may have been made to fit."""

import contextlib
import hashlib
import json
import shutil

import shoal
from abuse.mutation import dump_tree, mutate_bytes, mutate_tree
from abuse.reader import TESTS, Reader
from abuse.table_readers import mutate_table
from shoal.release.certificate import Certificate, digest_bytes


def mutate_json(rng, content, other):
    if rng.random() < 0.3:
        return mutate_bytes(rng, content, other)
    return dump_tree(rng, mutate_tree(rng, json.loads(content)))


def mutate_certificate(rng, content, other):
    """In half of the tries sealed again, where that is possible."""
    changed = mutate_json(rng, content, other)
    if rng.random() < 0.5:
        with contextlib.suppress(ValueError, RecursionError):
            return Certificate.model_validate_json(changed).sealed().as_bytes()
        # Sealed by hand: what the present certificate does not know is sealed with it.
        with contextlib.suppress(ValueError, RecursionError, AttributeError):
            tree = json.loads(changed) | {"seal": ""}
            text = json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            tree["seal"] = hashlib.sha256(text.encode()).hexdigest()
            return (json.dumps(tree, indent=2, ensure_ascii=False) + "\n").encode()
    return changed


def read_a_release(path, rng):
    if rng.random() < 0.5:
        shoal.verify(path.parent)
    else:
        shoal.load_release(path.parent)


def with_its_digest(name, use):
    """Verify a release whose certificate names the changed file by its present digest."""

    def read(path, rng):
        certificate = path.parent / "release.json"
        kept = certificate.read_bytes()
        try:
            if rng.random() < 0.7:
                said = Certificate.model_validate_json(kept)
                files = {**said.files, name: digest_bytes(path.read_bytes())}
                certificate.write_bytes(said.model_copy(update={"files": files}).sealed().as_bytes())
            use(path, rng)
        finally:
            certificate.write_bytes(kept)

    return read


def release_readers(work):
    found = []
    for folder in sorted((TESTS / "formats/1").iterdir()):
        if not folder.is_dir():
            continue
        place = shutil.copytree(folder, work / f"release-{folder.name}")
        for path in sorted(place.iterdir()):
            seeds = [path.read_bytes()]
            if path.name == "release.json":
                found.append(Reader(f"certificate of {folder.name}", path, seeds, mutate_certificate, read_a_release))
            elif path.suffix == ".json":
                use = with_its_digest(path.name, read_a_release)
                found.append(Reader(f"manifest of {folder.name}", path, seeds, mutate_json, use))
            else:
                mutate = mutate_table if path.suffix == ".csv" else mutate_bytes
                use = with_its_digest(path.name, read_a_release)
                found.append(Reader(f"{path.name} of {folder.name}", path, seeds, mutate, use))
    return found
