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
  await createAll(product, places.map(roleAt));
  await createAll(product, places.map(bindingAt));
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

const bindingAt = ({ namespace, number }: Place): RequestOptions => {
  const user: Subject = { kind: 'User', name: `user-${number}-of-${namespace}` };
  const role = { kind: 'Role', name: `role-${number}` } as const;
  return post(collection(namespace, 'rolebindings'), bindingOf(`binding-${number}`, role, [user, team]));
};

const streams = 64;
const fillMsMax = 60_000;

/** Creates objects, many at once. */
async function createAll(product: Product, requests: readonly RequestOptions[]): Promise<void> {
  const [client] = await product.http2(1);
  try {
    const prepared = requests.map((request) => new PreparedRequest(request));
    const { requests: created } = await runLoad({
      slots: streams,
      durationMs: fillMsMax,
      requestsMax: prepared.length,
      expected: { status: 201 },
      send(_slot, turn, listener) {
        const request = prepared[turn];
        if (request) client?.send(request, listener);
      },
    });
    if (created !== prepared.length) throw new Error(`${created} of ${prepared.length} objects were made in time`);
  } finally {
    client?.close();
  }
}
