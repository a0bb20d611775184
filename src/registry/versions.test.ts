import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../base/waits-fixture.ts';
import type { CacheEvent } from '../cache/cache.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { RegistryFixture } from './registry-fixture.ts';

/* One stored object served in two versions of different groups. */

const inCore = '/api/v1/namespaces/default/events';
const inEvents = '/apis/events.orch.io/v1/namespaces/default/events';

const sent = {
  metadata: { name: 'one', namespace: 'default', labels: { a: 'b' } },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'x.io/a',
  reportingInstance: 'a-1',
  action: 'Do',
  reason: 'Why',
  type: 'Normal',
  note: 'it did',
  regarding: { kind: 'Pod', namespace: 'default', name: 'web', uid: 'u-1' },
};

const managers = ({ metadata }: ApiObject) =>
  (metadata.managedFields ?? []).map(({ manager, apiVersion, fieldsV1 }) => [
    `${manager} ${apiVersion}`,
    Object.keys(fieldsV1 ?? {}).filter((field) => field !== 'f:metadata'),
  ]);

test('versions: an object is stored in one form, and read in each', async () => {
  await using fixture = await RegistryFixture.open();
  const created = await fixture.object('POST', inEvents, sent);
  assert.equal(created.apiVersion, 'events.orch.io/v1');
  assert.equal(created['note'], 'it did');
  const { metadata } = created;
  const record = await fixture.store.get('/core/events/default/one');
  assert.equal(JSON.parse(Buffer.from(record?.value ?? []).toString()).message, 'it did');
  const core = await fixture.object('GET', `${inCore}/one`);
  assert.deepEqual(core.metadata, metadata);
  assert.deepEqual([core.apiVersion, core['message'], core['note']], ['v1', 'it did', undefined]);
  const events = await fixture.object('GET', `${inEvents}/one`);
  assert.deepEqual(events, created);
  for (const path of [inCore, inEvents]) {
    const { items } = await fixture.list(path);
    assert.deepEqual(items, [path === inCore ? core : events]);
  }
});

for (const [path, label, other] of [
  [inCore, 'involvedObject.uid', 'regarding.uid'],
  [inEvents, 'regarding.uid', 'involvedObject.uid'],
  [inCore, 'reportingComponent', 'reportingController'],
  [inEvents, 'reportingController', 'reportingComponent'],
] as const) {
  test(`versions: field selectors name fields of the version: ${label}`, async () => {
    await using fixture = await RegistryFixture.open();
    const created = await fixture.object('POST', inEvents, sent);
    await fixture.call('POST', inEvents, {
      ...sent,
      reportingController: 'other',
      metadata: { name: 'two', namespace: 'default' },
      regarding: { ...sent.regarding, uid: 'u-2' },
    });
    const value = label.endsWith('uid') ? 'u-1' : 'x.io/a';
    const { items } = await fixture.list(`${path}?fieldSelector=${label}=${value}`);
    assert.deepEqual(
      items.map(({ metadata }) => metadata.uid),
      [created.metadata.uid],
    );
    const refused = await fixture.refusal('GET', `${path}?fieldSelector=${other}=${value}`);
    assert.match(refused.message, new RegExp(`field label not supported: ${other}`));
    const ofSource = `${path}?fieldSelector=source=${encodeURIComponent('x.io/a')}`;
    if (path === inCore) assert.equal((await fixture.list(ofSource)).items.length, 1);
    else assert.match((await fixture.refusal('GET', ofSource)).message, /field label not supported: source/);
  });
}

test('versions: a watch sends events in its own version, converted once for all watchers', async () => {
  await using fixture = await RegistryFixture.open();
  const told = new Map<string, CacheEvent[]>();
  for (const path of [
    inCore,
    inEvents,
    `${inEvents}?fieldSelector=regarding.uid=u-1`,
    `${inEvents}?resourceVersion=0`,
  ]) {
    const reply = await fixture.call('GET', `${path}${path.includes('?') ? '&' : '?'}watch=1`);
    assert.ok(reply.type === 'watch');
    const events: CacheEvent[] = [];
    told.set(path, events);
    reply.start({ event: (event) => events.push(event) > 0, closed() {} });
  }
  await fixture.object('POST', inEvents, sent);
  await fixture.object('PUT', `${inCore}/one`, {
    ...{ metadata: sent.metadata, involvedObject: sent.regarding, message: 'by the other version' },
  });
  await fixture.call('DELETE', `${inEvents}/one`);
  await until(() => told.values().every((events) => events.length === 3), 'not all watches are told of all events');
  const bytes = new Set<Buffer>();
  for (const [path, events] of told) {
    const [field, apiVersion] = path === inCore ? ['message', 'v1'] : ['note', 'events.orch.io/v1'];
    const objects = events.map(({ entry }) => JSON.parse(entry.bytes.toString()));
    assert.deepEqual(
      events.map(({ type }, index) => [type, objects[index].apiVersion, objects[index][field]]),
      [
        ['ADDED', apiVersion, 'it did'],
        ['MODIFIED', apiVersion, 'by the other version'],
        ['DELETED', apiVersion, 'by the other version'],
      ],
    );
    for (const [index, { revision }] of events.entries()) {
      assert.equal(objects[index].metadata.resourceVersion, String(revision));
    }
    if (path !== inCore) for (const { entry } of events) bytes.add(entry.bytes);
  }
  assert.equal(bytes.size, 3, 'three events, three encodings, however many watch');
});

test('versions: owners are named in the version in which they write', async () => {
  await using fixture = await RegistryFixture.open();
  fixture.patchType = 'apply';
  const config = (apiVersion: string, fields: object) => ({
    apiVersion,
    kind: 'Event',
    metadata: { name: 'one', namespace: 'default' },
    ...fields,
  });
  const { note: _, ...rest } = sent;
  const { metadata: _metadata, ...fields } = { ...rest, note: 'applied' };
  await fixture.object('PATCH', `${inEvents}/one?fieldManager=a`, config('events.orch.io/v1', fields));
  const conflict = await fixture.refusal(
    'PATCH',
    `${inCore}/one?fieldManager=b`,
    config('v1', { message: 'otherwise' }),
  );
  assert.equal(conflict.code, 409);
  assert.match(conflict.message, /conflict with "a": \.note/);
  const forced = await fixture.object(
    'PATCH',
    `${inCore}/one?fieldManager=b&force=true`,
    config('v1', { message: 'otherwise' }),
  );
  assert.equal(forced['message'], 'otherwise');
  const [first, second] = managers(forced);
  assert.equal(first?.[0], 'a events.orch.io/v1');
  assert.ok(!first?.[1]?.includes('f:note') && first?.[1]?.includes('f:regarding'));
  assert.deepEqual(second, ['b v1', ['f:message']]);
  // Fields that the first applier no longer applies are removed, by their name in the other version.
  const { regarding: _regarding, ...less } = fields;
  const { note: _note, ...least } = less;
  const again = await fixture.refusal('PATCH', `${inEvents}/one?fieldManager=a`, config('events.orch.io/v1', least));
  assert.match(again.message, /regarding: Invalid value: .*: field is immutable/);
  // An update in the other version takes over the fields it changes and leaves the rest.
  const core = await fixture.object('GET', `${inCore}/one`);
  const updated = await fixture.object('PUT', `${inCore}/one?fieldManager=c`, { ...core, reason: 'Else' });
  assert.deepEqual(
    managers(updated).map(([manager, owned]) => [manager, owned?.includes('f:reason')]),
    [
      ['a events.orch.io/v1', false],
      ['b v1', false],
      ['c v1', true],
    ],
  );
  const same = await fixture.object('PUT', `${inEvents}/one`, await fixture.object('GET', `${inEvents}/one`));
  assert.equal(same.metadata.resourceVersion, updated.metadata.resourceVersion, 'nothing changed: nothing is written');
});

test('versions: a patch applies to the version of its path', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.object('POST', inEvents, sent);
  for (const type of ['merge', 'strategic'] as const) {
    fixture.patchType = type;
    const patched = await fixture.object('PATCH', `${inCore}/one`, { message: `by ${type}` });
    assert.equal(patched['message'], `by ${type}`);
    const series = { count: 2 + type.length, lastObservedTime: sent.eventTime };
    const other = await fixture.object('PATCH', `${inEvents}/one`, { series });
    assert.deepEqual([other['note'], other['series']], [`by ${type}`, series]);
  }
  fixture.patchType = 'json';
  const refused = await fixture.refusal('PATCH', `${inEvents}/one`, [{ op: 'replace', path: '/note', value: 'x' }]);
  assert.match(refused.message, /Event "one" is invalid: note: Invalid value: "x": field is immutable/);
});

test('versions: errors name fields as in the version of the request', async () => {
  await using fixture = await RegistryFixture.open();
  const refused = await fixture.refusal('POST', inEvents, { ...sent, note: 'n'.repeat(1025), reportingController: '' });
  assert.match(refused.message, /note: .*at most 1024/);
  assert.match(refused.message, /reportingController: Required value/);
  const core = await fixture.refusal('POST', inCore, {
    metadata: sent.metadata,
    involvedObject: { namespace: 'other' },
  });
  assert.match(core.message, /^Event "one" is invalid: involvedObject\.namespace/);
});

test('versions: dry runs and deletions answer in the version', async () => {
  await using fixture = await RegistryFixture.open();
  const dry = await fixture.object('POST', `${inEvents}?dryRun=All`, sent);
  assert.deepEqual(
    [dry.apiVersion, dry['note'], dry.metadata.resourceVersion],
    ['events.orch.io/v1', 'it did', undefined],
  );
  await fixture.object('POST', inEvents, { ...sent, metadata: { ...sent.metadata, finalizers: ['x.io/a'] } });
  const marked = await fixture.object('DELETE', `${inEvents}/one`);
  assert.deepEqual([marked.apiVersion, marked['note']], ['events.orch.io/v1', 'it did']);
  assert.ok(marked.metadata.deletionTimestamp);
  await fixture.call('DELETE', `${inEvents}?labelSelector=a=b`);
  assert.equal((await fixture.list(inCore)).items.length, 1);
});
