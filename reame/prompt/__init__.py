"""From chat messages to token ids, and from token ids to text."""

from reame.prompt.detokenize import IncrementalDecoder
from reame.prompt.encoder import EncodedPrompt, PromptEncoder
from reame.prompt.messages import TemplateTraits
from reame.prompt.sources import TemplateOrigin
from reame.prompt.stops import StopMatcher, StopResult
from reame.prompt.template import ChatTemplate
from reame.prompt.text import TextStream
from reame.prompt.tokenizer import Tokenizer

__all__ = [
    "ChatTemplate",
    "EncodedPrompt",
    "IncrementalDecoder",
    "PromptEncoder",
    "StopMatcher",
    "StopResult",
    "TemplateOrigin",
    "TemplateTraits",
    "TextStream",
    "Tokenizer",
]
