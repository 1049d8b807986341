"""A taken port is found before anything starts."""

import os
import socket

import pytest

from reame.cli.ports import port_holder, require_free_port
from reame.errors import ReameError


def test_a_taken_port_names_its_process() -> None:
    """The error names this very process, which listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(ReameError, match=rf"127.0.0.1:{port}: taken by .*pid {os.getpid()}"):
            require_free_port("127.0.0.1", port)
    assert port_holder("127.0.0.1", port) is None


def test_an_address_of_another_machine_is_no_place_to_listen() -> None:
    """The reason is the system's own."""
    assert "taken" not in (port_holder("192.0.2.1", 8000) or "taken")
