"""The script of ../README.md with the official Python client: a line of JSON for each step."""

import json
import os
import sys
import threading

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import ADDED, DELETED, ERROR, MODIFIED, SharedInformer

NAMESPACE = os.environ["NAMESPACE"]
WAIT_SECONDS = 30

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class StepFailed(Exception):
    """The server answered something else than the script says."""


def check(holds, what):
    # Not `assert`, which `python -O` leaves out.
    if not holds:
        raise StepFailed(what)


def config_map(name, data, labels=None):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data)


def refusal(call, code, reason):
    """Makes a call that the server must refuse, and returns the client's error with the decoded Status."""
    try:
        call()
    except ApiException as error:
        status = json.loads(error.body)
        check(error.status == code and status["reason"] == reason, f"{error.status} {status['reason']}, not {code} {reason}")
        return status
    raise StepFailed(f"not refused with {code} {reason}")


class Sightings:
    """What an informer told, in order, and a wait for one of them."""

    def __init__(self):
        self._seen = []
        self._changed = threading.Condition()

    def add(self, event, seen):
        with self._changed:
            self._seen.append((event, seen))
            self._changed.notify_all()

    def wait_for(self, event, name, matches=lambda _: True):
        with self._changed:
            found = self._changed.wait_for(
                lambda: any(e == event and o.metadata.name == name and matches(o) for e, o in self._seen),
                timeout=WAIT_SECONDS,
            )
        check(found, f"the informer did not tell of {name} {event} within {WAIT_SECONDS} s")


class Script:
    def __init__(self):
        self.core = client.CoreV1Api()
        self.sightings = Sightings()
        self.stopping = threading.Event()
        self.informer = SharedInformer(self.core.list_namespaced_config_map, namespace=NAMESPACE)
        for event in (ADDED, MODIFIED, DELETED):
            self.informer.add_event_handler(event, lambda seen, event=event: self.sightings.add(event, seen))
        # The informer connects again at once: the pause of its thread is the back-off while the server is away.
        self.informer.add_event_handler(ERROR, lambda _: self.stopping.wait(0.5))

    def discovery(self):
        version = client.VersionApi().get_code()
        check((version.major, version.minor) == ("1", "32"), f"version {version.git_version}")
        groups = {group.name: group for group in client.ApisApi().get_api_versions().groups}
        check(groups["coordination.k8s.io"].preferred_version.version == "v1", "preferred version of coordination.k8s.io")
        resources = {resource.name: resource for resource in self.core.get_api_resources().resources}
        found = resources["configmaps"]
        check(found.namespaced and found.kind == "ConfigMap", f"configmaps: {found}")

    def create(self):
        self.created = self.core.create_namespaced_config_map(NAMESPACE, config_map("settings", {"a": "1", "b": "2"}))
        check(self.created.data == {"a": "1", "b": "2"}, f"data {self.created.data}")
        check(self.created.metadata.uid and self.created.metadata.resource_version, "no uid or resourceVersion")

    def get(self):
        read = self.core.read_namespaced_config_map("settings", NAMESPACE)
        check(read.metadata.uid == self.created.metadata.uid, "another uid")
        check(read.data == self.created.data, f"data {read.data}")

    def update(self):
        read = self.core.read_namespaced_config_map("settings", NAMESPACE)
        read.data["a"] = "changed"
        updated = self.core.replace_namespaced_config_map("settings", NAMESPACE, read)
        check(updated.data == {"a": "changed", "b": "2"}, f"data {updated.data}")
        check(updated.metadata.uid == self.created.metadata.uid, "another uid")
        check(updated.metadata.resource_version != self.created.metadata.resource_version, "the same resourceVersion")

    def conflict(self):
        stale = self.created
        stale.data["a"] = "stale"
        refusal(lambda: self.core.replace_namespaced_config_map("settings", NAMESPACE, stale), 409, "Conflict")
        data = self.core.read_namespaced_config_map("settings", NAMESPACE).data
        check(data["a"] == "changed", f"data {data}")

    def patch(self):
        merge = {"data": {"c": "3", "b": None}}
        patched = self.core.patch_namespaced_config_map("settings", NAMESPACE, merge, _content_type=MERGE_PATCH)
        check(patched.data == {"a": "changed", "c": "3"}, f"data {patched.data}")
        account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="patched"))
        self.core.create_namespaced_service_account(NAMESPACE, account)
        for secret in ("one", "two"):
            account = self.core.patch_namespaced_service_account(
                "patched", NAMESPACE, {"secrets": [{"name": secret}]}, _content_type=STRATEGIC_MERGE_PATCH
            )
        check(sorted(secret.name for secret in account.secrets) == ["one", "two"], f"secrets {account.secrets}")

    def apply(self):
        def apply_as(manager, value, force=False):
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "applied"},
                "data": {"owner": value},
            }
            return self.core.patch_namespaced_config_map(
                "applied", NAMESPACE, body, field_manager=manager, force=force, _content_type=APPLY_PATCH
            )

        first = apply_as("first", "1")
        managers = [(entry.manager, entry.operation) for entry in first.metadata.managed_fields]
        check(("first", "Apply") in managers, f"managedFields {managers}")
        refusal(lambda: apply_as("second", "2"), 409, "Conflict")
        forced = apply_as("second", "2", force=True)
        check(forced.data == {"owner": "2"}, f"data {forced.data}")

    def list(self):
        for name, labels in (("red-1", {"colour": "red"}), ("red-2", {"colour": "red"}), ("blue", {"colour": "blue"})):
            self.core.create_namespaced_config_map(NAMESPACE, config_map(name, {}, labels))
        found = self.core.list_namespaced_config_map(NAMESPACE, label_selector="colour=red")
        names = sorted(item.metadata.name for item in found.items)
        check(names == ["red-1", "red-2"], f"names {names}")

    def pagination(self):
        expected = [f"page-{index:03}" for index in range(250)]
        for name in expected:
            self.core.create_namespaced_config_map(NAMESPACE, config_map(name, {}, {"paged": "yes"}))
        pages, token = [], None
        while token is None or token:
            page = self.core.list_namespaced_config_map(NAMESPACE, label_selector="paged=yes", limit=100, _continue=token)
            pages.append([item.metadata.name for item in page.items])
            token = page.metadata._continue or ""
        check([len(page) for page in pages] == [100, 100, 50], f"pages of {[len(page) for page in pages]}")
        check(sorted(sum(pages, [])) == expected, "not each name once")

    def watch(self):
        self.informer.start()
        self.core.create_namespaced_config_map(NAMESPACE, config_map("watched", {"step": "1"}))
        self.sightings.wait_for(ADDED, "watched")
        self.core.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"step": "2"}}, _content_type=MERGE_PATCH)
        self.sightings.wait_for(MODIFIED, "watched", lambda seen: seen.data == {"step": "2"})
        self.core.delete_namespaced_config_map("watched", NAMESPACE)
        self.sightings.wait_for(DELETED, "watched")

    def token_request(self):
        account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="caller"))
        self.core.create_namespaced_service_account(NAMESPACE, account)
        request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=600))
        token = self.core.create_namespaced_service_account_token("caller", NAMESPACE, request).status.token
        administrator = self.core.api_client.configuration
        caller = client.Configuration(host=administrator.host)
        caller.ssl_ca_cert = administrator.ssl_ca_cert
        caller.api_key = {"authorization": f"Bearer {token}"}
        with client.ApiClient(caller) as api:
            review = client.AuthenticationV1Api(api).create_self_subject_review(client.V1SelfSubjectReview())
        name = review.status.user_info.username
        check(name == f"system:serviceaccount:{NAMESPACE}:caller", f"user {name}")

    def access_review(self):
        reviews = client.AuthorizationV1Api()
        attributes = client.V1ResourceAttributes(namespace=NAMESPACE, verb="get", resource="configmaps")
        own = reviews.create_self_subject_access_review(
            client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes))
        )
        check(own.status.allowed is True, "the administrator is not allowed")
        other = reviews.create_subject_access_review(
            client.V1SubjectAccessReview(
                spec=client.V1SubjectAccessReviewSpec(resource_attributes=attributes, user="stranger")
            )
        )
        check(other.status.allowed is False, "a stranger is allowed")

    def restart(self):
        word, name = sys.stdin.readline().split()
        check(word == "restarted", f"read {word}")
        self.sightings.wait_for(ADDED, name)
        self.core.read_namespaced_config_map(name, NAMESPACE)

    def delete(self):
        self.core.delete_namespaced_config_map("settings", NAMESPACE)
        refusal(lambda: self.core.read_namespaced_config_map("settings", NAMESPACE), 404, "NotFound")

    def errors(self):
        bad = config_map("Not_A_Name", {})
        status = refusal(lambda: self.core.create_namespaced_config_map(NAMESPACE, bad), 422, "Invalid")
        fields = [cause["field"] for cause in status["details"]["causes"]]
        check("metadata.name" in fields, f"causes of {fields}")

    def close(self):
        self.stopping.set()
        self.informer.stop()


def report(step, **outcome):
    print(json.dumps({"step": step, **outcome}), flush=True)


def main():
    config.load_kube_config()
    script = Script()
    steps = (
        ("discovery", script.discovery),
        ("create", script.create),
        ("get", script.get),
        ("update", script.update),
        ("conflict", script.conflict),
        ("patch", script.patch),
        ("apply", script.apply),
        ("list", script.list),
        ("pagination", script.pagination),
        ("watch", script.watch),
        ("token-request", script.token_request),
        ("access-review", script.access_review),
        ("ready-for-restart", lambda: None),
        ("restart", script.restart),
        ("delete", script.delete),
        ("errors", script.errors),
    )
    for step, run in steps:
        try:
            run()
        except Exception as error:  # Whatever it is, it is the outcome of the step.
            report(step, ok=False, error=f"{type(error).__name__}: {error}")
            return 1
        report(step, ok=True)
    script.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
