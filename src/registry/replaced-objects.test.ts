import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { orch } from '../dialect/orch.ts';
import { kinds } from '../kinds/kinds.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { Admission } from '../request/admission.ts';
import { RegistryFixture } from './registry-fixture.ts';

/** A plugin replaces the whole object, as a webhook's patch does. */

const configMaps = '/api/v1/namespaces/n/configmaps';
const pods = '/api/v1/namespaces/n/pods';
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: 'sent' } });
const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i:1' }] },
});

type Change = (object: ApiObject) => unknown;

class Webhook implements Admission {
  change: Change | undefined;

  mutate(attributes: Parameters<Admission['mutate']>[0]): void {
    if (this.change) attributes.replace(this.change(structuredClone(attributes.object) as ApiObject));
  }

  validate(): void {}
}

const metadata = (more: object): Change => {
  return (object) => ({ ...object, metadata: { ...object.metadata, ...more } });
};
const without = (...fields: readonly string[]): Change => {
  return (object) => ({
    ...object,
    metadata: Object.fromEntries(Object.entries(object.metadata).filter(([field]) => !fields.includes(field))),
  });
};

const ways: Readonly<Record<string, (fixture: RegistryFixture) => Promise<ApiObject>>> = {
  create: (fixture) => fixture.object('POST', configMaps, configMap('a')),
  'create by apply': (fixture) => {
    fixture.patchType = 'apply';
    return fixture.object('PATCH', `${configMaps}/a?fieldManager=m`, configMap('a'));
  },
  update: (fixture) => fixture.object('PUT', `${configMaps}/there`, configMap('there')),
  patch: (fixture) => {
    fixture.patchType = 'merge';
    return fixture.object('PATCH', `${configMaps}/there`, { data: { k: 'sent' } });
  },
  apply: (fixture) => {
    fixture.patchType = 'apply';
    return fixture.object('PATCH', `${configMaps}/there?fieldManager=m&force=true`, configMap('there'));
  },
};

interface Row {
  readonly what: string;
  readonly change: Change;
  /** Checks the response and the stored object, or the error of the ways that create and that update. */
  readonly holds?: (object: ApiObject) => void;
  readonly refused?: readonly [create: RegExp, update: RegExp];
  /** The way that is not refused; the object is stored under another name. */
  readonly but?: string;
  readonly warning?: RegExp;
}

const sameForBoth = (message: RegExp): readonly [RegExp, RegExp] => [message, message];
const plainData = (object: ApiObject): void => assert.deepEqual(object['data'], { k: 'sent' });

const rows: readonly Row[] = [
  {
    what: 'a change of the content is stored',
    change: (object) => ({ ...object, data: { k: 'changed' } }),
    holds: (object) => assert.deepEqual(object['data'], { k: 'changed' }),
  },
  {
    what: 'unknown fields are dropped',
    change: (object) => ({ ...object, datum: 1, ['__proto__']: { a: 1 }, metadata: { ...object.metadata, tag: 'x' } }),
    holds: (object) => {
      plainData(object);
      assert.deepEqual([object['datum'], (object.metadata as Record<string, unknown>)['tag']], [undefined, undefined]);
    },
  },
  {
    what: 'a field of another type is refused, and named',
    change: (object) => ({ ...object, data: { k: 7 } }),
    refused: sameForBoth(/admission changed the object .* data\.k: expected string/),
  },
  {
    what: 'what is no object is refused',
    change: () => 'x',
    refused: sameForBoth(/must be an object of kind ConfigMap/),
  },
  {
    what: 'another kind is refused',
    change: (object) => ({ ...object, kind: 'Secret' }),
    refused: sameForBoth(/does not match the expected kind \(ConfigMap\)/),
  },
  {
    what: 'another name is refused where the path says it',
    change: metadata({ name: 'other' }),
    refused: [
      /the name of the provided object does not match/,
      /metadata\.name: Invalid value: "other": field is immutable/,
    ],
    but: 'create',
  },
  {
    what: 'another namespace is refused',
    change: metadata({ namespace: 'other' }),
    refused: sameForBoth(/the namespace of the provided object does not match/),
  },
  {
    what: 'name, namespace, uid and creation time that are left out are kept',
    change: without('name', 'namespace', 'uid', 'creationTimestamp'),
    holds: (object) => {
      plainData(object);
      assert.equal(object.metadata.namespace, 'n');
      assert.match(object.metadata.uid ?? '', /^[-0-9a-f]{36}$/);
      assert.match(object.metadata.creationTimestamp ?? '', /^20/);
    },
  },
  {
    what: 'managed fields that cannot be read give way to those from before',
    change: metadata({ managedFields: [{ operation: 'Melt' }] }),
    holds: ({ metadata: { managedFields } }) => assert.notEqual(managedFields?.[0]?.operation, 'Melt'),
    warning: /managedFields was in an invalid state after admission/,
  },
  {
    what: 'labels are validated as those of clients',
    change: metadata({ labels: { 'a b': 'c' } }),
    refused: sameForBoth(/metadata\.labels/),
  },
];

for (const row of rows) {
  describe(row.what, () => {
    for (const [way, write] of Object.entries(ways)) {
      test(way, async () => {
        const webhook = new Webhook();
        await using fixture = await RegistryFixture.open({ admission: webhook });
        const there = await fixture.object('POST', configMaps, { ...configMap('there'), data: { k: 'before' } });
        webhook.change = row.change;
        const name = way.startsWith('create') ? 'a' : 'there';
        if (row.but === way) {
          const { metadata } = await write(fixture);
          assert.deepEqual((await fixture.object('GET', `${configMaps}/${metadata.name}`)).metadata, metadata);
          return;
        }
        if (row.refused) {
          const [create, update] = row.refused;
          await assert.rejects(write(fixture), { message: way.startsWith('create') ? create : update });
          webhook.change = undefined;
          if (name === 'a') assert.equal((await fixture.refusal('GET', `${configMaps}/a`)).code, 404);
          else assert.deepEqual(await fixture.object('GET', `${configMaps}/there`), there);
          return;
        }
        const written = await write(fixture);
        row.holds?.(written);
        assert.deepEqual(await fixture.object('GET', `${configMaps}/${name}`), written);
        if (name === 'there') assert.equal(written.metadata.uid, there.metadata.uid);
        assert.equal(fixture.warnings.length, row.warning ? 1 : 0);
        if (row.warning) assert.match(fixture.warnings[0] ?? '', row.warning);
      });
    }
  });
}

describe('server-set fields of an object', () => {
  const claimed = {
    deletionTimestamp: '2020-01-01T00:00:00Z',
    deletionGracePeriodSeconds: 1,
    creationTimestamp: '2020-01-01T00:00:00Z',
    uid: 'mine',
    generation: 77,
    resourceVersion: '1',
  };

  test('of a new object cannot be set by a plugin', async () => {
    const webhook = new Webhook();
    await using fixture = await RegistryFixture.open({ admission: webhook });
    webhook.change = metadata(claimed);
    const made = (await fixture.object('POST', configMaps, configMap('a'))).metadata;
    assert.notEqual(made.uid, claimed.uid);
    assert.notEqual(made.creationTimestamp, claimed.creationTimestamp);
    assert.deepEqual(
      [made.deletionTimestamp, made.deletionGracePeriodSeconds, made.generation],
      [undefined, undefined, undefined],
    );
  });

  for (const field of ['deletionTimestamp', 'uid'] as const) {
    test(`an update: another ${field} is refused`, async () => {
      const webhook = new Webhook();
      await using fixture = await RegistryFixture.open({ admission: webhook });
      await fixture.call('POST', configMaps, configMap('a'));
      webhook.change = metadata({ [field]: claimed[field] });
      const { code, message } = await fixture.refusal('PUT', `${configMaps}/a`, configMap('a'));
      assert.equal(code, 422);
      assert.match(message, new RegExp(`metadata\\.${field}: .*field is immutable`));
    });
  }

  test('defaults, including those of the strategy, are applied again', async () => {
    const webhook = new Webhook();
    await using fixture = await RegistryFixture.open({ admission: webhook });
    webhook.change = (object) => ({ ...object, spec: { containers: [{ name: 'other', image: 'j:latest' }] } });
    const spec = (await fixture.object('POST', pods, pod('p')))['spec'] as Record<string, unknown>;
    const [container] = spec['containers'] as readonly Record<string, unknown>[];
    assert.equal(spec['restartPolicy'], 'Always');
    assert.deepEqual(
      [container?.['name'], container?.['imagePullPolicy'], container?.['terminationMessagePath']],
      ['other', 'Always', '/dev/termination-log'],
    );
  });

  test('a plugin cannot set the status of a new object, or by an update of the main object', async () => {
    const webhook = new Webhook();
    await using fixture = await RegistryFixture.open({ admission: webhook });
    webhook.change = (object) => ({ ...object, status: { phase: 'Failed', reason: 'Webhook' } });
    const made = await fixture.object('POST', pods, pod('p'));
    assert.equal((made['status'] as Record<string, unknown>)['phase'], 'Pending');
    const changed = await fixture.object('PUT', `${pods}/p`, {
      ...made,
      metadata: { ...made.metadata, labels: { a: 'b' } },
    });
    assert.equal((changed['status'] as Record<string, unknown>)['reason'], undefined);
  });

  test('generation counts changes by plugins', async () => {
    const webhook = new Webhook();
    const [counted] = kinds(orch).flatMap((kind) =>
      kind.kind === 'ConfigMap' ? [{ ...kind, group: 'things.example', resource: 'things', generation: true }] : [],
    );
    assert.ok(counted);
    await using fixture = await RegistryFixture.open({ admission: webhook, kinds: [counted] });
    const things = '/apis/things.example/v1/namespaces/n/things';
    const thing = { ...configMap('a'), apiVersion: 'things.example/v1' };
    await fixture.call('POST', things, thing);
    const generations: unknown[] = [];
    for (const k of ['sent', 'changed', 'changed']) {
      webhook.change = (object) => ({ ...object, data: { k } });
      generations.push((await fixture.object('PUT', `${things}/a`, thing)).metadata.generation);
    }
    assert.deepEqual(generations, [1, 2, 2]);
  });

  test('there is nothing to replace in a deletion', async () => {
    const admission: Admission = {
      mutate: (attributes) => {
        if (attributes.operation === 'delete') attributes.replace({});
      },
      validate() {},
    };
    await using fixture = await RegistryFixture.open({ admission });
    await fixture.call('POST', configMaps, configMap('a'));
    const { code, message } = await fixture.refusal('DELETE', `${configMaps}/a`);
    assert.deepEqual([code, /there is no object to change/.test(message)], [500, true]);
  });
});
