"""The one gate for what comes from outside: documents, requests, files and links, read by bounded, typed readers.

`excerpt` says a value in a message; `json_text` turns text into plain JSON values, size and depth looked at first;
`fields` reads those values against kinds with ranges. Knows nothing of the project but `errors`; standard library only.
"""
