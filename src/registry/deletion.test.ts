import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/time/clock.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { RegistryFixture } from './registry-fixture.ts';

const configMaps = '/api/v1/namespaces/n/configmaps';
const events = '/api/v1/namespaces/n/events';
const pods = '/api/v1/namespaces/n/pods';
const accounts = '/api/v1/namespaces/n/serviceaccounts';

interface Answer {
  readonly status: number;
  readonly finalizers: readonly string[];
}

/** Deletes the object. Returns the response and the object that remains; undefined if it is gone. */
async function deleted(
  fixture: RegistryFixture,
  path: string,
  query: string,
  body?: unknown,
): Promise<Answer | undefined> {
  const reply = await fixture.call('DELETE', `${path}${query}`, body);
  const kept = await fixture.object('GET', path).catch(() => undefined);
  if (!kept) {
    assert.equal('status' in reply ? reply.status : 0, 200);
    return undefined;
  }
  assert.ok(kept.metadata.deletionTimestamp);
  assert.ok(reply.type === 'object', 'what stays is shown');
  assert.deepEqual(JSON.parse(reply.bytes.toString()), kept);
  return { status: reply.status, finalizers: kept.metadata.finalizers ?? [] };
}

interface Policy {
  readonly what: string;
  readonly finalizers?: readonly string[];
  readonly query?: string;
  readonly body?: unknown;
  readonly gives: Answer | undefined;
}

const held = 'example.com/held';
const policies: readonly Policy[] = [
  { what: 'nothing asked, nothing held', gives: undefined },
  { what: 'Background', query: '?propagationPolicy=Background', gives: undefined },
  {
    what: 'Foreground',
    query: '?propagationPolicy=Foreground',
    gives: { status: 200, finalizers: ['foregroundDeletion'] },
  },
  { what: 'Orphan', query: '?propagationPolicy=Orphan', gives: { status: 200, finalizers: ['orphan'] } },
  {
    what: 'Foreground in the body',
    body: { propagationPolicy: 'Foreground' },
    gives: { status: 200, finalizers: ['foregroundDeletion'] },
  },
  {
    what: 'the body before the query',
    query: '?propagationPolicy=Orphan',
    body: { propagationPolicy: 'Foreground' },
    gives: { status: 200, finalizers: ['foregroundDeletion'] },
  },
  { what: 'orphanDependents: true', body: { orphanDependents: true }, gives: { status: 200, finalizers: ['orphan'] } },
  { what: 'orphanDependents: false', body: { orphanDependents: false }, gives: undefined },
  { what: 'a finalizer', finalizers: [held], gives: { status: 200, finalizers: [held] } },
  {
    what: 'a finalizer and Background',
    finalizers: [held],
    query: '?propagationPolicy=Background',
    gives: { status: 200, finalizers: [held] },
  },
  {
    what: 'a finalizer and orphanDependents: false',
    finalizers: [held],
    body: { orphanDependents: false },
    gives: { status: 202, finalizers: [held] },
  },
  {
    what: 'a finalizer and Foreground',
    finalizers: [held],
    query: '?propagationPolicy=Foreground',
    gives: { status: 200, finalizers: [held, 'foregroundDeletion'] },
  },
  { what: 'an orphan finalizer and no policy', finalizers: ['orphan'], gives: { status: 200, finalizers: ['orphan'] } },
  {
    what: 'an orphan finalizer and Background',
    finalizers: ['orphan'],
    query: '?propagationPolicy=Background',
    gives: undefined,
  },
  {
    what: 'an orphan finalizer and Foreground',
    finalizers: ['orphan'],
    query: '?propagationPolicy=Foreground',
    gives: { status: 200, finalizers: ['foregroundDeletion'] },
  },
  {
    what: 'a foreground finalizer and Orphan',
    finalizers: ['foregroundDeletion', held],
    query: '?propagationPolicy=Orphan',
    gives: { status: 200, finalizers: [held, 'orphan'] },
  },
];
for (const { what, finalizers, query = '', body, gives } of policies) {
  test(`propagation: ${what}`, async () => {
    await using fixture = await RegistryFixture.open();
    await fixture.call('POST', configMaps, { metadata: { name: 'a', ...(finalizers && { finalizers }) } });
    assert.deepEqual(await deleted(fixture, `${configMaps}/a`, query, body), gives);
  });
}

/** What a deletion that has to wait marks: kinds that a controller empties first get the time alone, as from kube-apiserver. */
for (const [path, graceSeconds, generation] of [
  [configMaps, 0, undefined],
  ['/apis/policy/v1/namespaces/default/poddisruptionbudgets', 0, 2],
  ['/api/v1/namespaces', undefined, undefined],
  ['/apis/apiextensions.orch.io/v1/customresourcedefinitions', undefined, 1],
] as const) {
  test(`marked: ${path}`, async () => {
    await using fixture = await RegistryFixture.open();
    const name = path.endsWith('definitions') ? 'marks.x.io' : 'marks';
    const spec = {
      group: 'x.io',
      scope: 'Namespaced',
      names: { plural: 'marks', kind: 'Mark' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    };
    const body = { metadata: { name, finalizers: ['x.io/held'] }, ...(name === 'marks.x.io' && { spec }) };
    await fixture.object('POST', path, body);
    await fixture.call('DELETE', `${path}/${name}`);
    const { metadata } = await fixture.object('GET', `${path}/${name}`);
    assert.ok(metadata.deletionTimestamp);
    assert.equal(metadata.deletionGracePeriodSeconds, graceSeconds);
    assert.equal(metadata.generation, generation);
  });
}

test('3.2 live, then terminating with its time, then removed with its last finalizer; in any order', async () => {
  const clock = new ManualClock();
  await using fixture = await RegistryFixture.open({ clock });
  await fixture.call('POST', configMaps, { metadata: { name: 'a', finalizers: ['x.io/1', 'x.io/2', 'x.io/3'] } });
  const path = `${configMaps}/a`;
  const marked = await fixture.object('DELETE', path);
  assert.equal(marked.metadata.deletionTimestamp, '2026-01-01T00:00:00Z');
  assert.equal(marked.metadata.deletionGracePeriodSeconds, 0);
  clock.advance(60_000);
  const patch = async (finalizers: readonly string[]): Promise<ApiObject> =>
    fixture.object('PATCH', path, { metadata: { finalizers } });
  assert.deepEqual((await patch(['x.io/3', 'x.io/1'])).metadata.finalizers, ['x.io/3', 'x.io/1']);
  const again = await fixture.object('DELETE', path);
  assert.equal(again.metadata.deletionTimestamp, '2026-01-01T00:00:00Z');
  assert.deepEqual((await patch(['x.io/1'])).metadata.finalizers, ['x.io/1']);
  const last = await patch([]);
  assert.equal(last.metadata.finalizers, undefined, 'the answer shows what the patch made of it');
  assert.equal((await fixture.refusal('GET', path)).code, 404);
});

test('3.2 an update, too, removes a terminating object with its last finalizer, and its name can be used again', async () => {
  await using fixture = await RegistryFixture.open();
  const first = await fixture.object('POST', configMaps, { metadata: { name: 'a', finalizers: [held] } });
  await fixture.call('DELETE', `${configMaps}/a`);
  assert.equal((await fixture.refusal('POST', configMaps, { metadata: { name: 'a' } })).reason, 'AlreadyExists');
  await fixture.call('PUT', `${configMaps}/a`, { metadata: { name: 'a' } });
  const second = await fixture.object('POST', configMaps, { metadata: { name: 'a' } });
  assert.notEqual(second.metadata.uid, first.metadata.uid);
});

test('fields set by a deletion cannot be reverted', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', configMaps, { metadata: { name: 'a', finalizers: [held] } });
  const marked = await fixture.object('DELETE', `${configMaps}/a`);
  const cleared = { metadata: { deletionTimestamp: null, deletionGracePeriodSeconds: null } };
  assert.deepEqual(await fixture.object('PATCH', `${configMaps}/a`, cleared), marked);
  const put = { metadata: { name: 'a', finalizers: [held], deletionTimestamp: '2001-01-01T00:00:00Z' } };
  assert.deepEqual(await fixture.object('PUT', `${configMaps}/a`, put), marked);
});

/** A pod bound to a node, so that its deletion has a grace period. */
async function boundPod(fixture: RegistryFixture, spec: object = {}): Promise<void> {
  const containers = [{ name: 'c', image: 'i:1' }];
  await fixture.call('POST', pods, { metadata: { name: 'a' }, spec: { nodeName: 'x', containers, ...spec } });
}

interface Grace {
  readonly what: string;
  readonly spec?: object;
  /** Requests sent in sequence, ten seconds apart. */
  readonly deletions: readonly { readonly query?: string; readonly body?: unknown }[];
  /** Seconds from the first deletion to the deletionTimestamp, and the grace period; undefined if the pod is gone. */
  readonly gives: readonly [seconds: number, period: number] | undefined;
}

const graces: readonly Grace[] = [
  { what: 'the default of the pod', deletions: [{}], gives: [30, 30] },
  { what: 'what the pod says', spec: { terminationGracePeriodSeconds: 7 }, deletions: [{}], gives: [7, 7] },
  { what: 'what the query says', deletions: [{ query: '?gracePeriodSeconds=60' }], gives: [60, 60] },
  { what: 'what the body says', deletions: [{ body: { gracePeriodSeconds: 5 } }], gives: [5, 5] },
  {
    what: 'the body before the query',
    deletions: [{ query: '?gracePeriodSeconds=60', body: { gracePeriodSeconds: 5 } }],
    gives: [5, 5],
  },
  { what: '0: at once', deletions: [{ query: '?gracePeriodSeconds=0' }], gives: undefined },
  { what: '-1: as 1', deletions: [{ query: '?gracePeriodSeconds=-1' }], gives: [1, 1] },
  { what: 'less than -1: as 1', deletions: [{ query: '?gracePeriodSeconds=-30' }], gives: [1, 1] },
  { what: 'less than -1 in the body: as 1', deletions: [{ body: { gracePeriodSeconds: -30 } }], gives: [1, 1] },
  { what: 'a second deletion brings it nearer', deletions: [{}, { query: '?gracePeriodSeconds=12' }], gives: [12, 12] },
  {
    what: 'a second deletion does not put it off',
    deletions: [{}, { query: '?gracePeriodSeconds=90' }],
    gives: [30, 30],
  },
  {
    what: 'a second deletion without a period leaves it',
    deletions: [{ query: '?gracePeriodSeconds=60' }, {}],
    gives: [60, 60],
  },
  {
    what: 'a second deletion with 0 is at once',
    deletions: [{}, { query: '?gracePeriodSeconds=0' }],
    gives: undefined,
  },
  {
    what: 'more seconds than a clock has',
    deletions: [{ query: '?gracePeriodSeconds=9007199254740991' }],
    gives: [2 ** 31 - 1, 2 ** 31 - 1],
  },
];
for (const { what, spec, deletions, gives } of graces) {
  test(`gracePeriodSeconds of a pod: ${what}`, async () => {
    const clock = new ManualClock();
    await using fixture = await RegistryFixture.open({ clock });
    await boundPod(fixture, spec);
    for (const { query = '', body } of deletions) {
      await fixture.call('DELETE', `${pods}/a${query}`, body);
      clock.advance(10_000);
    }
    const left = await fixture.object('GET', `${pods}/a`).catch(() => undefined);
    const { deletionTimestamp, deletionGracePeriodSeconds } = left?.metadata ?? {};
    const seconds = (Date.parse(deletionTimestamp ?? '') - Date.UTC(2026, 0, 1)) / 1000;
    assert.deepEqual(left && [seconds, deletionGracePeriodSeconds], gives);
  });
}

test('a pod with a grace period and a finalizer is removed when both have ended', async () => {
  await using fixture = await RegistryFixture.open();
  await boundPod(fixture);
  await fixture.call('PATCH', `${pods}/a`, { metadata: { finalizers: [held] } });
  await fixture.call('DELETE', `${pods}/a`);
  await fixture.call('PATCH', `${pods}/a`, { metadata: { finalizers: null } });
  assert.equal((await fixture.object('GET', `${pods}/a`)).metadata.deletionGracePeriodSeconds, 30);
  await fixture.call('DELETE', `${pods}/a?gracePeriodSeconds=0`);
  assert.equal((await fixture.refusal('GET', `${pods}/a`)).code, 404);
});

test('an unscheduled pod has no grace period', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', pods, { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i:1' }] } });
  const { metadata } = await fixture.object('DELETE', `${pods}/a?gracePeriodSeconds=60`);
  assert.equal(metadata.deletionGracePeriodSeconds, 0);
  assert.ok(metadata.deletionTimestamp);
  assert.equal((await fixture.refusal('GET', `${pods}/a`)).code, 404);
});

test('4.2 a deletion returns the object for some kinds, else a Status', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', accounts, { metadata: { name: 'a' } });
  await fixture.call('POST', configMaps, { metadata: { name: 'a' } });
  const account = await fixture.object('DELETE', `${accounts}/a`);
  assert.deepEqual([account.kind, account.metadata.name], ['ServiceAccount', 'a']);
  const reply = await fixture.call('DELETE', `${configMaps}/a`);
  assert.ok(reply.type === 'status');
  const { uid, ...details } = reply.body.details ?? {};
  assert.match(uid ?? '', /^[0-9a-f-]{36}$/);
  assert.deepEqual([reply.body.status, details], ['Success', { name: 'a', kind: 'configmaps' }]);
});

const preconditions: readonly (readonly [what: string, of: (object: ApiObject) => object, code: number])[] = [
  ['of this uid', ({ metadata }) => ({ uid: metadata.uid }), 200],
  ['of this version', ({ metadata }) => ({ resourceVersion: metadata.resourceVersion }), 200],
  ['of another uid', () => ({ uid: 'other' }), 409],
  ['of another version', () => ({ resourceVersion: '1' }), 409],
  ['of this uid and another version', ({ metadata }) => ({ uid: metadata.uid, resourceVersion: '1' }), 409],
  ['of an empty uid', () => ({ uid: '' }), 409],
];
for (const [what, of, code] of preconditions) {
  test(`preconditions ${what}: ${code}`, async () => {
    await using fixture = await RegistryFixture.open();
    await fixture.call('POST', configMaps, { metadata: { name: 'before' } });
    const object = await fixture.object('POST', configMaps, { metadata: { name: 'a' } });
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: of(object) };
    const answered = await fixture.call('DELETE', `${configMaps}/a`, body).then(
      () => 200,
      (error) => error.code,
    );
    assert.equal(answered, code);
    assert.equal((await fixture.list(configMaps)).items.length, code === 200 ? 1 : 2);
  });
}

test('a refused precondition names the kind, and what is there', async () => {
  await using fixture = await RegistryFixture.open();
  const { metadata } = await fixture.object('POST', configMaps, { metadata: { name: 'a' } });
  const refusal = (preconditions: object) => fixture.refusal('DELETE', `${configMaps}/a`, { preconditions });
  const { message, details } = await refusal({ uid: 'other' });
  const start = 'Operation cannot be fulfilled on ConfigMap "a":';
  assert.equal(
    message,
    `${start} the UID in the precondition (other) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
  );
  assert.deepEqual(details, { name: 'a', kind: 'ConfigMap' });
  assert.equal(
    (await refusal({ resourceVersion: '1000' })).message,
    `${start} the ResourceVersion in the precondition (1000) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
  );
});

test('a creation tells that the object with its name is being deleted', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', configMaps, { metadata: { name: 'a', finalizers: [held] } });
  await fixture.call('DELETE', `${configMaps}/a`);
  for (const path of [configMaps, `${configMaps}?dryRun=All`]) {
    const { reason, message } = await fixture.refusal('POST', path, { metadata: { name: 'a' } });
    assert.deepEqual([reason, message], ['AlreadyExists', 'object is being deleted: configmaps "a" already exists']);
  }
});

test('a dry run of a deletion is refused like a deletion, and keeps everything', async () => {
  await using fixture = await RegistryFixture.open();
  const object = await fixture.object('POST', configMaps, { metadata: { name: 'a', finalizers: [held] } });
  const stale = { preconditions: { uid: 'other' } };
  assert.equal((await fixture.refusal('DELETE', `${configMaps}/a?dryRun=All`, stale)).code, 409);
  const shown = await fixture.object('DELETE', `${configMaps}/a?dryRun=All&propagationPolicy=Foreground`);
  assert.deepEqual(shown.metadata.finalizers, [held, 'foregroundDeletion']);
  for (const body of [{ dryRun: ['All'] }, { dryRun: ['All'], propagationPolicy: 'Background' }]) {
    await fixture.call('DELETE', `${configMaps}/a`, body);
  }
  assert.deepEqual(await fixture.object('GET', `${configMaps}/a`), object);
  assert.equal((await fixture.refusal('DELETE', `${configMaps}/a`, { dryRun: ['Some'] })).code, 422);
});

test('events own nothing: no policy makes them wait', async () => {
  await using fixture = await RegistryFixture.open();
  for (const propagationPolicy of ['Foreground', 'Orphan', 'Background']) {
    await fixture.object('POST', events, { metadata: { name: 'a' }, involvedObject: { namespace: 'n' } });
    await fixture.call('DELETE', `${events}/a`, { propagationPolicy });
    assert.equal((await fixture.refusal('GET', `${events}/a`)).code, 404);
  }
});

async function withObjects(names: readonly string[]): Promise<RegistryFixture> {
  const fixture = await RegistryFixture.open();
  for (const name of names) {
    await fixture.call('POST', configMaps, { metadata: { name, labels: { name } } });
  }
  return fixture;
}

interface CollectionDeletion {
  readonly what: string;
  readonly query?: string;
  readonly body?: unknown;
  /** Names of the remaining objects, or the error code. */
  readonly gives: string | number;
}

const collectionDeletions: readonly CollectionDeletion[] = [
  { what: 'all', gives: '' },
  { what: 'a label selector', query: '?labelSelector=name+in+(a,b)', gives: 'c' },
  { what: 'a field selector', query: '?fieldSelector=metadata.name!%3Da', gives: 'a' },
  { what: 'a limit', query: '?limit=2', gives: 'c' },
  { what: 'a limit past the end', query: '?limit=10', gives: '' },
  { what: 'a dry run', query: '?dryRun=All', gives: 'a b c' },
  { what: 'a dry run in the body', body: { dryRun: ['All'] }, gives: 'a b c' },
  { what: 'a policy that holds', query: '?propagationPolicy=Foreground', gives: 'a b c' },
  { what: 'a precondition that does not hold', body: { preconditions: { uid: 'x' } }, gives: 409 },
  { what: 'an unknown policy', query: '?propagationPolicy=x', gives: 422 },
  { what: 'a bad limit', query: '?limit=x', gives: 400 },
  { what: 'a bad selector', query: '?labelSelector=(', gives: 400 },
  { what: 'a match without a version', query: '?resourceVersionMatch=Exact', gives: 400 },
];
for (const { what, query = '', body, gives } of collectionDeletions) {
  test(`deletecollection: ${what}`, async () => {
    await using fixture = await withObjects(['a', 'b', 'c']);
    if (typeof gives === 'number') {
      assert.equal((await fixture.refusal('DELETE', `${configMaps}${query}`, body)).code, gives);
      assert.equal((await fixture.list(configMaps)).items.length, 3);
      return;
    }
    const reply = await fixture.call('DELETE', `${configMaps}${query}`, body);
    assert.ok(reply.type === 'status' && reply.status === 200 && reply.body.status === 'Success');
    const left = (await fixture.list(configMaps)).items.map(({ metadata }) => metadata.name);
    assert.equal(left.join(' '), gives);
  });
}

test('deletecollection gives every object the requested grace period', async () => {
  await using fixture = await RegistryFixture.open({ clock: new ManualClock() });
  await boundPod(fixture);
  await fixture.call('DELETE', `${pods}?gracePeriodSeconds=9`);
  assert.equal((await fixture.object('GET', `${pods}/a`)).metadata.deletionGracePeriodSeconds, 9);
});

test('deletecollection succeeds if an object is removed meanwhile', async () => {
  await using fixture = await withObjects(Array.from({ length: 50 }, (_, n) => `o${n}`));
  const one = fixture.call('DELETE', `${configMaps}/o25`).catch((error) => assert.equal(error.code, 404));
  await Promise.all([one, fixture.call('DELETE', configMaps), fixture.call('DELETE', configMaps)]);
  assert.equal((await fixture.list(configMaps)).items.length, 0);
});

test('objects that nobody can delete: a name is refused, a collection leaves them out', async () => {
  await using fixture = await RegistryFixture.open();
  const classes = '/apis/scheduling.orch.io/v1/priorityclasses';
  const system = 'system-node-critical';
  for (const [name, value] of [
    [system, 2_000_001_000],
    ['mine', 7],
  ] as const)
    await fixture.call('POST', classes, { metadata: { name }, value });
  const refused = `priorityclasses.scheduling.orch.io "${system}" is forbidden: this is a system priority class and cannot be deleted`;
  // The second exists nowhere, and is refused alike.
  for (const name of [system, 'system-cluster-critical']) {
    await assert.rejects(fixture.call('DELETE', `${classes}/${name}`), {
      reason: 'Forbidden',
      message: refused.replace(system, name),
    });
  }
  await fixture.call('DELETE', classes);
  assert.deepEqual(
    (await fixture.list(classes)).items.map(({ metadata }) => metadata.name),
    [system],
  );
});
