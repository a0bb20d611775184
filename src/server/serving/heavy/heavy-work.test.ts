import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { defaultPluginConfigurations } from '../../../admission/plugins/plugin-configurations.ts';
import { limits } from '../../../base/limits.ts';
import { silentLogger } from '../../../base/logger.ts';
import { systemRandom } from '../../../base/random.ts';
import { noJitter } from '../../../base/time/backoff-fixture.ts';
import { ManualClock, systemClock } from '../../../base/time/clock.ts';
import { within } from '../../../base/waits-fixture.ts';
import { createWatchCache } from '../../../cache/watch-cache.ts';
import { encodeCbor } from '../../../codec/cbor/encode.ts';
import { type BodyForm, parseBody } from '../../../content/body.ts';
import { writeDocument } from '../../../content/document-forms.ts';
import type { Negotiated } from '../../../content/negotiation.ts';
import { Representation } from '../../../content/representation.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { orch } from '../../../dialect/orch.ts';
import { defaultServiceRanges, servicePools } from '../../../kinds/core/service/service-pools.ts';
import { defineKind } from '../../../kinds/define-kind.ts';
import { gadget } from '../../../kinds/gated-kind-fixture.ts';
import type { Kind } from '../../../kinds/kind.ts';
import { kinds } from '../../../kinds/kinds.ts';
import { kindSchema } from '../../../kinds/meta/kind-schema.ts';
import type { KindServices } from '../../../kinds/services.ts';
import { renamedFields } from '../../../kinds/stored-as.ts';
import { defaultScope } from '../../../meta/scope.ts';
import { StatusError } from '../../../meta/status-error.ts';
import { ApiDocuments } from '../../../registry/documents/documents.ts';
import { Registry } from '../../../registry/registry.ts';
import type { Reply } from '../../../registry/reply.ts';
import { parseRequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { cachedResources } from '../../../resources/resource.ts';
import { ResourceRegistry } from '../../../resources/resource-registry.ts';
import { map as mapOf, opt, string } from '../../../schema/schema.ts';
import { openMemoryStore } from '../../../store/drivers/memory/memory-store.ts';
import { type AdmissionLookups, composeAdmission } from '../../wiring/access/admission.ts';
import { withoutConfigurations } from '../../wiring/access/dynamic-admission-fixture.ts';
import { HeavyWork, type ReceivedRequest } from './heavy-work.ts';
import { JobThread } from './job-thread.ts';
import { jobsOf } from './jobs.ts';
import { sameThread } from './thread-fixture.ts';

const plugins = [
  'NamespaceLifecycle',
  'ServiceAccount',
  'NodeRestriction',
  'OwnerReferencesPermissionEnforcement',
] as const;
const jane: UserInfo = { username: 'jane', uid: '', groups: [], extra: {} };
const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];

/** Lookups for plugins: one namespace, its default account, and a user with few rights. */
const lookups: AdmissionLookups = {
  namespacePhase: (name) => (name === 'n' ? 'Active' : 'absent'),
  object: (resource, namespace, name) =>
    resource === 'serviceaccounts' && namespace === 'n' && name === 'default'
      ? { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }
      : undefined,
  authorize: () => ({ verdict: 'noOpinion', reason: '' }),
  resourcesOf: (apiVersion, kind) =>
    apiVersion === 'late.example/v1' && kind === 'Late'
      ? [{ group: 'late.example', resource: 'lates', version: 'v1', namespaced: true }]
      : [],
  heldRules: () => ({ rules, errors: [] }),
  roleRules: () => undefined,
  ...withoutConfigurations,
};

const allKinds = (dialect: Dialect): readonly Kind[] => [...kinds(dialect), gadget];

interface Sent {
  readonly method: string;
  readonly target: string;
  readonly form?: BodyForm;
  readonly body?: unknown;
  readonly user?: UserInfo;
}

/** A registry with its own store, with writes on the event loop or on the thread. */
class Side implements AsyncDisposable {
  readonly #way: 'here' | 'thread';
  readonly store = openMemoryStore();
  readonly cache;
  readonly resources;
  readonly registry: Registry;
  readonly thread: JobThread;
  readonly heavy: HeavyWork;

  constructor(way: 'here' | 'thread', asked: AdmissionLookups = lookups) {
    this.#way = way;
    const all = allKinds(orch);
    const resources = cachedResources(defaultScope, all);
    this.cache = createWatchCache({
      random: noJitter,
      store: this.store,
      clock: systemClock,
      logger: silentLogger,
      resources,
    });
    this.resources = new ResourceRegistry(all, { cache: this.cache, scope: defaultScope });
    const parts = {
      resources: this.resources,
      store: this.store,
      cache: this.cache,
      admission: composeAdmission(plugins, {
        dialect: orch,
        configurations: defaultPluginConfigurations,
        features: new Set(),
        clock: systemClock,
        random: systemRandom,
        lookups: asked,
      }),
      servicesFor: () => ({}) as KindServices,
      requireCreate: () => {},
      requireUnsafeDelete: () => {},
      watchMsMin: 0,
      isSameNamespace: () => true,
      features: new Set(['Fresh']),
      unsafeDeletion: false,
      pools: () => servicePools(defaultServiceRanges, orch),
      count() {},
      dialect: orch,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    };
    this.registry = new Registry(parts);
    this.thread = new JobThread({
      clock: new ManualClock(),
      logger: silentLogger,
      startWorker: sameThread(jobsOf(allKinds)),
    });
    const { thread, registry } = this;
    this.heavy = new HeavyWork({
      ...parts,
      thread,
      registry,
      lookups: asked,
      admissionPlugins: plugins,
      pluginConfigurations: defaultPluginConfigurations,
      runtimeConfig: new Map(),
      serviceRanges: () => defaultServiceRanges,
    });
  }

  received({ method, target, form = json, body, user = jane }: Sent, warn: (text: string) => void): ReceivedRequest {
    const info = parseRequestInfo(method, target);
    assert.ok(info.type === 'resource');
    const served = this.resources.find(info.group, info.version, info.resource);
    assert.ok(served);
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
    const { signal } = new AbortController();
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(text);
    const sent = { method, target, user, userAgent: 'test/v1', form, bytes, owner: user };
    return { info, served, ...sent, signal, annotate: () => undefined, warn, beforeWrite() {} };
  }

  /** Everything that the client sees: reply or error, and warnings. */
  async send(sent: Sent): Promise<unknown> {
    const warnings: string[] = [];
    const request = this.received(sent, (text) => warnings.push(text));
    try {
      const reply = await (this.#way === 'thread' ? this.heavy.write(request) : this.#serve(request));
      return { ...comparable(reply), warnings };
    } catch (error) {
      assert.ok(error instanceof StatusError, String(error));
      return { refused: error.toStatus(), warnings };
    }
  }

  async #serve(request: ReceivedRequest): Promise<Reply> {
    return this.registry.serve({ ...request, body: parseBody(request.bytes, request.form, request) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thread.close();
    await this.cache.close();
    await this.store.close();
  }
}

/** A reply without parts that differ between runs. */
function comparable(reply: Reply): object {
  assert.ok(reply.type === 'object' || reply.type === 'status', reply.type);
  if (reply.type === 'status') return { ...reply, body: mask(JSON.stringify(reply.body)) };
  return { status: reply.status, bytes: mask(reply.bytes.toString()) };
}

const mask = (text: string): string =>
  text
    .replaceAll(/"uid":"[^"]*"/g, '"uid":"-"')
    .replaceAll(/"(time|creationTimestamp|deletionTimestamp)":"[^"]*"/g, '"$1":"-"')
    .replaceAll(/(access|gen)-[a-z0-9]{5}"/g, '$1-random"');

const json: BodyForm = { type: 'whole', format: 'json' };
const yaml: BodyForm = { type: 'whole', format: 'yaml' };
const cbor: BodyForm = { type: 'whole', format: 'cbor' };
const as = (patch: Extract<BodyForm, { type: 'patch' }>['patch']): BodyForm => ({
  type: 'patch',
  format: patch === 'apply' ? 'yaml' : 'json',
  patch,
});
const maps = '/api/v1/namespaces/n/configmaps';
const pods = '/api/v1/namespaces/n/pods';
const roles = `/apis/${orch.group('rbac.authorization')}/v1/namespaces/n/roles`;
const map = (name: string, data: Readonly<Record<string, string>> = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});
const gadgets = `/apis/${gadget.group}/v1/namespaces/n/gadgets`;
const gated = (colour: string) => ({ metadata: { name: 'g' }, spec: { size: 1, colour } });
const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'a', image: 'b' }] } });

/** Run in order: later requests depend on earlier ones. */
const script: readonly (readonly [what: string, sent: Sent])[] = [
  ['a create', { method: 'POST', target: maps, body: map('a', { k: 'v' }) }],
  ['one that exists', { method: 'POST', target: maps, body: map('a') }],
  ['one with a generated name', { method: 'POST', target: maps, body: { metadata: { generateName: 'gen-' } } }],
  ['a dry run of one that exists', { method: 'POST', target: `${maps}?dryRun=All`, body: map('a') }],
  ['a dry run', { method: 'POST', target: `${maps}?dryRun=All`, body: map('dry') }],
  ['unknown fields', { method: 'POST', target: maps, body: { ...map('u'), x: 1 } }],
  [
    'unknown fields, strictly',
    { method: 'POST', target: `${maps}?fieldValidation=Strict`, body: { ...map('s'), x: 1 } },
  ],
  ['fields that stand twice', { method: 'POST', target: maps, body: '{"metadata":{"name":"d","name":"e"}}' }],
  ['what is not JSON', { method: 'POST', target: maps, body: '{"metadata":' }],
  ['nothing', { method: 'POST', target: maps }],
  ['an invalid object', { method: 'POST', target: maps, body: map('In Valid') }],
  [
    'a large integer',
    { method: 'POST', target: maps, body: '{"metadata":{"name":"i","generation":9007199254740993}}' },
  ],
  ['YAML', { method: 'POST', target: maps, form: yaml, body: 'metadata: {name: y}\ndata: {a: "1"}\n' }],
  ['YAML with an error', { method: 'POST', target: maps, form: yaml, body: 'metadata: {name: y\n' }],
  ['CBOR', { method: 'POST', target: maps, form: cbor, body: encodeCbor(map('c', { a: '1' })) }],
  ['CBOR with an error', { method: 'POST', target: maps, form: cbor, body: encodeCbor(map('c')).subarray(0, -1) }],
  ['another namespace', { method: 'POST', target: maps.replace('/n/', '/gone/'), body: map('a') }],
  ['an update', { method: 'PUT', target: `${maps}/a`, body: map('a', { k: 'w' }) }],
  ['an update that changes nothing', { method: 'PUT', target: `${maps}/a`, body: map('a', { k: 'w' }) }],
  ['an update of an old version', { method: 'PUT', target: `${maps}/a`, body: map('a', {}, { resourceVersion: '1' }) }],
  ['an update of what is not there', { method: 'PUT', target: `${maps}/none`, body: map('none') }],
  ['a merge patch', { method: 'PATCH', target: `${maps}/a`, form: as('merge'), body: { data: { m: '1', k: null } } }],
  ['a strategic patch', { method: 'PATCH', target: `${maps}/a`, form: as('strategic'), body: { data: { s: '1' } } }],
  [
    'a JSON patch',
    { method: 'PATCH', target: `${maps}/a`, form: as('json'), body: [{ op: 'remove', path: '/data/s' }] },
  ],
  [
    'one that does not apply',
    { method: 'PATCH', target: `${maps}/a`, form: as('json'), body: [{ op: 'remove', path: '/x' }] },
  ],
  [
    'an apply',
    { method: 'PATCH', target: `${maps}/a?fieldManager=one`, form: as('apply'), body: map('a', { z: '1' }) },
  ],
  [
    'a conflict',
    { method: 'PATCH', target: `${maps}/a?fieldManager=two`, form: as('apply'), body: map('a', { z: '2' }) },
  ],
  [
    'an apply by force',
    { method: 'PATCH', target: `${maps}/a?fieldManager=two&force=true`, form: as('apply'), body: map('a', { z: '2' }) },
  ],
  [
    'an apply in YAML that creates',
    {
      method: 'PATCH',
      target: `${maps}/b?fieldManager=one`,
      form: as('apply'),
      body: 'apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n',
    },
  ],
  [
    'an apply in CBOR that creates',
    {
      method: 'PATCH',
      target: `${maps}/in-cbor?fieldManager=one`,
      form: { type: 'patch', format: 'cbor', patch: 'apply' },
      body: encodeCbor({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } }),
    },
  ],
  ['a patch of what is not there', { method: 'PATCH', target: `${maps}/none`, form: as('merge'), body: {} }],
  ['a pod, to which admission adds', { method: 'POST', target: pods, body: pod('p') }],
  ['a status', { method: 'PUT', target: `${pods}/p/status`, body: { ...pod('p'), status: { phase: 'Running' } } }],
  ['a role with no more than is held', { method: 'POST', target: roles, body: { metadata: { name: 'r' }, rules } }],
  [
    'a role with more',
    { method: 'POST', target: roles, body: { metadata: { name: 'r2' }, rules: [{ ...rules[0], verbs: ['*'] }] } },
  ],
  ['an object with a finalizer', { method: 'POST', target: maps, body: map('f', {}, { finalizers: ['x/y'] }) }],
  ['its deletion', { method: 'DELETE', target: `${maps}/f` }],
  [
    'its finalizer removed',
    { method: 'PATCH', target: `${maps}/f`, form: as('merge'), body: { metadata: { finalizers: null } } },
  ],
  ['a dry run of a deletion', { method: 'DELETE', target: `${maps}/a?dryRun=All` }],
  ['a field of a feature that is off', { method: 'POST', target: gadgets, body: gated('red') }],
  ['the same in an update', { method: 'PUT', target: `${gadgets}/g`, body: gated('blue') }],
  ['a deletion', { method: 'DELETE', target: `${maps}/a` }],
  ['another', { method: 'DELETE', target: `${maps}/a` }],
];

describe('a write is answered the same on the thread as here', async () => {
  const here = new Side('here');
  const thread = new Side('thread');
  await Promise.all([here.cache.ready(), thread.cache.ready()]);
  after(() => Promise.all([here[Symbol.asyncDispose](), thread[Symbol.asyncDispose]()]));
  for (const [what, sent] of script) {
    it(what, async () => {
      const expected = await here.send(sent);
      assert.deepEqual(await thread.send(sent), expected);
    });
  }

  it('and leaves the same state', async () => {
    const stored = async ({ store }: Side): Promise<readonly string[]> =>
      (await store.list('/')).records.map(
        ({ key, value }) => `${key.replace(/gen-.*/, 'gen')} ${mask(Buffer.from(value).toString())}`,
      );
    const expected = await stored(here);
    assert.ok(expected.length > 5);
    assert.deepEqual(await stored(thread), expected);
    assert.ok(
      expected.some((line) => line.includes('"spec":{"size":1}')),
      'what needs a feature is dropped',
    );
  });
});

const group = 'late.example';
const lateSchema = (text: string) =>
  kindSchema('', 'Came at run time.', {
    [text]: opt(1, string(), ''),
    rest: opt(2, mapOf(string()), ''),
  });
const late: Kind = defineKind({ group, kind: 'Late', schema: lateSchema('text') });
const later: Kind = {
  ...defineKind({ group, version: 'v2', kind: 'Late', schema: lateSchema('words') }),
  storedAs: renamedFields(late, { group, version: 'v2', kind: 'Late' }, { words: 'text' }),
};
const byKind: readonly Negotiated[] = [
  { format: 'json', as: 'Table', metaVersion: 'meta.orch.io/v1', mediaType: 'application/json', pretty: false },
  { format: 'protobuf', as: 'object', metaVersion: '', mediaType: '', pretty: false },
  { format: 'cbor', as: 'object', metaVersion: '', mediaType: '', pretty: false },
  { format: 'cbor', as: 'Table', metaVersion: 'meta.orch.io/v1', mediaType: '', pretty: false },
];
const lates = (version: string): string => `/apis/${group}/${version}/namespaces/n/lates`;
const owned = (kind: string) => ({
  name: 'o',
  ownerReferences: [{ apiVersion: `${group}/v1`, kind, name: 'a', uid: 'u', blockOwnerDeletion: true }],
});

/** Without ages, which may change between two calls: JSON texts, or byte strings of two or three bytes in CBOR. */
const ageless = (bytes: Buffer): string => bytes.toString('latin1').replace(/"\d+s"|[BC]\d+s/, '');

describe('a kind that came at run time', () => {
  const writes: readonly (readonly [what: string, sent: Sent])[] = [
    [
      'a create',
      { method: 'POST', target: lates('v1'), body: { metadata: { name: 'a' }, text: 't', rest: { a: 'b' } } },
    ],
    [
      'a create in another version',
      { method: 'POST', target: lates('v2'), body: { metadata: { name: 'b' }, words: 'w' } },
    ],
    ['a wrong type', { method: 'POST', target: lates('v2'), body: { metadata: { name: 'c' }, words: 1 } }],
    ['an unknown field', { method: 'POST', target: lates('v2'), body: { metadata: { name: 'd' }, text: 't' } }],
    [
      'a patch of one in another version',
      { method: 'PATCH', target: `${lates('v2')}/a`, form: as('merge'), body: { words: 'w' } },
    ],
    [
      'an apply in YAML',
      {
        method: 'PATCH',
        target: `${lates('v2')}/b?fieldManager=m&force=true`,
        form: as('apply'),
        body: `apiVersion: ${group}/v2\nkind: Late\nwords: y\n`,
      },
    ],
    ['an owner that blocks', { method: 'POST', target: maps, body: { metadata: owned('Late') } }],
    ['an owner of no kind', { method: 'POST', target: maps, body: { metadata: owned('Never') } }],
    ['a deletion', { method: 'DELETE', target: `${lates('v2')}/b` }],
  ];

  it('is available on the thread with all of its versions', async () => {
    await using here = new Side('here');
    await using thread = new Side('thread');
    for (const side of [here, thread]) {
      await side.cache.ready();
      await side.resources.add(late);
      await side.resources.add(later);
    }
    for (const [what, sent] of writes) assert.deepEqual(await thread.send(sent), await here.send(sent), what);
    const large = { metadata: { name: 'large' }, text: 'x'.repeat(limits.inlineBytesMax) };
    const request = thread.received({ method: 'POST', target: lates('v1'), body: large }, () => {});
    assert.equal(thread.heavy.takesWrite(request), true);
    const answered = await thread.heavy.write(request);
    assert.ok(answered.type === 'object');
    for (const version of ['v1', 'v2']) {
      for (const form of byKind) {
        const served = thread.resources.find(group, version, 'lates');
        const target = `${lates(version)}/large`;
        const representation = new Representation(orch, systemClock);
        const presentation = representation.presentation(form, served?.kind, new URLSearchParams());
        const bytes: Buffer = served?.forms?.bytes(answered.bytes) ?? answered.bytes;
        assert.equal(thread.heavy.takesRepresentation(bytes, presentation), true);
        const options = { target, signal: new AbortController().signal, owner: jane };
        const made = await thread.heavy.represent(bytes, presentation, options);
        assert.equal(ageless(made), ageless(representation.object(bytes, presentation)));
        for (const first of [true, false]) {
          const told = await thread.heavy.eventObject(bytes, presentation, options, first);
          assert.equal(ageless(told), ageless(representation.eventObject(bytes, presentation, first)));
        }
      }
    }
  });

  it('leaves no object behind when it goes during a write', async () => {
    let gone: (() => void) | undefined;
    await using side = new Side('thread', {
      ...lookups,
      namespacePhase(name) {
        gone?.();
        gone = undefined;
        return lookups.namespacePhase(name);
      },
    });
    await side.cache.ready();
    const { resource } = await side.resources.addResource(late);
    gone = () => side.resources.remove(resource);
    const request = side.received({ method: 'POST', target: lates('v1'), body: { metadata: { name: 'x' } } }, () => {});
    await assert.rejects(side.heavy.write(request), { reason: 'NotFound' });
    assert.deepEqual((await side.store.list(resource.collection.prefix)).records, []);
  });

  it('stays on the event loop if it has functions', async () => {
    await using side = new Side('thread');
    await side.cache.ready();
    const kind = { ...late, strategy: { warnings: () => ['w'] } };
    await side.resources.add(kind);
    const large = { metadata: { name: 'large' }, text: 'x'.repeat(limits.inlineBytesMax) };
    const request = side.received({ method: 'POST', target: lates('v1'), body: large }, () => {});
    assert.equal(side.heavy.takesWrite(request), false);
    const bytes = Buffer.from(JSON.stringify(large));
    for (const form of byKind) {
      const presentation = new Representation(orch, systemClock).presentation(form, kind, new URLSearchParams());
      assert.equal(side.heavy.takesRepresentation(bytes, presentation), false);
    }
  });
});

describe('a write on the thread whose request ends', () => {
  const ended = new Error('the deadline has passed');
  for (const silent of ['namespacePhase', 'object'] as const) {
    it(`ends while a plugin waits for ${silent}; nothing is written`, async () => {
      const asked = Promise.withResolvers<void>();
      const never = () => {
        asked.resolve();
        return new Promise<never>(() => {});
      };
      await using side = new Side('thread', { ...lookups, [silent]: never });
      await side.cache.ready();
      const body = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'p', namespace: 'n' },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      };
      const abort = new AbortController();
      const request = side.received({ method: 'POST', target: '/api/v1/namespaces/n/pods', body }, () => {});
      const refused = assert.rejects(side.heavy.write({ ...request, signal: abort.signal }), ended);
      await within(asked.promise, 'asked: never');
      abort.abort(ended);
      await refused;
      assert.equal(side.thread.size, 0);
      assert.equal((await side.store.list('')).records.length, 0);
    });
  }
});

describe('what goes to the thread', async () => {
  const side = new Side('thread');
  await side.cache.ready();
  after(() => side[Symbol.asyncDispose]());
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, '']));
  const big = map('big', many(limits.inlinePartsMax));
  const long = map('long', { text: 'x'.repeat(limits.inlineBytesMax) });
  await side.send({ method: 'POST', target: maps, body: big });
  await side.cache.fresh();
  const review = `/apis/${orch.group('authorization')}/v1/subjectaccessreviews`;
  for (const [what, sent, expected] of [
    ['a small create', { method: 'POST', target: maps, body: map('a') }, false],
    ['many fields', { method: 'POST', target: maps, body: big }, true],
    ['a long text', { method: 'POST', target: maps, body: long }, true],
    [
      'a text that is not so long',
      { method: 'POST', target: maps, body: map('a', { t: 'x'.repeat(limits.inlineBytesMax / 2) }) },
      false,
    ],
    ['any YAML', { method: 'POST', target: maps, form: yaml, body: 'a: 1' }, true],
    ['a small patch of a large object', { method: 'PATCH', target: `${maps}/big`, form: as('merge'), body: {} }, true],
    ['the deletion of one', { method: 'DELETE', target: `${maps}/big` }, true],
    ['a small patch of a small object', { method: 'PATCH', target: `${maps}/a`, form: as('merge'), body: {} }, false],
    ['an apply in JSON', { method: 'PATCH', target: `${maps}/a`, form: as('apply'), body: map('a') }, false],
    ['an apply in YAML', { method: 'PATCH', target: `${maps}/a`, form: as('apply'), body: 'kind: ConfigMap' }, true],
    [
      'many operations',
      {
        method: 'PATCH',
        target: `${maps}/a`,
        form: as('json'),
        body: Array(500).fill({ op: 'test', path: '', value: 1 }),
      },
      true,
    ],
    ['what is not stored', { method: 'POST', target: review, body: big }, false],
    ['an action', { method: 'POST', target: `${pods}/p/eviction`, body: big }, false],
    ['a collection', { method: 'DELETE', target: maps, body: big }, false],
  ] as const satisfies readonly (readonly [string, Sent, boolean])[]) {
    it(`${what}: ${expected}`, () => assert.equal(side.heavy.takesWrite(side.received(sent, () => {})), expected));
  }

  it('bodies of what is not stored are bounded instead, in each format', async () => {
    const groups = (count: number) => ({ spec: { user: 'u', groups: Array(count).fill('g') } });
    const body = (sent: Omit<Sent, 'method' | 'target'>) =>
      Promise.resolve().then(() =>
        side.heavy.body(side.received({ method: 'POST', target: review, ...sent }, () => {})),
      );
    const max = limits.unstoredPartsMax;
    assert.deepEqual((await body({ body: groups(max - 10) }))?.value, groups(max - 10));
    const inYaml = (count: number): string => `spec:\n  user: u\n  groups: [${Array(count).fill('g').join(',')}]\n`;
    assert.deepEqual((await body({ form: yaml, body: inYaml(max - 10) }))?.value, groups(max - 10));
    assert.deepEqual((await body({ form: yaml, body: 'a: 1\na: 2\n' }))?.duplicates, ['a']);
    for (const [form, text] of [
      [json, groups(max + 1)],
      [yaml, inYaml(max + 1)],
      [yaml, `a: &a [${Array(200).fill('x').join(',')}]\nb: [${Array(50).fill('*a').join(',')}]`],
      [json, { text: 'x'.repeat(limits.unstoredBytesMax) }],
      [{ type: 'whole', format: 'protobuf' }, 'x'.repeat(limits.inlineBytesMax + 1)],
      [cbor, 'x'.repeat(limits.inlineBytesMax + 1)],
    ] as const) {
      await assert.rejects(body({ form, body: text }), { reason: 'RequestEntityTooLarge', code: 413 });
    }
    // Names that are long enough for the body to be heavy.
    const inCbor = (count: number) => encodeCbor({ spec: { groups: Array(count).fill('group') } });
    assert.ok(await body({ form: cbor, body: inCbor(max - 10) }));
    await assert.rejects(body({ form: cbor, body: inCbor(max) }), /expected no more than 4000 elements/);
  });
});

describe('forms of documents', async () => {
  const side = new Side('thread');
  await side.cache.ready();
  after(() => side[Symbol.asyncDispose]());
  const documents = new ApiDocuments({ dialect: orch, cbor: false, issuer: true }, side.resources, () => '');
  for (const [what, document] of [
    ['OpenAPI 2', documents.openapiV2()],
    ['OpenAPI 3', documents.openapi('', 'v1')],
  ] as const) {
    for (const form of ['yaml', 'protobuf', 'pretty']) {
      it(`${what}, ${form}: the same on the thread as here`, async () => {
        assert.ok(document);
        assert.equal(side.heavy.takesDocument(document, form), true);
        assert.ok((await side.heavy.document(document, form, side)).equals(writeDocument(document, form)));
      });
    }
    it(`${what}: JSON is there`, () => assert.equal(document && side.heavy.takesDocument(document, 'json'), false));
  }
});
