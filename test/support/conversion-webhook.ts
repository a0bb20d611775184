import { buffer } from 'node:stream/consumers';
import { parseStored, stringifyJson } from '../../src/codec/json.ts';
import { type Handler, TlsFixture } from '../../src/outbound/tls-fixture.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A question that came. */
export interface ConversionQuestion {
  readonly apiVersion: string;
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly Converted[];
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

interface Review {
  readonly apiVersion: string;
  readonly request: Pick<ConversionQuestion, 'uid' | 'desiredAPIVersion' | 'objects'>;
}

type Converted = Fields & { readonly metadata: Fields };
type Convert = (object: Converted, apiVersion: string) => unknown;

/** A service on the loopback interface that converts objects, over TLS. */
export class ConversionWebhook implements AsyncDisposable {
  readonly fixture = new TlsFixture(['127.0.0.1']);
  readonly questions: ConversionQuestion[] = [];
  /** What becomes of an object, besides its apiVersion. */
  convert: Convert;
  readonly #usual: Convert;
  /** The answer instead of the usual one. */
  answer: (usual: Fields & { readonly response: Fields }, question: ConversionQuestion) => unknown = (usual) => usual;
  /** Instead of an answer. */
  instead: ((response: Parameters<Handler>[1], question: ConversionQuestion) => void) | undefined;

  constructor(usual: Convert) {
    this.convert = usual;
    this.#usual = usual;
  }

  /** Forgets questions, and answers as usual again. */
  reset(): void {
    this.questions.length = 0;
    this.convert = this.#usual;
    this.answer = (usual) => usual;
    this.instead = undefined;
  }

  static async start(usual: Convert = (object) => object): Promise<ConversionWebhook> {
    const webhook = new ConversionWebhook(usual);
    await webhook.fixture.listen();
    webhook.fixture.handle = (...exchange) => void webhook.#answer(...exchange);
    return webhook;
  }

  async #answer(...[request, response]: Parameters<Handler>): Promise<void> {
    const { apiVersion, request: asked } = parseStored(await buffer(request)) as Review;
    const question = { apiVersion, ...asked, target: request.url ?? '', headers: request.headers };
    this.questions.push(question);
    if (this.instead) return void this.instead(response, question);
    this.reply(response, question);
  }

  /** Sends the answer. */
  reply(response: Parameters<Handler>[1], question: ConversionQuestion): void {
    const { uid, desiredAPIVersion, objects } = question;
    const convertedObjects = objects.map((object) =>
      object['apiVersion'] === desiredAPIVersion
        ? object
        : this.convert({ ...object, apiVersion: desiredAPIVersion }, desiredAPIVersion),
    );
    const { apiVersion } = question;
    const usual = {
      apiVersion,
      kind: 'ConversionReview',
      response: { uid, result: { status: 'Success' }, convertedObjects },
    };
    response.setHeader('content-type', 'application/json');
    response.end(stringifyJson(this.answer(usual, question)));
  }

  /** `spec.conversion` of a definition that asks this webhook. */
  conversion(more: Fields = {}, reviewVersions: readonly string[] = ['v1']): Fields {
    const caBundle = Buffer.from(this.fixture.authorities).toString('base64');
    const clientConfig = { url: `https://127.0.0.1:${this.fixture.port}/convert`, caBundle, ...more };
    return { strategy: 'Webhook', webhook: { conversionReviewVersions: reviewVersions, clientConfig } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture.close();
  }
}
