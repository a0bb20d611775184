import { bindingOf, create, json, jsonBody, rbacPath, type Subject } from './api-objects.ts';
import { PreparedRequest, type RequestOptions } from './http2-client.ts';
import { runLoad } from './load.ts';
import type { Product } from './product.ts';
import { sizes } from './scale.ts';

/** Whom all bindings name, those too that give nothing which is measured. */
export const team: Subject = { kind: 'Group', name: 'team' };
/** The namespace of what is read. */
export const teamNamespace = namespaceName(0);

/** Lets the team read ConfigMaps in its namespace, and nothing else. */
export async function makeOneRole({ api }: Product): Promise<void> {
  await create(api, '/api/v1/namespaces', { metadata: { name: teamNamespace } });
  const rules = [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps'] }];
  await create(api, collection(teamNamespace, 'roles'), { metadata: { name: 'reader' }, rules });
  const binding = bindingOf('reader', { kind: 'Role', name: 'reader' }, [team]);
  await create(api, collection(teamNamespace, 'rolebindings'), binding);
}

/**
 * Makes roles and bindings in many namespaces; none of them lets anybody read ConfigMaps. Each binding names a user of its
 * own, and the team.
 */
export async function makeManyRoles(product: Product): Promise<void> {
  const namespaces = Array.from({ length: sizes.roleNamespaces }, (_, index) => namespaceName(index));
  const numbers = Array.from({ length: sizes.rolesPerNamespace }, (_, index) => index);
  for (const name of namespaces.slice(1)) await create(product.api, '/api/v1/namespaces', { metadata: { name } });
  const places = namespaces.flatMap((namespace) => numbers.map((number) => ({ namespace, number })));
  await sendAll(product, 201, places.map(roleAt));
  await sendAll(
    product,
    201,
    places.map((place) => bindingAt(place)),
  );
}

/** Writes all bindings that `makeManyRoles` made, each with something new in it. */
export async function replaceBindings(product: Product, version: string): Promise<void> {
  const namespaces = Array.from({ length: sizes.roleNamespaces }, (_, index) => namespaceName(index));
  const numbers = Array.from({ length: sizes.rolesPerNamespace }, (_, index) => index);
  const places = namespaces.flatMap((namespace) => numbers.map((number) => ({ namespace, number })));
  await sendAll(
    product,
    200,
    places.map((place) => bindingAt(place, version)),
  );
}

interface Place {
  readonly namespace: string;
  readonly number: number;
}

function namespaceName(index: number): string {
  return `team-${String(index).padStart(3, '0')}`;
}

const collection = (namespace: string, resource: string): string => `${rbacPath}/namespaces/${namespace}/${resource}`;

const post = (path: string, object: unknown): RequestOptions => ({
  method: 'POST',
  path,
  headers: json,
  body: jsonBody(object),
});

const roleAt = ({ namespace, number }: Place): RequestOptions =>
  post(collection(namespace, 'roles'), {
    metadata: { name: `role-${number}` },
    rules: [
      { verbs: ['get', 'list', 'watch'], apiGroups: ['apps'], resources: [`things-${number}`, 'deployments'] },
      { verbs: ['update'], apiGroups: [''], resources: ['secrets'], resourceNames: [`secret-${number}`] },
    ],
  });

/** To be made, or with a version in the place of the one that is there. */
const bindingAt = ({ namespace, number }: Place, version?: string): RequestOptions => {
  const user: Subject = { kind: 'User', name: `user-${number}-of-${namespace}` };
  const role = { kind: 'Role', name: `role-${number}` } as const;
  const name = `binding-${number}`;
  const path = collection(namespace, 'rolebindings');
  const binding = bindingOf(name, role, [user, team]);
  if (version === undefined) return post(path, binding);
  const body = jsonBody({ ...binding, metadata: { name, labels: { version } } });
  return { method: 'PUT', path: `${path}/${name}`, headers: json, body };
};

const streams = 64;
const fillMsMax = 60_000;

/** Writes objects, many at once. */
async function sendAll(product: Product, status: number, requests: readonly RequestOptions[]): Promise<void> {
  const [client] = await product.http2(1);
  try {
    const prepared = requests.map((request) => new PreparedRequest(request));
    const { requests: created } = await runLoad({
      slots: streams,
      durationMs: fillMsMax,
      requestsMax: prepared.length,
      expected: { status },
      send(_slot, turn, listener) {
        const request = prepared[turn];
        if (request) client?.send(request, listener);
      },
    });
    if (created !== prepared.length) throw new Error(`${created} of ${prepared.length} objects were written in time`);
  } finally {
    client?.close();
  }
}
