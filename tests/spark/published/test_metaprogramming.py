"""Tables that are declared in loops and from configuration, and rules that come from data."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.oracle.tables import assert_table, stored
from tests.spark.published.conftest import Published

Row = dict[str, Any]
_KINDS = {"alarms": "Alarms", "fire": "Structure Fire", "medical": "Medical Incident"}
_AMERICAN = "%m/%d/%Y %I:%M:%S %p"


@pytest.mark.slow
def test_tables_in_a_loop(published: Published) -> None:
    pipeline = published("fire_calls_loop")
    calls = _calls(60)
    pipeline.csv("calls.csv", calls)
    pipeline.run()

    best: Counter[str] = Counter()
    storage = pipeline.directory / "storage-root"
    for name, kind in _KINDS.items():
        seconds = defaultdict(list)
        for call in calls:
            if call["Call Type"] == kind and call["Response DtTm"] is not None and call["Area"] != "None":
                received, responded = (_seconds(call[column]) for column in ("Received DtTm", "Response DtTm"))
                seconds[call["Area"]].append(responded - received)
        averages = [{"area": area, "response_time": sum(t) / len(t)} for area, t in seconds.items()]
        assert_table(stored(storage, "fire", f"{name}_response"), averages)
        best.update(seconds.keys())
    assert_table(
        stored(storage, "fire", "quickest_areas"),
        [{"area": area, "lists": lists} for area, lists in best.items()],
    )


def _calls(count: int) -> list[Row]:
    chance = random.Random(2)
    rows = []
    for n in range(count):
        received = datetime(2026, 1, 1, 9, tzinfo=UTC) + timedelta(minutes=31 * n)
        responded = received + timedelta(seconds=chance.randrange(30, 900))
        rows.append(
            {
                "Call Number": n,
                "Call Type": chance.choice((*_KINDS.values(), "Other")),
                "Received DtTm": received.strftime(_AMERICAN),
                "Response DtTm": None if n % 14 == 9 else responded.strftime(_AMERICAN),
                "Area": chance.choice(("Mission", "Marina", "Sunset", "None")),
            }
        )
    return rows


def _seconds(text: str) -> float:
    return datetime.strptime(text, _AMERICAN).replace(tzinfo=UTC).timestamp()


@pytest.mark.slow
def test_tables_from_a_json_file(published: Published) -> None:
    pipeline = published("json_metaprogramming")
    accounts = [{"Account ID": None if n == 3 else f"a{n}", "Opened On": f"2026-01-0{n + 1}"} for n in range(6)]
    branches = [{"Branch": f"b{n}", "Staff (FTE)": "many" if n == 2 else n * 3} for n in range(5)]
    pipeline.json("accounts/1.json", accounts)
    pipeline.csv("branches/1.csv", branches, separator=";")
    pipeline.run()

    opened = [
        {"account_id": each["Account ID"], "opened_on": date.fromisoformat(str(each["Opened On"])), "_source": "1.json"}
        for each in accounts
        if each["Account ID"] is not None
    ]
    pipeline.check("accounts", opened)
    staffed = [
        {"branch_id": each["Branch"], "staff": each["Staff (FTE)"], "_source": "1.csv"}
        for each in branches
        if each["Staff (FTE)"] != "many"
    ]
    pipeline.check("branches", staffed)
    pipeline.check("row_counts", [{"entity": "accounts", "n": len(opened)}, {"entity": "branches", "n": len(staffed)}])
    assert not pipeline.path("disabled").exists()


@pytest.mark.slow
def test_rules_by_tag(published: Published) -> None:
    pipeline = published("rules_by_tag")
    pipeline.csv(
        "rules.csv",
        [
            {"name": "has place", "constraint": "Location IS NOT NULL", "tag": "validity"},
            {"name": "never", "constraint": "false", "tag": "draft"},
        ],
    )
    museums = _museums(40)
    pipeline.csv("data-001/list.csv", museums)
    outcome = pipeline.run()

    known = [museum for museum in museums if museum["MuseumID"] is not None]
    valid = [museum for museum in known if museum["Website"] is not None and museum["Location"] is not None]
    media = ("Facebook", "Twitter", "Youtube")
    kept = [
        {name: museum[name] for name in ("Museum", "State", *media, "updateTime")}
        for museum in valid
        if "2026" in museum["updateTime"] and any(museum[name] is not None for name in media)
    ]
    pipeline.check("museums_kept_up", kept)
    pipeline.check(
        "museums_to_call",
        [{"Museum": museum["Museum"], "Location": museum["Location"]} for museum in known if museum not in valid],
    )
    counted = pipeline.quality(outcome)
    without_site = sum(museum["Website"] is None for museum in known)
    assert counted["museums_marked", "has website"] == (len(known) - without_site, without_site)
    assert ("museums_marked", "never") not in counted


def _museums(count: int) -> list[Row]:
    chance = random.Random(9)
    return [
        {
            "MuseumID": None if n % 13 == 7 else n,
            "Museum": f"Museum {n}",
            "Website": chance.choice((None, f"http://m{n}.example")),
            "Location": chance.choice((None, "Street", "Square", "Park")),
            "State": chance.choice(("Ohio", "Utah")),
            "Facebook": chance.choice((None, f"f{n}")),
            "Twitter": None,
            "Youtube": chance.choice((None, None, f"y{n}")),
            "updateTime": chance.choice(("6/20/2009 10:05:03 AM", "6/20/2026 1:05:03 PM")),
        }
        for n in range(count)
    ]


def test_a_table_for_each_folder(published: Published) -> None:
    pipeline = published("folder_per_table")
    rows = {name: [{"id": n, "of": name} for n in range(count)] for name, count in (("plants", 3), ("stones", 5))}
    for name, arrived in rows.items():
        pipeline.json(f"{name}/1.json", arrived)
    pipeline.json("_tmp/1.json", [{"id": 0}])
    pipeline.run()
    for name, arrived in rows.items():
        pipeline.check(f"{name}_bronze", [row | {"file": "1.json"} for row in arrived])
    assert not pipeline.path("_tmp_bronze").exists()
