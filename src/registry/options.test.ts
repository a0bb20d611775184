import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiObject } from '../meta/api-object.ts';
import { RegistryFixture } from './registry-fixture.ts';
import type { PatchFormat } from './write/patch-formats.ts';

/*
 * Options of all verbs in query and body: which are accepted and which are rejected. Rejected and dry-run requests
 * change nothing.
 */

const configMaps = '/api/v1/namespaces/n/configmaps';
const object = `${configMaps}/a`;
const pods = '/api/v1/namespaces/n/pods';
const container = { name: 'c', image: 'i', terminationMessagePolicy: 'File', imagePullPolicy: 'Always' };
const pod = { metadata: { name: 'p' }, spec: { containers: [container] } };

/** A ConfigMap and a bound Pod. */
async function opened(): Promise<RegistryFixture> {
  const fixture = await RegistryFixture.open({ unsafeDeletion: true });
  await fixture.call('POST', configMaps, { metadata: { name: 'a', labels: { l: '1' } }, data: { k: 'v' } });
  await fixture.call('POST', pods, pod);
  return fixture;
}

type Outcome =
  | { readonly is: 'done' }
  /** Every stage runs; nothing is stored. */
  | { readonly is: 'dry' }
  | { readonly is: 'refused'; readonly code: number; readonly message: RegExp };

const done: Outcome = { is: 'done' };
const dry: Outcome = { is: 'dry' };
const unread = (message: RegExp): Outcome => ({ is: 'refused', code: 400, message });
/** kube-apiserver's error for an invalid option value. */
const notTaken = (kind: string, text: string): Outcome => ({
  is: 'refused',
  code: 422,
  message: new RegExp(`^${kind}\\.meta\\.orch\\.io "" is invalid: ${text.replaceAll(/[[\].$]/g, '\\$&')}`),
});
const misspelled = (name: string): Outcome => unread(new RegExp(`did you mean "${name}"\\?$`));

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly patch?: PatchFormat;
}

const show = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each));

async function check(request: Request, query: string, outcome: Outcome): Promise<RegistryFixture> {
  const fixture = await opened();
  if (request.patch) fixture.patchType = request.patch;
  const head = await fixture.store.head();
  const target = `${request.path}${query === '' ? '' : `${request.path.includes('?') ? '&' : '?'}${query}`}`;
  if (outcome.is === 'refused') {
    const error = await fixture.refusal(request.method, target, request.body);
    assert.equal(error.code, outcome.code, error.message);
    assert.match(error.message, outcome.message);
  } else await fixture.call(request.method, target, request.body);
  const unchanged = (await fixture.store.head()) === head;
  assert.equal(unchanged, outcome.is !== 'done', 'what is refused or dry keeps nothing, what is done does');
  return fixture;
}

const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { other: 'w' } };
const writes: Readonly<Record<string, Request & { readonly kind: string }>> = {
  'a create': { kind: 'CreateOptions', method: 'POST', path: configMaps, body: { metadata: { name: 'b' } } },
  'an update': {
    kind: 'UpdateOptions',
    method: 'PUT',
    path: object,
    body: { metadata: { name: 'a' }, data: { k: 'w' } },
  },
  'a merge patch': { kind: 'PatchOptions', method: 'PATCH', path: object, patch: 'merge', body: { data: { k: 'w' } } },
  'a strategic merge patch': {
    kind: 'PatchOptions',
    method: 'PATCH',
    path: object,
    patch: 'strategic',
    body: { data: { k: 'w' } },
  },
  'a JSON patch': {
    kind: 'PatchOptions',
    method: 'PATCH',
    path: object,
    patch: 'json',
    body: [{ op: 'add', path: '/data/o', value: 'w' }],
  },
  'an apply': {
    kind: 'PatchOptions',
    method: 'PATCH',
    path: `${object}?fieldManager=m`,
    patch: 'apply',
    body: applied,
  },
  'a patch of a status': {
    kind: 'PatchOptions',
    method: 'PATCH',
    path: `${pods}/p/status`,
    patch: 'merge',
    body: { status: { message: 'm' } },
  },
  'an action': {
    kind: 'CreateOptions',
    method: 'POST',
    path: `${pods}/p/binding`,
    body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'x' } },
  },
};

describe('the options of writes', () => {
  const long = 'x'.repeat(129);
  const rows = (kind: string): readonly (readonly [query: string, outcome: Outcome])[] => [
    ['dryRun=All', dry],
    ['dryRun', dry],
    ['dryRun=', dry],
    ['dryRun=All&dryRun=All', dry],
    ['dryRun=&dryRun=All', dry],
    ...['x', 'all', 'ALL', 'true', 'false', 'server', 'None', ' All'].map(
      (value) =>
        [
          `dryRun=${value}`,
          notTaken(kind, `dryRun: Unsupported value: []string{"${value}"}: supported values: "All"`),
        ] as const,
    ),
    ['dryRun=All&dryRun=x', notTaken(kind, 'dryRun: Unsupported value: []string{"All", "x"}')],
    ...['DryRun', 'dryrun', 'DRYRUN', 'dry-run', 'dry_run', 'dryRuns', 'dryRun[]', 'dryRun%20'].map(
      (name) => [`${name}=All`, misspelled('dryRun')] as const,
    ),
    ['fieldValidation=Warn', done],
    ['fieldValidation=', done],
    [
      'fieldValidation=strict',
      notTaken(kind, 'fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"'),
    ],
    ['fieldValidation=Strict&fieldValidation=Ignore', unread(/"fieldValidation" is given several values/)],
    ['fieldvalidation=Strict', misspelled('fieldValidation')],
    ['FieldManager=m', misspelled('fieldManager')],
    ['pretty=maybe', done],
    ['color=blue', done],
    ['propagationPolicy=x&gracePeriodSeconds=x&orphanDependents=x&labelselector=x', done],
  ];
  for (const [what, write] of Object.entries(writes)) {
    for (const [query, outcome] of rows(write.kind)) {
      test(`${what}: ?${query}`, async () => void (await check(write, query, outcome))[Symbol.asyncDispose]());
    }
    if (what === 'an apply') continue;
    for (const [query, outcome] of [
      ['fieldManager=m', done],
      ['fieldManager=', done],
      ['fieldManager=m&fieldManager=m', done],
      [`fieldManager=${long}`, notTaken(write.kind, 'fieldManager: Too long')],
      ['fieldManager=a%07', notTaken(write.kind, 'fieldManager: Invalid value')],
      ['fieldManager=a&fieldManager=b', unread(/"fieldManager" is given several values/)],
    ] as const) {
      test(`${what}: ?${query.slice(0, 40)}`, async () =>
        void (await check(write, query, outcome))[Symbol.asyncDispose]());
    }
  }

  const { 'an apply': apply, 'a merge patch': merge, 'a create': create } = writes;
  for (const [what, request, query, outcome] of [
    ['an apply', apply, 'force=true', done],
    ['an apply', apply, 'force', done],
    ['an apply', apply, 'force=0', done],
    ['an apply', apply, 'force=no', unread(/force.*must be true or false/)],
    ['an apply', apply, 'force=true&force=false', unread(/"force" is given several values/)],
    ['an apply', apply, 'Force=true', misspelled('force')],
    ['an apply', apply, 'fieldManager=other', unread(/"fieldManager" is given several values/)],
    [
      'a merge patch',
      merge,
      'force=true',
      notTaken('PatchOptions', 'force: Forbidden: may not be specified for non-apply patch'),
    ],
    [
      'a merge patch',
      merge,
      'force=false',
      notTaken('PatchOptions', 'force: Forbidden: may not be specified for non-apply patch'),
    ],
    ['a create', create, 'force=maybe', done],
  ] as const) {
    test(`${what}: ?${query}`, async () => {
      assert.ok(request);
      await (await check(request, query, outcome))[Symbol.asyncDispose]();
    });
  }
});

describe('the options of deletions', () => {
  const one: Request = { method: 'DELETE', path: object };
  const all: Request = { method: 'DELETE', path: configMaps };
  const policyNotTaken = (value: string): Outcome =>
    notTaken(
      'DeleteOptions',
      `propagationPolicy: Unsupported value: "${value}": supported values: "Foreground", "Background", "Orphan", "nil"`,
    );
  const bothSet = notTaken(
    'DeleteOptions',
    'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
  );
  const dryNotTaken = (values: string): Outcome =>
    notTaken('DeleteOptions', `dryRun: Unsupported value: ${values}: supported values: "All"`);

  /** The same option as query and as body, and the outcome. */
  const options: readonly (readonly [query: string, body: object, outcome: Outcome | 'orphan' | 'foreground'])[] = [
    ['orphanDependents=true', { orphanDependents: true }, 'orphan'],
    ['orphanDependents=false', { orphanDependents: false }, done],
    ['propagationPolicy=Orphan', { propagationPolicy: 'Orphan' }, 'orphan'],
    ['propagationPolicy=Background', { propagationPolicy: 'Background' }, done],
    ['propagationPolicy=Foreground', { propagationPolicy: 'Foreground' }, 'foreground'],
    ['propagationPolicy=orphan', { propagationPolicy: 'orphan' }, policyNotTaken('orphan')],
    ['propagationPolicy=', { propagationPolicy: '' }, policyNotTaken('')],
    [
      'propagationPolicy=Orphan&orphanDependents=true',
      { propagationPolicy: 'Orphan', orphanDependents: true },
      bothSet,
    ],
    [
      'propagationPolicy=Orphan&orphanDependents=false',
      { propagationPolicy: 'Orphan', orphanDependents: false },
      bothSet,
    ],
    ['gracePeriodSeconds=0', { gracePeriodSeconds: 0 }, done],
    ['gracePeriodSeconds=-1', { gracePeriodSeconds: -1 }, done],
    ['gracePeriodSeconds=9223372036854775807', { gracePeriodSeconds: 9223372036854775807n }, done],
    [
      'gracePeriodSeconds=9223372036854775808',
      { gracePeriodSeconds: 9223372036854775808n },
      unread(/gracePeriodSeconds/),
    ],
    ['gracePeriodSeconds=x', { gracePeriodSeconds: 'x' }, unread(/gracePeriodSeconds/)],
    ['gracePeriodSeconds=1.5', { gracePeriodSeconds: 1.5 }, unread(/gracePeriodSeconds/)],
    ['orphanDependents=maybe', { orphanDependents: 'maybe' }, unread(/orphanDependents/)],
    ['dryRun=All', { dryRun: ['All'] }, dry],
    ['dryRun=All&dryRun=All', { dryRun: ['All', 'All'] }, dry],
    ['dryRun=Some', { dryRun: ['Some'] }, dryNotTaken('[]string{"Some"}')],
    ['dryRun=All&dryRun=Some', { dryRun: ['All', 'Some'] }, dryNotTaken('[]string{"All", "Some"}')],
    [
      'uid=other',
      { preconditions: { uid: 'other' } },
      { is: 'refused', code: 409, message: /the UID in the precondition \(other\) does not match/ },
    ],
    ...['dryrun', 'DryRun', 'dry-run', 'dryRuns'].map(
      (name) => [`${name}=All`, { [name]: ['All'] }, misspelled('dryRun')] as const,
    ),
    ...['propagationpolicy', 'PropagationPolicy', 'propagation-policy', 'propagation_policy'].map(
      (name) => [`${name}=Orphan`, { [name]: 'Orphan' }, misspelled('propagationPolicy')] as const,
    ),
    ...['orphandependents', 'OrphanDependents', 'orphanDependent'].map(
      (name) => [`${name}=true`, { [name]: true }, misspelled('orphanDependents')] as const,
    ),
    ['graceperiodseconds=0', { graceperiodseconds: 0 }, misspelled('gracePeriodSeconds')],
    ['gracePeriodSecond=0', { gracePeriodSecond: 0 }, misspelled('gracePeriodSeconds')],
    ['UID=other', { preconditions: { UID: 'other' } }, misspelled('uid')],
    ['color=blue', { color: 'blue' }, done],
  ];
  for (const [what, request] of [
    ['one object', one],
    ['a collection', all],
  ] as const) {
    for (const [query, body, outcome] of options) {
      const finalizer = outcome === 'orphan' ? 'orphan' : outcome === 'foreground' ? 'foregroundDeletion' : undefined;
      const held = async (fixture: RegistryFixture): Promise<void> => {
        await using _ = fixture;
        if (finalizer !== undefined) {
          assert.deepEqual((await fixture.object('GET', object)).metadata.finalizers, [finalizer]);
        }
      };
      const expected = typeof outcome === 'string' ? done : outcome;
      test(`of ${what}: ?${query}`, async () => held(await check(request, query, expected)));
      test(`of ${what}: ${show(body)}`, async () => held(await check({ ...request, body }, '', expected)));
    }

    for (const [query, outcome] of [
      ['orphanDependents', 'orphan'],
      ['orphanDependents=1', 'orphan'],
      ['orphanDependents=TRUE', 'orphan'],
      ['orphanDependents=true&orphanDependents=true', 'orphan'],
      ['orphanDependents=false&orphanDependents=true', unread(/"orphanDependents" is given several values/)],
      ['propagationPolicy=Background&propagationPolicy=Orphan', unread(/"propagationPolicy" is given several values/)],
      ['gracePeriodSeconds=', unread(/gracePeriodSeconds/)],
      ['gracePeriodSeconds=30&gracePeriodSeconds=0', unread(/"gracePeriodSeconds" is given several values/)],
      ['dryRun', dry],
      ['dryRun=', dry],
      ['preconditions=x', unread(/preconditions is read from the body/)],
      ['preconditions.uid=x', unread(/preconditions is read from the body/)],
      ['fieldValidation=x&fieldManager=a&force=x', done],
    ] as const) {
      test(`of ${what}: ?${query}`, async () => {
        await using fixture = await check(request, query, outcome === 'orphan' ? done : outcome);
        if (outcome !== 'orphan') return;
        assert.deepEqual((await fixture.object('GET', object)).metadata.finalizers, ['orphan']);
      });
    }

    /**
     * As in kube-apiserver the query is ignored if there is a body; options that protect objects are not lost by that.
     */
    for (const [query, body, outcome] of [
      ['dryRun=All', {}, dry],
      ['dryRun=All', { propagationPolicy: 'Background' }, dry],
      [
        'dryRun=All',
        { ignoreStoreReadErrorWithClusterBreakingPotential: true },
        notTaken('DeleteOptions', 'ignoreStore'),
      ],
      ['dryRun=Some', {}, dryNotTaken('[]string{"Some"}')],
      ['dryrun=All', {}, misspelled('dryRun')],
      ['orphanDependents=true', {}, 'orphan'],
      ['propagationPolicy=Orphan', { gracePeriodSeconds: 0 }, 'orphan'],
      ['propagationPolicy=Orphan', { propagationPolicy: 'Background' }, done],
      ['orphanDependents=true', { orphanDependents: false }, done],
      ['orphanDependents=false', {}, done],
      ['propagationPolicy=Foreground', {}, done],
      ['uid=other', {}, unread(/uid does not count/)],
      ['uid=other', { preconditions: { resourceVersion: '1' } }, unread(/uid does not count/)],
      ['gracePeriodSeconds=0', {}, done],
      ['gracePeriodSeconds=x', {}, unread(/gracePeriodSeconds/)],
    ] as const) {
      test(`of ${what}: ?${query} beside ${show(body)}`, async () => {
        await using fixture = await check({ ...request, body }, query, outcome === 'orphan' ? done : outcome);
        if (outcome === 'orphan') {
          assert.deepEqual((await fixture.object('GET', object)).metadata.finalizers, ['orphan']);
          assert.deepEqual(fixture.warnings, []);
        }
        if (outcome !== done) return;
        assert.deepEqual(fixture.warnings, [
          `query parameter ${JSON.stringify(query.split('=')[0])} is ignored: the request has a body`,
        ]);
      });
    }
  }

  test('of one object: ?resourceVersion is a precondition, as in kube-apiserver', async () => {
    await using fixture = await opened();
    const { resourceVersion } = (await fixture.object('GET', object)).metadata;
    assert.equal((await fixture.refusal('DELETE', `${object}?resourceVersion=1`)).code, 409);
    await fixture.call('DELETE', `${object}?resourceVersion=${resourceVersion}`);
    assert.equal((await fixture.refusal('GET', object)).code, 404);
  });

  for (const [query, outcome] of [
    ['labelSelector=l%3D2', dry],
    ['labelselector=l%3D2', misspelled('labelSelector')],
    ['label_selector=l%3D2', misspelled('labelSelector')],
    ['labelSelectors=l%3D2', misspelled('labelSelector')],
    ['labelSelector=l%3D1&labelSelector=l%3D2', unread(/"labelSelector" is given several values/)],
    ['fieldselector=metadata.name%3Db', misspelled('fieldSelector')],
    ['Limit=1', misspelled('limit')],
    ['shardSelector=x', unread(/"shardSelector" is not supported/)],
    ['limit=x', unread(/limit/)],
    ['timeoutSeconds=x', unread(/timeoutSeconds/)],
    [
      'resourceVersionMatch=x&resourceVersion=1',
      notTaken('ListOptions', 'resourceVersionMatch: Unsupported value: "x"'),
    ],
  ] as const) {
    test(`of a collection: ?${query}`, async () => (await check(all, query, outcome))[Symbol.asyncDispose]());
  }

  test('of one object: selectors are not options', async () =>
    (await check(one, 'labelselector=x&shardSelector=x&limit=x', done))[Symbol.asyncDispose]());

  for (const [what, body] of [
    ['another kind', { kind: 'ConfigMap' }],
    ['another version', { apiVersion: 'v2' }],
    ['a list', []],
    ['a text', 'propagationPolicy'],
  ] as const) {
    test(`a body that is ${what} is refused`, async () =>
      (await check({ ...one, body }, '', unread(/DeleteOptions/)))[Symbol.asyncDispose]());
  }

  test('of an eviction, which have a body of their own', async () => {
    await using fixture = await opened();
    const evict = (options: object): unknown => ({ metadata: { name: 'p' }, deleteOptions: options });
    const eviction = `${pods}/p/eviction`;
    const error = await fixture.refusal('POST', eviction, evict({ propagationPolicy: 'x' }));
    assert.equal(error.code, 422);
    assert.match(error.message, /^DeleteOptions\.meta\.orch\.io "" is invalid: propagationPolicy/);
    await fixture.call('POST', eviction, evict({ dryRun: ['All'] }));
    await fixture.call('POST', `${eviction}?dryRun=All`, evict({}));
    assert.equal((await fixture.object('GET', `${pods}/p`)).metadata.deletionTimestamp, undefined);
  });
});

describe('the options of reads', () => {
  const read = (path: string): Request => ({ method: 'GET', path });
  for (const [path, query, outcome] of [
    [object, 'resourceVersion=0', dry],
    [object, 'resourceVersion=x', unread(/invalid resource version/)],
    [object, 'pretty=x&watch=maybe&limit=x&dryRun=x&dryrun=x', dry],
    [configMaps, 'limit=1&limit=x', dry],
    [configMaps, 'limit=x', unread(/limit/)],
    [configMaps, 'allowWatchBookmarks=maybe', unread(/allowWatchBookmarks.*true or false/)],
    [configMaps, 'timeoutSeconds=', unread(/timeoutSeconds/)],
    [configMaps, 'labelselector=x&dryrun=All&color=blue', dry],
    [configMaps, 'sendInitialEvents=true', unread(/sendInitialEvents is forbidden for list/)],
    [configMaps, 'resourceVersionMatch=exact&resourceVersion=1', notTaken('ListOptions', 'resourceVersionMatch')],
    [configMaps, 'resourceVersionMatch=Exact', unread(/forbidden unless resourceVersion is provided/)],
    [configMaps, 'watch=maybe', unread(/watch.*true or false/)],
    [`${configMaps}?watch=1`, 'timeoutSeconds=x', unread(/timeoutSeconds/)],
    [`${configMaps}?watch=1`, 'sendInitialEvents=1', unread(/requires setting resourceVersionMatch/)],
  ] as const) {
    test(`GET ${path} ?${query}`, async () => (await check(read(path), query, outcome))[Symbol.asyncDispose]());
  }
});

test('a grace period past every calendar is one that ends', async () => {
  await using fixture = await opened();
  await fixture.call('PATCH', `${pods}/p/status`, { status: { phase: 'Running' } });
  const bound = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'x' } };
  await fixture.call('POST', `${pods}/p/binding`, bound);
  const { metadata }: ApiObject = await fixture.object('DELETE', `${pods}/p?gracePeriodSeconds=9223372036854775807`);
  assert.match(metadata.deletionTimestamp ?? '', /^\d{4}-/);
});
