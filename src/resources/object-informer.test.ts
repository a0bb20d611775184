import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { graphSources } from '../authz/node/graph-sources.ts';
import { rule } from '../authz/rbac/bootstrap-policy/policy-objects.ts';
import { makeBinding, makeRole, makeUser, readQuestion } from '../authz/rbac/rbac-objects-fixture.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { until } from '../base/waits-fixture.ts';
import { orch } from '../dialect/orch.ts';
import { RegistryFixture } from '../registry/registry-fixture.ts';
import { openRbac } from '../server/wiring/access/rbac.ts';
import { startInformer } from './object-informer.ts';

const prefix = '/rbac.authorization.orch.io';
const bytes = (value: unknown): Buffer => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

/** A store with a binding of jane to the role `own` in namespace `team`, and an index over it. */
class Fed implements AsyncDisposable {
  readonly fixture: RegistryFixture;
  readonly logged: unknown[] = [];
  #rbac: ReturnType<typeof openRbac> | undefined;

  private constructor(fixture: RegistryFixture) {
    this.fixture = fixture;
  }

  static async open(): Promise<Fed> {
    const fed = new Fed(await RegistryFixture.open());
    const jane = { kind: 'User', name: 'jane' };
    await fed.create('rolebindings/team/janes', makeBinding('team', 'janes', 'Role/own', jane));
    return fed;
  }

  start(): void {
    const logger: Logger = { ...silentLogger, error: (_message, fields) => this.logged.push(fields?.['key']) };
    this.#rbac = openRbac({ resources: this.fixture.resources, dialect: orch, logger });
  }

  /** Bypasses the registry, like another program on the same store. */
  async create(key: string, value: unknown): Promise<void> {
    await this.fixture.store.create(`${prefix}/${key}`, bytes(value));
    await this.#told();
  }

  async update(key: string, value: unknown): Promise<void> {
    const { revision } = (await this.fixture.store.get(`${prefix}/${key}`)) ?? { revision: 0 };
    await this.fixture.store.update(`${prefix}/${key}`, bytes(value), revision);
    await this.#told();
  }

  async reload(resource: string): Promise<void> {
    await this.fixture.cache.reload(`${prefix}/${resource}/`);
    await this.#told();
  }

  async #told(): Promise<void> {
    await this.fixture.cache.fresh();
    await turn();
  }

  /** True if jane may do it. */
  may(question: string): boolean {
    return this.#rbac?.index.authorize(readQuestion(question), makeUser('jane')).verdict === 'allow';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rbac?.close();
    await this.fixture[Symbol.asyncDispose]();
  }
}

const own = (resource: string) => makeRole('team', 'own', rule('get', resource));
const malformed: readonly (readonly [what: string, value: unknown])[] = [
  ['rules that are no list', { ...own('pods'), rules: 5 }],
  ['a rule that is none', { ...own('pods'), rules: ['get'] }],
  ['verbs that are one text', { ...own('pods'), rules: [{ verbs: '*', apiGroups: ['*'], resources: ['*'] }] }],
  ['no JSON', '{'],
];

describe('an index that follows the store', () => {
  for (const [what, value] of malformed) {
    test(`${what}, at the start: grants nothing, and the rest is followed`, async () => {
      await using fed = await Fed.open();
      await fed.create('roles/team/own', value);
      fed.start();
      assert.equal(fed.may('get pods team x'), false);
      await fed.update('roles/team/own', own('secrets'));
      assert.ok(fed.may('get secrets team x'));
    });

    test(`${what}, later: revokes what was granted, and the rest is followed`, async () => {
      await using fed = await Fed.open();
      await fed.create('roles/team/own', own('pods'));
      fed.start();
      assert.ok(fed.may('get pods team x'));
      await fed.update('roles/team/own', value);
      assert.equal(fed.may('get pods team x'), false);
      await fed.update('roles/team/own', own('secrets'));
      assert.ok(fed.may('get secrets team x'));
      assert.equal(fed.may('get pods team x'), false);
    });
  }

  test('an invalid binding breaks nothing', async () => {
    await using fed = await Fed.open();
    fed.start();
    const binding = makeBinding('team', 'odd', 'Role/own');
    await fed.create('rolebindings/team/odd', { ...binding, subjects: [null, 7] });
    await fed.create('rolebindings/team/odder', { ...binding, roleRef: null, subjects: 'jane' });
    await fed.create('roles/team/own', own('pods'));
    assert.ok(fed.may('get pods team x'));
    assert.deepEqual(fed.logged, [`${prefix}/rolebindings/team/odd`, `${prefix}/rolebindings/team/odder`]);
  });

  test('null means absent, as everywhere', async () => {
    await using fed = await Fed.open();
    await fed.create('roles/team/own', { ...own('pods'), rules: [{ ...rule('get', 'pods'), resourceNames: null }] });
    fed.start();
    assert.ok(fed.may('get pods team x'));
    assert.deepEqual(fed.logged, []);
  });

  test('changes from a cache reload are followed', async () => {
    await using fed = await Fed.open();
    await fed.create('roles/team/own', own('pods'));
    fed.start();
    await fed.reload('roles');
    assert.ok(fed.may('get pods team x'));
    await fed.update('roles/team/own', own('secrets'));
    assert.deepEqual([fed.may('get pods team x'), fed.may('get secrets team x')], [false, true]);
  });
});

test('an object that the handler would ignore is removed without being parsed', async (context) => {
  await using fixture = await RegistryFixture.open();
  const calls: string[] = [];
  const find = () => fixture.resources.find('', 'v1', 'pods');
  const informer = startInformer(
    { resources: fixture.resources, find },
    {
      put: ({ metadata }) => calls.push(`put ${metadata.name}`),
      remove: (namespace, name) => calls.push(`remove ${namespace}/${name}`),
      skips: (entry) => entry.field('spec.nodeName') === '',
    },
    silentLogger,
  );
  context.after(() => informer.close());
  const path = '/api/v1/namespaces/n/pods';
  const pod = (name: string, nodeName?: string) => ({
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i' }], ...(nodeName !== undefined && { nodeName }) },
  });
  await fixture.call('POST', path, pod('waits'));
  await fixture.call('POST', path, pod('runs', 'n1'));
  const target = { kind: 'Node', name: 'n1' };
  await fixture.call('POST', `${path}/waits/binding`, { metadata: { name: 'waits' }, target });
  await fixture.cache.fresh();
  await until(() => calls.length === 3);
  assert.deepEqual(calls, ['remove n/waits', 'put runs', 'put waits']);
  assert.ok(informer.revision > 0);
});

test('the fields that sources of the node graph require are selectable, so that they are known without parsing', async () => {
  await using fixture = await RegistryFixture.open();
  for (const { group, resource, requiredField } of graphSources(orch)) {
    if (requiredField === undefined) continue;
    const served = fixture.resources.find(group, 'v1', resource);
    assert.ok(
      served?.kind.selectableFields.some(({ label }) => label === requiredField),
      `${resource} ${requiredField}`,
    );
  }
  assert.ok(graphSources(orch).some(({ requiredField }) => requiredField !== undefined));
});
