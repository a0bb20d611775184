import { setTimeout as pause } from 'node:timers/promises';
import { orch } from '../src/dialect/orch.ts';
import type { ApiClient, ApiResponse } from './api-client.ts';
import { within } from './within.ts';

/** Objects that are made through the API, as its clients make them; the product speaks the dialect that is its default. */
export const dialect = orch;
/** Where everything is that a scenario makes. */
export const namespace = 'default';
export const accountName = 'robot';

export const json = { accept: 'application/json', 'content-type': 'application/json' };
export const jsonBody = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** For products that are asked for CBOR. */
export const cborFlag = '--feature-gates=CBORServingAndStorage=true';

/** Creates an object, or asks a question that is asked like that. Gives the answer; throws where it is another than 201. */
export async function create<T = unknown>(api: ApiClient, collection: string, object: unknown): Promise<T> {
  const { body } = await api.expect(201, collection, { method: 'POST', headers: json, body: jsonBody(object) });
  return JSON.parse(body.toString());
}

const accountPath = `/api/v1/namespaces/${namespace}/serviceaccounts/${accountName}`;
export const tokenRequestPath = `${accountPath}/token`;

const secrets = (of: string): string => `/api/v1/namespaces/${of}/secrets`;

/** A token of the account, bound to nothing else or to a pod that is made for it (spec section 2.3). */
export async function accountToken(api: ApiClient, boundTo?: 'pod'): Promise<string> {
  const boundObjectRef = boundTo && (await makePod(api));
  const { status } = await create<TokenRequest>(api, tokenRequestPath, { spec: { boundObjectRef } });
  return status.token;
}

interface TokenRequest {
  readonly status: { readonly token: string };
}

async function makePod(api: ApiClient): Promise<unknown> {
  const name = 'holder';
  const spec = { serviceAccountName: accountName, containers: [{ name: 'one', image: 'one' }] };
  const { metadata } = await create<{ readonly metadata: { readonly uid: string } }>(
    api,
    `/api/v1/namespaces/${namespace}/pods`,
    { metadata: { name }, spec },
  );
  return { kind: 'Pod', apiVersion: 'v1', name, uid: metadata.uid };
}

/** A token of the account that a Secret holds (spec section 5.3). */
export async function secretToken(api: ApiClient): Promise<string> {
  const name = 'robot-token';
  await create(api, secrets(namespace), {
    metadata: { name, annotations: { [`${dialect.domain}/service-account.name`]: accountName } },
    type: `${dialect.domain}/service-account-token`,
  });
  return until('a token in the Secret', async () => {
    const { body } = await api.expect(200, `${secrets(namespace)}/${name}`);
    const { data }: { readonly data?: Readonly<Record<string, string>> } = JSON.parse(body.toString());
    return data?.['token'] === undefined ? undefined : Buffer.from(data['token'], 'base64').toString();
  });
}

/** Makes a bootstrap token (spec section 5.4). */
export async function makeBootstrapToken(api: ApiClient, id: string, secret: string): Promise<void> {
  await create(api, secrets(dialect.namespaces.system), {
    metadata: { name: `bootstrap-token-${id}` },
    type: `bootstrap.${dialect.domain}/token`,
    stringData: { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true' },
  });
}

const rbacGroup = dialect.group('rbac.authorization');
export const rbacPath = `/apis/${rbacGroup}/v1`;

export interface Subject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

/** What a binding says: whom it gives a role. */
export const bindingOf = (
  name: string,
  role: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string },
  subjects: readonly Subject[],
): Readonly<Record<string, unknown>> => ({
  metadata: { name },
  roleRef: { apiGroup: rbacGroup, ...role },
  subjects: subjects.map((subject) => ({ apiGroup: rbacGroup, ...subject })),
});

/** Lets users read what is in the namespace, and waits until the role says so. */
export async function letRead(api: ApiClient, usernames: readonly string[]): Promise<void> {
  const subjects = usernames.map((name): Subject => ({ kind: 'User', name }));
  const view = { kind: 'ClusterRole', name: 'view' } as const;
  await create(api, `${rbacPath}/namespaces/${namespace}/rolebindings`, bindingOf('readers', view, subjects));
  // A controller puts the rules of aggregated roles together after the start.
  await until('rules in the role view', async () => {
    const { body } = await api.expect(200, `${rbacPath}/clusterroles/${view.name}`);
    const { rules }: { readonly rules: readonly unknown[] | null } = JSON.parse(body.toString());
    return rules?.length ? rules : undefined;
  });
}

/** Whom the server takes the sender for. */
export async function whoAmI(api: ApiClient, headers: Readonly<Record<string, string>>): Promise<string> {
  const { body } = await api.expect(201, `/apis/${dialect.group('authentication')}/v1/selfsubjectreviews`, {
    method: 'POST',
    headers: { ...json, ...headers },
    body: jsonBody({}),
  });
  const review: { readonly status: { readonly userInfo: { readonly username: string } } } = JSON.parse(body.toString());
  return review.status.userInfo.username;
}

/** Asks until the path is there. Throws where the answer is neither 200 nor 404. */
export async function untilServed(api: ApiClient, path: string): Promise<ApiResponse> {
  for (;;) {
    const answer = await api.send(path, { headers: json });
    if (answer.status !== 404) return answer.status === 200 ? answer : api.expect(200, path);
  }
}

const untilMsMax = 10_000;
const pollMs = 10;

/** Asks again and again until there is something. Throws after `msMax`, with `what`. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>, msMax = untilMsMax): Promise<T> {
  let ended = false;
  const asking = async (): Promise<T> => {
    for (;;) {
      const found = await ask();
      if (found !== undefined) return found;
      if (ended) throw new Error(`${what}: nobody waits any more`);
      await pause(pollMs);
    }
  };
  const found = asking();
  found.catch(() => {});
  try {
    return await within(found, msMax, what);
  } finally {
    ended = true;
  }
}
