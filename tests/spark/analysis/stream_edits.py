"""Edits of streaming queries, each with what it does to the flow's checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.stream_changes import Verdict

SOURCES = """
from pyspark.sql.streaming import StatefulProcessor

EVENTS = "id LONG, product STRING, shop STRING, amount DOUBLE, at TIMESTAMP, paid_at TIMESTAMP"

@ps.table
def events():
    return spark.readStream.schema(EVENTS).json("in")

@ps.table
def refunds():
    return spark.readStream.schema(EVENTS).json("refunds")

@ps.table
def shops():
    return spark.readStream.schema("shop STRING, city STRING").json("shops")

@ps.view
def all_events():
    return ps.read_stream("events")

def marked(column="at", delay="1 hour", table="events"):
    return ps.read_stream(table).withWatermark(column, delay)

def hourly(frame, *keys, length="1 hour", slide=None, start=None, column="at"):
    return frame.groupBy(F.window(column, length, slide, start), *(keys or ("product",)))

@F.udf("double")
def doubled(x):
    return 2 * x

class Counting(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timer_values):
        yield from ()

def counting(key, frames, state):
    yield from frames

def own_state(frame, key):
    return frame.groupBy(key).transformWithState(Counting(), "n LONG", "Append", "None")

def own_pandas_state(frame, key):
    return frame.groupBy(key).transformWithStateInPandas(Counting(), "n LONG", "Append", "None")

def older_state(frame, key, state="n LONG"):
    return frame.groupBy(key).applyInPandasWithState(counting, "n LONG", state, "append", "NoTimeout")
"""


@dataclass(frozen=True, slots=True)
class Edit:
    """A query before and after, as Python expressions, and the verdict on going on with the old checkpoint."""

    before: str
    after: str
    verdict: Verdict


_E = 'ps.read_stream("events")'
_R = 'ps.read_stream("refunds")'
_SUM = 'agg(F.sum("amount").alias("revenue"))'
_HOURLY = f"hourly(marked()).{_SUM}"
_DEDUP = 'marked().dropDuplicates(["id", "at"])'
_PAID = 'marked("paid_at", table="refunds").select(F.col("id").alias("rid"), "paid_at", F.col("amount").alias("paid"))'
_ON = 'F.expr("id = rid AND paid_at BETWEEN at AND at + INTERVAL 1 HOUR")'
_JOIN = f"marked().select('id', 'at', 'product').join({_PAID}, {_ON})"
_COUNT = f'{_E}.groupBy("product").count()'
_PLUS_ONE = f"{_E}.withColumn('ids', F.transform(F.array('id'), lambda id: id + 1))"
_NESTED = (
    f"{_E}.withColumn('ids', F.transform(F.array('id'), lambda id: F.aggregate(F.array('id'), id, lambda a, b: a + b)))"
)
_RATE = "spark.readStream.format('rate').option('rowsPerSecond', 1).load()"
_RANDOM = f"{_E}.selectExpr('rand() r', 'uuid() u', 'shuffle(array(id)) s', 'randstr(3) t', 'uniform(1, 9) n')"
_SALTED = f"{_E}.withColumn('salt', (F.rand() * 8).cast('int')).groupBy('salt', 'product').count()"
_PART = "SELECT id FROM STREAM(events) WHERE amount >"
_LARGE = f"WITH a AS ({_PART} 1), b AS ({_PART} 2) SELECT id FROM"

_SAME, _FITS, _ANEW = Verdict.UNCHANGED, Verdict.COMPATIBLE, Verdict.FULL_REFRESH

EDITS = {
    # -- Without state
    "nothing": Edit(f"{_E}.where('amount > 0')", f"{_E}.where('amount > 0')", _SAME),
    "written in another way": Edit(f"{_E}.where('amount > 0')", f"{_E}.filter(F.col('amount') > 0)", _SAME),
    "a filter more": Edit(_E, f"{_E}.where('amount > 0')", _FITS),
    "another limit": Edit(f"{_E}.where('amount > 0')", f"{_E}.where('amount > 1')", _FITS),
    "a column more": Edit(_E, f"{_E}.withColumn('gross', F.expr('amount * 1.2'))", _FITS),
    "a column less": Edit(_E, f"{_E}.drop('shop')", _FITS),
    "computed in another way": Edit(
        f"{_E}.withColumn('gross', F.expr('amount * 1.2'))", f"{_E}.withColumn('gross', F.expr('amount * 1.1'))", _FITS
    ),
    "a source more": Edit(_E, f"{_E}.union({_R})", _FITS),
    "a source less": Edit(f"{_E}.union({_R})", _E, _FITS),
    "sources in another order": Edit(f"{_E}.union({_R})", f"{_R}.union({_E})", _SAME),
    "another table": Edit(_E, _R, _FITS),
    "a static join": Edit(_E, f"{_E}.join(ps.read('shops'), 'shop')", _FITS),
    "an outer static join": Edit(
        f"{_E}.join(ps.read('shops'), 'shop')", f"{_E}.join(ps.read('shops'), 'shop', 'left')", _FITS
    ),
    "through a Python function": Edit(_E, f"{_E}.withColumn('amount', doubled('amount'))", _FITS),
    "other files under the name of a source": Edit(
        "spark.readStream.schema(EVENTS).name('orders').json('in')",
        "spark.readStream.schema(EVENTS).name('orders').json('refunds')",
        _ANEW,
    ),
    "other files": Edit(
        "spark.readStream.schema(EVENTS).json('in')", "spark.readStream.schema(EVENTS).json('refunds')", _FITS
    ),
    "the same source outside": Edit(_RATE, _RATE, _SAME),
    "a source outside with another option": Edit(_RATE, _RATE.replace("1)", "2)"), _SAME),
    "random numbers": Edit(_RANDOM, _RANDOM, _SAME),
    "a longer random text": Edit(_RANDOM, _RANDOM.replace("randstr(3)", "randstr(4)"), _FITS),
    "a function of each element": Edit(_PLUS_ONE, _PLUS_ONE, _SAME),
    "another function of each element": Edit(_PLUS_ONE, _PLUS_ONE.replace("+ 1", "+ 2"), _FITS),
    "functions in a function": Edit(_NESTED, _NESTED, _SAME),
    "functions that exchange their elements": Edit(_NESTED, _NESTED.replace("a + b", "b + a"), _FITS),
    "the same common table expression": Edit(f"spark.sql('{_LARGE} a')", f"spark.sql('{_LARGE} a')", _SAME),
    "another common table expression": Edit(f"spark.sql('{_LARGE} a')", f"spark.sql('{_LARGE} b')", _FITS),
    # -- State begins and ends
    "state at last": Edit(_E, _HOURLY, _ANEW),
    "no state any more": Edit(_HOURLY, _E, _ANEW),
    "duplicates dropped first": Edit(_HOURLY, f"hourly({_DEDUP}).{_SUM}", _ANEW),
    "an aggregate of an aggregate": Edit(
        _HOURLY, f"{_HOURLY}.groupBy(F.window('window', '1 day')).agg(F.sum('revenue').alias('revenue'))", _ANEW
    ),
    # -- Windows
    "the same windows": Edit(_HOURLY, _HOURLY, _SAME),
    "a key more": Edit(_HOURLY, f"hourly(marked(), 'product', 'shop').{_SUM}", _ANEW),
    "another key": Edit(_HOURLY, f"hourly(marked(), 'shop').{_SUM}", _ANEW),
    "keys in another order": Edit(
        f"hourly(marked(), 'product', 'shop').{_SUM}", f"hourly(marked(), 'shop', 'product').{_SUM}", _ANEW
    ),
    "a key computed in another way": Edit(
        _HOURLY, f"hourly(marked().withColumn('product', F.upper('product'))).{_SUM}", _ANEW
    ),
    "shorter windows": Edit(_HOURLY, f"hourly(marked(), length='30 minutes').{_SUM}", _ANEW),
    "sliding windows": Edit(_HOURLY, f"hourly(marked(), slide='30 minutes').{_SUM}", _ANEW),
    "another slide": Edit(
        f"hourly(marked(), slide='30 minutes').{_SUM}", f"hourly(marked(), slide='20 minutes').{_SUM}", _ANEW
    ),
    "windows that start later": Edit(_HOURLY, f"hourly(marked(), start='15 minutes').{_SUM}", _ANEW),
    "windows over another column": Edit(_HOURLY, f"hourly(marked('paid_at'), column='paid_at').{_SUM}", _ANEW),
    "sessions": Edit(_HOURLY, f"marked().groupBy(F.session_window('at', '10 minutes'), 'product').{_SUM}", _ANEW),
    "another gap": Edit(
        f"marked().groupBy(F.session_window('at', '10 minutes'), 'product').{_SUM}",
        f"marked().groupBy(F.session_window('at', '20 minutes'), 'product').{_SUM}",
        _ANEW,
    ),
    "another function": Edit(_HOURLY, "hourly(marked()).agg(F.max('amount').alias('revenue'))", _ANEW),
    "a function more": Edit(
        _HOURLY, "hourly(marked()).agg(F.sum('amount').alias('revenue'), F.count('*').alias('orders'))", _ANEW
    ),
    "functions in another order": Edit(
        "hourly(marked()).agg(F.sum('amount').alias('a'), F.max('amount').alias('b'))",
        "hourly(marked()).agg(F.max('amount').alias('b'), F.sum('amount').alias('a'))",
        _ANEW,
    ),
    "a sum that is not used any more": Edit(
        "hourly(marked()).agg(F.sum('amount').alias('a'), F.count('*').alias('n'))",
        "hourly(marked()).agg(F.sum('amount').alias('a'), F.count('*').alias('n')).drop('a')",
        _ANEW,
    ),
    "another column summed": Edit(_HOURLY, "hourly(marked()).agg(F.sum('id').alias('revenue'))", _ANEW),
    "the summed column computed in another way": Edit(
        _HOURLY, f"hourly(marked().withColumn('amount', F.expr('amount * 100'))).{_SUM}", _ANEW
    ),
    "another name for the sum": Edit(_HOURLY, "hourly(marked()).agg(F.sum('amount').alias('total'))", _FITS),
    "a filter before": Edit(_HOURLY, f"hourly(marked().where('amount > 0')).{_SUM}", _FITS),
    "a filter after": Edit(_HOURLY, f"{_HOURLY}.where('revenue > 0')", _FITS),
    "computed from the sum": Edit(_HOURLY, f"{_HOURLY}.withColumn('gross', F.expr('revenue * 1.2'))", _FITS),
    "another source below": Edit(_HOURLY, f"hourly(marked().unionByName(marked(table='refunds'))).{_SUM}", _FITS),
    **{
        f"fields of {function} in another order": Edit(
            f"hourly(marked()).agg(F.expr('{function}(struct(id, amount){more}) s'))",
            f"hourly(marked()).agg(F.expr('{function}(struct(amount, id){more}) s'))",
            _ANEW,
        )
        for function, more in (
            *(("first", ""), ("last", ", true"), ("any_value", ""), ("collect_list", ""), ("collect_set", "")),
            *(("min", ""), ("max_by", ", at"), ("array_agg", "")),
        )
    },
    "fields below the aggregate in another order": Edit(
        "hourly(marked().withColumn('s', F.struct('id', 'amount'))).agg(F.first('s').alias('s'))",
        "hourly(marked().withColumn('s', F.struct('amount', 'id'))).agg(F.first('s').alias('s'))",
        _ANEW,
    ),
    "another name of a field": Edit(
        "hourly(marked()).agg(F.expr('collect_list(named_struct(\"a\", id)) s'))",
        "hourly(marked()).agg(F.expr('collect_list(named_struct(\"b\", id)) s'))",
        _ANEW,
    ),
    "another first column": Edit(
        "hourly(marked()).agg(F.first('product').alias('s'))", "hourly(marked()).agg(F.first('shop').alias('s'))", _ANEW
    ),
    "the same first fields": Edit(
        "hourly(marked()).agg(F.first(F.struct('id', 'amount')).alias('s'))",
        "hourly(marked()).agg(F.first(F.struct('id', 'amount')).alias('t'))",
        _FITS,
    ),
    "a list that is not used any more": Edit(
        "hourly(marked()).agg(F.sum('amount').alias('a'), F.collect_list('id').alias('n'))",
        "hourly(marked()).agg(F.sum('amount').alias('a'), F.collect_list('id').alias('n')).drop('n')",
        _ANEW,
    ),
    "a list that was never used": Edit(
        "hourly(marked()).agg(F.sum('amount').alias('a'), F.collect_list('id').alias('n')).drop('n')",
        "hourly(marked()).agg(F.sum('amount').alias('a'), F.collect_list('at').alias('n')).drop('n')",
        _FITS,
    ),
    # -- Watermarks and output modes
    "a longer delay": Edit(_HOURLY, f"hourly(marked(delay='2 hours')).{_SUM}", _FITS),
    "no watermark": Edit(_HOURLY, f"hourly({_E}).{_SUM}", _ANEW),
    "a watermark at last": Edit(f"hourly({_E}).{_SUM}", _HOURLY, _ANEW),
    "counted by a random key": Edit(_SALTED, _SALTED, _SAME),
    "counted by another random key": Edit(_SALTED, _SALTED.replace("8", "9"), _ANEW),
    "counted by another key": Edit(_COUNT, f'{_E}.groupBy("shop").count()', _ANEW),
    # -- Duplicates
    "the same duplicates": Edit(_DEDUP, _DEDUP, _SAME),
    "duplicates by one column": Edit(_DEDUP, "marked().dropDuplicates(['id'])", _ANEW),
    "duplicates by another column": Edit(_DEDUP, "marked().dropDuplicates(['shop', 'at'])", _ANEW),
    "duplicates within the watermark": Edit(_DEDUP, "marked().dropDuplicatesWithinWatermark(['id', 'at'])", _ANEW),
    "duplicates by a function of elements": Edit(
        f"{_PLUS_ONE}.dropDuplicates(['ids'])", f"{_PLUS_ONE}.dropDuplicates(['ids'])", _SAME
    ),
    "duplicates by another function of elements": Edit(
        f"{_PLUS_ONE}.dropDuplicates(['ids'])", f"{_PLUS_ONE.replace('+ 1', '+ 2')}.dropDuplicates(['ids'])", _ANEW
    ),
    "a column more beside duplicates": Edit(_DEDUP, f"{_DEDUP}.withColumn('gross', F.expr('amount * 2'))", _FITS),
    # -- State of Python functions
    "the same state of one's own": Edit(f"own_state({_E}, 'product')", f"own_state({_E}, 'product')", _SAME),
    "state of one's own by another key": Edit(f"own_state({_E}, 'product')", f"own_state({_E}, 'shop')", _ANEW),
    "state of one's own in pandas": Edit(
        f"own_pandas_state({_E}, 'product')", f"own_pandas_state({_E}, 'shop')", _ANEW
    ),
    "the same state as before transformWithState": Edit(
        f"older_state({_E}, 'product')", f"older_state({_E}, 'product')", _SAME
    ),
    "state as before transformWithState by another key": Edit(
        f"older_state({_E}, 'product')", f"older_state({_E}, 'shop')", _ANEW
    ),
    "fields of the state as before transformWithState in another order": Edit(
        f"older_state({_E}, 'product', 'a LONG, b LONG')", f"older_state({_E}, 'product', 'b LONG, a LONG')", _ANEW
    ),
    # -- Joins of streams
    "the same join": Edit(_JOIN, _JOIN, _SAME),
    "another condition": Edit(_JOIN, _JOIN.replace("1 HOUR", "2 HOURS"), _ANEW),
    "an outer join": Edit(_JOIN, _JOIN.replace(f", {_ON})", f", {_ON}, 'left')"), _ANEW),
    "a column more in the state": Edit(_JOIN, _JOIN.replace("'product')", "'product', 'shop')"), _ANEW),
    "a column that is not used any more": Edit(_JOIN, f"{_JOIN}.drop('product')", _ANEW),
    "a filter after the join": Edit(_JOIN, f"{_JOIN}.where('paid > 0')", _FITS),
}
