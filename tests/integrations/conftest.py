"""What tests of integrations share."""

import pytest

from optuna_cases import Recorder


@pytest.fixture
def recorder():
    return type("Recorded", (Recorder,), {"made": []})
