import { describeFailure, UnreadBody } from './describe-failure.ts';

/** Whom a configuration names: an URL, or a Service. */
export interface WebhookTarget {
  /** https. */
  readonly url: string | undefined;
  readonly service: WebhookService | undefined;
}

export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly path: string;
}

/** The URL of a call. The webhook is told how long it is waited for, in whole seconds. */
export function webhookUrl({ url, service }: WebhookTarget, timeoutMs: number): URL {
  const { name = '', namespace = '', port = 443, path = '' } = service ?? {};
  const target = new URL(url ?? `https://${name}.${namespace}.svc:${port}${path}`);
  target.searchParams.set('timeout', `${Math.max(1, Math.ceil(timeoutMs / 1000))}s`);
  return target;
}

/** The server of a call as credentials name it: a Service by its name in the cluster. */
export function webhookServer(target: WebhookTarget): { readonly host: string; readonly port: number } {
  const { hostname, port } = webhookUrl(target, 0);
  return { host: hostname, port: port === '' ? httpsPort : Number(port) };
}

const httpsPort = 443;

/** Why a Service cannot be called. */
export const noSuchService = ({ service }: WebhookTarget): Error =>
  new Error(`service ${JSON.stringify(service?.name ?? '')} not found: Services are not served, a webhook needs a url`);

/** A failed call of `webhookUrl`, in the form of Go's HTTP client, which keeps a port that goes without saying. */
export function failedCall(target: WebhookTarget, timeoutMs: number, error: unknown): string {
  const why = describeFailure(error);
  if (error instanceof UnreadBody) return why;
  const url = webhookUrl(target, timeoutMs);
  const namesPort = target.url === undefined || /^https:\/\/[^/?#]*:443(?![^/?#])/i.test(target.url);
  const host = namesPort && url.port === '' ? `${url.host}:${httpsPort}` : url.host;
  return `Post ${JSON.stringify(`https://${host}${url.pathname}${url.search}`)}: ${why}`;
}
