import assert from 'node:assert/strict';
import { ApiException, type CoreV1Api, PatchStrategy, setHeaderOptions, type V1Status } from '@kubernetes/client-node';

const name = 'settings';
const pagedObjects = 250;

/** The steps that are about single ConfigMaps and lists of them. */
export class ConfigMapSteps {
  readonly #core: CoreV1Api;
  readonly #namespace: string;
  #uid: string | undefined;
  /** From before the last update. */
  #staleVersion = '';

  constructor(core: CoreV1Api, namespace: string) {
    this.#core = core;
    this.#namespace = namespace;
  }

  get #object(): { readonly name: string; readonly namespace: string } {
    return { name, namespace: this.#namespace };
  }

  async create(): Promise<void> {
    const data = { colour: 'red', size: 'small' };
    const body = { metadata: { name }, data };
    const created = await this.#core.createNamespacedConfigMap({ namespace: this.#namespace, body });
    assert.deepEqual(created.data, data);
    assert.ok(created.metadata?.uid);
    assert.ok(created.metadata.resourceVersion);
    this.#uid = created.metadata.uid;
  }

  async get(): Promise<void> {
    const object = await this.#core.readNamespacedConfigMap(this.#object);
    assert.equal(object.metadata?.uid, this.#uid);
    assert.deepEqual(object.data, { colour: 'red', size: 'small' });
  }

  async update(): Promise<void> {
    const object = await this.#core.readNamespacedConfigMap(this.#object);
    this.#staleVersion = object.metadata?.resourceVersion ?? '';
    const body = { ...object, data: { ...object.data, colour: 'blue' } };
    const updated = await this.#core.replaceNamespacedConfigMap({ ...this.#object, body });
    assert.equal(updated.data?.['colour'], 'blue');
    assert.equal(updated.metadata?.uid, this.#uid);
    assert.notEqual(updated.metadata?.resourceVersion, this.#staleVersion);
  }

  async conflict(): Promise<void> {
    const metadata = { name, resourceVersion: this.#staleVersion };
    const body = { metadata, data: { colour: 'green' } };
    await refused(this.#core.replaceNamespacedConfigMap({ ...this.#object, body }), 409, 'Conflict');
    const object = await this.#core.readNamespacedConfigMap(this.#object);
    assert.equal(object.data?.['colour'], 'blue');
  }

  async patch(): Promise<void> {
    const patched = await this.#core.patchNamespacedConfigMap(
      { ...this.#object, body: { data: { shape: 'round', size: null } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );
    assert.deepEqual(patched.data, { colour: 'blue', shape: 'round' });
    const account = { name: 'patched', namespace: this.#namespace };
    await this.#core.createNamespacedServiceAccount({ ...account, body: { metadata: { name: account.name } } });
    const addSecret = (secret: string) =>
      this.#core.patchNamespacedServiceAccount(
        { ...account, body: { secrets: [{ name: secret }] } },
        setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
      );
    await addSecret('one');
    const { secrets } = await addSecret('two');
    assert.deepEqual(secrets?.map((each) => each.name).sort(), ['one', 'two']);
  }

  async apply(): Promise<void> {
    const first = await this.#apply('red', { fieldManager: 'first' });
    const managers = first.metadata?.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`);
    assert.deepEqual(managers, ['first Apply']);
    await refused(this.#apply('blue', { fieldManager: 'second' }), 409, 'Conflict');
    const forced = await this.#apply('blue', { fieldManager: 'second', force: true });
    assert.equal(forced.data?.['colour'], 'blue');
  }

  #apply(colour: string, options: { readonly fieldManager: string; readonly force?: boolean }) {
    const metadata = { name: 'applied' };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { colour } };
    return this.#core.patchNamespacedConfigMap(
      { name: metadata.name, namespace: this.#namespace, body, ...options },
      setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
    );
  }

  async list(): Promise<void> {
    for (const [at, tier] of ['front', 'front', 'back'].entries()) await this.#createLabelled(`list-${at}`, { tier });
    const { items } = await this.#core.listNamespacedConfigMap({
      namespace: this.#namespace,
      labelSelector: 'tier=front',
    });
    assert.deepEqual(
      items.map(({ metadata }) => metadata?.name),
      ['list-0', 'list-1'],
    );
  }

  async pagination(): Promise<void> {
    for (let at = 0; at < pagedObjects; at++) await this.#createLabelled(`page-${at}`, { paged: 'true' });
    const sizes: number[] = [];
    const names = new Set<string | undefined>();
    let next: string | undefined;
    do {
      const page = await this.#core.listNamespacedConfigMap({
        namespace: this.#namespace,
        labelSelector: 'paged=true',
        limit: 100,
        ...(next && { _continue: next }),
      });
      sizes.push(page.items.length);
      for (const { metadata } of page.items) names.add(metadata?.name);
      next = page.metadata?._continue;
    } while (next);
    assert.deepEqual(sizes, [100, 100, 50]);
    assert.equal(names.size, pagedObjects);
  }

  async delete(): Promise<void> {
    await this.#core.deleteNamespacedConfigMap(this.#object);
    await refused(this.#core.readNamespacedConfigMap(this.#object), 404, 'NotFound');
  }

  async errors(): Promise<void> {
    const { details } = await refused(this.#createLabelled('Not_A_Name', {}), 422, 'Invalid');
    assert.ok(details?.causes?.some(({ field }) => field === 'metadata.name'));
  }

  #createLabelled(name: string, labels: Record<string, string>) {
    const body = { metadata: { name, labels } };
    return this.#core.createNamespacedConfigMap({ namespace: this.#namespace, body });
  }
}

/** The Status with which the server refuses. The client gives an error's body as text. */
async function refused(call: Promise<unknown>, code: number, reason: string): Promise<V1Status> {
  const error = await call.then(
    () => assert.fail(`no error came, where ${code} should`),
    (error: unknown) => error,
  );
  if (!(error instanceof ApiException)) throw error;
  const status: V1Status = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
  assert.deepEqual([error.code, status.code, status.reason], [code, code, reason]);
  return status;
}
