"""Logins and roles by a directory: the part of LDAP (RFC 4511) that they need."""
