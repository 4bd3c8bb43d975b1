"""The page: components and sessions around an engine. No model code; torch is never imported from here."""
