import type { WebhookResponse, WebhookSend } from './round-trips.ts';

/** The scripted result of a call: a response, an error to reject with, or no response at all. */
export type Script = WebhookResponse | Error | 'silence' | Promise<WebhookResponse>;

/** A webhook for tests: responds by script and records the requests. */
export class ScriptedWebhook {
  readonly bodies: string[] = [];
  /** Signals of the calls, in order. */
  readonly signals: AbortSignal[] = [];
  closed = 0;
  script: (body: string, call: number) => Script;

  constructor(script: (body: string, call: number) => Script) {
    this.script = script;
  }

  readonly send: WebhookSend = (body, { signal }) => {
    this.bodies.push(body);
    this.signals.push(signal);
    const scripted = this.script(body, this.bodies.length);
    if (scripted === 'silence') return new Promise(() => {});
    return scripted instanceof Error ? Promise.reject(scripted) : Promise.resolve(scripted);
  };

  close(): void {
    this.closed += 1;
  }
}

export const response = (body: unknown, status = 200): WebhookResponse => ({
  status,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});

/** A review with this status. */
export const answer = (status: object | undefined, version = 'v1'): WebhookResponse =>
  response({ apiVersion: `authorization.orch.io/${version}`, kind: 'SubjectAccessReview', status });

/** A network error. */
export const connectionError = (code: string): Error => Object.assign(new Error(`${code} at 10.0.0.1:443`), { code });

/** Runs everything that waits only for promises. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
