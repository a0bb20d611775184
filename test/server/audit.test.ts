import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type AuditedServer as Audited, AuditedServer, policyOf, type RecordedEvent } from '../support/audit.ts';
import { requestText, sendRaw } from '../support/raw-client.ts';

/** What is recorded of requests. One server, whose policy has a namespace for each case. */

const policy = policyOf([
  { level: 'None', namespaces: ['none'] },
  { level: 'Request', namespaces: ['request'] },
  { level: 'RequestResponse', namespaces: ['bare'], omitManagedFields: true },
  { level: 'RequestResponse', namespaces: ['response'] },
  { level: 'Metadata', namespaces: ['late'], omitStages: ['RequestReceived', 'ResponseStarted'] },
  { level: 'Metadata', namespaces: ['early'], omitStages: ['ResponseComplete'] },
  { level: 'RequestResponse', resources: [{ group: '', resources: ['*/token'] }] },
  { level: 'RequestResponse', nonResourceURLs: ['/api*'] },
  { level: 'RequestResponse', resources: [{ group: 'authentication.orch.io', resources: ['tokenreviews'] }] },
  { level: 'None', userGroups: ['system:authenticated'], nonResourceURLs: ['/metrics', '/readyz*'] },
  { level: 'Metadata' },
]);

const namespaces = ['none', 'metadata', 'request', 'response', 'bare', 'late', 'early'];
const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const secrets = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;
const stages = (events: readonly RecordedEvent[]): string =>
  events.map(({ stage, responseStatus }) => `${stage} ${responseStatus?.code ?? '-'}`).join(', ');
const bodies = ({ requestObject, responseObject }: RecordedEvent) => [requestObject, responseObject];
const last = (events: readonly RecordedEvent[]): RecordedEvent => events.at(-1) ?? assert.fail('no events');

let server: Audited;
before(async () => {
  server = await AuditedServer.start(policy, ['--anonymous-auth=false', '--v=4']);
  for (const name of namespaces) await server.process.post('/api/v1/namespaces', { metadata: { name } });
});
after(() => server[Symbol.asyncDispose]());

describe('an audit event', () => {
  it('has all that is known of a request', async () => {
    const body = { metadata: { name: 'full', uid: 'ignored' }, data: { a: '1' } };
    const headers = { 'user-agent': 'test/1', 'x-forwarded-for': '198.51.100.7', 'audit-id': 'full' };
    await server.process.post(`${maps('metadata')}?fieldManager=m`, body, { headers });
    const events = await server.eventsUntil('full', 'ResponseComplete');
    const [received] = events;
    const complete = last(events);
    const { user, requestReceivedTimestamp: arrived, stageTimestamp: done } = complete;
    assert.equal(user.username, 'orch-admin');
    assert.deepEqual(user.groups, ['system:masters', 'system:authenticated']);
    const common = {
      kind: 'Event',
      apiVersion: 'audit.orch.io/v1',
      level: 'Metadata',
      auditID: 'full',
      requestURI: `${maps('metadata')}?fieldManager=m`,
      verb: 'create',
      user,
      sourceIPs: ['198.51.100.7', '127.0.0.1'],
      userAgent: 'test/1',
    };
    const objectRef = { resource: 'configmaps', namespace: 'metadata', apiVersion: 'v1' };
    assert.deepEqual(received, {
      ...common,
      stage: 'RequestReceived',
      objectRef,
      requestReceivedTimestamp: arrived,
      stageTimestamp: arrived,
    });
    assert.deepEqual(complete, {
      ...common,
      stage: 'ResponseComplete',
      objectRef: { ...objectRef, name: 'full', uid: 'ignored' },
      responseStatus: { metadata: {}, code: 201 },
      requestReceivedTimestamp: arrived,
      stageTimestamp: done,
      annotations: { 'authorization.orch.io/decision': 'allow', 'authorization.orch.io/reason': '' },
    });
    assert.match(arrived, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.ok(arrived <= done && Math.abs(Date.parse(arrived) - Date.now()) < 60_000);
  });

  for (const [method, path, verb, objectRef] of [
    [
      'GET',
      '/apis/coordination.orch.io/v1/leases',
      'list',
      { resource: 'leases', apiGroup: 'coordination.orch.io', apiVersion: 'v1' },
    ],
    ['GET', '/api/v1/nodes/n/status', 'get', { resource: 'nodes', name: 'n', apiVersion: 'v1', subresource: 'status' }],
    [
      'DELETE',
      maps('metadata'),
      'deletecollection',
      { resource: 'configmaps', namespace: 'metadata', apiVersion: 'v1' },
    ],
    ['GET', '/version', 'get', undefined],
    ['POST', '/nowhere', 'post', undefined],
  ] as const) {
    it(`refers to the object of ${method} ${path}`, async () => {
      const event = last(await server.ask(`ref ${method}${path}`.replace(' ', '-'), method, path));
      assert.deepEqual([event.verb, event.objectRef], [verb, objectRef]);
    });
  }

  it('has uid and version of the object that a client sends back', async () => {
    const { json } = await server.process.post<{ metadata: Record<string, string> }>(maps('metadata'), {
      metadata: { name: 'sent' },
    });
    const { uid, resourceVersion } = json.metadata;
    const event = last(await server.ask('sent-back', 'PUT', `${maps('metadata')}/sent`, { body: json }));
    assert.deepEqual(event.objectRef, {
      resource: 'configmaps',
      namespace: 'metadata',
      name: 'sent',
      uid,
      apiVersion: 'v1',
      resourceVersion,
    });
  });

  it('says why a request failed', async () => {
    const event = last(await server.ask('absent', 'GET', `${maps('metadata')}/absent`));
    assert.deepEqual(event.responseStatus, {
      metadata: {},
      status: 'Failure',
      message: 'configmaps "absent" not found',
      reason: 'NotFound',
      details: { name: 'absent', kind: 'configmaps' },
      code: 404,
    });
  });

  it('shortens user agents', async () => {
    const headers = { 'user-agent': 'u'.repeat(5_000) };
    const event = last(await server.ask('long', 'GET', '/version', { headers }));
    assert.equal(event.userAgent, `${'u'.repeat(1_024)}...TRUNCATED`);
  });

  it('has user agents as the text that they are', async () => {
    const headers = { 'user-agent': Buffer.from('prüfer/1').toString('latin1'), 'audit-id': 'text' };
    await server.process.post(maps('metadata'), { metadata: { name: 'text' }, data: { a: '1' } }, { headers });
    assert.equal(last(await server.eventsUntil('text', 'ResponseComplete')).userAgent, 'prüfer/1');
    const { json } = await server.process.get(`${maps('metadata')}/text`);
    const { metadata } = json as unknown as { metadata: { managedFields: readonly { manager: string }[] } };
    assert.deepEqual(
      metadata.managedFields.map(({ manager }) => manager),
      ['prüfer'],
    );
  });

  for (const [query, recorded] of [
    ['access_token=hidden&b=1', 'access_token=***&b=1'],
    ['a=1&access_token=hidden', 'a=1&access_token=***'],
    ['access_token=one&access_token=two', 'access_token=***&access_token=***'],
    ['access%5Ftoken=hidden&b=%20', 'access%5Ftoken=***&b=%20'],
    ['%61%63%63%65%73%73%5F%74%6F%6B%65%6E=hidden', '%61%63%63%65%73%73%5F%74%6F%6B%65%6E=***'],
    ['my_access_token=shown&access_token', 'my_access_token=shown&access_token'],
    ['b=access_token&%ff=%', 'b=access_token&%ff=%'],
  ] as const) {
    it(`hides tokens in the query ${query}`, async () => {
      const event = last(await server.ask(`query ${query}`.replaceAll(' ', '-'), 'GET', `/version?${query}`));
      assert.equal(event.requestURI, `/version?${recorded}`);
    });
  }
});

const one = (namespace: string, name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
});

describe('the level', () => {
  it('None records nothing', async () => {
    await server.process.post(maps('none'), one('none', 'a'), { headers: { 'audit-id': 'none' } });
    await server.ask('after-none', 'GET', '/version');
    assert.deepEqual(server.events('none'), []);
  });

  it('Metadata records no objects', async () => {
    for (const event of await server.ask('level-metadata', 'POST', maps('metadata'), { body: one('metadata', 'b') }))
      assert.deepEqual(bodies(event), [undefined, undefined]);
  });

  it('Request records what was sent, as it was sent', async () => {
    const body = { ...one('request', 'a'), data: { big: '12345678901234567890' } };
    const [received, complete] = await server.ask('level-request', 'POST', maps('request'), { body });
    assert.deepEqual(bodies(received ?? assert.fail()), [undefined, undefined]);
    assert.deepEqual(bodies(complete ?? assert.fail()), [body, undefined]);
  });

  it('RequestResponse records what was answered too', async () => {
    const event = last(await server.ask('level-response', 'POST', maps('response'), { body: one('response', 'a') }));
    const { json } = await server.process.get(`${maps('response')}/a`);
    assert.deepEqual(bodies(event), [one('response', 'a'), json]);
    const failure = last(await server.ask('twice', 'POST', maps('response'), { body: one('response', 'a') }));
    assert.deepEqual(
      [failure.responseObject?.['kind'], failure.responseObject?.['reason']],
      ['Status', 'AlreadyExists'],
    );
    const removed = last(
      await server.ask('removed', 'DELETE', `${maps('response')}/a`, {
        body: { kind: 'DeleteOptions', apiVersion: 'v1' },
      }),
    );
    assert.deepEqual(removed.requestObject, { kind: 'DeleteOptions', apiVersion: 'v1' });
    assert.deepEqual([removed.responseObject?.['status'], removed.responseStatus?.code], ['Success', 200]);
  });

  it('is that of the policy for Secrets too', async () => {
    const body = { metadata: { name: 's' }, stringData: { password: 'hidden-text' } };
    await server.ask('secret', 'POST', secrets('metadata'), { body });
    await server.ask('secret-put', 'PUT', `${secrets('metadata')}/s`, { body });
    await server.ask('secret-list', 'GET', secrets('metadata'));
    await server.ask('secret-bad', 'POST', secrets('metadata'), {
      body: { ...body, data: { password: 'hidden-text' } },
    });
    assert.doesNotMatch(server.log, /hidden-text|aGlkZGVuLXRleH/);
    const event = last(await server.ask('secret-request', 'POST', secrets('request'), { body }));
    assert.deepEqual(bodies(event), [body, undefined]);
  });
});

const patch = (type: string, text: string) => ({ headers: { 'content-type': `application/${type}` }, body: text });

describe('objects in events', () => {
  for (const [what, options, expected] of [
    ['a merge patch', patch('merge-patch+json', '{"data":\n {"a": "1"} }'), { data: { a: '1' } }],
    [
      'a JSON patch',
      patch('json-patch+json', '[{"op":"add","path":"/data","value":{}}]'),
      [{ op: 'add', path: '/data', value: {} }],
    ],
    [
      'an apply in YAML',
      patch('apply-patch+yaml', 'apiVersion: v1\nkind: ConfigMap\ndata:\n  a: "2"\n'),
      { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '2' } },
    ],
  ] as const) {
    it(`${what} is recorded as JSON`, async () => {
      await server.process.post(maps('request'), one('request', 'patched'));
      const id = what.replaceAll(' ', '-');
      const event = last(
        await server.ask(id, 'PATCH', `${maps('request')}/patched?fieldManager=m&fieldValidation=Strict`, options),
      );
      assert.deepEqual([event.responseStatus?.code, event.requestObject], [200, expected]);
      assert.equal(event.objectRef?.['name'], 'patched');
    });
  }

  it('from YAML and protobuf, and to them, are recorded as JSON', async () => {
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' };
    const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: "é"}\n';
    const event = last(await server.ask('yaml', 'POST', maps('response'), { headers, body }));
    assert.deepEqual(event.requestObject, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'yaml' },
      data: { a: 'é' },
    });
    assert.deepEqual(event.responseObject?.['data'], { a: 'é' });
    const protobuf = { accept: 'application/vnd.orch.protobuf' };
    const read = last(await server.ask('protobuf', 'GET', `${maps('response')}/yaml`, { headers: protobuf }));
    assert.deepEqual(read.responseObject, event.responseObject);
    const { bytes } = await server.process.get(`${maps('response')}/yaml`, { headers: protobuf });
    const again = last(
      await server.ask('protobuf-put', 'PUT', `${maps('response')}/yaml`, {
        headers: { 'content-type': protobuf.accept },
        body: bytes,
      }),
    );
    assert.deepEqual(again.requestObject?.['data'], { a: 'é' });
  });

  it('lists and tables are recorded as they were answered', async () => {
    const list = last(await server.ask('list', 'GET', maps('response')));
    const { json } = await server.process.get(maps('response'));
    // What is not asked about here may change the version of the store.
    assert.deepEqual({ ...list.responseObject, metadata: {} }, { ...json, metadata: {} });
    const accept = 'application/json;as=Table;v=v1;g=meta.orch.io';
    const table = last(await server.ask('table', 'GET', maps('response'), { headers: { accept } }));
    assert.deepEqual([table.responseObject?.['kind'], table.requestObject], ['Table', undefined]);
    const accepted = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.orch.io';
    const partial = last(await server.ask('partial', 'GET', maps('response'), { headers: { accept: accepted } }));
    assert.equal(partial.responseObject?.['kind'], 'PartialObjectMetadataList');
  });

  it('are without managed fields if the policy says so', async () => {
    const body = { ...one('bare', 'a'), metadata: { name: 'a', managedFields: [] }, data: { managedFields: 'stays' } };
    const made = last(await server.ask('bare', 'POST', maps('bare'), { body }));
    const { json } = await server.process.get<{ metadata: object }>(`${maps('bare')}/a`);
    const { managedFields, ...metadata } = json.metadata as Record<string, unknown>;
    assert.ok(Array.isArray(managedFields));
    assert.deepEqual(made.requestObject, { ...body, metadata: { name: 'a' } });
    assert.deepEqual(made.responseObject, { ...json, metadata });
    const bare = { ...json, metadata };
    const list = last(await server.ask('bare-list', 'GET', maps('bare')));
    const items = list.responseObject?.['items'] as readonly { readonly metadata: object }[];
    const { kind, apiVersion, ...item } = bare as Record<string, unknown>;
    assert.deepEqual(
      items.find((each) => 'name' in each.metadata && each.metadata.name === 'a'),
      'kind' in (items[0] ?? {}) ? bare : item,
    );
    assert.ok(!JSON.stringify(items.map((each) => each.metadata)).includes('managedFields'), `${kind} ${apiVersion}`);
    const accept = 'application/json;as=Table;v=v1;g=meta.orch.io';
    const table = last(
      await server.ask('bare-table', 'GET', `${maps('bare')}?includeObject=Object`, { headers: { accept } }),
    );
    assert.ok(!JSON.stringify(table.responseObject).includes('"managedFields":['));
  });

  for (const path of ['/api', '/apis', '/api/v1', '/apis/apps', '/apis/apps/v1']) {
    it(`what ${path} says is recorded as JSON`, async () => {
      const { json, headers } = await server.process.get(path);
      const accept = 'application/vnd.orch.protobuf';
      const event = last(await server.ask(`protobuf ${path}`.replace(' ', '-'), 'GET', path, { headers: { accept } }));
      assert.deepEqual(event.responseObject, json);
      const etag = { 'if-none-match': String(headers['etag']) };
      const known = last(await server.ask(`known ${path}`.replace(' ', '-'), 'GET', path, { headers: etag }));
      assert.deepEqual([known.responseStatus?.code, known.responseObject], [304, undefined]);
    });
  }

  it('of another kind than the path takes are not recorded, nor their names', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } };
    const large = { ...secret, stringData: { a: 'x'.repeat(200_000) } };
    for (const [id, body] of Object.entries({ secret, large })) {
      const event = last(await server.ask(`other-${id}`, 'POST', maps('request'), { body }));
      const { responseStatus, requestObject, objectRef } = event;
      assert.deepEqual([responseStatus?.code, requestObject, objectRef?.['name']], [400, undefined, undefined]);
    }
  });

  it('large ones are whole', async () => {
    const data = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key-${index}`, 'x'.repeat(20)]));
    const body = { ...one('response', 'large'), data };
    const event = last(await server.ask('large', 'POST', maps('response'), { body }));
    assert.deepEqual([event.requestObject, event.responseObject?.['data']], [body, data]);
    assert.equal(event.objectRef?.['name'], 'large');
    const accept = 'application/vnd.orch.protobuf';
    const read = last(await server.ask('large-read', 'GET', `${maps('response')}/large`, { headers: { accept } }));
    assert.deepEqual(read.responseObject?.['data'], data);
  });

  describe('read on the second thread', () => {
    const data = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key-${index}`, 'x'.repeat(20)]));
    const uid = '00000000-0000-4000-8000-000000000000';
    const named = (metadata: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    const path = `${maps('metadata')}/heavy`;
    const ref = { resource: 'configmaps', namespace: 'metadata', apiVersion: 'v1', name: 'heavy' };
    for (const [what, method, target, metadata, code, objectRef] of [
      ['created', 'POST', maps('metadata'), { name: 'heavy' }, 201, ref],
      ['created again', 'POST', maps('metadata'), { name: 'heavy', uid }, 409, { ...ref, uid }],
      ['updated', 'PUT', path, { name: 'heavy' }, 200, ref],
      [
        'of another uid',
        'PUT',
        path,
        { name: 'heavy', uid, resourceVersion: '1' },
        409,
        { ...ref, uid, resourceVersion: '1' },
      ],
      ['invalid', 'PUT', path, { name: 'other', resourceVersion: '1' }, 400, { ...ref, resourceVersion: '1' }],
    ] as const) {
      it(`are referred to: ${what}`, async () => {
        const event = last(
          await server.ask(`heavy ${what}`.replaceAll(' ', '-'), method, target, { body: named(metadata) }),
        );
        assert.deepEqual([event.responseStatus?.code, event.objectRef], [code, objectRef]);
      });
    }
  });

  it('that are no objects are left out, and the event stays in one line', async () => {
    const event = last(await server.ask('broken', 'POST', maps('response'), { body: '{"a":\n"b"' }));
    assert.deepEqual([event.requestObject, event.responseStatus?.code], [undefined, 400]);
  });

  it('are none for paths', async () => {
    const event = last(await server.ask('path', 'GET', '/version'));
    assert.deepEqual(bodies(event), [undefined, undefined]);
  });
});

describe('stages', () => {
  for (const [namespace, expected] of [
    ['metadata', 'RequestReceived -, ResponseComplete 200'],
    ['late', 'ResponseComplete 200'],
  ] as const) {
    it(`of a read in the namespace ${namespace}`, async () => {
      assert.equal(stages(await server.ask(`stages-${namespace}`, 'GET', maps(namespace))), expected);
    });
  }

  it('can be omitted', async () => {
    await server.process.get(maps('early'), { headers: { 'audit-id': 'early' } });
    await server.ask('after-early', 'GET', '/version');
    assert.equal(stages(server.events('early')), 'RequestReceived -');
  });

  it('of a watch are three', async () => {
    await server.process.get(`${maps('metadata')}?watch=1&timeoutSeconds=1`, { headers: { 'audit-id': 'watched' } });
    const events = await server.eventsUntil('watched', 'ResponseComplete');
    assert.equal(stages(events), 'RequestReceived -, ResponseStarted 200, ResponseComplete 200');
    assert.ok((events[1]?.stageTimestamp ?? '') < (events[2]?.stageTimestamp ?? ''));
    assert.deepEqual(
      Object.keys(last(events).annotations ?? {}).filter((key) => key.includes('latency')),
      [],
    );
    assert.equal(last(events).verb, 'watch');
  });

  it('of a watch come as it goes on', async () => {
    const watch = server.process.watch(`${maps('metadata')}?watch=1&fieldSelector=metadata.name%3Dopen`);
    await watch.until(({ status }) => status === 200);
    const uri = `${maps('metadata')}?watch=1&fieldSelector=metadata.name%3Dopen`;
    const isStarted = ({ requestURI, stage }: RecordedEvent) => requestURI === uri && stage === 'ResponseStarted';
    await until(() => server.events().some(isStarted), 'the watch has not started');
    const { auditID } = server.events().find(isStarted) ?? assert.fail();
    assert.equal(server.events(auditID).length, 2);
    watch.close();
    const events = await server.eventsUntil(auditID, 'ResponseComplete');
    assert.equal(stages(events), 'RequestReceived -, ResponseStarted 200, ResponseComplete 200');
  });

  it('of a refused watch are three too', async () => {
    const events = await server.ask('watched-nowhere', 'GET', `${maps('metadata')}?watch=1&resourceVersion=none`);
    assert.equal(stages(events), 'RequestReceived -, ResponseStarted 400, ResponseComplete 400');
  });

  it('of a request that takes too long', async () => {
    const headers = ['audit-id: slow', 'content-type: application/json', 'content-length: 10'];
    await sendRaw(server.process, requestText('POST', `${maps('metadata')}?timeout=50ms`, ...headers));
    const events = await server.eventsUntil('slow', 'ResponseComplete');
    assert.equal(stages(events), 'RequestReceived -, ResponseComplete 504');
    assert.equal(last(events).responseStatus?.reason, 'Timeout');
  });
});

describe('who asked', () => {
  const as = { as: { token: 'nobody' } } as const;

  it('is unknown if authentication failed: one event, and no credential', async () => {
    for (const [id, options, message] of [
      ['unknown-token', as, 'Authentication failed, attempted: bearer'],
      [
        'unknown-basic',
        { as: 'anonymous', headers: { authorization: 'Basic aGlkZGVuOnRleHQ=' } },
        'Authentication failed, attempted: basic',
      ],
      ['unknown', { as: 'anonymous' }, 'Authentication failed, no credentials provided'],
    ] as const) {
      const headers = { ...('headers' in options ? options.headers : {}), 'audit-id': id };
      assert.equal((await server.process.get(secrets('response'), { ...options, headers })).status, 401);
      const events = await server.eventsUntil(id, 'ResponseStarted');
      assert.equal(stages(events), 'ResponseStarted 401');
      const event = last(events);
      assert.deepEqual(
        [event.user, event.responseStatus?.message, event.responseStatus?.reason],
        [{}, message, 'Unauthorized'],
      );
      const [sent, answered] = bodies(event);
      assert.deepEqual(
        [event.level, sent, answered?.['kind'], answered?.['message'], event.annotations],
        ['RequestResponse', undefined, 'Status', 'Unauthorized', undefined],
      );
    }
    assert.doesNotMatch(server.log, /nobody|aGlkZGVuOnRleHQ/);
  });

  it('is recorded beside who was impersonated', async () => {
    const headers = { 'impersonate-user': 'bob', 'impersonate-group': 'dev', 'impersonate-extra-hint': 'text' };
    const [received, complete] = await server.ask('impersonated', 'GET', maps('metadata'), { headers });
    assert.deepEqual([received?.user.username, received?.impersonatedUser], ['orch-admin', undefined]);
    assert.equal(complete?.user.username, 'orch-admin');
    assert.deepEqual(complete?.impersonatedUser, {
      username: 'bob',
      groups: ['dev', 'system:authenticated'],
      extra: { hint: ['text'] },
    });
    assert.equal(complete?.responseStatus?.code, 403);
    assert.deepEqual(complete?.annotations, {
      'authorization.orch.io/decision': 'forbid',
      'authorization.orch.io/reason': '',
    });
  });

  it('is recorded if impersonation is refused', async () => {
    const account = '/api/v1/namespaces/metadata/serviceaccounts/default/token';
    const { json } = await server.process.post<{ status: { token: string } }>(account, {
      apiVersion: 'authentication.orch.io/v1',
      kind: 'TokenRequest',
    });
    const options = { as: { token: json.status.token }, headers: { 'impersonate-user': 'root' } };
    const events = await server.ask('not-root', 'GET', maps('metadata'), options);
    const { user, impersonatedUser } = last(events);
    assert.equal(stages(events), 'RequestReceived -, ResponseComplete 403');
    assert.deepEqual([user.username, impersonatedUser], ['system:serviceaccount:metadata:default', undefined]);
  });

  it('is the server for its own requests', () => {
    const own = server.events().find(({ sourceIPs }) => sourceIPs[0] === '::1');
    assert.equal(own?.user.username, 'system:apiserver');
  });
});

describe('annotations', () => {
  it('give the reason why a request was allowed', async () => {
    const headers = { 'impersonate-user': 'bob' };
    const event = last(await server.ask('allowed', 'GET', '/version', { headers }));
    assert.equal(event.annotations?.['authorization.orch.io/decision'], 'allow');
    assert.match(
      event.annotations?.['authorization.orch.io/reason'] ?? '',
      /^RBAC: allowed by ClusterRoleBinding "system:/,
    );
  });

  it('link an issued token to its uses', async () => {
    const path = '/api/v1/namespaces/metadata/serviceaccounts/default/token';
    const body = { apiVersion: 'authentication.orch.io/v1', kind: 'TokenRequest' };
    const event = last(await server.ask('issued', 'POST', path, { body }));
    const id = event.annotations?.['authentication.orch.io/issued-credential-id'] ?? '';
    assert.match(id, /^JTI=/);
    const { token } = (event.responseObject ?? assert.fail())['status'] as { readonly token: string };
    const used = last(await server.ask('used', 'GET', '/version', { as: { token } }));
    assert.deepEqual(
      (used.user as { extra?: Record<string, unknown> }).extra?.['authentication.orch.io/credential-id'],
      [id],
    );
  });

  it('tell of tokens from Secrets, in requests and reviews', async () => {
    const annotations = { 'orch.io/service-account.name': 'default' };
    await server.process.post(secrets('metadata'), {
      metadata: { name: 'old', annotations },
      type: 'orch.io/service-account-token',
    });
    const token = await tokenOf('old');
    const expected = {
      'authentication.orch.io/legacy-token': 'system:serviceaccount:metadata:default',
      'authentication.orch.io/legacy-token-manual-secret': 'old',
    };
    const used = last(await server.ask('legacy', 'GET', '/version', { as: { token } }));
    const body = { apiVersion: 'authentication.orch.io/v1', kind: 'TokenReview', spec: { token } };
    const reviewed = last(
      await server.ask('reviewed', 'POST', '/apis/authentication.orch.io/v1/tokenreviews', { body }),
    );
    for (const event of [used, reviewed])
      for (const [key, value] of Object.entries(expected)) assert.equal(event.annotations?.[key], value);
  });

  it('tell of tokens that were invalidated, although nobody was authenticated', async () => {
    const token = await tokenOf('old');
    const labels = { 'orch.io/legacy-token-invalid-since': '2026-01-01' };
    const options = patch('merge-patch+json', JSON.stringify({ metadata: { labels } }));
    await server.process.request('PATCH', `${secrets('metadata')}/old`, options);
    await server.process.get('/version', { as: { token }, headers: { 'audit-id': 'invalidated' } });
    const event = last(await server.eventsUntil('invalidated', 'ResponseStarted'));
    assert.equal(event.annotations?.['authentication.orch.io/legacy-token-invalidated'], 'old/metadata');
  });
});

async function tokenOf(secret: string): Promise<string> {
  for (;;) {
    const { json } = await server.process.get<{ data?: { token?: string } }>(`${secrets('metadata')}/${secret}`);
    if (json.data?.token !== undefined) return Buffer.from(json.data.token, 'base64').toString();
  }
}

describe('the audit log', () => {
  it('is for its owner alone, and has one object a line', () => {
    const path = join(server.directory, 'audit.log');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1)) JSON.parse(line);
  });

  it('has every request that the metrics count', async () => {
    assert.equal((await server.ask('counted', 'GET', maps('metadata'))).length, 2);
    assert.equal((await server.ask('counted-once', 'GET', maps('late'))).length, 1);
    // Controllers ask all the time, and are recorded as everybody is.
    await until(async () => (await server.metric('apiserver_audit_event_total')) === server.events().length);
    assert.ok((await server.metric('apiserver_audit_level_total{level="None"}')) >= 2);
    assert.ok((await server.metric('apiserver_audit_level_total{level="RequestResponse"}')) >= 10);
    assert.equal(await server.metric('apiserver_audit_requests_rejected_total'), 0);
  });
});
