import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { until, within } from '../../src/base/waits-fixture.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import { ExchangeFixture } from '../../src/server/serving/exchange-fixture.ts';
import type { ApiServer } from '../../src/server/wiring/create-api-server.ts';
import { StoreError } from '../../src/store/store.ts';
import { root, Side } from '../support/in-process-server.ts';
import { followingConfiguration } from '../support/server-configuration.ts';
import { Lag, SharedStore, withOther } from '../support/shared-store.ts';

/**
 * Two servers on one store, one of which hears late of what is written: what the other one acknowledged counts at it, too, for
 * every request that begins later. No request may be answered by what was known before: it waits for the change stream.
 */

const rbac = 'rbac.authorization.orch.io';
const jane: UserInfo = { username: 'jane', uid: '', groups: ['system:authenticated'], extra: {} };
const maps = '/api/v1/namespaces/default/configmaps';

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What the tests send; with a token or as a user in the process. */
interface Sent {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT';
  readonly target: string;
  readonly body?: object;
  readonly user?: UserInfo;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(server: ApiServer, { method = 'GET', target, body, user, token, headers }: Sent): Promise<Answer> {
  if (user) {
    const response = await server.transportAs(user).send({
      ...{ method, target },
      ...(body && { body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...headers },
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) {
      chunks.push(chunk);
      if (/[?&]watch=/.test(target)) break;
    }
    return { status: response.status, text: Buffer.concat(chunks).toString() };
  }
  const exchange = new ExchangeFixture(method, target, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: '*/*', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  server.handle(exchange);
  await until(() => exchange.responded);
  return { status: exchange.status, text: exchange.text };
}

interface Pair {
  readonly shared: SharedStore;
  readonly lag: Lag;
  readonly ahead: Side;
  readonly behind: ApiServer;
}

/** One thing that is taken away: what the server that is behind answers before, and after. */
interface Row {
  /** Made at the server ahead; the result is given to the others. */
  readonly given: (ahead: Side, name: string) => Promise<unknown>;
  readonly request: (name: string, given: string) => Sent;
  readonly takenAway: (ahead: Side, name: string, given: string) => Promise<unknown>;
  readonly before: (answer: Answer) => void;
  readonly after: (answer: Answer) => void;
}

const code =
  (status: number) =>
  (answer: Answer): void =>
    assert.equal(answer.status, status, answer.text);
const saying =
  (status: number, text: RegExp) =>
  (answer: Answer): void => {
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, text);
  };

const ok = async (ahead: Side, ...request: Parameters<Side['send']>): Promise<ApiObject> => {
  const { status, json } = await ahead.send(...request);
  assert.ok(status < 300, `${request[0]} ${request[1]}: ${json.message}`);
  return json as unknown as ApiObject;
};

const roles = `/apis/${rbac}/v1/clusterroles`;
const bindings = `/apis/${rbac}/v1/clusterrolebindings`;

async function grant(ahead: Side, name: string): Promise<void> {
  await ahead.create(roles, {
    metadata: { name },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }],
  } as never);
  await ahead.create(bindings, {
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: [{ apiGroup: rbac, kind: 'User', name: 'jane' }],
  } as never);
}

const unbound = (ahead: Side, name: string) => ok(ahead, 'DELETE', `${bindings}/${name}`);
/** What jane may do with a binding, and not without. */
const permitted = (request: (name: string) => Omit<Sent, 'user'>, status = 200): Row => ({
  given: grant,
  request: (name) => ({ ...request(name), user: jane }),
  takenAway: unbound,
  before: code(status),
  after: code(403),
});

async function tokenOf(ahead: Side, name: string): Promise<string> {
  await ahead.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name } });
  const { json } = await ahead.send('POST', `/api/v1/namespaces/default/serviceaccounts/${name}/token`, {
    apiVersion: 'authentication.orch.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 600 },
  });
  return json.status.token;
}
const self = '/apis/authentication.orch.io/v1/selfsubjectreviews';
const whoAmI = { apiVersion: 'authentication.orch.io/v1', kind: 'SelfSubjectReview' };
const map = (name: string) => ({ metadata: { name }, data: { a: '1' } });
const namespacePath = (name: string) => `/api/v1/namespaces/${name}`;
const inNamespace = (name: string): Sent => ({
  ...{ method: 'POST', body: map('orphan'), user: root },
  target: `${namespacePath(name)}/configmaps?dryRun=All`,
});
const terminating = (ahead: Side, name: string) => ok(ahead, 'DELETE', namespacePath(name));

/** Of six characters, as ids of bootstrap tokens are. */
const tokenId = (name: string): string =>
  name
    .replaceAll(/[^a-z0-9]/g, '')
    .padEnd(6, '0')
    .slice(-6);
const bootstrapSecret = (name: string): string => `bootstrap-token-${tokenId(name)}`;
const systemSecrets = '/api/v1/namespaces/orch-system/secrets';

const rows: Readonly<Record<string, Row>> = {
  'a binding, for a read of one object': permitted(() => ({ target: `${maps}/there` })),
  'a binding, for a read of any version': permitted(() => ({ target: `${maps}/there?resourceVersion=0` })),
  'a binding, for a list': permitted(() => ({ target: maps })),
  'a binding, for a list of any version': permitted(() => ({ target: `${maps}?resourceVersion=0` })),
  'a binding, for a watch': permitted(() => ({ target: `${maps}?watch=true&timeoutSeconds=1&resourceVersion=0` })),
  'a binding, for a creation': permitted(
    (name) => ({ method: 'POST', target: `${maps}?dryRun=All`, body: map(`new-${name}`) }),
    201,
  ),
  'a binding, for a patch': permitted(() => ({
    ...{ method: 'PATCH', target: `${maps}/there?dryRun=All`, body: { data: { b: '2' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })),
  'a binding, for a deletion': permitted(() => ({ method: 'DELETE', target: `${maps}/there?dryRun=All` })),
  'a binding, for a review of access': {
    ...permitted(() => ({
      ...{ method: 'POST', target: '/apis/authorization.orch.io/v1/selfsubjectaccessreviews' },
      body: {
        apiVersion: 'authorization.orch.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb: 'get', resource: 'configmaps', namespace: 'default' } },
      },
    })),
    before: saying(201, /"allowed":true/),
    after: saying(201, /"allowed":false/),
  },
  'the rules of a role': {
    ...permitted(() => ({ target: `${maps}/there` })),
    takenAway: (ahead, name) => ok(ahead, 'PUT', `${roles}/${name}`, { metadata: { name }, rules: [] }),
  },
  'the right to impersonate': {
    ...permitted(() => ({ target: `${maps}/there?resourceVersion=0`, headers: { 'impersonate-user': 'someone' } })),
    async given(ahead, name) {
      await ahead.create(roles, {
        metadata: { name },
        rules: [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }],
      } as never);
      await ahead.create(bindings, {
        metadata: { name },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
        subjects: [{ apiGroup: rbac, kind: 'User', name: 'jane' }],
      } as never);
    },
    before: saying(403, /User \\?"someone\\?" cannot get/),
    after: saying(403, /User \\?"jane\\?" cannot impersonate/),
  },
  'a service account, for its token': {
    given: tokenOf,
    request: (_, token) => ({ method: 'POST', target: self, body: whoAmI, token }),
    takenAway: (ahead, name) => ok(ahead, 'DELETE', `/api/v1/namespaces/default/serviceaccounts/${name}`),
    before: code(201),
    after: code(401),
  },
  'a service account, for a review of its token': {
    given: tokenOf,
    request: (_, token) => ({
      ...{ method: 'POST', target: '/apis/authentication.orch.io/v1/tokenreviews', user: root },
      body: { apiVersion: 'authentication.orch.io/v1', kind: 'TokenReview', spec: { token } },
    }),
    takenAway: (ahead, name) => ok(ahead, 'DELETE', `/api/v1/namespaces/default/serviceaccounts/${name}`),
    before: saying(201, /"authenticated":true/),
    after: (answer) => assert.doesNotMatch(answer.text, /"authenticated":true/),
  },
  'a bootstrap token': {
    async given(ahead, name) {
      const data = {
        'token-id': tokenId(name),
        'token-secret': '0123456789abcdef',
        'usage-bootstrap-authentication': 'true',
      };
      await ok(ahead, 'POST', systemSecrets, {
        ...{ metadata: { name: bootstrapSecret(name) }, type: 'bootstrap.orch.io/token', stringData: data },
      });
    },
    request: (name) => ({
      ...{ method: 'POST', target: self, body: whoAmI, token: `${tokenId(name)}.0123456789abcdef` },
    }),
    takenAway: (ahead, name) => ok(ahead, 'DELETE', `${systemSecrets}/${bootstrapSecret(name)}`),
    before: code(201),
    after: code(401),
  },
  'a namespace, which takes nothing any more': {
    given: (ahead, name) => ahead.create('/api/v1/namespaces', { metadata: { name } }),
    request: inNamespace,
    takenAway: terminating,
    before: code(201),
    after: (answer) => assert.match(String(answer.status), /^40[34]$/, answer.text),
  },
  'a policy that let it pass': {
    async given() {},
    request: () => ({ method: 'POST', target: `${maps}?dryRun=All`, body: map('judged'), user: root }),
    async takenAway(ahead, name) {
      const group = '/apis/admissionregistration.orch.io/v1';
      await ok(ahead, 'POST', `${group}/validatingadmissionpolicies`, {
        metadata: { name },
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] },
            ],
          },
          validations: [{ expression: "object.metadata.name != 'judged'", message: 'judged' }],
        },
      });
      await ok(ahead, 'POST', `${group}/validatingadmissionpolicybindings`, {
        ...{ metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } },
      });
    },
    before: code(201),
    after: code(422),
  },
  'a definition': {
    async given(ahead, name) {
      const group = `${name}.example`;
      await ok(ahead, 'POST', '/apis/apiextensions.orch.io/v1/customresourcedefinitions', {
        metadata: { name: `things.${group}` },
        spec: {
          ...{ group, scope: 'Namespaced', names: { plural: 'things', singular: 'thing', kind: 'Thing' } },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
        },
      });
      await until(async () => (await ahead.get(`/apis/${group}/v1/things`)).status === 200);
    },
    request: (name) => ({
      ...{ method: 'POST', target: `/apis/${name}.example/v1/namespaces/default/things?dryRun=All`, user: root },
      body: { apiVersion: `${name}.example/v1`, kind: 'Thing', metadata: { name: 'thing' } },
    }),
    takenAway: async (ahead, name) => {
      const path = `/apis/apiextensions.orch.io/v1/customresourcedefinitions/things.${name}.example`;
      await ok(ahead, 'DELETE', path);
      await until(async () => (await ahead.get(path)).status === 404);
    },
    before: code(201),
    after: (answer) => assert.match(String(answer.status), /^40[345]$/, answer.text),
  },
};

/** Kinds that decide about requests, each of which may be in another store. */
const deciding = [
  ...['namespaces', 'serviceaccounts', 'secrets', 'pods', 'nodes', 'resourcequotas'].map((resource) => `/${resource}`),
  ...['rbac.authorization', 'admissionregistration', 'apiextensions', 'scheduling', 'storage', 'node'].map(
    (group) => `${group}.orch.io/*`,
  ),
];

for (const [head, place, storage] of [
  ['asked', 'one store', undefined],
  ['known', 'one store', undefined],
  ['asked', 'another store', withOther(...deciding)],
] as const) {
  describe(`what was taken away at one server, at another one that hears of it late, head of ${place} ${head}`, () => {
    let directory: string;
    let pair: Pair;
    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'orch-fresh-'));
      const config = { ...followingConfiguration(directory), ...(storage && { storage }) };
      const [shared, lag] = [new SharedStore({ head }), new Lag()];
      const ahead = new Side(await shared.start(new Lag(), config));
      pair = { shared, lag, ahead, behind: await shared.start(lag, config) };
      await ahead.create(maps, map('there') as never);
    });
    after(async () => {
      pair?.lag.release();
      await pair?.shared[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    });

    for (const [index, [what, row]] of Object.entries(rows).entries()) {
      it(`is refused: ${what}`, async () => {
        const { ahead, behind, lag } = pair;
        const name = `row-${index}`;
        const made = await row.given(ahead, name);
        const given = typeof made === 'string' ? made : '';
        const request = row.request(name, given);
        // Also when it has served the same before, so that nothing is new to it.
        row.before(await within(send(behind, request), 'no answer before'));
        lag.hold();
        try {
          await row.takenAway(ahead, name, given);
          const answer = send(behind, request);
          for (let turns = 0; turns < 50; turns++) await turn();
          lag.release();
          row.after(await within(answer, 'no answer after'));
        } finally {
          lag.release();
        }
        await ahead.send('DELETE', `${bindings}/${name}`);
        await ahead.send('DELETE', `/apis/admissionregistration.orch.io/v1/validatingadmissionpolicybindings/${name}`);
      });
    }

    it('is not waited for by what must be answered without the store', async () => {
      const { behind, ahead, lag } = pair;
      lag.hold();
      try {
        await ahead.create(maps, map('unheard') as never);
        for (const [target, user] of [
          ...['/readyz', '/livez', '/version', '/api', '/apis', '/metrics'].map((path) => [path, root] as const),
          ['/version', jane],
          ['/apis', jane],
          [`${maps}/there?resourceVersion=0`, root],
          [`${maps}?resourceVersion=0`, root],
        ] as const) {
          code(200)(await within(send(behind, { target, user }), `${target} waits`));
        }
        code(404)(await within(send(behind, { target: `${maps}/unheard?resourceVersion=0`, user: root }), 'it waits'));
      } finally {
        lag.release();
      }
      code(200)(await within(send(behind, { target: `${maps}/unheard`, user: root }), 'no answer'));
      await ahead.send('DELETE', `${maps}/unheard`);
    });
  });
}

describe('a store of which nothing is decided', () => {
  const [events, leases] = [
    '/api/v1/namespaces/default/events',
    '/apis/coordination.orch.io/v1/namespaces/default/leases',
  ];
  const shared = new SharedStore({ head: 'asked' });
  const lag = new Lag();
  let ahead: Side;
  let behind: ApiServer;
  before(async () => {
    const config = { storage: withOther('/events', 'coordination.orch.io/leases') };
    ahead = new Side(await shared.start(new Lag(), config));
    behind = await shared.start(new Lag(), config, lag);
    await ahead.create(maps, map('there') as never);
  });
  after(async () => {
    lag.release();
    await shared[Symbol.asyncDispose]();
  });

  it('is waited for by those who read what it has, and by nobody else', async () => {
    const event = { metadata: { name: 'late' }, involvedObject: { namespace: 'default' } };
    lag.hold();
    try {
      await ahead.create(events, event);
      for (const sent of [
        { target: maps, user: root },
        { target: `${maps}/there`, user: root },
        { method: 'PUT', target: `${maps}/there`, body: map('there'), user: root },
        { target: `${events}?resourceVersion=0`, user: root },
      ] as const) {
        code(200)(await within(send(behind, sent), `${sent.target} waits`));
      }
      let answered = false;
      const reads = [events, `${events}/late`].map((target) => send(behind, { target, user: root }));
      for (const read of reads) void read.then(() => (answered = true));
      for (let turns = 0; turns < 50; turns++) await turn();
      assert.equal(answered, false);
      lag.release();
      for (const read of reads) saying(200, /"late"/)(await within(read, 'no answer'));
    } finally {
      lag.release();
    }
  });

  it('is waited for where it has the params of a policy', async () => {
    const admission = '/apis/admissionregistration.orch.io/v1';
    const lease = { metadata: { name: 'params' }, spec: { holderIdentity: 'good' } };
    await ahead.create(leases, lease);
    await ahead.create(`${admission}/validatingadmissionpolicies`, {
      metadata: { name: 'p' },
      spec: {
        paramKind: { apiVersion: 'coordination.orch.io/v1', kind: 'Lease' },
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
        },
        validations: [{ expression: "params.spec.holderIdentity == 'good'", message: 'the params say no' }],
      },
    });
    const paramRef = { name: 'params', namespace: 'default', parameterNotFoundAction: 'Deny' };
    await ahead.create(`${admission}/validatingadmissionpolicybindings`, {
      metadata: { name: 'p' },
      spec: { policyName: 'p', validationActions: ['Deny'], paramRef },
    });
    for (const [what, data] of [
      ['small', 'a'],
      // Judged on the second thread.
      ['large', 'a'.repeat(900_000)],
    ] as const) {
      const sent = {
        method: 'POST',
        target: `${maps}?dryRun=All`,
        body: { metadata: { name: what }, data: { data } },
      } as const;
      const request = { ...sent, user: root };
      code(201)(await within(send(behind, request), 'no answer before'));
      lag.hold();
      try {
        await ok(ahead, 'PUT', `${leases}/params`, await changed(ahead, `${leases}/params`, 'bad'));
        const answer = send(behind, request);
        for (let turns = 0; turns < 50; turns++) await turn();
        lag.release();
        saying(422, /the params say no/)(await within(answer, 'no answer after'));
      } finally {
        lag.release();
      }
      await ok(ahead, 'PUT', `${leases}/params`, await changed(ahead, `${leases}/params`, 'good'));
    }
    await ok(ahead, 'DELETE', `${admission}/validatingadmissionpolicybindings/p`);
  });

  const changed = async (side: Side, path: string, holderIdentity: string) => ({
    ...(await side.get(path)).json,
    spec: { holderIdentity },
  });

  it('has none of the keys that belong to no resource', async () => {
    const service = { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } };
    await ahead.create('/api/v1/namespaces/default/services', service);
    const keys = async (store: typeof shared.store): Promise<readonly string[]> =>
      (await store.list('/')).records.map(({ key }) => key);
    const [here, there] = await Promise.all([keys(shared.store), keys(shared.other)]);
    assert.ok(here.some((key) => key.startsWith('/.claims/')));
    assert.deepEqual(
      there.filter((key) => !/^\/(core\/events|coordination\.orch\.io\/leases|\.servers|\.dialect)/.test(key)),
      [],
    );
    assert.deepEqual(
      here.filter((key) => /^\/(core\/events|coordination\.orch\.io\/leases)\//.test(key)),
      [],
    );
  });
});

describe('the cost of being fresh', () => {
  /** Requests, and how often each asks for the head where only a question tells it. */
  const costs: Readonly<Record<string, readonly [Sent, number]>> = {
    'a read': [{ target: `${maps}/there`, user: jane }, 1],
    'a list': [{ target: maps, user: jane }, 1],
    'a read of any version': [{ target: `${maps}/there?resourceVersion=0`, user: jane }, 1],
    'a creation': [{ method: 'POST', target: `${maps}?dryRun=All`, body: map('new'), user: jane }, 1],
    'an impersonated read': [{ target: `${maps}/there`, user: root, headers: { 'impersonate-user': 'jane' } }, 1],
    'a read of any version by masters': [{ target: `${maps}/there?resourceVersion=0`, user: root }, 0],
    'a path': [{ target: '/version', user: jane }, 0],
  };
  for (const head of ['asked', 'known'] as const) {
    it(`is one look at the head for all stages of a request, and none where it is known: ${head}`, async () => {
      await using shared = new SharedStore({ head });
      const server = await shared.start();
      const side = new Side(server);
      await side.create(maps, map('there') as never);
      await grant(side, 'reader');
      code(200)(await send(server, { target: maps, user: jane }));
      let asked = 0;
      shared.intercept = (method) => {
        if (method === 'head') asked++;
        return undefined;
      };
      for (const [what, [request, expected]] of Object.entries(costs)) {
        asked = 0;
        const { status, text } = await send(server, request);
        assert.ok(status < 300, text);
        assert.equal(asked, head === 'asked' ? expected : 0, what);
      }
    });
  }
});

describe('a server that cannot ask its store', () => {
  it('says so, and neither that a credential is wrong nor that something is not allowed', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'orch-fresh-'));
    await using shared = new SharedStore({ head: 'asked' });
    const server = await shared.start(new Lag(), followingConfiguration(directory));
    rmSync(directory, { recursive: true });
    const side = new Side(server);
    const token = await tokenOf(side, 'a');
    code(201)(await send(server, { method: 'POST', target: self, body: whoAmI, token }));
    shared.intercept = (method) =>
      method === 'head' ? Promise.reject(new StoreError('unavailable', 'no member answers')) : undefined;
    for (const request of [
      { method: 'POST', target: self, body: whoAmI, token },
      { method: 'POST', target: self, body: whoAmI, token: 'abcdef.0123456789abcdef' },
      { target: `${maps}/x?resourceVersion=0`, user: jane },
      { target: `${maps}/x?resourceVersion=0`, user: root, headers: { 'impersonate-user': 'jane' } },
      { target: maps, user: root },
      { method: 'POST', target: maps, body: map('x'), user: root },
    ] as const) {
      saying(503, /the data store cannot be reached/)(await send(server, request));
    }
    code(401)(await send(server, { target: maps, token: 'x' }));
    code(200)(await send(server, { target: `${maps}?resourceVersion=0`, user: root }));
    code(200)(await send(server, { target: '/version', token }));
  });
});
