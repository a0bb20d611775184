import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Metrics } from '../../src/base/metrics.ts';
import { type Clock, systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ControllerMetrics } from '../../src/controllers/controller-metrics.ts';
import type { NamespaceCondition } from '../../src/controllers/namespace-lifecycle/conditions.ts';
import { orch } from '../../src/dialect/orch.ts';
import { configMap } from '../../src/kinds/core/config-map.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import { renamedFields } from '../../src/kinds/stored-as.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { internalError, methodNotAllowed } from '../../src/meta/status-error.ts';
import type { ClientRequest } from '../../src/outbound/transport.ts';
import { controllersForEach } from '../support/registry-controllers.ts';

/** The controllers that look after namespaces and what every namespace has, over a registry. */
const controllers = controllersForEach();

/** Pauses are a hundredth as long: failures are waited out, not slept through. */
const hastyClock: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(delayMs / 100, callback),
};

let metrics: Metrics;

function start(...names: readonly string[]): void {
  metrics = new Metrics();
  controllers.start(names, {
    clock: hastyClock,
    rootAuthority: 'PEM\n',
    metrics: new ControllerMetrics(metrics, 'manager'),
  });
}

const namespaces = '/api/v1/namespaces';
const make = (collection: string, name: string, more: object = {}): Promise<ApiObject> =>
  controllers.fixture.object('POST', collection, { metadata: { name, ...more } });
const inNamespace = (resource: string): string => `${namespaces}/n/${resource}`;
const exists = (path: string): Promise<boolean> =>
  controllers.fixture.call('GET', path).then(
    () => true,
    () => false,
  );
const gone = (path: string): Promise<void> => until(async () => !(await exists(path)), `${path} is still there`);
const pod = { spec: { containers: [{ name: 'c', image: 'i' }] } };
const makePod = (name: string, more: object = {}): Promise<ApiObject> =>
  controllers.fixture.object('POST', inNamespace('pods'), { metadata: { name, ...more }, ...pod });
const release = (path: string): Promise<ApiObject> =>
  controllers.fixture.object('PATCH', path, { metadata: { finalizers: null } });

async function conditions(): Promise<ReadonlyMap<string, NamespaceCondition>> {
  const { status } = (await controllers.fixture.object('GET', `${namespaces}/n`)) as ApiObject & {
    status: { conditions?: NamespaceCondition[] };
  };
  return new Map((status.conditions ?? []).map((each) => [each.type, each]));
}

async function condition(type: string, status: string): Promise<NamespaceCondition> {
  const find = async () => (await conditions()).get(type);
  await until(async () => (await find())?.status === status, `${type} is not ${status}`);
  const found = await find();
  assert.ok(found);
  return found;
}

/** Fails some requests until told otherwise. */
function fail(method: ClientRequest['method'], target: RegExp, error: () => Error): { end: () => void } {
  controllers.transport.failure = (request) =>
    request.method === method && target.test(request.target) ? error() : undefined;
  return {
    end: () => {
      controllers.transport.failure = () => undefined;
    },
  };
}

describe('a namespace that is deleted', () => {
  for (const goes of ['a version', 'the kind'] as const) {
    it(`goes with objects of which ${goes} goes meanwhile`, async () => {
      const kind = (version: string): Kind => ({
        ...configMap(orch),
        ...{ group: 'late.example', version, kind: 'Widget', listKind: 'WidgetList' },
        ...{ resource: 'widgets', singular: 'widget', shortNames: [] },
      });
      const widgets = (version: string): string => `/apis/late.example/${version}/namespaces/n/widgets`;
      const stored = kind('v2');
      await controllers.fixture.resources.add(stored);
      const v1: Kind = { ...kind('v1'), storedAs: renamedFields(stored, kind('v1'), {}) };
      const first = await controllers.fixture.resources.add(v1);
      await make(namespaces, 'n');
      await make(widgets('v1'), 'x');
      const { promise, resolve } = Promise.withResolvers<void>();
      let asked = false;
      controllers.transport.hold = ({ method, target }) => {
        if (method !== 'DELETE' || target !== widgets('v1')) return undefined;
        asked = true;
        return promise;
      };
      start('namespace');
      await controllers.fixture.call('DELETE', `${namespaces}/n`);
      await until(() => asked, 'it is not deleted in the preferred version');
      if (goes === 'a version') controllers.fixture.resources.removeVersion(first);
      else controllers.fixture.resources.remove(first.resource);
      resolve();
      await gone(`${namespaces}/n`);
      if (goes === 'a version') assert.equal(await exists(`${widgets('v2')}/x`), false);
    });
  }

  it('goes with all that is in it', async () => {
    start('namespace');
    await make(namespaces, 'n');
    await make(namespaces, 'other');
    for (const resource of ['configmaps', 'secrets', 'serviceaccounts']) await make(inNamespace(resource), 'x');
    await makePod('x');
    await make(`${namespaces}/other/configmaps`, 'x');
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    await gone(`${namespaces}/n`);
    for (const resource of ['configmaps', 'secrets', 'serviceaccounts', 'pods']) {
      assert.equal(await exists(`${inNamespace(resource)}/x`), false);
    }
    assert.ok(await exists(`${namespaces}/other/configmaps/x`));
  });

  it('goes although the deletion came before the controller', async () => {
    await make(namespaces, 'n');
    await make(inNamespace('configmaps'), 'x');
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    start('namespace');
    await gone(`${namespaces}/n`);
  });

  it('keeps everything else while a pod is left (CVE-2024-7598)', async () => {
    start('namespace');
    await make(namespaces, 'n');
    await make(inNamespace('configmaps'), 'x');
    await makePod('held', { finalizers: ['example.com/hold'] });
    await makePod('free');
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    await gone(`${inNamespace('pods')}/free`);
    const remaining = await condition('NamespaceContentRemaining', 'True');
    assert.equal(remaining.reason, 'SomeResourcesRemain');
    assert.equal(remaining.message, 'Some resources are remaining: pods. has 1 resource instances');
    assert.ok(await exists(`${inNamespace('configmaps')}/x`));
    await release(`${inNamespace('pods')}/held`);
    await gone(`${namespaces}/n`);
    assert.equal(await exists(`${inNamespace('configmaps')}/x`), false);
  });

  it('says which finalizers it waits for, and is told when they are gone', async () => {
    start('namespace');
    await make(namespaces, 'n');
    for (const name of ['a', 'b']) await make(inNamespace('configmaps'), name, { finalizers: ['example.com/hold'] });
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    const { reason, message } = await condition('NamespaceFinalizersRemaining', 'True');
    assert.equal(reason, 'SomeFinalizersRemain');
    assert.equal(
      message,
      'Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances',
    );
    assert.deepEqual(
      [...(await conditions())].map(([type, { status }]) => [type, status]),
      [
        ['NamespaceDeletionDiscoveryFailure', 'False'],
        ['NamespaceDeletionGroupVersionParsingFailure', 'False'],
        ['NamespaceDeletionContentFailure', 'False'],
        ['NamespaceContentRemaining', 'True'],
        ['NamespaceFinalizersRemaining', 'True'],
      ],
    );
    for (const name of ['a', 'b']) await release(`${inNamespace('configmaps')}/${name}`);
    await gone(`${namespaces}/n`);
  });

  it('waits for finalizers that others have in its spec', async () => {
    start('namespace');
    await controllers.fixture.call('POST', namespaces, {
      metadata: { name: 'n' },
      spec: { finalizers: ['example.com/mine'] },
    });
    await make(inNamespace('configmaps'), 'x');
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    await gone(`${inNamespace('configmaps')}/x`);
    const finalizers = async (): Promise<unknown> =>
      ((await controllers.fixture.object('GET', `${namespaces}/n`))['spec'] as { finalizers?: unknown }).finalizers;
    await until(async () => JSON.stringify(await finalizers()) === '["example.com/mine"]', 'its own is removed');
    await controllers.fixture.call('PUT', `${namespaces}/n/finalize`, { metadata: { name: 'n' }, spec: {} });
    await gone(`${namespaces}/n`);
  });
});

describe('what cannot be deleted, listed or discovered is shown, and tried again', () => {
  for (const [what, method, target, type, message] of [
    [
      'a kind that cannot be deleted',
      'DELETE',
      /\/n\/secrets$/,
      'NamespaceDeletionContentFailure',
      /^Failed to delete all resource types, 1 remaining: secrets\.: An internal error/,
    ],
    [
      'a kind that cannot be read',
      'GET',
      /\/n\/secrets\?limit/,
      'NamespaceDeletionContentFailure',
      /^Failed to delete all resource types, 1 remaining: secrets\.: /,
    ],
    [
      'a group that cannot be discovered',
      'GET',
      /^\/apis\/policy\/v1$/,
      'NamespaceDeletionDiscoveryFailure',
      /^Discovery failed for some groups, 1 failing: policy\/v1: /,
    ],
    [
      'nothing can be discovered',
      'GET',
      /^\/apis$/,
      'NamespaceDeletionDiscoveryFailure',
      /^Discovery failed for some groups, 1 failing: An internal error/,
    ],
  ] as const) {
    it(what, async () => {
      const failing = fail(method, target, () => internalError(new Error('broken')));
      start('namespace');
      await make(namespaces, 'n');
      if (!what.startsWith('nothing')) await make(inNamespace('configmaps'), 'x');
      await controllers.fixture.call('DELETE', `${namespaces}/n`);
      assert.match((await condition(type, 'True')).message, message);
      await gone(`${inNamespace('configmaps')}/x`);
      assert.ok(await exists(`${namespaces}/n`));
      failing.end();
      await gone(`${namespaces}/n`);
    });
  }

  it('pods that cannot be read keep everything else', async () => {
    const failing = fail('GET', /\/n\/pods\?limit/, () => internalError(new Error('broken')));
    start('namespace');
    await make(namespaces, 'n');
    await make(inNamespace('configmaps'), 'x');
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    await condition('NamespaceDeletionContentFailure', 'True');
    assert.ok(await exists(`${inNamespace('configmaps')}/x`));
    failing.end();
    await gone(`${namespaces}/n`);
  });

  it('a request that gets lost is sent again', async () => {
    let lost = 3;
    controllers.transport.failure = ({ target }) =>
      target.endsWith('/finalize') && lost-- > 0 ? new Error('lost') : undefined;
    start('namespace');
    await make(namespaces, 'n');
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    await gone(`${namespaces}/n`);
    assert.ok(lost < 0);
  });

  it('a refusal of the deletion of a collection is no end', async () => {
    const failing = fail('DELETE', /\/n\/secrets$/, () => methodNotAllowed('no', ['GET']));
    start('namespace');
    await make(namespaces, 'n');
    await make(inNamespace('secrets'), 'x');
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    await condition('NamespaceDeletionContentFailure', 'True');
    failing.end();
    await gone(`${namespaces}/n`);
  });
});

describe('what every namespace has', () => {
  const account = `${namespaces}/n/serviceaccounts/default`;
  const authority = `${namespaces}/n/configmaps/${orch.rootCaConfigMap}`;
  const there = (path: string): Promise<void> => until(() => exists(path), `${path} does not come`);

  it('comes in new namespaces and in those that were there', async () => {
    await make(namespaces, 'n');
    start('serviceaccount', 'root-ca-cert-publisher');
    await make(namespaces, 'later');
    for (const path of [account, authority]) {
      await there(path);
      await there(path.replace('/n/', '/later/'));
    }
    assert.deepEqual((await controllers.fixture.object('GET', authority))['data'], { 'ca.crt': 'PEM\n' });
  });

  it('comes back after a deletion, also with its namespace', async () => {
    start('*');
    await make(namespaces, 'n');
    for (const path of [account, authority]) {
      await there(path);
      const { uid } = (await controllers.fixture.object('GET', path)).metadata;
      await controllers.fixture.call('DELETE', path);
      await there(path);
      assert.notEqual((await controllers.fixture.object('GET', path)).metadata.uid, uid);
    }
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    await gone(`${namespaces}/n`);
    await make(namespaces, 'n');
    for (const path of [account, authority]) await there(path);
  });

  it('the authority is put right, the account is left as others change it', async () => {
    start('serviceaccount', 'root-ca-cert-publisher');
    await make(namespaces, 'n');
    for (const path of [account, authority]) await there(path);
    await controllers.fixture.object('PATCH', account, { automountServiceAccountToken: false });
    await controllers.fixture.object('PATCH', authority, { data: { 'ca.crt': 'mine', more: 'x' } });
    const data = async () => JSON.stringify((await controllers.fixture.object('GET', authority))['data']);
    await until(async () => (await data()) === '{"ca.crt":"PEM\\n"}', 'the authority stays wrong');
    assert.equal((await controllers.fixture.object('GET', account))['automountServiceAccountToken'], false);
  });

  it('the authority has a description, which others may change, and not remove', async () => {
    start('root-ca-cert-publisher');
    await make(namespaces, 'n');
    await there(authority);
    const described = 'orch.io/description';
    const description = async () =>
      (await controllers.fixture.object('GET', authority)).metadata.annotations?.[described];
    const first = await description();
    assert.match(first ?? '', /API server/);
    for (const nothing of ['', null]) {
      await controllers.fixture.object('PATCH', authority, {
        metadata: { annotations: { [described]: nothing, own: 'x' } },
      });
      await until(async () => (await description()) === first, 'it is not described');
    }
    await controllers.fixture.object('PATCH', authority, { metadata: { annotations: { [described]: 'mine' } } });
    await make(namespaces, 'later');
    await there(authority.replace('/n/', '/later/'));
    assert.equal(await description(), 'mine');
    assert.equal((await controllers.fixture.object('GET', authority)).metadata.annotations?.['own'], 'x');
  });

  it('an authority that may not be changed is not tried for ever, and comes right when it is deleted', async () => {
    await make(namespaces, 'n');
    const name = orch.rootCaConfigMap;
    const wrong = { metadata: { name }, data: { 'ca.crt': 'mine' }, immutable: true };
    await controllers.fixture.object('POST', inNamespace('configmaps'), wrong);
    start('root-ca-cert-publisher');
    const writes = () => controllers.transport.requests.filter((each) => each === `PUT ${authority}`).length;
    await until(() => writes() > 0, 'was not tried');
    // A pass for each list that the namespace or the authority is in.
    await make(namespaces, 'later');
    await there(authority.replace('/n/', '/later/'));
    const tried = writes();
    assert.ok(tried <= 2, `${tried} writes`);
    await make(namespaces, 'last');
    await there(authority.replace('/n/', '/last/'));
    assert.equal(writes(), tried);
    await controllers.fixture.call('DELETE', authority);
    await there(authority);
    assert.deepEqual((await controllers.fixture.object('GET', authority))['data'], { 'ca.crt': 'PEM\n' });
  });

  it('the authority: passes and failures are counted', async () => {
    let failures = 2;
    controllers.transport.failure = ({ method }) =>
      method === 'POST' && failures-- > 0 ? internalError(new Error('not now')) : undefined;
    await make(namespaces, 'n');
    start('root-ca-cert-publisher');
    await there(authority);
    const count = (code: number): string | undefined =>
      new RegExp(`^root_ca_cert_publisher_sync_total\\{code="${code}"\\} (\\d+)$`, 'm').exec(metrics.render())?.[1];
    await until(() => Number(count(200)) >= 1, 'no pass is counted');
    assert.equal(count(500), '2');
  });

  it('does not come in a namespace that goes', async () => {
    await make(namespaces, 'n', { finalizers: ['example.com/hold'] });
    await controllers.fixture.call('DELETE', `${namespaces}/n`);
    start('*');
    await make(namespaces, 'later');
    await there(account.replace('/n/', '/later/'));
    assert.equal(await exists(account), false);
  });

  it('comes although the first attempts fail', async () => {
    let failures = 4;
    controllers.transport.failure = ({ method }) =>
      method === 'POST' && failures-- > 0 ? new Error('lost') : undefined;
    start('serviceaccount');
    await make(namespaces, 'n');
    await there(account);
  });
});
