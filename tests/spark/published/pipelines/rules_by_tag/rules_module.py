def all_rules():
  return [
    {"name": "has website", "constraint": "Website IS NOT NULL", "tag": "validity"},
    {"name": "updated since 2010", "constraint": "to_date(updateTime,'M/d/yyyy h:m:s a') > '2010-01-01'", "tag": "maintained"},
    {"name": "in social media", "constraint": "NOT(Facebook IS NULL AND Twitter IS NULL AND Youtube IS NULL)", "tag": "maintained"},
  ]
