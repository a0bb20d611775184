import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { orch } from '../../../dialect/orch.ts';
import { textsOf } from '../../../kinds/quota/amounts.ts';
import { Evaluators } from '../../../kinds/quota/evaluators.ts';
import { type Quota, readQuota } from '../../../kinds/quota/quota.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { conflict, StatusError } from '../../../meta/status-error.ts';
import { attributesOf } from '../../attributes-fixture.ts';
import type { LimitedResource } from './check-quotas.ts';
import { QuotaLedger, type StoredQuotas } from './quota-ledger.ts';
import { resourceQuota } from './resource-quota.ts';

type Write = NonNullable<Parameters<typeof attributesOf>[0]>;
type Texts = Readonly<Record<string, string>>;

const quotaOf = (name: string, hard: Texts, used: Texts, spec: object = {}): ApiObject => ({
  ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
  metadata: { name, namespace: 'n', uid: name, resourceVersion: '1' },
  spec: { hard, ...spec },
  status: { hard, used },
});

/** Quotas in memory, of one namespace. */
class Quotas implements StoredQuotas {
  readonly #stored: Map<string, Quota>;
  /** Is called before each write. */
  before: (quota: Quota) => Promise<void> | void = () => {};
  writes = 0;
  looks = 0;

  constructor(quotas: readonly ApiObject[]) {
    this.#stored = new Map(quotas.map(readQuota).map((quota) => [quota.name, quota]));
  }

  of(namespace: string): readonly Quota[] {
    return namespace === 'n' ? [...this.#stored.values()] : [];
  }

  async upToDate(): Promise<void> {
    this.looks++;
  }

  async writeUsed(quota: Quota): Promise<void> {
    await this.before(quota);
    if (this.#stored.get(quota.name)?.object !== quota.object) throw stale;
    this.writes++;
    this.set(quota.name, textsOf(quota.used));
  }

  set(name: string, used: Texts): void {
    const { object } = this.#stored.get(name) ?? assert.fail(`there is no quota ${name}`);
    const status = { ...(object['status'] as object), used };
    this.#stored.set(name, readQuota({ ...object, status }));
  }

  remove(name: string): void {
    this.#stored.delete(name);
  }

  used(name = 'q'): object {
    return textsOf(this.#stored.get(name)?.used ?? new Map());
  }
}

const stale = conflict({ group: '', resource: 'resourcequotas' }, 'q', 'it was modified');

interface Parts {
  readonly quotas: Quotas;
  readonly limited?: readonly LimitedResource[];
}

const clock = new ManualClock();

function pluginOf({ quotas, limited = [] }: Parts) {
  const ledger = new QuotaLedger({ clock, quotas, limited, evaluators: new Evaluators(orch) });
  return resourceQuota({
    dialect: orch,
    clock,
    countsIn: (namespace) => ledger.concerns(namespace),
    charge: (request, { write, signal }) => ledger.charge(request, write, signal),
  });
}

/** What is said of a write; undefined if it may be done. */
async function outcome(plugin: ReturnType<typeof pluginOf>, write: Write): Promise<string | undefined> {
  const attributes = attributesOf(write);
  try {
    if (plugin.concerns(attributes)) await plugin.validate?.(attributes);
    return undefined;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

const configMap: Write = { resource: 'configmaps', namespace: 'n' };
const podWith = (containers: readonly object[], more: object = {}): Write => ({
  ...{ resource: 'pods', namespace: 'n' },
  object: { spec: { containers, ...more } },
});
const cpu = (request: string, name = 'c') => ({ name, resources: { requests: { cpu: request } } });
const claim = (storage: string, before?: string): Write => {
  const spec = (size: string) => ({ spec: { resources: { requests: { storage: size } } } });
  return {
    ...{ resource: 'persistentvolumeclaims', namespace: 'n', object: spec(storage) },
    ...(before !== undefined && { operation: 'update', old: spec(before) }),
  };
};

describe('a write and the quotas of its namespace', () => {
  const forbidden = (what: string, why: string): string => `403 ${what} "x" is forbidden: ${why}`;
  interface Case {
    readonly quotas: readonly ApiObject[];
    readonly write: Write;
    readonly limited?: readonly LimitedResource[];
    readonly says?: string;
    /** Of the first quota, afterwards. Default: as before. */
    readonly used?: Texts;
  }
  const limitedPods = { group: '', resource: 'pods', matchContains: [], matchScopes: [] };
  const scope = (scopeName: string, operator: string, ...values: string[]) => ({ scopeName, operator, values });
  const selects = (...matchExpressions: object[]) => ({ scopeSelector: { matchExpressions } });
  const cases: Readonly<Record<string, Case>> = {
    'there is enough': {
      quotas: [quotaOf('q', { configmaps: '2' }, { configmaps: '1' })],
      ...{ write: configMap, used: { configmaps: '2' } },
    },
    'there is not': {
      quotas: [quotaOf('q', { configmaps: '2' }, { configmaps: '2' })],
      write: configMap,
      says: forbidden(
        'configmaps',
        'exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2',
      ),
    },
    'only what is exceeded is said, in the order of names': {
      quotas: [
        quotaOf(
          'q',
          { 'requests.cpu': '1', pods: '1', cpu: '1', 'count/pods': '9' },
          { 'requests.cpu': '500m', pods: '1', cpu: '500m', 'count/pods': '1' },
        ),
      ],
      write: podWith([cpu('600m')]),
      says: forbidden(
        'pods',
        'exceeded quota: q, requested: cpu=600m,pods=1,requests.cpu=600m, used: cpu=500m,pods=1,requests.cpu=500m, limited: cpu=1,pods=1,requests.cpu=1',
      ),
    },
    'amounts are said in the units of what is used': {
      quotas: [quotaOf('q', { 'requests.storage': '10Gi' }, { 'requests.storage': '8Gi' })],
      write: claim('3Gi'),
      says: forbidden(
        'persistentvolumeclaims',
        'exceeded quota: q, requested: requests.storage=3Gi, used: requests.storage=8Gi, limited: requests.storage=10Gi',
      ),
    },
    'usage is unknown': {
      quotas: [quotaOf('q', { configmaps: '2', 'count/configmaps': '2' }, { configmaps: '1' })],
      write: configMap,
      says: forbidden('configmaps', 'status unknown for quota: q, resources: configmaps,count/configmaps'),
    },
    'usage of others is unknown': {
      quotas: [quotaOf('q', { configmaps: '2', secrets: '2' }, { configmaps: '1' })],
      ...{ write: configMap, used: { configmaps: '2' } },
    },
    'containers say too little': {
      quotas: [
        quotaOf('q', { cpu: '2', 'limits.memory': '1Gi', pods: '9' }, { cpu: '0', 'limits.memory': '0', pods: '0' }),
      ],
      write: podWith([cpu('1', 'b'), { name: 'a' }]),
      says: forbidden('pods', 'failed quota: q: must specify cpu for: a; limits.memory for: a,b'),
    },
    'a quota that counts something else': {
      quotas: [quotaOf('q', { secrets: '1' }, { secrets: '1' })],
      write: configMap,
    },
    'a quota of another scope': {
      quotas: [quotaOf('q', { pods: '1' }, { pods: '1' }, { scopes: ['NotBestEffort'] })],
      write: podWith([{ name: 'c' }]),
    },
    'a quota of its scopes': {
      quotas: [
        quotaOf(
          'q',
          { pods: '1' },
          { pods: '1' },
          { scopes: ['BestEffort'], ...selects(scope('PriorityClass', 'In', 'high')) },
        ),
      ],
      write: podWith([{ name: 'c' }], { priorityClassName: 'high' }),
      says: forbidden('pods', 'exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'),
    },
    'several quotas: the first that refuses is named, and none is charged': {
      quotas: [
        quotaOf('q', { configmaps: '9' }, { configmaps: '1' }),
        quotaOf('r', { 'count/configmaps': '1' }, { 'count/configmaps': '1' }),
      ],
      write: configMap,
      says: forbidden(
        'configmaps',
        'exceeded quota: r, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1',
      ),
    },
    'a claim that grows is charged for the difference': {
      quotas: [quotaOf('q', { 'requests.storage': '10Gi' }, { 'requests.storage': '8Gi' })],
      ...{ write: claim('3Gi', '1Gi'), used: { 'requests.storage': '10Gi' } },
    },
    'a claim that shrinks gives nothing back by itself': {
      quotas: [quotaOf('q', { 'requests.storage': '10Gi' }, { 'requests.storage': '8Gi' })],
      write: claim('1Gi', '3Gi'),
    },
    'a quota that is exceeded already refuses only what adds to it': {
      quotas: [
        quotaOf(
          'q',
          { persistentvolumeclaims: '1', 'requests.storage': '1Gi' },
          { persistentvolumeclaims: '2', 'requests.storage': '2Gi' },
        ),
      ],
      write: claim('1Gi', '1Gi'),
    },
    'a dry run is checked': {
      quotas: [quotaOf('q', { configmaps: '2' }, { configmaps: '2' })],
      write: { ...configMap, dryRun: true },
      says: forbidden(
        'configmaps',
        'exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2',
      ),
    },
    'a dry run is not charged': {
      quotas: [quotaOf('q', { configmaps: '2' }, { configmaps: '1' })],
      write: { ...configMap, dryRun: true },
    },
    'an update of what only counts as an object': {
      quotas: [quotaOf('q', { configmaps: '1' }, { configmaps: '1' })],
      write: { ...configMap, operation: 'update', old: {} },
    },
    'a subresource': {
      quotas: [quotaOf('q', { 'count/serviceaccounts': '1' }, { 'count/serviceaccounts': '1' })],
      write: { resource: 'serviceaccounts/token', namespace: 'n' },
    },
    'another namespace': {
      quotas: [quotaOf('q', { configmaps: '1' }, { configmaps: '1' })],
      write: { ...configMap, namespace: 'other' },
    },
    'a negative amount': {
      quotas: [quotaOf('q', { 'requests.storage': '1Gi' }, { 'requests.storage': '0' })],
      write: claim('-1Gi'),
      says: forbidden('persistentvolumeclaims', 'quota usage is negative for resource(s): requests.storage'),
    },
    'limited by name, and covered': {
      quotas: [quotaOf('q', { 'requests.cpu': '2' }, { 'requests.cpu': '0' })],
      limited: [{ ...limitedPods, matchContains: ['requests.cpu'] }],
      ...{ write: podWith([cpu('1')]), used: { 'requests.cpu': '1' } },
    },
    'limited by name, and not covered': {
      quotas: [quotaOf('q', { 'requests.cpu': '2' }, { 'requests.cpu': '0' })],
      limited: [{ ...limitedPods, matchContains: ['cpu', 'memory'] }],
      write: podWith([cpu('1')]),
      says: forbidden('pods', 'insufficient quota to consume: cpu'),
    },
    'limited, in a namespace without quotas': {
      quotas: [],
      limited: [{ ...limitedPods, matchContains: ['pods'] }],
      write: { ...podWith([cpu('1')]), namespace: 'other' },
      says: forbidden('pods', 'insufficient quota to consume: count/pods,pods'),
    },
    'another resource is limited': {
      quotas: [],
      limited: [{ ...limitedPods, resource: 'secrets', matchContains: ['pods'] }],
      write: podWith([cpu('1')]),
    },
    'limited by scope, and covered': {
      quotas: [quotaOf('q', { pods: '2' }, { pods: '0' }, selects(scope('PriorityClass', 'In', 'high')))],
      limited: [{ ...limitedPods, matchScopes: [scope('PriorityClass', 'In', 'high')] }],
      ...{ write: podWith([{ name: 'c' }], { priorityClassName: 'high' }), used: { pods: '1' } },
    },
    'limited by scope, and not covered': {
      quotas: [quotaOf('q', { pods: '2' }, { pods: '0' }, selects(scope('PriorityClass', 'In', 'low')))],
      limited: [{ ...limitedPods, matchScopes: [scope('PriorityClass', 'In', 'high', 'higher')] }],
      write: podWith([{ name: 'c' }], { priorityClassName: 'high' }),
      says: '500 insufficient quota to match these scopes: [{PriorityClass In [high higher]}]',
    },
    'limited by a scope that it is not in': {
      quotas: [],
      limited: [{ ...limitedPods, matchScopes: [scope('PriorityClass', 'In', 'high')] }],
      write: podWith([{ name: 'c' }], { priorityClassName: 'low' }),
    },
  };
  for (const [title, { quotas, write, limited = [], says, used }] of Object.entries(cases)) {
    it(title, async () => {
      const stored = new Quotas(quotas);
      const before = stored.used();
      assert.equal(await outcome(pluginOf({ quotas: stored, limited }), write), says);
      assert.deepEqual(stored.used(), used ?? before);
    });
  }
});

describe('charging', () => {
  const many = (used = '0', hard = '100') => new Quotas([quotaOf('q', { configmaps: hard }, { configmaps: used })]);
  const both = () =>
    new Quotas([
      quotaOf('q', { configmaps: '9' }, { configmaps: '1' }),
      quotaOf('r', { 'count/configmaps': '9' }, { 'count/configmaps': '5' }),
    ]);
  /** Each call is another write. */
  const create = (plugin: ReturnType<typeof pluginOf>, more: Partial<Write> = {}) =>
    outcome(plugin, { ...configMap, ...more });

  it('what waits in a namespace is charged by one write', async () => {
    const quotas = many();
    const held = Promise.withResolvers<void>();
    quotas.before = () => held.promise;
    const plugin = pluginOf({ quotas });
    const outcomes = Promise.all(Array.from({ length: 120 }, () => create(plugin)));
    held.resolve();
    assert.equal((await outcomes).filter((each) => each !== undefined).length, 20);
    assert.deepEqual(quotas.used(), { configmaps: '100' });
    assert.equal(quotas.writes, 2, 'one for the first, and one for those that came meanwhile');
  });

  it('is tried again when another server was faster, on what there is then', async () => {
    const quotas = many('1', '3');
    quotas.before = () => {
      quotas.before = () => {};
      quotas.set('q', { configmaps: '2' });
    };
    const plugin = pluginOf({ quotas });
    assert.deepEqual(await Promise.all([create(plugin), create(plugin)]), [
      undefined,
      '403 configmaps "x" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=3, limited: configmaps=3',
    ]);
    assert.deepEqual(quotas.used(), { configmaps: '3' });
  });

  it('of two quotas, one of which another server wrote, charges each once', async () => {
    const quotas = both();
    quotas.before = ({ name }) => {
      if (name !== 'r') return;
      quotas.before = () => {};
      quotas.set('r', { 'count/configmaps': '6' });
    };
    assert.equal(await create(pluginOf({ quotas })), undefined);
    assert.deepEqual([quotas.used('q'), quotas.used('r')], [{ configmaps: '2' }, { 'count/configmaps': '7' }]);
  });

  it('does not ask for a quota that was deleted meanwhile', async () => {
    const quotas = both();
    quotas.before = ({ name }) => {
      if (name !== 'r') return;
      quotas.before = () => {};
      quotas.remove('r');
      throw new StatusError('NotFound', 'it is gone');
    };
    assert.equal(await create(pluginOf({ quotas })), undefined);
    assert.deepEqual(quotas.used('q'), { configmaps: '2' });
  });

  it('is given up when others are faster all the time', async () => {
    const quotas = many();
    quotas.before = () => {
      throw stale;
    };
    assert.equal(await create(pluginOf({ quotas })), `409 ${stale.message}`);
    assert.equal(quotas.looks, limits.quotaWriteAttemptsMax - 1);
  });

  it('is not tried again after other errors', async () => {
    const quotas = many();
    quotas.before = () => {
      throw new StatusError('Forbidden', 'a webhook refuses it');
    };
    assert.equal(await create(pluginOf({ quotas })), '403 a webhook refuses it');
    assert.equal(quotas.looks, 0);
  });

  it('is done once for all attempts of a write, and then for what is more', async () => {
    const quotas = new Quotas([quotaOf('q', { 'requests.storage': '9Gi' }, { 'requests.storage': '0' })]);
    const plugin = pluginOf({ quotas });
    const write = { ...claim('2Gi') };
    const attempt = async (storage: string) => {
      write.object = claim(storage).object ?? {};
      assert.equal(await outcome(plugin, write as Write), undefined);
      return quotas.used();
    };
    assert.deepEqual(await attempt('2Gi'), { 'requests.storage': '2Gi' });
    assert.deepEqual(await attempt('2Gi'), { 'requests.storage': '2Gi' });
    assert.deepEqual(await attempt('5Gi'), { 'requests.storage': '5Gi' });
    assert.deepEqual(await attempt('1Gi'), { 'requests.storage': '5Gi' });
  });

  it('does not last for ever', async () => {
    const quotas = many();
    const held = Promise.withResolvers<void>();
    quotas.before = () => held.promise;
    const waiting = create(pluginOf({ quotas }));
    clock.advance(limits.quotaChargeMsMax);
    assert.equal(await waiting, '500 Internal error occurred: resource quota evaluation timed out');
    held.resolve();
  });

  it('is left out for a request that has ended', async () => {
    const quotas = many();
    const held = Promise.withResolvers<void>();
    quotas.before = () => held.promise;
    const plugin = pluginOf({ quotas });
    const [first, ended] = [create(plugin), new AbortController()];
    const second = create(plugin, { signal: ended.signal });
    ended.abort(new StatusError('Timeout', 'the request has ended'));
    held.resolve();
    assert.equal(await second, '504 the request has ended');
    assert.equal(await first, undefined);
    assert.equal(await create(plugin), undefined);
    assert.deepEqual(quotas.used(), { configmaps: '2' });
  });
});
