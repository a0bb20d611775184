import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Clock, systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { type ApiClient, isAbsence } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import { define, definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

/** Timers of periodic work, such as discovery, never come: controllers know only what they are told. */
const periodMs = 10_000;
const withoutPeriods: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic(),
  after: (delayMs, callback) => (delayMs < periodMs ? systemClock.after(delayMs, callback) : { close() {} }),
};

for (const dialect of [orch, kubernetes]) {
  describe(`the collector and the namespace controller with kinds that come and go, in the dialect ${dialect.name}`, () => {
    const suite = serverForSuite({ ...systemEnvironment, clock: withoutPeriods }, { dialect });
    const client = (): ApiClient => suite.server.clientAs(root, 'test');
    let next = 0;

    /** Where objects of a kind are. */
    interface Place {
      readonly apiVersion: string;
      readonly resource: string;
      readonly namespace?: string;
    }
    const configMaps = (namespace = 'default'): Place => ({ apiVersion: 'v1', resource: 'configmaps', namespace });
    const widgets = (group: string, namespace: string | undefined = 'default', version = 'v1'): Place => ({
      ...{ apiVersion: `${group}/${version}`, resource: 'widgets' },
      ...(namespace && { namespace }),
    });
    const at = (place: Place, { metadata: { name } }: ApiObject): string => resourcePath({ ...place, name });

    function make(place: Place, owner?: ApiObject, blockOwnerDeletion = false): Promise<ApiObject> {
      const { apiVersion, kind, metadata: { name, uid } = {} } = owner ?? {};
      const ownerReferences = owner && [{ apiVersion, kind, name, uid, blockOwnerDeletion }];
      const metadata = { name: `object-${next++}`, ownerReferences };
      const own = place.resource === 'widgets' ? 'Widget' : 'ConfigMap';
      return client().create<ApiObject>(resourcePath(place), { apiVersion: place.apiVersion, kind: own, metadata });
    }

    async function remove(path: string, propagationPolicy = 'Background'): Promise<void> {
      await client().delete(path, { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy });
    }

    const isGone = (path: string): Promise<boolean> =>
      client()
        .get(path)
        .then(
          () => false,
          (error: unknown) => isAbsence(error) || Promise.reject(error),
        );
    const gone = (path: string): Promise<void> => until(() => isGone(path), `${path} is there`);

    /** It must not go meanwhile. */
    const becomesNobodys = (path: string): Promise<void> =>
      until(async () => (await client().get(path)).metadata.ownerReferences === undefined, `${path} has owners`);

    /** Waits until the collector has done what was to be done. */
    async function collects(): Promise<void> {
      const owner = await make(configMaps());
      const owned = await make(configMaps(), owner);
      await remove(at(configMaps(), owner));
      await gone(at(configMaps(), owned));
    }

    /** Resolves as soon as objects can be made: the collector may not know the kind yet. */
    async function serve(group: string, scope: 'Namespaced' | 'Cluster' = 'Namespaced'): Promise<string> {
      const definition = definitionOf({ group, scope, dialect });
      await client().create(definitionPath(undefined, dialect), definition);
      const place = resourcePath(widgets(group, ''));
      await until(async () =>
        client()
          .get(place)
          .then(
            () => true,
            () => false,
          ),
      );
      return definitionPath(definition.metadata.name, dialect);
    }

    for (const [what, ofOwner, ofOwned] of [
      ['a built-in object, owned by a custom one', widgets, configMaps],
      ['a custom object, owned by a built-in one', configMaps, widgets],
      ['a custom object, owned by one of its kind', widgets, widgets],
    ] as const) {
      for (const policy of ['Background', 'Foreground', 'Orphan'] as const) {
        it(`${what} that goes with ${policy} right after the kind came`, async () => {
          for (let round = 0; round < 10; round++) {
            const group = `g${next++}.example.com`;
            await serve(group);
            const place = (of: typeof ofOwner | typeof ofOwned): Place =>
              of === widgets ? widgets(group) : configMaps();
            const owner = await make(place(ofOwner));
            const owned = await make(place(ofOwned), owner, true);
            await remove(at(place(ofOwner), owner), policy);
            await gone(at(place(ofOwner), owner));
            if (policy === 'Orphan') await becomesNobodys(at(place(ofOwned), owned));
            else await gone(at(place(ofOwned), owned));
          }
        });
      }
    }

    it('custom objects go with their namespace right after the kind came, of every scope only those', async () => {
      const group = `g${next++}.example.com`;
      const ofCluster = `g${next++}.example.com`;
      const namespace = `leaving-${next++}`;
      await client().create('/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: namespace },
      });
      await serve(group);
      await serve(ofCluster, 'Cluster');
      const [inside, outside] = [widgets(group, namespace), widgets(group)];
      const leaving = await make(inside);
      const others = [
        [outside, await make(outside)],
        [widgets(ofCluster, ''), await make(widgets(ofCluster, ''))],
      ] as const;
      await remove(`/api/v1/namespaces/${namespace}`);
      await gone(`/api/v1/namespaces/${namespace}`);
      assert.ok(await isGone(at(inside, leaving)));
      for (const [place, object] of others) assert.equal(await isGone(at(place, object)), false);
    });

    for (const scope of ['Namespaced', 'Cluster'] as const) {
      it(`a kind that is removed and defined again under its name, ${scope}`, async () => {
        const group = `g${next++}.example.com`;
        const definition = await serve(group);
        const first = await make(widgets(group));
        const ofFirst = await make(configMaps(), first);
        await remove(definition);
        await gone(definition);
        await serve(group, scope);
        const place = widgets(group, scope === 'Cluster' ? '' : 'default');
        const second = await make(place);
        const ofSecond = await make(configMaps(), second);
        await gone(at(configMaps(), ofFirst));
        await collects();
        assert.equal(await isGone(at(configMaps(), ofSecond)), false);
        await remove(at(place, second));
        await gone(at(configMaps(), ofSecond));
        const namespace = `leaving-${next++}`;
        await client().create('/api/v1/namespaces', {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: namespace },
        });
        if (scope === 'Namespaced') await make(widgets(group, namespace));
        await remove(`/api/v1/namespaces/${namespace}`);
        await gone(`/api/v1/namespaces/${namespace}`);
      });
    }

    it('owners and dependents of a kind whose versions come and go', async () => {
      const group = `g${next++}.example.com`;
      const definition = definitionOf({ group, dialect });
      const path = definitionPath(definition.metadata.name, dialect);
      await define(client(), definition, dialect);
      const [first, owner] = [await make(configMaps()), await make(widgets(group))];
      const custom = await make(widgets(group), first);
      const owned = [await make(configMaps(), owner)];
      await collects();
      /** Serves these versions. All owners are there: nobody goes. */
      const served = async (...versions: readonly string[]): Promise<void> => {
        const all = ['v1', 'v2'].map((name) =>
          versionOf({}, { name, served: versions.includes(name), storage: name === 'v1' }),
        );
        await client().mergePatch(path, { spec: { versions: all } });
        // The collector may look at it before it knows of the change.
        owned.push(await make(configMaps(), owner));
        await collects();
        for (const each of owned) assert.equal(await isGone(at(configMaps(), each)), false, versions.join());
        const [version] = versions;
        if (version) assert.equal(await isGone(at(widgets(group, 'default', version), custom)), false, version);
      };
      await served('v1', 'v2');
      await served('v2');
      await served();
      await served('v2');
      await served('v1');
      await served('v2');
      await remove(at(configMaps(), first));
      await gone(at(widgets(group, 'default', 'v2'), custom));
      await remove(at(widgets(group, 'default', 'v2'), owner));
      for (const each of owned) await gone(at(configMaps(), each));
    });
  });
}
