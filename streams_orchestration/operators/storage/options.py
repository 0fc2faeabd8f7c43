"""Options of an object store: the `storage` section of a spec, with secrets as references."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.references import Secret, UnresolvedReferenceError, resolved, without

_GOES_WITH: dict[str, frozenset[str]] = {
    "s3": frozenset(("endpoint", "region", "accessKey", "secretKey", "sessionToken", "roleArn", "anonymous")),
    "gs": frozenset(("endpoint", "project", "anonymous")),
    "abfs": frozenset(("endpoint", "accountKey", "sasToken", "tenantId", "clientId", "clientSecret")),
    "hdfs": frozenset(("user",)),
}
"""Maps each scheme to its options."""
SECRETS = ("accessKey", "secretKey", "sessionToken", "accountKey", "sasToken", "clientSecret")


class StorageOptions(BaseModel):
    """The options of an object store. Without any, the library uses its own sources: variables, files, roles."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)

    endpoint: str | None = Field(
        default=None, description="Address http://host:port of a server other than the cloud's."
    )
    region: str | None = Field(default=None, description="s3: region.")
    access_key: Secret = Field(default=None, alias="accessKey", description="s3: access key, as a reference.")
    secret_key: Secret = Field(default=None, alias="secretKey", description="s3: secret key, as a reference.")
    session_token: Secret = Field(default=None, alias="sessionToken", description="s3: session token, as a reference.")
    role_arn: str | None = Field(default=None, alias="roleArn", description="s3: role to assume.")
    anonymous: bool | None = Field(default=None, description="s3, gs: send no credentials.")
    project: str | None = Field(default=None, description="gs: project.")
    account_key: Secret = Field(default=None, alias="accountKey", description="abfs: account key, as a reference.")
    sas_token: Secret = Field(default=None, alias="sasToken", description="abfs: SAS token, as a reference.")
    tenant_id: str | None = Field(default=None, alias="tenantId", description="abfs: tenant.")
    client_id: str | None = Field(default=None, alias="clientId", description="abfs: client id.")
    client_secret: Secret = Field(
        default=None, alias="clientSecret", description="abfs: client secret, as a reference."
    )
    user: str | None = Field(default=None, description="hdfs: user.")

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, endpoint: str | None) -> str | None:
        if endpoint is not None and masked(endpoint) != endpoint:
            message = "endpoint: it contains a user or password; name them in accessKey and secretKey, as ${env:NAME}"
            raise ValueError(message)
        return endpoint

    def check(self, scheme: str) -> None:
        """Raise ValueError if an option is not known for a scheme."""
        known = _GOES_WITH[scheme]
        for name in self.model_dump(by_alias=True, exclude_none=True):
            if name not in known:
                message = f"storage: {name} cannot be combined with {scheme}://; {', '.join(sorted(known))} can be"
                raise ValueError(message)

    def resolved(self) -> dict[str, str]:
        """Return the given options by name, with references resolved; secrets are masked in all output from then on.

        Raises:
            UnresolvedReferenceError: a reference cannot be resolved.
        """
        there = self.model_dump(by_alias=True, exclude_none=True)
        return {name: resolved(str(value), f"storage: {name}") for name, value in there.items()}

    def without_secrets(self, text: str) -> str:
        """Return a text of a library without the secrets that references resolve to; unchanged if one does not."""
        try:
            values = self.resolved()
        except UnresolvedReferenceError:
            return text
        return without(text, (values.get(name, "") for name in SECRETS))
