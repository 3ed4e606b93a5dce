"""Writers to the outside world."""
