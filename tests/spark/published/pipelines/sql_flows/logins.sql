CREATE OR REFRESH STREAMING TABLE logins (
  login STRING, seen_at TIMESTAMP, site STRING,
  CONSTRAINT `has user` EXPECT (login IS NOT NULL) ON VIOLATION DROP ROW
);

CREATE FLOW east COMMENT 'eastern site' AS INSERT INTO logins BY NAME
SELECT 'east' AS site, login, seen_at FROM STREAM read_files('/Volumes/net/logs/east', format => 'json', schema => 'login STRING, seen_at TIMESTAMP');

CREATE FLOW west
AS INSERT INTO
  logins BY NAME
SELECT seen_at, login, "west" AS site FROM STREAM read_files("/Volumes/net/logs/west", format => "json", schema => "login STRING, seen_at TIMESTAMP");

CREATE FLOW archive AS INSERT INTO ONCE logins BY NAME
SELECT login, seen_at, 'archive' AS site FROM read_files('/Volumes/net/logs/archive', format => 'parquet');

CREATE OR REFRESH STREAMING TABLE logins_per_hour
AS SELECT window.start AS hour, site, count(*) AS logins
FROM STREAM(logins) WATERMARK seen_at DELAY OF INTERVAL 10 MINUTES
GROUP BY window(seen_at, '1 hour'), site;

CREATE VIEW users AS SELECT login, max(seen_at) AS last_seen FROM logins GROUP BY login;

CREATE MATERIALIZED VIEW inactive AS SELECT login FROM users WHERE last_seen < TIMESTAMP'2026-08-01T06:00:00Z';
