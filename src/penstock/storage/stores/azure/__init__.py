"""Azure Blob Storage, and Azure Data Lake Storage, which is the same with folders."""
