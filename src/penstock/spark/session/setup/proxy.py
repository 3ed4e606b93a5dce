"""The machine's proxy settings, as Java wants to hear them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit


def proxy_options(environ: Mapping[str, str]) -> list[str]:
    """Returns `-D` options for HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case of letters.

    They may hold the proxy's password: pass them in the environment of the JVM, not on its command line.
    """
    options: list[str] = []
    for scheme in ("https", "http"):
        proxy = urlsplit(_setting(environ, f"{scheme}_proxy"))
        if not proxy.hostname:
            continue
        options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
        if proxy.username:
            # Ivy reads the http names for both; Java refuses a password to HTTPS proxies unless told otherwise.
            options += [f"-Dhttp.proxyUser={unquote(proxy.username)}", "-Djdk.http.auth.tunneling.disabledSchemes="]
            options += [f"-Dhttp.proxyPassword={unquote(proxy.password or '')}"]
    direct = [_java_pattern(host.strip()) for host in _setting(environ, "no_proxy").split(",") if host.strip()]
    if options and direct:
        options.append("-Dhttp.nonProxyHosts=" + "|".join(dict.fromkeys(["localhost", "127.*", "[::1]", *direct])))
    return options


def _setting(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _java_pattern(host: str) -> str:
    return "*" + host if host.startswith(".") else host
