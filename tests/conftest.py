"""What holds for all tests."""

from typing import Final

from hypothesis import HealthCheck, settings

pytest_plugins: Final = ["pytester", "support.stolen"]

settings.register_profile(
    "the same everywhere",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same examples each time, however long a busy machine takes for them."""
settings.load_profile("the same everywhere")
