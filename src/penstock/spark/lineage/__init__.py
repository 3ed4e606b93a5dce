"""Which columns the columns of a query are made of, read off its analysed plan."""
