import https from 'node:https';
import { within } from '../../src/base/waits-fixture.ts';
import type { OrchProcess } from './orch-process.ts';

/** Who somebody is, as reviews show it; what is empty is left out. */
export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What a request shows of its sender. */
export interface Shown {
  /** A client certificate and its key, in PEM. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly token?: string;
  /** Several values are several lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** A connection that is kept, instead of one of its own. */
  readonly agent?: https.Agent;
}

interface PlainAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Where a server is, and the authority of its certificate. */
interface Place {
  readonly port: number;
  readonly credentials: { readonly ca: string | Buffer };
}

/** A request that shows exactly this. */
export function send(
  server: Place,
  method: string,
  path: string,
  { shown = {}, body }: { readonly shown?: Shown; readonly body?: unknown } = {},
): Promise<PlainAnswer> {
  const { cert, key, token, agent } = shown;
  const headers = Object.entries({
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...shown.headers,
  }).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]] as const);
  const { promise, resolve, reject } = Promise.withResolvers<PlainAnswer>();
  const request = https.request(
    {
      host: '127.0.0.1',
      port: server.port,
      method,
      path,
      headers: Object.fromEntries(headers),
      ...(agent ? { agent } : { agent: false, ca: server.credentials.ca, cert, key }),
    },
    (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
    },
  );
  request.on('error', reject);
  // As bytes: with a text, Node would write the bytes of headers in UTF-8 too.
  request.end(body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
  return within(promise, `no answer to ${method} ${path}`);
}

const group = 'authentication.orch.io';

/** Whom the server takes the sender of a request for; the status where it does not let them ask. */
export async function whoIs(server: Place, shown: Shown = {}): Promise<User | number> {
  const body = { apiVersion: `${group}/v1`, kind: 'SelfSubjectReview' };
  const { status, text } = await send(server, 'POST', `/apis/${group}/v1/selfsubjectreviews`, { shown, body });
  if (status !== 201) return status;
  return (JSON.parse(text) as { readonly status: { readonly userInfo: User } }).status.userInfo;
}

/** The name alone; the status where there is none. */
export async function nameOf(server: Place, shown?: Shown): Promise<string | number> {
  const user = await whoIs(server, shown);
  return typeof user === 'number' ? user : user.username;
}

/** What a review says of a token (spec section 2.4). */
interface TokenStatus {
  readonly authenticated?: boolean;
  readonly user: Partial<User>;
  readonly audiences?: readonly string[];
  readonly error?: string;
}

/** What the admin is told of a token. */
export async function reviewToken(
  server: OrchProcess,
  token: string,
  audiences?: readonly string[],
): Promise<TokenStatus> {
  const body = { apiVersion: `${group}/v1`, kind: 'TokenReview', spec: { token, ...(audiences && { audiences }) } };
  const { status, text, json } = await server.post<{ readonly status: TokenStatus }>(
    `/apis/${group}/v1/tokenreviews`,
    body,
  );
  if (status !== 201) throw new Error(`${status} ${text}`);
  return json.status;
}
