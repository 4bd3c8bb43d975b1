"""The shared tokenizer of the bundled pair: byte-level BPE, digits one by one, trained on the generator's own text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END_OF_TEXT = "<|endoftext|>"
VOCAB_SIZE = 1536


def train_tokenizer(texts: Iterable[str], folder: Path) -> PreTrainedTokenizerFast:
    """Trains the tokenizer on `texts` and saves it in `folder`.

    Digits stay single tokens: arithmetic over merged digits has to be learned once per merge. Every byte is in the
    alphabet, so any text that a visitor types can be encoded and comes back unchanged.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TEXT,
        pad_token=END_OF_TEXT,
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )
    folder.mkdir(parents=True, exist_ok=True)
    wrapped.save_pretrained(folder)
    return wrapped
