import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OrchProcess, RequestOptions } from './orch-process.ts';

/** What tests of authorization have in common: users with tokens, roles in short, and the sentences of refusals. */

/** A folder for files of a test, gone with it. */
export class Folder implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), 'orch-authz-'));

  write(name: string, content: string | Uint8Array): string {
    const file = join(this.path, name);
    writeFileSync(file, content);
    return file;
  }

  /** The flag of a token file for users and their groups. Who is who: see `as`. */
  tokens(users: Readonly<Record<string, readonly string[]>>): string {
    const lines = Object.entries(users).map(([name, groups]) => `token-of-${name},${name},,"${groups.join(',')}"\n`);
    return `--token-auth-file=${this.write('tokens.csv', lines.join(''))}`;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** What a user of the token file shows. */
export const as = (user: string): { readonly token: string } => ({ token: `token-of-${user}` });

export const rbacGroup = 'rbac.authorization.orch.io';
export const rbacPath = `/apis/${rbacGroup}/v1`;

export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** `rule('get list', 'pods pods/log')`; the core group where none is given. */
export const rule = (
  verbs: string,
  resources: string,
  { group = '', names }: { readonly group?: string; readonly names?: readonly string[] } = {},
): Rule => ({
  verbs: verbs.split(' '),
  apiGroups: [group],
  resources: resources.split(' '),
  ...(names && { resourceNames: names }),
});

export const everythingRules: readonly Rule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

type RoleKind = 'Role' | 'ClusterRole';

export interface Subject {
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly name: string;
  readonly apiGroup?: string;
  readonly namespace?: string;
}

export const user = (name: string): Subject => ({ kind: 'User', apiGroup: rbacGroup, name });
export const group = (name: string): Subject => ({ kind: 'Group', apiGroup: rbacGroup, name });
export const account = (namespace: string, name: string): Subject => ({ kind: 'ServiceAccount', namespace, name });

/** Collections of roles and bindings; '' is the cluster. */
export const rolesPath = (namespace = ''): string =>
  namespace === '' ? `${rbacPath}/clusterroles` : `${rbacPath}/namespaces/${namespace}/roles`;
export const bindingsPath = (namespace = ''): string =>
  namespace === '' ? `${rbacPath}/clusterrolebindings` : `${rbacPath}/namespaces/${namespace}/rolebindings`;

export const roleRef = (kind: RoleKind, name: string) => ({ apiGroup: rbacGroup, kind, name });

export const role = (name: string, rules: readonly Rule[], rest: object = {}) => ({
  metadata: { name },
  rules,
  ...rest,
});

export const binding = (name: string, kind: RoleKind, to: string, ...subjects: readonly Subject[]) => ({
  metadata: { name },
  roleRef: roleRef(kind, to),
  subjects,
});

/** Makes an object as the admin; fails where it is not made. */
export async function make(server: OrchProcess, collection: string, body: object): Promise<Record<string, unknown>> {
  const { status, text, json } = await server.post(collection, body);
  if (status !== 201) throw new Error(`POST ${collection}: ${status} ${text}`);
  return json;
}

/** A role and its binding of the same name: in a namespace, or of the cluster where none is given. */
export async function grant(
  server: OrchProcess,
  name: string,
  rules: readonly Rule[],
  subjects: readonly Subject[],
  namespace = '',
): Promise<void> {
  await make(server, rolesPath(namespace), role(name, rules));
  const kind = namespace === '' ? 'ClusterRole' : 'Role';
  await make(server, bindingsPath(namespace), binding(name, kind, name, ...subjects));
}

/** A refusal, as far as clients look at it. */
interface Refusal {
  readonly message: string;
  readonly reason: string;
  readonly code: number;
}

export interface Refused {
  readonly by: string;
  readonly verb: string;
  /** `pods`, `pods/log`. */
  readonly resource: string;
  readonly group?: string;
  /** '' is the scope of the cluster. */
  readonly namespace?: string;
  readonly name?: string;
}

/** The sentence of a 403 as clients know it. */
export function refusal({ by, verb, resource, group: of = '', namespace = '', name = '' }: Refused): string {
  const [plain = ''] = resource.split('/');
  const what = `${plain}${of === '' ? '' : `.${of}`}${name === '' ? '' : ` "${name}"`}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  return `${what} is forbidden: User "${by}" cannot ${verb} resource "${resource}" in API group "${of}" ${where}`;
}

export const pathRefusal = (by: string, verb: string, path: string): string =>
  `forbidden: User "${by}" cannot ${verb} path "${path}"`;

/** Status, and the message where there is one: what most tests compare. */
export async function outcome(
  server: OrchProcess,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<readonly [status: number, message: string | undefined]> {
  const { status, json } = await server.request<Partial<Refusal> | undefined>(method, path, options);
  return [status, json?.message];
}

/** The status that a watch begins with; it is not waited for its end. */
async function watchStatus(server: OrchProcess, path: string, shown: { readonly token: string }): Promise<number> {
  const watch = server.watch(path, shown);
  try {
    await watch.until(({ status }) => status !== 0);
    return watch.status;
  } finally {
    watch.close();
  }
}

/** Asks as users of the token file, and gives the status. */
type Ask = (name: string, method: string, path: string, options?: RequestOptions) => Promise<number>;

/** `server` is asked for with each question: it may start later. */
export const asker =
  (server: () => OrchProcess): Ask =>
  (name, method, path, options = {}) =>
    /[?&]watch=1/.test(path)
      ? watchStatus(server(), path, as(name))
      : outcome(server(), method, path, { ...options, as: as(name) }).then(([status]) => status);

/** Rows of method, path and the status that one user gets. */
export async function assertGets(
  ask: Ask,
  name: string,
  rows: readonly (readonly [string, string, number, RequestOptions?])[],
): Promise<void> {
  const wrong: string[] = [];
  for (const [method, path, expected, options] of rows) {
    const status = await ask(name, method, path, options);
    if (status !== expected) wrong.push(`${method} ${path}: ${status}, expected ${expected}`);
  }
  assert.deepEqual(wrong, []);
}
