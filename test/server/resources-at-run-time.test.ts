import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import https from 'node:https';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { orch } from '../../src/dialect/orch.ts';
import { configMap } from '../../src/kinds/core/config-map.ts';
import { defineKind } from '../../src/kinds/define-kind.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import { renamedFields } from '../../src/kinds/stored-as.ts';
import { type RequestMessage, requestChannels } from '../../src/server/serving/observe/request-channels.ts';
import type { RunningServer } from '../../src/server/wiring/config.ts';
import { startServer } from '../../src/server/wiring/start-server.ts';
import { listeningConfiguration, tokens } from '../support/server-configuration.ts';

/* Resources come and go while a server runs: by its table, as custom resources will. */

const group = 'late.example';
const late: Kind = {
  ...configMap(orch),
  group,
  kind: 'Late',
  listKind: 'LateList',
  resource: 'lates',
  singular: 'late',
  shortNames: [],
};

const lates = `/apis/${group}/v1/namespaces/default/lates`;
const configMaps = '/api/v1/namespaces/default/configmaps';

interface Named {
  readonly name: string;
}

/** What the test looks at in any document. */
interface Document {
  readonly apiVersion: string;
  readonly metadata: Named & { readonly uid: string };
  readonly data: Readonly<Record<string, string>>;
  readonly items: readonly { readonly metadata: { readonly namespace: string } }[];
  readonly groups: readonly Named[];
  readonly resources: readonly Named[];
  readonly versions: readonly { readonly version: string }[];
  readonly preferredVersion: { readonly version: string };
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

interface Answer {
  readonly status: number;
  readonly warning: string | undefined;
  readonly text: string;
  /** Of what is none, an empty one. */
  readonly json: Document;
}

/** A watch: the lines that came, and whether it has ended. */
interface Following {
  readonly lines: { readonly type: string; readonly object: { readonly metadata: { readonly name: string } } }[];
  ended: boolean;
}

describe('resources at run time', { timeout: 120_000 }, () => {
  let server: RunningServer;
  const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });

  before(async () => {
    server = await startServer(
      listeningConfiguration({
        controllers: { run: ['garbage-collector-controller', 'namespace-controller'], rootAuthority: '' },
      }),
    );
  });
  after(async () => {
    await server.stop();
    agent.destroy();
  });

  const send = (
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
    token: string = tokens.root,
  ) =>
    new Promise<Answer>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': contentType };
      const request = https.request({ agent, port: server.port, method, path, headers }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            warning: response.headers.warning,
            text,
            json: JSON.parse(text.startsWith('{') ? text : '{}'),
          }),
        );
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });

  const follow = (path: string): Promise<Following> =>
    new Promise((resolve, reject) => {
      const following: Following = { lines: [], ended: false };
      const headers = { authorization: `Bearer ${tokens.root}` };
      const request = https.request({ agent, port: server.port, path: `${path}?watch=1`, headers }, (response) => {
        let rest = '';
        response.on('data', (chunk) => {
          const lines = `${rest}${chunk}`.split('\n');
          rest = lines.pop() ?? '';
          following.lines.push(...lines.map((line) => JSON.parse(line)));
        });
        response.on('end', () => {
          following.ended = true;
        });
        resolve(following);
      });
      request.on('error', reject);
      request.end();
    });

  const groups = async (): Promise<readonly string[]> =>
    (await send('GET', '/apis')).json.groups.map(({ name }) => name);

  test('one comes, is used, and goes; others never notice', async () => {
    for (const path of [lates, `/apis/${group}`, `/apis/${group}/v1`, `/openapi/v3/apis/${group}/v1`]) {
      assert.equal((await send('GET', path)).status, 404, `${path} before`);
    }
    const isCounted = async (): Promise<boolean> =>
      (await send('GET', '/metrics')).text.includes(`apiserver_storage_objects{resource="lates.${group}"}`);
    const index = (await send('GET', '/openapi/v3')).json.paths;
    const others = await follow(configMaps);
    const { resource } = await server.resources.add(late);
    assert.ok((await groups()).includes(group));
    assert.deepEqual(
      (await send('GET', `/apis/${group}/v1`)).json.resources.map(({ name }) => name),
      ['lates'],
    );
    const { [`apis/${group}/v1`]: described, ...more } = (await send('GET', '/openapi/v3')).json.paths;
    const { [`apis/${group}`]: itself, ...unchanged } = more;
    assert.equal((await send('GET', itself?.serverRelativeURL ?? '')).status, 200);
    assert.deepEqual(unchanged, index, 'other documents are as they were');
    assert.equal((await send('GET', described?.serverRelativeURL ?? '')).status, 200);
    assert.ok(`${lates.replace('default', '{namespace}')}/{name}` in (await send('GET', '/openapi/v2')).json.paths);

    assert.equal(await isCounted(), true);
    const watch = await follow(lates);
    assert.equal((await send('POST', lates, { metadata: { name: 'a' }, data: { b: 'c' } })).status, 201);
    const config = { apiVersion: `${group}/v1`, kind: 'Late', metadata: { name: 'a' }, data: { d: 'e' } };
    const applied = await send('PATCH', `${lates}/a?fieldManager=t`, config, 'application/apply-patch+yaml');
    assert.deepEqual([applied.status, applied.json.data], [200, { b: 'c', d: 'e' }]);
    assert.equal((await send('GET', `${lates}/a`, undefined, '', tokens.jane)).status, 403);
    const roles = `/apis/${orch.group('rbac.authorization')}/v1/namespaces/default`;
    const rules = [{ apiGroups: [group], resources: ['lates'], verbs: ['get'] }];
    assert.equal((await send('POST', `${roles}/roles`, { metadata: { name: 'late' }, rules })).status, 201);
    const binding = {
      metadata: { name: 'late' },
      subjects: [{ kind: 'User', name: 'jane', apiGroup: orch.group('rbac.authorization') }],
      roleRef: { kind: 'Role', name: 'late', apiGroup: orch.group('rbac.authorization') },
    };
    assert.equal((await send('POST', `${roles}/rolebindings`, binding)).status, 201);
    assert.equal((await send('GET', `${lates}/a`, undefined, '', tokens.jane)).status, 200);
    await until(() => watch.lines.length === 2, 'the watch does not tell');
    assert.deepEqual(
      watch.lines.map(({ type, object }) => `${type} ${object.metadata.name}`),
      ['ADDED a', 'MODIFIED a'],
    );

    const large = { metadata: { name: 'large' }, data: { text: 'x'.repeat(500_000) } };
    assert.equal((await send('POST', lates, large)).status, 201, 'heavy writes need no thread that knows the kind');

    await send('POST', configMaps, { metadata: { name: 'before' } });
    server.resources.remove(resource);
    await until(() => watch.ended, 'the watch goes on');
    for (const path of [lates, `${lates}/a`, `/apis/${group}`, `/apis/${group}/v1`, `/openapi/v3/apis/${group}/v1`]) {
      assert.equal((await send('GET', path)).status, 404, `${path} after`);
    }
    assert.ok(!(await groups()).includes(group));
    assert.equal(await isCounted(), false);
    assert.deepEqual((await send('GET', '/openapi/v3')).json.paths, index);
    await send('POST', configMaps, { metadata: { name: 'after' } });
    await until(() => others.lines.some(({ object }) => object.metadata.name === 'after'), 'others were disturbed');
    assert.equal(others.ended, false);

    const again = await server.resources.add(late);
    assert.equal((await send('GET', `${lates}/a`)).status, 200, 'what was stored is there when it comes again');
    server.resources.remove(again.resource);
  });

  test('its objects are collected with their owners, and go with their namespace', async () => {
    const { resource } = await server.resources.add(late);
    const namespace = '/api/v1/namespaces/short';
    assert.equal((await send('POST', '/api/v1/namespaces', { metadata: { name: 'short' } })).status, 201);
    const inShort = lates.replace('default', 'short');
    const owner = await send('POST', inShort, { metadata: { name: 'owner' } });
    const ownerReferences = [{ apiVersion: `${group}/v1`, kind: 'Late', name: 'owner', uid: owner.json.metadata.uid }];
    assert.equal((await send('POST', inShort, { metadata: { name: 'owned', ownerReferences } })).status, 201);
    assert.equal((await send('POST', inShort, { metadata: { name: 'stays' } })).status, 201);
    assert.equal((await send('DELETE', `${inShort}/owner`)).status, 200);
    await until(async () => (await send('GET', `${inShort}/owned`)).status === 404, 'what is owned is not collected');
    assert.equal((await send('GET', `${inShort}/stays`)).status, 200);
    assert.equal((await send('DELETE', namespace)).status, 200);
    await until(async () => (await send('GET', namespace)).status === 404, 'the namespace stays');
    assert.deepEqual(
      (await send('GET', `/apis/${group}/v1/lates`)).json.items.filter(
        ({ metadata }) => metadata.namespace === 'short',
      ),
      [],
    );
    server.resources.remove(resource);
  });

  test('a version comes to a resource that is there', async () => {
    const { resource } = await server.resources.add(late);
    const storedAs = {
      kind: late,
      toStored: (object) => ({ ...object, apiVersion: `${group}/v1` }),
      fromStored: (object) => ({ ...object, apiVersion: `${group}/v2beta1` }),
      storedLabel: (label) => label,
      versionPath: (path) => path,
    } satisfies Kind['storedAs'];
    const version = await server.resources.add({ ...late, version: 'v2beta1', storedAs });
    const other = `/apis/${group}/v2beta1/namespaces/default/lates`;
    const watch = await follow(other);
    assert.equal((await send('POST', lates, { metadata: { name: 'both' } })).status, 201);
    assert.equal((await send('GET', `${other}/both`)).json.apiVersion, `${group}/v2beta1`);
    const { versions, preferredVersion } = (await send('GET', `/apis/${group}`)).json;
    assert.deepEqual(
      versions.map((each) => each.version),
      ['v1', 'v2beta1'],
    );
    assert.equal(preferredVersion.version, 'v1');
    await until(() => watch.lines.some(({ object }) => object.metadata.name === 'both'), 'the watch does not tell');
    server.resources.remove(version.resource);
    await until(() => watch.ended, 'the watch goes on');
    assert.equal((await send('GET', other)).status, 404);
    assert.throws(() => server.resources.remove(resource), /no resource/);
  });

  test('a deprecated version says so to everybody who uses it', async () => {
    const flag = (name: string, more: Partial<Kind> = {}): Kind => ({
      ...defineKind({ group: 'flags.example', version: name, kind: 'Flag', schema: late.schema }),
      ...more,
    });
    const v1 = flag('v1', { deprecated: { removedRelease: '9.9' } });
    const other = (name: string, more: Partial<Kind> = {}): Kind => ({
      ...flag(name, more),
      storedAs: renamedFields(v1, flag(name), {}),
    });
    const path = (name: string): string => `/apis/flags.example/${name}/namespaces/default/flags`;
    const { resource } = await server.resources.add(v1);
    const text = 'flags.example/v1 Flag is deprecated';
    const annotated = new Map<string, RequestMessage['annotations']>();
    const note = (message: unknown): void => {
      const { path: at, annotations } = message as RequestMessage;
      annotated.set(at, annotations);
    };
    subscribe(requestChannels.ended, note);
    assert.equal((await send('GET', path('v1'))).warning, `299 - "${text}"`, 'there is no better one');
    await server.resources.add(other('v2'));
    await server.resources.add(other('v3beta1'));
    const better = `299 - "${text}; use flags.example/v2 Flag"`;
    for (const [method, at, body] of [
      ['GET', `${path('v1')}/none`, undefined],
      ['POST', path('v1'), { metadata: { name: 'd' } }],
      ['GET', `${path('v1')}?watch=1&timeoutSeconds=1`, undefined],
      ['DELETE', `${path('v1')}/d`, undefined],
    ] as const) {
      assert.equal((await send(method, at, body)).warning, better, `${method} ${at}`);
    }
    for (const name of ['v2', 'v3beta1']) assert.equal((await send('GET', path(name))).warning, undefined, name);
    await server.resources.add(other('v4', { deprecated: { warning: 'not this one' } }));
    assert.equal((await send('GET', path('v4'))).warning, '299 - "not this one"');
    assert.equal((await send('GET', path('v1'))).warning, better, 'no other deprecated one');
    const metrics = (await send('GET', '/metrics')).text;
    const series = (name: string, removed: string): string =>
      `apiserver_requested_deprecated_apis{group="flags.example",version="${name}",resource="flags",subresource="",removed_release="${removed}"} 1`;
    assert.ok(metrics.includes(series('v1', '9.9')));
    assert.ok(metrics.includes(series('v4', '')));
    assert.ok(!metrics.includes(series('v2', '')));
    unsubscribe(requestChannels.ended, note);
    assert.deepEqual(annotated.get(`${path('v1')}/none`), {
      [orch.deprecatedAuditAnnotation]: 'true',
      [orch.removedReleaseAuditAnnotation]: '9.9',
    });
    assert.deepEqual(annotated.get(path('v4')), { [orch.deprecatedAuditAnnotation]: 'true' });
    assert.deepEqual(annotated.get(path('v2')), undefined);
    server.resources.remove(resource);
  });
});
