"""Parts that sinks share: deliveries of whole epochs, merged files, columns of tables, and tuples that are refused."""
