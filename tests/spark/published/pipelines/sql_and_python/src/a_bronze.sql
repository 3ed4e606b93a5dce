CREATE OR REFRESH STREAMING TABLE bronze AS
SELECT *, _metadata.file_name AS file FROM STREAM read_files('${mixed.input}/tickets', format => "json", inferColumnTypes => "true")
