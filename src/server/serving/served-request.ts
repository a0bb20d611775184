import { shownHeaderText } from '../../base/header-text.ts';
import type { Span } from '../../base/span.ts';
import type { BodyForm } from '../../content/body.ts';
import type { RequestBody, VerbRequest } from '../../registry/verb.ts';
import type { AnnotationLevel } from '../../request/audit-annotations.ts';
import type { ResourceRequest } from '../../request/request-info.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Tenant } from './flow-control/tenant.ts';
import { annotate, noteWrite, type RequestContext } from './request-context.ts';

/**
 * A resource request as the registry sees it. Created for every request, so rarely used parts such as the signal are
 * created on demand. A class, since accessors in an object literal cost microseconds per object.
 */
export class ServedRequest implements VerbRequest {
  readonly info: ResourceRequest;
  readonly served: ServedResource;
  readonly #context: RequestContext;
  body: RequestBody | undefined = undefined;

  constructor(context: RequestContext, info: ResourceRequest, served: ServedResource) {
    this.#context = context;
    this.info = info;
    this.served = served;
  }

  get user(): UserInfo {
    return this.#context.user;
  }

  get userAgent(): string {
    return shownHeaderText(this.#context.exchange.header('user-agent') ?? '');
  }

  get method(): string {
    return this.#context.exchange.method;
  }

  get target(): string {
    return this.#context.exchange.target;
  }

  get owner(): Tenant | undefined {
    return this.#context.ticket?.tenant;
  }

  get signal(): AbortSignal {
    return this.#context.exchange.signal;
  }

  get deadlineMs(): number | undefined {
    return this.#context.deadlineMs;
  }

  get span(): Span | undefined {
    return this.#context.exchange.span;
  }

  get auditId(): string {
    return this.#context.auditId;
  }

  awaitWebhook<T>(ask: () => Promise<T>): Promise<T> {
    const { ticket } = this.#context;
    return ticket ? ticket.awaitWebhook(ask) : ask();
  }

  annotate(key: string, value: string, from?: AnnotationLevel): string | undefined {
    return annotate(this.#context, key, value, from);
  }

  warn(text: string): void {
    this.#context.exchange.warn(text);
  }

  beforeWrite(): void {
    noteWrite(this.#context);
  }
}

/** A request whose body was received. */
export class ReceivedRequest extends ServedRequest {
  readonly form: BodyForm;
  /** Empty if no body was sent. */
  readonly bytes: Buffer;

  constructor(
    context: RequestContext,
    { info, served, form, bytes }: Pick<ReceivedRequest, 'info' | 'served' | 'form' | 'bytes'>,
  ) {
    super(context, info, served);
    this.form = form;
    this.bytes = bytes;
  }
}
