"""Writes one jar set of `jars.lock.json` anew, with the sha256 of each jar as it is served today.

python tools/lock_jars.py NAME [--transitive] ORGANISATION:NAME:REVISION[:CLASSIFIER] …

Read the difference before committing it: a changed sha256 under an unchanged version is an attack or an accident.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyspark

from penstock.spark.session.setup.java import find_java

LOCK = Path(__file__).resolve().parent.parent / "src/penstock/spark/session/setup/jars.lock.json"


def resolve(roots: list[str], *, transitive: bool, scratch: Path) -> list[dict[str, str | int]]:
    dependencies = ""
    for root in roots:
        organisation, name, revision, *classifier = map(quoteattr, root.split(":"))
        follow = str(transitive).lower()
        artifacts = "".join(f'<artifact name={name} type="jar" ext="jar" e:classifier={each}/>' for each in classifier)
        dependencies += f'<dependency org={organisation} name={name} rev={revision} transitive="{follow}">'
        dependencies += f"{artifacts}</dependency>"
    conf = "default->master,runtime" if transitive else "default->default"
    (scratch / "ivy.xml").write_text(
        '<ivy-module version="2.0" xmlns:e="http://ant.apache.org/ivy/extra">'
        '<info organisation="penstock" module="lock"/><configurations><conf name="default"/>'
        f'</configurations><dependencies defaultconf="{conf}">{dependencies}</dependencies></ivy-module>'
    )
    command = [str(find_java().executable), "-cp", f"{Path(pyspark.__file__).parent}/jars/*", "org.apache.ivy.Main"]
    command += ["-ivy", str(scratch / "ivy.xml"), "-cache", str(scratch / "cache"), "-types", "jar", "bundle"]
    command += ["-retrieve", str(scratch / "jars/[organisation]#[artifact]#[revision](#[classifier]).[ext]")]
    subprocess.run(command, check=True)
    jars: list[dict[str, str | int]] = []
    for jar in sorted((scratch / "jars").iterdir()):
        organisation, name, revision, *classifier = jar.name.removesuffix(".jar").split("#")
        digest = hashlib.sha256(jar.read_bytes()).hexdigest()
        entry: dict[str, str | int] = {"organisation": organisation, "name": name, "revision": revision}
        entry |= {"size": jar.stat().st_size, "sha256": digest}
        jars.append(entry | ({"classifier": classifier[0]} if classifier else {}))
    return jars


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set_name")
    parser.add_argument("--transitive", action="store_true", help="lock what the jars need, too")
    parser.add_argument("coordinates", nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        jars = resolve(arguments.coordinates, transitive=arguments.transitive, scratch=Path(scratch))
    sets = json.loads(LOCK.read_text(encoding="utf-8")) if LOCK.exists() else {}
    sets[arguments.set_name] = jars
    LOCK.write_text(json.dumps(dict(sorted(sets.items())), indent=1) + "\n", encoding="utf-8")
    print(f"{arguments.set_name}: {len(jars)} jars")


if __name__ == "__main__":
    main()
