"""Uses the client for Python that was generated: python use_client.py FOLDER ADDRESS."""

import base64
import sys

sys.path.insert(0, sys.argv[1])

from client import AuthenticatedClient  # noqa: E402
from client.api.buckets import buckets_create, buckets_get, buckets_list  # noqa: E402
from client.api.collections import collections_add_scope  # noqa: E402
from client.api.users import users_list  # noqa: E402
from client.models import Bucket, BucketsCreateBody, CollectionsAddScopeBody  # noqa: E402

token = base64.b64encode(b"Administrator:password").decode()
client = AuthenticatedClient(base_url=sys.argv[2], token=token, prefix="Basic")

created = buckets_create.sync_detailed(client=client, body=BucketsCreateBody(name="python", ram_quota_mb=100))
assert created.status_code == 202, created
refused = buckets_create.sync_detailed(client=client, body=BucketsCreateBody(name="python", ram_quota_mb=100))
assert refused.status_code == 400, refused
found = buckets_get.sync(bucket="python", client=client)
assert isinstance(found, Bucket), found
assert found.name == "python" and found.auto_compaction_settings is False, found
assert "python" in [one.name for one in buckets_list.sync(client=client)]
scope = collections_add_scope.sync_detailed("python", client=client, body=CollectionsAddScopeBody(name="s"))
assert scope.status_code == 200, scope
assert users_list.sync_detailed(client=client).status_code == 200
print("done")
