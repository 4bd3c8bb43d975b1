"""The bundled pair: its data generator, tokenizer and training recipe.

Nothing outside this package needs it at run time: the pair it produces is an ordinary transformers checkpoint in
`assets/models/`, loaded like any other pair.
"""
