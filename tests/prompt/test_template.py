"""Jinja templates: the helpers they expect, the limits they meet, the errors they cause."""

from datetime import datetime

import pytest

from reame.errors import InvalidRequestError, ModelInvalidError
from reame.prompt import ChatTemplate

from . import templates

HELLO = [{"role": "user", "content": "Hello "}]


def _render(source: str, **given: object) -> str:
    return ChatTemplate(source).render(HELLO, extra=given)


def test_white_space_around_blocks_is_trimmed() -> None:
    """Blocks on lines of their own leave no line behind."""
    assert _render("{% if true %}\n  {% set x = 1 %}\na\n{% endif %}\nb") == "a\nb"


def test_llama3_manner() -> None:
    """BOS, headers and trimmed content."""
    template = ChatTemplate(templates.LLAMA3, bos_token="<B>")
    start, end = "<|start_header_id|>", "<|end_header_id|>\n\n"
    assert template.render(HELLO) == f"<B>{start}user{end}Hello<|eot_id|>{start}assistant{end}"


def test_generation_prompt_is_a_choice() -> None:
    """Without a generation prompt the text ends with the last message."""
    template = ChatTemplate(templates.CHATML)
    assert template.render(HELLO, add_generation_prompt=False) == "<|im_start|>user\nHello <|im_end|>\n"


def test_tojson_is_not_html() -> None:
    """JSON keeps its characters and the order of its keys, and takes the usual arguments."""
    value = {"b": "<é'>", "a": 1}
    assert _render("{{ v | tojson }}", v=value) == '{"b": "<é\'>", "a": 1}'
    assert (
        _render("{{ v | tojson(indent=2, sort_keys=true) }}", v={"b": 1, "a": 2})
        == '{\n  "a": 2,\n  "b": 1\n}'
    )
    assert (
        _render("{{ v | tojson(ensure_ascii=true, separators=(',', ':')) }}", v=["é", 1]) == '["\\u00e9",1]'
    )


def test_loop_controls_and_generation_blocks_are_known() -> None:
    """``break``, ``continue`` and ``generation`` do not stop a template from compiling."""
    source = (
        "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 3 %}{% break %}{% endif %}"
        "{{ i }}{% endfor %}"
    )
    assert _render(source) == "02"
    assert _render("a{% generation %}{{ messages[0].content }}{% endgeneration %}b") == "aHello b"


def test_date_is_the_injected_clock_by_day() -> None:
    """A template learns the day but not the hour, so its prompts hold for a day."""
    template = ChatTemplate("{{ strftime_now('%d %b %Y %H:%M') }}", now=lambda: datetime(2026, 3, 4, 15, 16))
    assert template.render(HELLO) == "04 Mar 2026 00:00"


def test_refusal_of_the_template_is_quoted() -> None:
    """What a template says with raise_exception reaches the client."""
    with pytest.raises(InvalidRequestError, match="Roles must alternate"):
        ChatTemplate(templates.GEMMA).render([*HELLO, *HELLO])


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content + 1 }}",
        "{{ 1 // 0 }}",
        "{{ nothing.at.all }}",
        "{{ messages | tojson(indent=messages) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ],
)
def test_fault_in_a_template_is_an_invalid_request(source: str) -> None:
    """Any of Python's errors inside a template becomes one of ours."""
    with pytest.raises(InvalidRequestError, match="chat template"):
        _render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''.__class__.__base__ }}{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception.__globals__ }}{{ raise_exception.__code__.co_code }}",
        "{% for i in range(1000000) %}{% endfor %}",
        "{{ 'a' * 1000000000 }}",
        "{{ 1000000000 * [1] }}",
        "{{ 9 ** 999999999 }}",
    ],
)
def test_hostile_template_is_stopped(source: str) -> None:
    """Python's internals, changes of the input and huge results are out of reach."""
    with pytest.raises(InvalidRequestError):
        _render(source)


def test_size_of_the_result_is_limited() -> None:
    """A template that writes without end is stopped at the limit."""
    template = ChatTemplate("{% for i in range(99999) %}{{ i }}{% endfor %}", max_chars=1000)
    with pytest.raises(InvalidRequestError, match="more than 1000 characters"):
        template.render(HELLO)


@pytest.mark.parametrize("source", ["{% if %}", "{{ a", "{{ a | no_such_filter }}", "{% endfor %}"])
def test_template_that_does_not_compile_is_the_models_fault(source: str) -> None:
    """A broken template is found when it is loaded."""
    with pytest.raises(ModelInvalidError, match="does not compile"):
        ChatTemplate(source)


def test_arguments_cannot_replace_messages() -> None:
    """Extra variables lose against the template's own."""
    assert _render("{{ messages[0].content }}", messages=[]) == "Hello "
