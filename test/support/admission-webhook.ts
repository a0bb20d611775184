import { buffer } from 'node:stream/consumers';
import { parseStored, stringifyJson } from '../../src/codec/json.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { type Handler, TlsFixture } from '../../src/outbound/tls-fixture.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A review that came. */
export interface Asked {
  readonly apiVersion: string;
  readonly request: AskedRequest;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

interface AskedRequest extends Fields {
  readonly uid: string;
  readonly operation: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly object: ApiObject | null;
  readonly oldObject: ApiObject | null;
}

/** A service on the loopback interface that judges objects, over TLS. */
export class AdmissionWebhook implements AsyncDisposable {
  readonly fixture: TlsFixture;
  readonly asked: Asked[] = [];
  /** Fields of the response besides `uid`; by default, everything is allowed. */
  judge: (asked: Asked) => Fields | Promise<Fields> = () => ({ allowed: true });
  /** Instead of an answer. */
  instead: ((response: Parameters<Handler>[1], asked: Asked) => void) | undefined;

  private constructor(fixture: TlsFixture) {
    this.fixture = fixture;
  }

  static async start(options: ConstructorParameters<typeof TlsFixture>[1] = {}): Promise<AdmissionWebhook> {
    const webhook = new AdmissionWebhook(new TlsFixture(['127.0.0.1'], options));
    await webhook.fixture.listen();
    webhook.fixture.handle = (...exchange) => void webhook.#answer(...exchange);
    return webhook;
  }

  async #answer(...[request, response]: Parameters<Handler>): Promise<void> {
    const { apiVersion, request: review } = parseStored(await buffer(request)) as Pick<Asked, 'apiVersion' | 'request'>;
    const asked: Asked = { apiVersion, request: review, target: request.url ?? '', headers: request.headers };
    this.asked.push(asked);
    if (this.instead) return void this.instead(response, asked);
    const judged = await this.judge(asked);
    response.setHeader('content-type', 'application/json');
    response.end(stringifyJson({ apiVersion, kind: 'AdmissionReview', response: { uid: review.uid, ...judged } }));
  }

  get clientConfig(): Fields {
    const caBundle = Buffer.from(this.fixture.authorities).toString('base64');
    return { url: `https://127.0.0.1:${this.fixture.port}/judge`, caBundle };
  }

  /** Forgets what was asked, and allows everything again. */
  reset(): void {
    this.asked.length = 0;
    this.judge = () => ({ allowed: true });
    this.instead = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture.close();
  }
}

/** A webhook of a configuration: for config maps, with the defaults of most tests. */
export const webhookFor = (webhook: Pick<AdmissionWebhook, 'clientConfig'>, more: Fields = {}): Fields => ({
  name: 'judge.example.com',
  clientConfig: webhook.clientConfig,
  rules: [ruleFor('*', 'configmaps')],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  timeoutSeconds: 10,
  ...more,
});

/** A rule: `ruleFor('CREATE UPDATE', 'configmaps pods/status')`. */
export const ruleFor = (operations: string, resources: string, more: Fields = {}): Fields => ({
  operations: operations.split(' '),
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: resources.split(' '),
  ...more,
});

/** A JSON patch as the fields of a response. */
export const patchOf = (...operations: readonly Fields[]): Fields => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(stringifyJson(operations)).toString('base64'),
});
