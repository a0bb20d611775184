import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { Registry } from '../../registry/registry.ts';
import { accountGroups, accountUsername } from '../../request/service-account-user.ts';
import { groupAuthenticated, groupMasters, type UserInfo } from '../../request/user-info.ts';
import type { ServedResource } from '../../resources/resource.ts';

/** Identity the server uses for its own writes. */
export const serverUser: UserInfo = {
  username: 'system:apiserver',
  uid: '',
  groups: [groupMasters, groupAuthenticated],
  extra: {},
};

/** Identity of the in-process controllers for reads, and for writes of controllers without a service account. */
export const managerUser = ({ controllerManager }: Dialect): UserInfo => ({
  username: `system:${controllerManager}`,
  uid: '',
  groups: [groupAuthenticated],
  extra: {},
});

/** A service account of the system namespace, the identity of a controller (spec section 5.3). */
export const systemAccount = ({ namespaces: { system } }: Dialect, name: string): UserInfo => ({
  username: accountUsername({ namespace: system, name }),
  uid: '',
  groups: [...accountGroups(system), groupAuthenticated],
  extra: {},
});

/** The namespaces that exist after every start. */
export const initialNamespaces = ({ namespaces }: Dialect): readonly string[] => [
  'default',
  namespaces.system,
  namespaces.public,
  namespaces.nodeLease,
];

interface NamespaceParts {
  readonly registry: Registry;
  readonly dialect: Dialect;
  /** See PolicyParts. */
  readonly createInitial?: CreateInitial | undefined;
}

/** Creates an object without a request (`Registry.createInitial`). False if it did not, and a request is to. */
export type CreateInitial = (served: ServedResource, object: ApiObject) => Promise<boolean>;

/** Creates missing initial namespaces, all at once, so that the store commits them together. */
export async function createNamespaces(
  { registry, dialect, createInitial }: NamespaceParts,
  served: ServedResource,
): Promise<void> {
  const { apiVersion } = served;
  const create = async (name: string): Promise<void> => {
    const object: ApiObject = { apiVersion, kind: served.kind.kind, metadata: { name } };
    if (!(await createInitial?.(served, object))) await createNamespace(registry, served, name, dialect);
  };
  const missing = initialNamespaces(dialect).filter((name) => !served.collection.get(served.objectKey('', name)));
  await Promise.all(missing.map(create));
}

async function createNamespace(
  registry: Registry,
  served: ServedResource,
  name: string,
  { apiServer }: Dialect,
): Promise<void> {
  const { group, version, resource } = served.kind;
  try {
    await registry.serve({
      info: {
        type: 'resource',
        path: `/api/v1/${resource}`,
        query: new URLSearchParams(),
        verb: 'create',
        group,
        version,
        resource,
        namespace: '',
        inNamespace: false,
        name: '',
        subresource: '',
      },
      served,
      user: serverUser,
      userAgent: apiServer,
      body: { value: { metadata: { name } }, duplicates: [] },
      signal: new AbortController().signal,
      warn() {},
      annotate: () => undefined,
      beforeWrite() {},
    });
  } catch (error) {
    // Another server on the same store created it first.
    if (!(error instanceof StatusError && error.reason === 'AlreadyExists')) throw error;
  }
}
