"""Penstock's own Java classes, which replace or extend classes of Spark, Delta and Hadoop.

Their source is in `java/penstock/`; `make java` compiles it into the jar next to this module. The jar is at the end of
the class path, so a class archive that was made without it stays valid. The comment of each class names the non-public
API that it relies on, and says what happens without it; a LinkageError fails the query with SPARK_INTERNALS_CHANGED.
docs/decisions/own-java-classes.md says which of them are accelerators, and why the others have no switch.

`cluster`: the executors of a cluster.

- `SharedStorage`: lets no executor work that does not see the storage, or a table, on a local path.

`delta`: the streaming sink and the log of a Delta table.

- `DeltaSinkProvider`: Delta's streaming sink, which calls the next two after each batch.
- `KnownTransactions`: gives Delta's cached snapshot the transactions of the checksum file.
- `KnownStateExtension`: has the next two look at the tables of each query before it is planned.
- `SmallLog`: reads what is new in the log of a small table in the driver.
- `KnownState`: gives Delta's cached snapshot the numbers of the checksum file.
- `LazyValue`: how these give a snapshot a value that Delta would compute.
- `LogCheckpoints`: writes the checkpoints of a Delta log outside the stream's batches.

`files`: Auto Loader and other streams of files.

- `ArrivingFilesProvider`: the format of Spark's file streams with `ArrivingFiles` as the source.
- `ArrivingFiles`: Spark's file source with a backlog, changed files and incremental listings.
- `Discovery`, `FoundFile`: the interface of the ways to find new files; a file as it was listed.
- `ChangedFolders`: lists only the folders of a local disk that have changed.
- `FolderWatcher`: collects the names that appear in a folder, from Linux's inotify.
- `IncrementalS3Listing`: lists only the keys of an S3 folder after the last known ones.
- `S3Keys`: lists an S3 folder from a key on, through the client of S3A.
- `Settling`: holds back files that may still be written.
- `ReadFilesLog`: Spark's log of the files that a source has read, read and compacted faster.
- `BatchFiles`: records which files of a batch were missing when Spark read it.
- `SkippedFiles`: records the corrupt or missing files that Spark skips, from its log messages.
- `RenamedAvro`, `RenamedOrc`, `RenamedParquet`: Spark's formats, where some files have other column names.
- `RenamedColumnsReader`: reads these files, with Spark's reader of the format.
- `SparkReflection`: access to the private members of Spark's file source.

`json`: JSON lines of Auto Loader, parsed in the JVM.

- `JsonRecords`: parses lines as `from_json` does, and keeps the digits of numbers.
- `RecordParser`: Spark's JSON parser with exact numbers, on which `JsonRecords` is built.
- `JsonArrays`: splits lines that are JSON arrays into their elements.
- `SchemaInferenceFilter`: selects the lines that can add to the inferred schema.
- `MarkedText`: decodes files that begin with the byte-order mark of UTF-16.
- `LineBytes`, `JsonText`: parse the bytes of a line in place; copy parts of a JSON text.
- `VerbatimNumberOptions`: options of Spark's JSON reader that keep numbers as they are written.

`localdisk`: what Spark and Delta write to a local disk.

- `LocalDiskFileSystem`: Hadoop's local file system without child processes for permissions.
- `LocalDiskLogStore`: Delta's log on a local disk, with atomic commits and listings by name.

`objectstore`: what Delta writes to an object store.

- `RenewedCredentials`: the AWS SDK's chain of credentials, which reads files of profiles again when they change.
- `ConditionalLogStore`: Delta's log in S3, where the store itself rejects a commit whose name is taken.
- `ConditionalRenameLogStore`: the same in Azure, where a commit is a rename.
- `ConditionalCreateLogStore`: the same in Google Cloud Storage, where a commit is an upload with a generation.
- `StoredCommit`: whose commit is stored, where the response was lost.

`plans`: the plans of queries.

- `PlanJson`: returns the JSON of a logical plan to Python compressed, in one answer.

`script`: the session of a script.

- `StorageCatalog`: a catalog of the script's storage, by which Spark finds tables of names with three parts.

`serve`: the SQL endpoint's sessions, in which clients can only read what is served.

- `ReadOnlyExtension`: puts the next two into the sessions.
- `ReadOnlyParser`, `ReadOnlyStatement`: refuse what is no query; the list of what may be asked.
- `ServedTables`: puts what readers see of a table in the place of its name.
- `ResolvedPlanCheck`: refuses a resolved query that reads anything else.
- `ClientQuery`, `ClientSettings`: run a query within the limits; take back settings of a connection string.
- `Endpoint`, `Door`: the open endpoint with its running queries; what it asks Python.
- `Passwords`, `RefusedException`: check logins for the Thrift server; a refused statement.
"""

from __future__ import annotations

from pathlib import Path

JAR = Path(__file__).with_name("own-classes.jar")
FILE_SYSTEM = "penstock.localdisk.LocalDiskFileSystem"
LOG_STORE = "penstock.localdisk.LocalDiskLogStore"
OBJECT_LOG_STORE = "penstock.objectstore.ConditionalLogStore"
S3_CREDENTIALS = "penstock.objectstore.RenewedCredentials"
AZURE_LOG_STORE = "penstock.objectstore.ConditionalRenameLogStore"
GCS_LOG_STORE = "penstock.objectstore.ConditionalCreateLogStore"
KNOWN_STATE_EXTENSION = "penstock.delta.KnownStateExtension"
DELTA_SINK = "penstock.delta.DeltaSinkProvider"
SHARED_STORAGE = "penstock.cluster.SharedStorage"
SHARED_STORAGE_FOLDER = "spark.penstock.storage"
SHARED_TABLE_FOLDER = "spark.penstock.table"
"""A setting of the session, and a local property of jobs: URIs of folders that executors have to see."""

ARRIVING_FILES = "penstock.files.ArrivingFilesProvider"
STORAGE_CATALOG = "penstock.script.StorageCatalog"


def own_jars() -> list[Path]:
    """Returns the jar in a list, an empty list if it is missing.

    Spark, Delta and Hadoop then use their own classes, which are slower; options that need one of these raise.
    """
    return [JAR] if JAR.is_file() else []
