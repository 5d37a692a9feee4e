from pydantic import SecretStr

from context1.settings import Settings, StorageSettings
from context1.settings.secrets import secret_variables, with_secrets


def test_a_job_file_holds_no_secret_and_the_environment_all(monkeypatch) -> None:
    secrets = {"opensearch.api_key": "hunter2key", "storage.secret_key": "hunter2s3"}
    settings = Settings.load(overrides=secrets)
    assert "hunter2" not in settings.model_dump_json() + repr(settings) + str(settings.rows())
    variables = secret_variables(settings)
    assert variables == {
        "CONTEXT1_OPENSEARCH__API_KEY": "hunter2key",
        "CONTEXT1_STORAGE__SECRET_KEY": "hunter2s3",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Settings.load().opensearch.api_key.get_secret_value() == "hunter2key"


def test_a_job_file_and_the_environment_give_the_settings_back(monkeypatch) -> None:
    secrets = {"opensearch.api_key": "hunter2key", "storage.secret_key": "hunter2s3", "rl.steps": 3}
    settings = Settings.load(overrides=secrets)
    stored = Settings.model_validate(settings.model_dump(mode="json"))
    assert stored.storage.secret_key.get_secret_value() == "", "a mask would be taken for the secret"
    for name, value in secret_variables(settings).items():
        monkeypatch.setenv(name, value)
    again = with_secrets(stored)
    assert secret_variables(again) == secret_variables(settings)
    assert again.model_dump() == settings.model_dump()


def test_a_section_given_as_an_object_keeps_its_secrets() -> None:
    storage = StorageSettings(access_key=SecretStr("mine"), secret_key=SecretStr("hunter2"))
    loaded = Settings.load(overrides={"storage": storage}).storage
    assert loaded.access_key.get_secret_value() == "mine"
    assert loaded.secret_key.get_secret_value() == "hunter2"
