"""OpenAI messages in the form that templates read."""

import pytest

from reame.errors import InvalidRequestError
from reame.prompt import ChatTemplate, TemplateTraits
from reame.prompt.messages import for_template
from reame.prompt.traits import probe_traits

from . import templates

PLAIN = TemplateTraits()
NO_SYSTEM = TemplateTraits(takes_system=False)
PARTS_ONLY = (
    "{% for m in messages %}{{ m.role }}:{% for p in m.content %}{{ p.text }}{% endfor %};{% endfor %}"
)


def _user(content: object) -> dict[str, object]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hi", "hi"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        (["a", "b"], "a\nb"),
    ],
)
def test_content_becomes_one_string(content: object, text: str) -> None:
    """Strings, null and parts all become one string."""
    assert for_template([_user(content)], PLAIN) == [_user(text)]


@pytest.mark.parametrize("content", [[{"type": "image_url", "image_url": {}}], [1], 7, {"text": "a"}])
def test_content_that_is_no_text_is_refused(content: object) -> None:
    """What no template can read is refused."""
    with pytest.raises(InvalidRequestError):
        for_template([_user(content)], PLAIN)


def test_message_without_role_is_refused() -> None:
    """A message must say whose it is."""
    with pytest.raises(InvalidRequestError, match="role"):
        for_template([{"content": "a"}], PLAIN)


def test_null_fields_are_absent() -> None:
    """A field set to null is as if it were not there."""
    assert for_template([{**_user("a"), "name": None, "tool_calls": None}], PLAIN) == [_user("a")]


def test_developer_becomes_system_unless_known() -> None:
    """Only a template that names the developer role gets to see it."""
    message = {"role": "developer", "content": "be kind"}
    assert for_template([message], PLAIN) == [{"role": "system", "content": "be kind"}]
    assert for_template([message], TemplateTraits(knows_developer=True)) == [message]


def test_system_text_goes_into_the_next_user_message() -> None:
    """Where no system message is taken, its text leads the next user message."""
    system = {"role": "system", "content": "S"}
    answer = {"role": "assistant", "content": "A"}
    assert for_template([system, _user("1"), answer, _user("2")], NO_SYSTEM) == [
        _user("S\n\n1"),
        answer,
        _user("2"),
    ]
    assert for_template([system], NO_SYSTEM) == [_user("S")]


def test_arguments_of_tool_calls_become_objects() -> None:
    """JSON text of a call's arguments is parsed, anything else kept."""

    def call(arguments: object) -> dict[str, object]:
        return {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": arguments}}]}

    assert for_template([call('{"a": 1}')], PLAIN) == [call({"a": 1})]
    for kept in ("{", "[1]", {"a": 1}):
        assert for_template([call(kept)], PLAIN) == [call(kept)]


@pytest.mark.parametrize(
    ("source", "traits"),
    [
        (templates.CHATML, PLAIN),
        (templates.LLAMA3, PLAIN),
        (templates.QWEN, PLAIN),
        (templates.GEMMA, NO_SYSTEM),
        (templates.MISTRAL, NO_SYSTEM),
        (PARTS_ONLY, TemplateTraits(wants_parts=True)),
        ("{# developer #}" + templates.CHATML, TemplateTraits(knows_developer=True)),
    ],
)
def test_traits_of_templates_are_found(source: str, traits: TemplateTraits) -> None:
    """Letting a template write a few messages shows what it takes."""
    assert probe_traits(ChatTemplate(source)) == traits


def test_template_that_reads_parts_gets_parts() -> None:
    """For a template that reads parts only, a string becomes one part."""
    template = ChatTemplate(PARTS_ONLY)
    assert template.render(for_template([_user("hi")], probe_traits(template))) == "user:hi;"
