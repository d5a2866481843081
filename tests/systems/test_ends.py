"""What a person may type for two ends, and what is said to what makes no sense."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tiltyard.systems.ends import HostSysctls, Offloads, Qdiscs, Sysctls, both
from tiltyard.systems.loopback import LoopbackSettings
from tiltyard.systems.pair.settings import PairSettings

SYSCTLS: TypeAdapter[Sysctls] = TypeAdapter(Sysctls)
OFFLOADS: TypeAdapter[Offloads] = TypeAdapter(Offloads)
QDISCS: TypeAdapter[Qdiscs] = TypeAdapter(Qdiscs)
HOST: TypeAdapter[HostSysctls] = TypeAdapter(HostSysctls)
KEYS = st.sampled_from(["net.ipv4.tcp_rmem", "net.core.somaxconn", "net.ipv6.conf.all.mtu"])
VALUES = st.one_of(st.integers(), st.lists(st.integers(), min_size=1, max_size=3))
TABLES = st.dictionaries(KEYS, VALUES)


def test_what_stands_outside_holds_for_both_ends() -> None:
    typed = {"net.core.somaxconn": 10, "server": {"net.core.somaxconn": 20, "net.ipv4.tcp_sack": 0}}
    found = SYSCTLS.validate_python(typed)
    assert found.client == {"net.core.somaxconn": "10"}
    assert found.server == {"net.core.somaxconn": "20", "net.ipv4.tcp_sack": "0"}


def test_a_key_without_quotes_is_meant_too() -> None:
    typed = {"net": {"core": {"somaxconn": 10}, "ipv4": {"tcp_rmem": [1, 2, 3]}}}
    meant = {"net.core.somaxconn": "10", "net.ipv4.tcp_rmem": "1 2 3"}
    assert SYSCTLS.validate_python(typed).client == HOST.validate_python(typed) == meant


@given(TABLES, TABLES, TABLES)
def test_what_a_plan_keeps_is_read_back_as_it_was(
    shared: dict[str, object], client: dict[str, object], server: dict[str, object]
) -> None:
    found = SYSCTLS.validate_python({**shared, "client": client, "server": server})
    assert SYSCTLS.validate_python(found.model_dump(mode="json")) == found
    assert set(found.client) == {*shared, *client}
    assert set(found.server) == {*shared, *server}


def test_offloads_are_on_or_off() -> None:
    found = OFFLOADS.validate_python({"tso": "off", "gso": True, "client": {"tx": False}})
    assert found.server == {"tso": False, "gso": True}
    assert found.client == {"tso": False, "gso": True, "tx": False}


def test_a_queueing_discipline_is_text_or_each_ends_own() -> None:
    assert QDISCS.validate_python("pfifo limit 9").server == "pfifo limit 9"
    only = QDISCS.validate_python({"client": "bfifo limit 1m"})
    assert (only.client, only.server) == ("bfifo limit 1m", None)
    assert QDISCS.validate_python(only.model_dump()) == only


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"sysctl": {"kernel.core_pattern": "x"}}, "they begin with net."),
        ({"sysctl": {"net.core.somaxconn": True}}, "true is not a number, text, or list"),
        ({"sysctl": {"net.core.somaxconn": []}}, "[] is not a number, text, or list"),
        ({"sysctl": {"client": 4}}, "client: 4 is not a table"),
        ({"sysctl": 4}, "4 is not a table"),
        ({"offloads": {"tso": "of"}}, '"of" is neither true nor false'),
        ({"offloads": {"TSO!": True}}, '"TSO!" is not the name of an offload'),
        ({"offloads": ["tso"]}, '["tso"] is not a table'),
        ({"qdisc": " "}, '" " is not a queueing discipline'),
        ({"qdisc": {"middle": "pfifo"}}, '"middle" is not an end. One of: client, server.'),
        ({"rate": "500 Mbit/s"}, 'Write it like "500mbit"'),
        ({"rate": "1gbit", "qdisc": "pfifo"}, "set one of them, rate or qdisc"),
        ({"delay": "1ms", "qdisc": "pfifo"}, "set one of them, delay or qdisc"),
        ({"delay": "20"}, 'Write it like "20ms"'),
        ({"loss": "0.1"}, 'Write it like "0.1%"'),
        (
            {"busy_poll": 1, "sysctl": {"net.core.busy_read": 2}},
            "net.core.busy_read is set twice: in sysctl, and by busy_poll",
        ),
        ({"mtu": 576}, "greater than or equal to 1280"),
        ({"server_cpus": [-1]}, "greater than or equal to 0"),
    ],
)
def test_a_wrong_setting_of_a_pair_is_told(document: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError) as raised:
        PairSettings.model_validate(document)
    (error,) = raised.value.errors()
    assert text in error["msg"]


def test_the_same_for_loopback() -> None:
    key = "net.ipv4.tcp_congestion_control"
    with pytest.raises(ValidationError, match="set twice"):
        LoopbackSettings.model_validate({"congestion_control": "reno", "sysctl": {key: "cubic"}})
    with pytest.raises(ValidationError, match="4 is not a table"):
        LoopbackSettings.model_validate({"sysctl": 4})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"delay": "20ms", "rate": "1gbit"}, "limit 2500 delay 10000us rate 1000000000bit"),
        ({"delay": "500us"}, "limit 16875 delay 250us"),
        ({"loss": "0.1%", "rate": "10mbit"}, "limit 1000 loss 0.1% rate 10000000bit"),
    ],
)
def test_a_path_with_delay_or_loss_holds_what_is_under_way(
    settings: dict[str, str], words: str
) -> None:
    found = PairSettings.model_validate(settings)
    assert (
        " ".join(found.qdisc_of("client")) == " ".join(found.qdisc_of("server")) == f"netem {words}"
    )


@pytest.mark.parametrize(
    ("rate", "bits", "burst"),
    [
        ("500mbit", 500_000_000, 262_144),
        ("2.5gbit", 2_500_000_000, 312_500),
        ("64bit", 64, 262_144),
    ],
)
def test_a_rate_has_a_burst_of_a_millisecond_or_more(rate: str, bits: int, burst: int) -> None:
    settings = PairSettings(rate=rate)
    assert settings.rate_bits == bits
    assert settings.qdisc_of("client") == settings.qdisc_of("server")
    words = " ".join(settings.qdisc_of("client"))
    assert words == f"tbf rate {bits}bit burst {burst}b latency 20ms"


def test_defaults_set_nothing() -> None:
    settings = PairSettings()
    assert settings.qdisc_of("client") == ()
    assert settings.sysctls_of("server") == {}
    assert (settings.mtu, settings.family, settings.client_cpus) == (1500, "ipv4", ())


def test_a_fact_of_both_ends_is_said_once() -> None:
    assert both({"client": "1500", "server": "1500"}) == "1500"
    assert both({"client": "1500", "server": "9000"}) == "client: 1500, server: 9000"
