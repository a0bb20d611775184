import { ManualClock } from '../../base/time/clock.ts';
import type { ApiObject, ManagedFieldsEntry } from '../../meta/api-object.ts';
import type { StatusError } from '../../meta/status-error.ts';
import { RegistryFixture } from '../registry-fixture.ts';

/** Test support for apply: several managers that write to one object. */

export const configMap = '/api/v1/namespaces/n/configmaps/a';
export const pod = '/api/v1/namespaces/n/pods/a';
export const node = '/api/v1/nodes/a';

export type Fields = Readonly<Record<string, unknown>>;

const kinds: Readonly<Record<string, string>> = {
  configmaps: 'ConfigMap',
  pods: 'Pod',
  nodes: 'Node',
  persistentvolumes: 'PersistentVolume',
};

export const collectionOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

export const intent = (path: string, { metadata, ...fields }: Fields): Fields => ({
  apiVersion: 'v1',
  kind: kinds[collectionOf(path).slice(collectionOf(path).lastIndexOf('/') + 1)],
  metadata: { name: 'a', ...(metadata as object | undefined) },
  ...fields,
});

/** Field managers that write to one registry. */
export class Managers implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly fixture: RegistryFixture;

  private constructor(fixture: RegistryFixture, clock: ManualClock) {
    this.fixture = fixture;
    this.clock = clock;
  }

  static async open(options: Parameters<typeof RegistryFixture.open>[0] = {}): Promise<Managers> {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    return new Managers(await RegistryFixture.open({ clock, ...options }), clock);
  }

  apply(manager: string, path: string, fields: Fields, query = ''): Promise<ApiObject> {
    this.fixture.patchType = 'apply';
    return this.fixture.object('PATCH', `${path}?fieldManager=${manager}${query}`, intent(main(path), fields));
  }

  refusedApply(manager: string, path: string, body: unknown, query = ''): Promise<StatusError> {
    this.fixture.patchType = 'apply';
    return this.fixture.refusal('PATCH', `${path}?fieldManager=${manager}${query}`, body);
  }

  merge(manager: string, path: string, patch: Fields): Promise<ApiObject> {
    this.fixture.patchType = 'merge';
    return this.fixture.object('PATCH', `${path}?fieldManager=${manager}`, patch);
  }

  create(manager: string, path: string, fields: Fields): Promise<ApiObject> {
    return this.fixture.object('POST', `${collectionOf(path)}?fieldManager=${manager}`, intent(path, fields));
  }

  update(manager: string, path: string, object: Fields): Promise<ApiObject> {
    return this.fixture.object('PUT', `${path}?fieldManager=${manager}`, object);
  }

  get(path: string): Promise<ApiObject> {
    return this.fixture.object('GET', path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]();
  }
}

/** The path of an object without its subresource. */
const main = (path: string): string => path.replace(/\/status$/, '');

export const entriesOf = (object: ApiObject): readonly ManagedFieldsEntry[] => object.metadata.managedFields ?? [];

/** The fields of each manager, by `manager/operation` and subresource. */
export const ownersOf = (object: ApiObject): Fields =>
  Object.fromEntries(
    entriesOf(object).map(({ manager, operation, subresource, fieldsV1 }) => [
      `${manager}/${operation}${subresource ? `/${subresource}` : ''}`,
      fieldsV1,
    ]),
  );

export const data = (...names: readonly string[]): Fields => ({
  'f:data': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
});

export const causes = (error: StatusError): readonly string[] =>
  (error.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);

export const containers = (...images: readonly string[]): Fields => ({
  containers: images.map((image) => ({ name: image.split(':')[0], image })),
});
