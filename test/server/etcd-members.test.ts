import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type EtcdCluster, etcdMissing, startEtcdCluster } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { type Answer, OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** What clients see of an etcd with three members of which some stand still or are gone. */

const path = '/api/v1/namespaces/default/configmaps';
const reviews = '/apis/authorization.k8s.io/v1';
const merge = { headers: { 'content-type': 'application/merge-patch+json' } };

interface Body {
  readonly details?: { readonly causes?: readonly { readonly reason: string }[] };
}

interface Call {
  readonly what: string;
  /** `create`: a write that may be done twice when it is sent twice. */
  readonly type: 'read' | 'create' | 'write';
  readonly send: (as: RequestOptions) => Promise<Answer<Body>>;
}

interface Seen {
  readonly call: Call;
  readonly who: string;
  readonly answer: Answer<Body>;
  readonly tookMs: number;
}

/** The answer to a write that nobody can tell the outcome of: its `Retry-After` is a date, which clients do not follow. */
const isOfUnknownOutcome = ({ status, headers, json }: Answer<Body>): boolean =>
  status === 504 &&
  json.details?.causes?.[0]?.reason === 'UnknownOutcome' &&
  !Number.isNaN(Date.parse(String(headers['retry-after']))) &&
  !/^\d+$/.test(String(headers['retry-after']));

describe('a server on an etcd of three members', { skip: etcdMissing, timeout: 5 * 60_000 }, () => {
  let cluster: EtcdCluster;
  let server: OrchProcess;
  let token: string;
  before(async () => {
    cluster = await startEtcdCluster();
    server = await OrchProcess.start({
      flags: ['--dialect=kubernetes', `--etcd-servers=${cluster.endpoints.join(',')}`],
    });
    const binding = {
      metadata: { name: 'members' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'member' }],
    };
    const made = [
      await server.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding),
      await server.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'member' } }),
    ];
    for (const { status, text } of made) assert.equal(status, 201, text);
    const tokens = '/api/v1/namespaces/default/serviceaccounts/member/token';
    token = (await server.post<{ readonly status: { readonly token: string } }>(tokens, {})).json.status.token;
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await cluster?.stop();
  });

  let rounds = 0;
  /** Calls of one user, and the objects that they need. */
  const prepare = async (who: string): Promise<readonly Call[]> => {
    const name = `${who}-${++rounds}`;
    for (const part of ['there', 'patched', 'gone']) {
      const { status, text } = await server.post(path, { metadata: { name: `${name}-${part}` } });
      assert.equal(status, 201, text);
    }
    const access = { spec: { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } } };
    const at = (part: string): string => `${path}/${name}-${part}`;
    return [
      { what: 'get', type: 'read', send: (as) => server.get(at('there'), as) },
      { what: 'list', type: 'read', send: (as) => server.get(path, as) },
      { what: 'watch', type: 'read', send: (as) => server.get(`${path}?watch=1&timeoutSeconds=1`, as) },
      { what: 'create', type: 'create', send: (as) => server.post(path, { metadata: { name: `${name}-new` } }, as) },
      {
        what: 'update',
        type: 'write',
        send: (as) => server.put(at('there'), { metadata: { name: `${name}-there` }, data: { k: '1' } }, as),
      },
      {
        what: 'patch',
        type: 'write',
        send: (as) => server.request('PATCH', at('patched'), { ...as, ...merge, body: { data: { k: '1' } } }),
      },
      { what: 'delete', type: 'write', send: (as) => server.delete(at('gone'), as) },
      {
        what: 'token review',
        type: 'read',
        send: (as) => server.post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } }, as),
      },
      {
        what: 'access review',
        type: 'read',
        send: (as) => server.post(`${reviews}/selfsubjectaccessreviews`, access, as),
      },
    ];
  };

  /** All calls at once, of a user by RBAC and of `system:masters`. */
  const sendAll = async (): Promise<() => Promise<readonly Seen[]>> => {
    const users = [
      { who: 'masters', as: {}, calls: await prepare('masters') },
      { who: 'user', as: { as: { token } }, calls: await prepare('user') },
    ];
    return () =>
      Promise.all(
        users.flatMap(({ who, as, calls }) =>
          calls.map(async (call): Promise<Seen> => {
            const startedAt = performance.now();
            const answer = await call.send(as);
            return { call, who, answer, tookMs: performance.now() - startedAt };
          }),
        ),
      );
  };

  const report = (context: TestContext, seen: readonly Seen[]): void => {
    for (const { call, who, answer, tookMs } of seen) {
      const again = answer.headers['retry-after'];
      context.diagnostic(
        `${call.what} of ${who}: ${answer.status} after ${Math.round(tookMs)} ms, retry-after ${again}`,
      );
    }
  };

  for (const index of [0, 1, 2]) {
    test(`while member ${index} stands still, its users go on at another`, async (context) => {
      const member = cluster.members[index] ?? assert.fail();
      const send = await sendAll();
      await member.freeze();
      context.after(() => member.thaw());
      const seen = await send();
      member.thaw();
      report(context, seen);
      for (const { call, who, answer } of seen) {
        const isFine = answer.status < 300 || (call.type === 'create' && isOfUnknownOutcome(answer));
        assert.ok(isFine, `${call.what} of ${who}: ${answer.status} ${answer.text}`);
      }
    });
  }

  for (const how of ['ended', 'stand still'] as const) {
    test(`without a quorum, as two members ${how}, every request ends within 15 s, and with it all goes on`, async (context) => {
      const away = cluster.members.slice(1);
      const back = async (): Promise<void> => {
        for (const member of away) member.thaw();
        await Promise.all(away.map((member) => member.start()));
      };
      const send = await sendAll();
      const watch = server.watch(`${path}?watch=1&fieldSelector=metadata.name%3Dlater-${how.length}`);
      await watch.until(({ status }) => status === 200);
      context.after(async () => {
        watch.close();
        await back();
      });
      await Promise.all(away.map((member) => (how === 'ended' ? member.kill() : member.freeze())));
      const [seen, live] = await Promise.all([send(), server.get('/livez')]);
      report(context, seen);
      assert.equal(live.status, 200, live.text);
      for (const { call, who, answer, tookMs } of seen) {
        const shown = `${call.what} of ${who}: ${answer.status} after ${tookMs} ms: ${answer.text}`;
        assert.ok(tookMs < 15_000, shown);
        if (call.type === 'read') assert.ok([200, 201, 503, 504].includes(answer.status), shown);
        else if (answer.status === 504) assert.ok(isOfUnknownOutcome(answer), shown);
        else assert.ok(answer.status === 503 && /^\d+$/.test(String(answer.headers['retry-after'])), shown);
      }
      await until(async () => (await server.get('/readyz')).status === 500, 'ready without a quorum');
      assert.match((await server.get('/readyz')).text, /^\[-\]etcd failed/m);
      assert.match(server.log, /etcd does not answer/);
      assert.equal((await server.get('/livez')).status, 200);
      await back();
      await until(async () => (await server.get('/readyz')).status === 200, 'not ready with a quorum');
      const created = await server.post(path, { metadata: { name: `later-${how.length}` } });
      assert.equal(created.status, 201, created.text);
      await watch.until(({ events }) => events.length === 1);
    });
  }
});
