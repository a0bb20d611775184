import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { WorkSlices } from '../../base/time/work-slices.ts';
import { hasReason } from '../../client/api-client.ts';
import type { ReportedEvent } from '../../client/event-correlation.ts';
import { Informer } from '../../client/informer.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { signingRequestPath } from './signing-request.ts';

interface FollowOptions {
  /** Whether there is something to do for a request. */
  readonly wanted: (request: ApiObject) => boolean;
  /**
   * Decides about a wanted request. If it rejects, it is repeated with growing pauses. A conflict is no failure: somebody
   * else changed the request, and a watch reports that.
   */
  readonly decide: (request: ApiObject, signal: AbortSignal) => Promise<Decision>;
}

/** What to do about a request. */
export type Decision =
  | {
      readonly type: 'write';
      readonly subresource: 'approval' | 'status';
      readonly request: ApiObject;
      /** Recorded once the request is written. */
      readonly warning?: Warning;
    }
  | { readonly type: 'later'; readonly delayMs: number }
  | { readonly type: 'nothing' };

/** An Event about a request. */
type Warning = Pick<ReportedEvent, 'reason' | 'message'>;

const parallel = 5;

/** Follows certificate signing requests, and writes what is decided about them, each with the version that was read. */
export const followRequests = (context: ControllerContext, options: FollowOptions): Closable =>
  new Follower(context, options);

class Follower implements Closable {
  readonly #context: ControllerContext;
  readonly #options: FollowOptions;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  /** The wanted requests. */
  readonly #requests: Informer<ApiObject | undefined>;
  readonly #slices = new WorkSlices(limits.certificateRequestsPerSlice);

  constructor(context: ControllerContext, options: FollowOptions) {
    this.#context = context;
    this.#options = options;
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: 'certificate', parallel, work: (key) => this.#work(key) }),
    );
    this.#requests = this.#held.add(
      new Informer({
        ...context,
        path: signingRequestPath(context.dialect),
        select: (object) => (options.wanted(object) ? object : undefined),
        changed: (key, request) => {
          if (request) this.#queue.add(key);
          else this.#queue.forget(key);
        },
      }),
    );
  }

  async #work(key: string): Promise<void> {
    // Requests that need no answer from another thread would follow each other within one turn of the event loop.
    await this.#slices.step();
    const request = this.#requests.get(key);
    if (!request || this.#held.signal.aborted) return;
    const decision = await this.#options.decide(request, this.#held.signal);
    if (decision.type === 'later') this.#queue.addAfter(key, decision.delayMs);
    if (decision.type === 'write') await this.#write(decision);
  }

  async #write({ request, subresource, warning }: Extract<Decision, { type: 'write' }>): Promise<void> {
    const target = signingRequestPath(this.#context.dialect, { name: request.metadata.name, subresource });
    try {
      await this.#context.client.update(target, request, this.#held.signal);
      if (warning) warn(this.#context, request, warning);
    } catch (error) {
      if (!hasReason(error, 'Conflict', 'NotFound')) throw error;
    }
  }

  close(): void {
    this.#held.close();
  }
}

/** Records a warning about a request, for whoever wonders what became of it. */
export function warn({ events, dialect }: ControllerContext, { metadata }: ApiObject, warning: Warning): void {
  const { name = '', uid } = metadata;
  const kind = { apiVersion: `${dialect.group('certificates')}/v1`, kind: 'CertificateSigningRequest' };
  events.record({ ...warning, type: 'Warning', about: { ...kind, name, uid } });
}
