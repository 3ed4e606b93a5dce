"""Amazon Kinesis: `format("kinesis")`, a streaming source in Python on boto3.

Spark runs `stream_reader` in processes of its own, also on other machines: nothing that they import needs the JVM.
"""
