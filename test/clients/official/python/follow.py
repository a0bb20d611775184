"""Follows resources with CustomObjectsApi and Watch of the official Python client, as ../README.md says under Followers."""

import json
import sys
import threading
import time

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

RETRY_SECONDS = 0.2

printing = threading.Lock()


def tell(**line):
    with printing:
        print(json.dumps(line), flush=True)


class Follower:
    """A list and then a watch, which goes on where it was when its connection ends."""

    def __init__(self, api, resource):
        plural, version, group = resource.split(".", 2)
        self.resource = resource
        self.list = api.list_cluster_custom_object
        self.place = {"group": group, "version": version, "plural": plural}
        self.known = {}
        self.listed = threading.Event()

    def see(self, event, seen):
        name, version = seen["metadata"]["name"], seen["metadata"]["resourceVersion"]
        if event == "deleted":
            self.known.pop(name, None)
        else:
            self.known[name] = seen
        tell(event=event, resource=self.resource, name=name, resourceVersion=version)

    def list_all(self):
        listed = self.list(**self.place)
        names = {each["metadata"]["name"] for each in listed["items"]}
        for name in [name for name in self.known if name not in names]:
            self.see("deleted", self.known[name])
        for each in listed["items"]:
            self.see("modified" if each["metadata"]["name"] in self.known else "added", each)
        self.listed.set()
        return listed["metadata"]["resourceVersion"]

    def follow(self):
        version = None
        while True:
            watching = watch.Watch()
            try:
                version = version or self.list_all()
                for event in watching.stream(self.list, **self.place, resource_version=version):
                    if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                        version = event["object"]["metadata"]["resourceVersion"]
                        self.see(event["type"].lower(), event["object"])
            except ApiException as error:
                if error.status == 410:
                    version = None
            except HTTPError:
                pass  # The connection has ended, or there is none yet.
            time.sleep(RETRY_SECONDS)


def main():
    config.load_kube_config()
    api = client.CustomObjectsApi()
    followers = [Follower(api, resource) for resource in sys.argv[1:]]
    for follower in followers:
        threading.Thread(target=follower.follow, daemon=True).start()
    for follower in followers:
        follower.listed.wait()
    tell(event="synced")
    sys.stdin.read()


if __name__ == "__main__":
    main()
