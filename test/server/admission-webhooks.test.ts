import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { until, within } from '../../src/base/waits-fixture.ts';
import type { Status } from '../../src/meta/status-error.ts';
import { AdmissionWebhook, type Asked, patchOf, ruleFor, webhookFor } from '../support/admission-webhook.ts';
import { definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Admission webhooks, as those who write objects, and those who are asked, see them. */

const group = '/apis/admissionregistration.orch.io/v1';
const kinds = {
  mutating: { kind: 'MutatingWebhookConfiguration', path: `${group}/mutatingwebhookconfigurations` },
  validating: { kind: 'ValidatingWebhookConfiguration', path: `${group}/validatingwebhookconfigurations` },
} as const;
type Type = keyof typeof kinds;
type Fields = Readonly<Record<string, unknown>>;

interface Body extends Fields {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly uid: string } & Fields;
  readonly data?: Readonly<Record<string, string>>;
  readonly kind: string;
  readonly message: string;
}

interface Answer {
  readonly status: number;
  readonly body: Body;
  readonly warnings: string;
}

const mergePatch = 'application/merge-patch+json';
const maps = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string, data: Fields = { a: '1' }, metadata: Fields = {}): Fields => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

describe('admission webhooks', () => {
  const made: string[] = [];
  let server: OrchProcess;
  /** Two are enough for all tests. */
  let one: AdmissionWebhook;
  let other: AdmissionWebhook;
  before(async () => {
    one = await AdmissionWebhook.start();
    other = await AdmissionWebhook.start();
    server = await OrchProcess.start();
    // The controllers' own writes come first.
    for (const namespace of ['default', 'orch-system', 'orch-public', 'orch-node-lease']) {
      const path = `/api/v1/namespaces/${namespace}/configmaps/orch-root-ca.crt`;
      await until(async () => (await server.get(path)).status === 200, 'the authority is published');
    }
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    for (const path of made.splice(0)) await send('DELETE', path);
    one.reset();
    other.reset();
  });

  async function send(method: string, target: string, body?: unknown, type = 'application/json'): Promise<Answer> {
    const sent = body === undefined ? {} : { body, headers: { 'content-type': type } };
    const { status, json, headers } = await server.request<Body>(method, target, sent);
    return { status, body: json, warnings: [headers['warning'] ?? []].flat().join() };
  }

  const post = (object: Fields, query = ''): Promise<Answer> => send('POST', `${maps}${query}`, object);
  const merge = (name: string, body: Fields): Promise<Answer> => send('PATCH', `${maps}/${name}`, body, mergePatch);

  /** Configures webhooks, until the next test. */
  async function configure(type: Type, name: string, ...webhooks: readonly Fields[]): Promise<void> {
    const { kind, path } = kinds[type];
    const apiVersion = 'admissionregistration.orch.io/v1';
    const answer = await send('POST', path, { apiVersion, kind, metadata: { name }, webhooks });
    assert.equal(answer.status, 201, answer.body.message);
    made.push(`${path}/${name}`);
  }

  const asked = ({ asked: all }: AdmissionWebhook, operation?: string): readonly Asked['request'][] =>
    all.map(({ request }) => request).filter((each) => operation === undefined || each.operation === operation);

  describe('a refusal has the code, reason and message of the webhook', () => {
    const denied = 'admission webhook "judge.example.com" denied the request';
    const rows: readonly (readonly [what: string, judged: Fields, wanted: Partial<Status>])[] = [
      ['nothing', {}, { code: 400, message: `${denied} without explanation` }],
      ['a message', { status: { message: 'no' } }, { code: 400, message: `${denied}: no` }],
      [
        'a reason',
        { status: { reason: 'Conflict' } },
        { code: 400, message: `${denied}: Conflict`, reason: 'Conflict' },
      ],
      ['a code', { status: { code: 422, message: 'no' } }, { code: 422, message: `${denied}: no` }],
      ['a code of a success', { status: { code: 200 } }, { code: 400, message: `${denied} without explanation` }],
      ['a code that nobody knows', { status: { code: 700, message: 'no' } }, { code: 700, message: `${denied}: no` }],
      ['a code that none is', { status: { code: 99_999 } }, { code: 400, message: `${denied} without explanation` }],
      [
        'a reason that nobody knows, and details',
        { status: { code: 429, reason: 'Tired', message: 'later', details: { retryAfterSeconds: 7, name: 'x' } } },
        {
          ...{ code: 429, message: `${denied}: later`, reason: 'Tired' as Status['reason'] & string },
          details: { name: 'x', retryAfterSeconds: 7 },
        },
      ],
    ];
    for (const type of ['mutating', 'validating'] as const) {
      for (const [what, judged, wanted] of rows) {
        it(`${type}: ${what}`, async () => {
          await configure(type, 'judge', webhookFor(one));
          one.judge = () => ({ allowed: false, ...judged });
          const { status, body } = await post(configMap('refused'));
          assert.equal(status, wanted.code);
          const { code, message, reason, details } = body as unknown as Status;
          assert.deepEqual(
            { code, message, ...(reason !== undefined && { reason }), ...(wanted.details && { details }) },
            wanted,
          );
          assert.equal((await send('GET', `${maps}/refused`)).status, 404, 'nothing is stored');
        });
      }
    }
  });

  describe('a failed call', () => {
    type Instead = NonNullable<AdmissionWebhook['instead']>;
    const status =
      (code: number, headers: Record<string, string> = {}, body = ''): Instead =>
      (response) =>
        void response.writeHead(code, headers).end(body);
    const rows: readonly (readonly [what: string, prepare: () => Fields, why: RegExp])[] = [
      [
        'nobody listens',
        () => ({ clientConfig: { ...one.clientConfig, url: 'https://127.0.0.1:9/x' } }),
        /dial tcp 127\.0\.0\.1:9: connect: connection refused$/,
      ],
      ['a Service', () => ({ clientConfig: { service: { namespace: 'a', name: 'b' } } }), /service "b" not found/],
      [
        'a certificate that nobody vouches for',
        () => ({ clientConfig: { url: one.clientConfig['url'] } }),
        /: tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
      ],
      [
        'no answer in time',
        () => hang({ timeoutSeconds: 1 }),
        /failed to call webhook: Post .*timeout=1s": context deadline exceeded$/,
      ],
      ['an answer that ends too soon', () => instead((response) => response.destroy()), /Post ".*": EOF$/],
      [
        'an answer that ends in the middle',
        () =>
          instead(
            (response) => void response.writeHead(200, { 'content-length': '9' }).write('{', () => response.destroy()),
          ),
        /failed to call webhook: unexpected error when reading response body\. Please retry\. Original error: unexpected EOF$/,
      ],
      ['a redirect', () => instead(status(302, { location: 'https://127.0.0.1:9/' })), /redirect/],
      ['an error of the webhook', () => instead(status(500, {}, 'oh')), /an error on the server \(\\?"oh\\?"\)/],
      ['not found', () => instead(status(404)), /the server could not find the requested resource/],
      ['an answer of two megabytes', () => instead(status(200, {}, ' '.repeat(2 ** 21))), /more than 1048576 bytes/],
      [
        'an error that says why',
        () => instead(status(418, {}, JSON.stringify({ kind: 'Status', status: 'Failure', message: 'a pot' }))),
        /: failed to call webhook: a pot$/,
      ],
      [
        'an empty answer',
        () => instead(status(200, { 'content-type': 'text/plain' })),
        /: 0-length response with status code: 200 and content type: text\/plain$/,
      ],
      ['no JSON', () => instead(status(200, {}, 'hello')), /couldn't get version\/kind; json parse error/],
      ['another uid', () => judged({ uid: 'x' }), /received invalid webhook response: expected response\.uid/],
    ];
    const instead = (answer: Instead): Fields => {
      one.instead = answer;
      return {};
    };
    const hang = (more: Fields): Fields => {
      one.judge = () => new Promise(() => {});
      return more;
    };
    const judged = (fields: Fields): Fields => {
      one.judge = () => fields;
      return {};
    };
    for (const type of ['mutating', 'validating'] as const) {
      for (const [what, prepare, why] of rows) {
        it(`${type}, ${what}: refuses, or lets pass with failurePolicy Ignore`, async () => {
          const more = prepare();
          await configure(type, 'judge', webhookFor(one, more));
          const { status: refused, body } = await post(configMap('failed'));
          assert.equal(refused, 500, body.message);
          assert.match(body.message, /^Internal error occurred: failed calling webhook "judge\.example\.com": /);
          assert.match(body.message, why);
          assert.equal((await send('GET', `${maps}/failed`)).status, 404, 'nothing is stored');
          for (const path of made.splice(0)) await send('DELETE', path);
          await configure(type, 'ignored', webhookFor(one, { ...more, failurePolicy: 'Ignore' }));
          assert.equal((await post(configMap('failed'))).status, 201);
          await send('DELETE', `${maps}/failed`);
        });
      }
    }
  });

  describe('a patch', () => {
    const patched = async (...operations: readonly Fields[]): Promise<Answer> => {
      one.judge = ({ request }) => (request.operation === 'CREATE' ? patchOf(...operations) : { allowed: true });
      return post(configMap('patched'));
    };
    beforeEach(async () => {
      await configure('mutating', 'patcher', webhookFor(one, { failurePolicy: 'Ignore' }));
      await send('DELETE', `${maps}/patched`);
    });

    it('changes the object that is stored; its fields belong to nobody', async () => {
      const { status, body } = await patched({ op: 'add', path: '/data/b', value: '2' });
      assert.equal(status, 201);
      assert.deepEqual(body.data, { a: '1', b: '2' });
      assert.doesNotMatch(JSON.stringify(body.metadata['managedFields']), /f:b/);
    });
    it('that does not apply is an error, whatever the failure policy', async () => {
      const { status, body } = await patched({ op: 'remove', path: '/data/none' });
      assert.equal(status, 500);
      assert.match(body.message, /^Internal error occurred: .*\/data\/none/);
    });
    it('that makes the object invalid is 422, and the field is named', async () => {
      const { status, body } = await patched({ op: 'add', path: '/data/a b', value: '2' });
      assert.equal(status, 422);
      assert.match(body.message, /data\[a b\]/);
    });
    it('with a value of a wrong type is an error', async () => {
      const { status, body } = await patched({ op: 'replace', path: '/data', value: 1 });
      assert.equal(status, 500);
      assert.match(body.message, /data: expected/);
    });
    it('to another kind is an error', async () => {
      const { status } = await patched({ op: 'replace', path: '/kind', value: 'Secret' });
      assert.equal(status, 500);
    });
    it('to another namespace is refused', async () => {
      const { status } = await patched({ op: 'replace', path: '/metadata/namespace', value: 'kube-system' });
      assert.equal(status, 400);
      const update = await merge('patched', { metadata: { labels: { a: 'b' } } });
      assert.equal(update.status, 404, 'nothing was stored');
    });
    it('does not change the identity that the server gives', async () => {
      const { status, body } = await patched(
        { op: 'add', path: '/metadata/uid', value: 'mine' },
        { op: 'add', path: '/metadata/creationTimestamp', value: '2001-01-01T00:00:00Z' },
        { op: 'add', path: '/metadata/resourceVersion', value: '7' },
      );
      assert.equal(status, 201, body.message);
      assert.notEqual(body.metadata.uid, 'mine');
      assert.notEqual(body.metadata['creationTimestamp'], '2001-01-01T00:00:00Z');
    });
    it('that spoils managedFields leaves them as they were, with a warning', async () => {
      const { status, body, warnings } = await patched({
        ...{ op: 'replace', path: '/metadata/managedFields/0/operation' },
        value: 'Guess',
      });
      assert.equal(status, 201, body.message);
      assert.match(warnings, /managedFields was in an invalid state after admission/);
      assert.match(JSON.stringify(body.metadata['managedFields']), /f:data/);
    });
    it('of a deletion is an error', async () => {
      assert.equal((await post(configMap('patched'))).status, 201);
      one.judge = () => patchOf({ op: 'add', path: '/data/b', value: '2' });
      const { status, body } = await send('DELETE', `${maps}/patched`);
      assert.equal(status, 500);
      assert.match(body.message, /attempted to modify the object, which is not supported for this operation/);
    });
  });

  it('a webhook may write the object that it is asked about', async () => {
    await post(configMap('callback'));
    await configure('mutating', 'judge', webhookFor(one, { rules: [ruleFor('UPDATE', 'configmaps')] }));
    let inner: Answer | undefined;
    one.judge = async ({ request }) => {
      if (request.object?.['data'] && 'inner' in (request.object['data'] as Fields)) return { allowed: true };
      inner ??= await merge('callback', { data: { inner: '1' } });
      return patchOf({ op: 'add', path: '/data/patched', value: '1' });
    };
    const { status, body } = await within(merge('callback', { data: { outer: '1' } }), 'the write ends');
    assert.equal(inner?.status, 200);
    assert.equal(status, 200, body.message);
    // The write was made again from the state that the webhook left.
    assert.deepEqual(body.data, { a: '1', inner: '1', outer: '1' });
    await send('DELETE', `${maps}/callback`);
  });

  it('a webhook that hangs holds up no other write of the object', async () => {
    await post(configMap('held'));
    const scope = { matchConditions: [{ name: 'slow', expression: 'has(object.data.slow)' }] };
    await configure('validating', 'judge', webhookFor(one, { rules: [ruleFor('UPDATE', 'configmaps')], ...scope }));
    const answered = Promise.withResolvers<Fields>();
    one.judge = () => answered.promise;
    const slow = merge('held', { data: { slow: '1' } });
    await until(() => one.asked.length === 1, 'the webhook is asked');
    assert.equal((await within(merge('held', { data: { quick: '1' } }), 'the other write ends')).status, 200);
    answered.resolve({ allowed: true });
    const { status, body } = await within(slow, 'the slow write ends');
    assert.equal(status, 200);
    assert.deepEqual(body.data, { a: '1', slow: '1', quick: '1' });
    await send('DELETE', `${maps}/held`);
  });

  describe('a webhook is told how long it is waited for: by itself, and by the request', () => {
    for (const [size, data] of [
      ['small', 'x'],
      ['large', 'x'.repeat(200_000)],
    ] as const) {
      for (const [query, secondsMax] of [
        ['', 30],
        ['?timeout=50s', 30],
        ['?timeout=20s', 20],
      ] as const) {
        it(`a ${size} object, ${query === '' ? 'no timeout' : query}`, async () => {
          await configure('validating', 'judge', webhookFor(one, { timeoutSeconds: 30 }));
          await send('DELETE', `${maps}/timed`);
          one.asked.length = 0;
          assert.equal((await post(configMap('timed', { a: data }), query)).status, 201);
          const told = Number(/timeout=(\d+)s$/.exec(`${one.asked[0]?.target}`)?.[1]);
          assert.ok(told > 0 && told <= secondsMax, `${told}`);
          if (secondsMax === 30) assert.equal(told, 30);
        });
      }
    }
  });
  it('objects too large for the event loop are judged alike', async () => {
    const large = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, 'x']));
    const ofLarge = { objectSelector: { matchLabels: { size: 'large' } } };
    await configure('mutating', 'patcher', webhookFor(one, { ...ofLarge, name: 'patcher.example.com' }));
    await configure('validating', 'judge', webhookFor(other, ofLarge));
    one.judge = () => patchOf({ op: 'add', path: '/data/patched', value: '1' });
    const { status, body } = await post(configMap('large', large, { labels: { size: 'large' } }));
    assert.equal(status, 201, body.message);
    assert.equal(body.data?.['patched'], '1');
    assert.match(JSON.stringify(asked(other, 'CREATE')[0]?.object), /"patched":"1"/);
    other.judge = () => ({ allowed: false, status: { message: 'kept', code: 403 } });
    const refused = await merge('large', { data: { more: '1' } });
    assert.deepEqual([refused.status, /denied the request: kept/.test(refused.body.message)], [403, true]);
    // One that is taken away does not count there either.
    for (const path of made.splice(0)) await send('DELETE', path);
    assert.equal((await merge('large', { data: { more: '1' } })).status, 200);
    await send('DELETE', `${maps}/large`);
  });

  it('warnings and audit annotations are passed on', async () => {
    await configure('validating', 'judge', webhookFor(one));
    one.judge = () => ({ allowed: true, warnings: ['careful', 'careful', 'a\u0000b'], auditAnnotations: { k: 'v' } });
    const { warnings } = await post(configMap('warned'), '?dryRun=All');
    assert.equal(warnings, '299 - "careful", 299 - "a b"');
  });

  it('a dry run is sent as such, and stores nothing', async () => {
    await configure('validating', 'judge', webhookFor(one, { sideEffects: 'NoneOnDryRun' }));
    assert.equal((await post(configMap('dry'), '?dryRun=All')).status, 201);
    assert.equal(one.asked[0]?.request['dryRun'], true);
    assert.equal((await send('GET', `${maps}/dry`)).status, 404);
  });

  it('an event is sent in the version that the rule names, and patched in it', async () => {
    const events = { apiGroups: ['events.orch.io'], apiVersions: ['v1'] };
    const rules = [{ ...ruleFor('CREATE', 'events'), ...events }];
    await configure('mutating', 'judge', webhookFor(one, { rules }));
    one.judge = () => patchOf({ op: 'replace', path: '/note', value: 'patched' });
    const { status, body } = await send('POST', '/api/v1/namespaces/default/events', {
      ...{ apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' }, message: 'sent', reason: 'R', type: 'Normal' },
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    });
    assert.equal(status, 201, body.message);
    const [review] = asked(one);
    assert.deepEqual(
      [review?.object?.apiVersion, review?.object?.['note'], review?.['kind'], review?.['requestKind']],
      [
        ...['events.orch.io/v1', 'sent'],
        { group: 'events.orch.io', version: 'v1', kind: 'Event' },
        { group: '', version: 'v1', kind: 'Event' },
      ],
    );
    assert.deepEqual([body['apiVersion'], body.message], ['v1', 'patched']);
  });

  it('the Scale of a custom resource is what a webhook for its subresource is sent', async () => {
    const gadgets = 'gadgets.example.com';
    const replicas = { spec: { type: 'object', properties: { replicas: { type: 'integer' } } } };
    const paths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
    const versions = [
      versionOf(replicas, { subresources: { scale: paths } }),
      versionOf(replicas, { subresources: { scale: paths }, name: 'v2', storage: false }),
    ];
    assert.equal((await send('POST', definitionPath(), definitionOf({ group: gadgets, versions }))).status, 201);
    const path = `/apis/${gadgets}/v1/namespaces/default/widgets`;
    await until(async () => (await send('GET', path)).status === 200, 'the kind is served');
    const made = { apiVersion: `${gadgets}/v1`, kind: 'Widget', metadata: { name: 'w' }, spec: { replicas: 1 } };
    assert.equal((await send('POST', path, made)).status, 201);
    const rules = [{ ...ruleFor('UPDATE', 'widgets/scale'), apiGroups: [gadgets] }];
    await configure('mutating', 'judge', webhookFor(one, { rules }));
    one.judge = () => patchOf({ op: 'replace', path: '/spec/replicas', value: 3 });
    // Whichever version the request names: the rule is for one of them.
    for (const version of ['v1', 'v2']) {
      one.asked.length = 0;
      const scale = `${path.replace('/v1/', `/${version}/`)}/w/scale`;
      const { status, body } = await send('PATCH', scale, { spec: { replicas: 2 } }, mergePatch);
      assert.equal(status, 200, body.message);
      assert.deepEqual(body['spec'], { replicas: 3 });
      const [review] = asked(one);
      assert.deepEqual(
        [review?.object?.kind, review?.['kind'], review?.['resource'], review?.['subResource']],
        [
          'Scale',
          { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          { group: gadgets, version: 'v1', resource: 'widgets' },
          'scale',
        ],
      );
      assert.deepEqual(review?.['requestResource'], { group: gadgets, version, resource: 'widgets' });
    }
  });

  it('a webhook for everything that is down: reads go on, the server starts, and the configuration can be taken away', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];
    const clientConfig = { ...one.clientConfig, url: 'https://127.0.0.1:9/x' };
    await configure('validating', 'down', webhookFor(one, { rules, clientConfig }));
    assert.equal((await post(configMap('stopped'))).status, 500);
    await server.stop();
    await server.restart();
    assert.equal((await send('GET', maps)).status, 200);
    assert.equal((await post(configMap('stopped'))).status, 500);
    const path = `${kinds.validating.path}/down`;
    assert.equal((await send('PATCH', path, { metadata: { labels: { a: 'b' } } }, mergePatch)).status, 200);
    assert.equal((await send('DELETE', path)).status, 200);
    assert.equal((await post(configMap('stopped'))).status, 201);
  });

  it('nothing of what the caller sent in headers goes along', async () => {
    await configure('validating', 'judge', webhookFor(one));
    const headers = {
      cookie: 'a=b',
      'x-forwarded-for': '9.9.9.9',
      'impersonate-user': 'jane',
      'impersonate-group': 'system:masters',
    };
    await server.post(`${maps}?dryRun=All`, configMap('headers'), { headers });
    const sent = one.asked[0]?.headers ?? {};
    for (const name of ['authorization', 'cookie', 'x-forwarded-for', 'impersonate-user'])
      assert.equal(sent[name], undefined, name);
    assert.match(JSON.stringify(one.asked[0]?.request), /"username":"jane"/);
  });

  for (const protocol of ['http/1.1', 'h2'] as const) {
    it(`connections are kept: ${protocol}`, async () => {
      await using webhook = await AdmissionWebhook.start({ protocols: ['http/1.1', protocol] });
      await configure('validating', 'judge', webhookFor(webhook));
      for (let n = 0; n < 10; n++) assert.equal((await post(configMap(`kept-${n}`), '?dryRun=All')).status, 201);
      assert.equal(webhook.fixture.connections, 1);
      const side = await Promise.all(Array.from({ length: 10 }, (_, n) => post(configMap(`side-${n}`), '?dryRun=All')));
      assert.ok(side.every(({ status }) => status === 201));
      assert.equal(webhook.asked.length, 20);
      if (protocol === 'h2') assert.equal(webhook.fixture.connections, 1);
    });
  }

  it('a webhook that restarts fails no write: it refuses what it did not begin', async () => {
    await using webhook = await AdmissionWebhook.start({ protocols: ['h2'] });
    await configure('validating', 'judge', webhookFor(webhook));
    for (let n = 0; n < 5; n++) {
      for (const session of webhook.fixture.sessions) session.close();
      assert.equal((await post(configMap(`restarted-${n}`), '?dryRun=All')).status, 201);
    }
    assert.ok(webhook.fixture.connections > 1);
  });
});
