import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { bootstrapTokenData, bootstrapTokenExpiry } from '../../kinds/core/bootstrap-token.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { bootstrapTokensPath } from './bootstrap-tokens-path.ts';

/**
 * Deletes the Secrets of bootstrap tokens of the system namespace when the tokens expire (spec section 3.3); those whose
 * expiration cannot be parsed at once, and those without one never.
 */
export const startTokenCleaner = (context: ControllerContext): Closable => new TokenCleaner(context);

const parallel = 5;

/** What decides over a Secret; its data is not kept. */
interface ExpiringSecret {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch; may be infinite. */
  readonly expiresMs: number;
  readonly terminating: boolean;
}

class TokenCleaner implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  readonly #secrets: Informer<ExpiringSecret>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: 'token_cleaner', parallel, work: (key) => this.#check(key) }),
    );
    this.#secrets = this.#held.add(
      new Informer({
        ...context,
        client: context.reader,
        path: bootstrapTokensPath(context.dialect),
        select: readSecret,
        changed: (key, now) => {
          if (now) this.#queue.add(key);
          else this.#queue.forget(key);
        },
      }),
    );
  }

  async #check(key: string): Promise<void> {
    const secret = this.#secrets.get(key);
    if (!secret || secret.terminating) return;
    const remainingMs = secret.expiresMs - this.#context.clock.now();
    if (remainingMs <= 0) await this.#delete(secret);
    else if (Number.isFinite(remainingMs)) {
      this.#queue.addAfter(key, Math.min(remainingMs, limits.controllerTimerMsMax));
    }
  }

  /** Deletes the very state that has expired: one whose expiration was moved meanwhile stays. */
  async #delete({ name, uid, resourceVersion }: ExpiringSecret): Promise<void> {
    const { client, logger, dialect } = this.#context;
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid, resourceVersion } };
    try {
      await client.delete(
        resourcePath({ resource: 'secrets', namespace: dialect.namespaces.system, name }),
        options,
        this.#held.signal,
      );
      logger.info('the Secret of an expired bootstrap token was deleted', { secret: name });
    } catch (error) {
      // Somebody else deleted or changed it: the watch reports that.
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  close(): void {
    this.#held.close();
  }
}

function readSecret(object: ApiObject): ExpiringSecret {
  const { name = '', uid = '', resourceVersion = '', deletionTimestamp } = object.metadata;
  const expiresMs = bootstrapTokenExpiry(bootstrapTokenData(object));
  return { name, uid, resourceVersion, expiresMs, terminating: deletionTimestamp !== undefined };
}
