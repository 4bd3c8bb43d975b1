"""The page: its server, its document and what it asks of the engine. No model code, no torch."""
