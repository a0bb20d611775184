import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { clusterInfo } from '../../kinds/core/cluster-info.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { bootstrapTokensPath } from './bootstrap-tokens-path.ts';
import { encodePayload, signDetached } from './detached-signature.ts';
import { readSigningToken, type SigningToken } from './signing-token.ts';

const { name: configMapName, contentKey, signaturePrefix } = clusterInfo;

const configMaps = ({ namespaces }: Dialect) => ({ resource: 'configmaps', namespace: namespaces.public });

/**
 * Keeps in `cluster-info` a signature of its kubeconfig by every bootstrap token that is for signing and has not
 * expired (spec section 5.4), so that a holder of the token can tell it from a forgery. All keys with the prefix of
 * signatures are ours: others are removed. Without a kubeconfig nothing is changed, as in kube-controller-manager.
 */
export const startBootstrapSigner = (context: ControllerContext): Closable => new BootstrapSigner(context);

/** The one item of the queue. */
type Work = 'sign';

class BootstrapSigner implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<Work>;
  readonly #tokens: Informer<SigningToken | 'not for signing'>;
  readonly #configMaps: Informer<ApiObject>;
  /** The last signature by a token, so that a change of one token costs one signature. */
  readonly #signed = new WeakMap<SigningToken, { readonly content: string; readonly signature: string }>();

  constructor(context: ControllerContext) {
    this.#context = context;
    const { dialect } = context;
    const followed = { ...context, client: context.reader };
    const changed = (): void => this.#queue.add('sign');
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: 'bootstrap_signer_queue', parallel: 1, work: () => this.#sign() }),
    );
    this.#tokens = this.#held.add(
      new Informer({
        ...followed,
        path: bootstrapTokensPath(dialect),
        select: (secret) => readSigningToken(secret, dialect) ?? 'not for signing',
        changed: (_key, now, before) => {
          if (now !== before) changed();
        },
        synced: changed,
      }),
    );
    this.#configMaps = this.#held.add(
      new Informer({
        ...followed,
        path: resourcePath({ ...configMaps(dialect), fieldSelector: `metadata.name=${configMapName}` }),
        select: (object) => object,
        changed,
      }),
    );
  }

  async #sign(): Promise<void> {
    // Before the tokens are listed, all of them would seem to be gone.
    if (!this.#tokens.synced) return;
    const { namespaces } = this.#context.dialect;
    const found = this.#configMaps.get(`${namespaces.public}/${configMapName}`);
    const data = (found?.['data'] ?? {}) as Readonly<Record<string, string>>;
    const content = data[contentKey];
    if (!found || content === undefined) return;
    const signatures = await this.#signatures(content);
    const present = Object.keys(data).filter((key) => key.startsWith(signaturePrefix));
    const isSigned = present.length === signatures.size && present.every((key) => data[key] === signatures.get(key));
    if (isSigned) return;
    const others = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix));
    await this.#update({ ...found, data: Object.fromEntries([...others, ...signatures]) });
  }

  /** Signatures by their keys in the ConfigMap. Sets the timer for the next token that expires. */
  async #signatures(content: string): Promise<ReadonlyMap<string, string>> {
    const { clock } = this.#context;
    const slice = new TimeSlice(clock, { owner: this });
    const payload = encodePayload(content);
    const signatures = new Map<string, string>();
    const now = clock.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const name of [...this.#tokens.keys()]) {
      if (slice.over) await slice.next();
      const token = this.#tokens.get(name);
      if (token === undefined || token === 'not for signing' || token.expiresMs <= now) continue;
      nextMs = Math.min(nextMs, token.expiresMs - now);
      signatures.set(signaturePrefix + token.key.id, this.#signature(token, content, payload));
    }
    if (Number.isFinite(nextMs)) this.#queue.addAfter('sign', Math.min(nextMs, limits.controllerTimerMsMax));
    return signatures;
  }

  #signature(token: SigningToken, content: string, payload: string): string {
    const before = this.#signed.get(token);
    if (before?.content === content) return before.signature;
    const signature = signDetached(token.key, payload);
    this.#signed.set(token, { content, signature });
    return signature;
  }

  async #update(signed: ApiObject): Promise<void> {
    const { client, dialect } = this.#context;
    try {
      await client.update(resourcePath({ ...configMaps(dialect), name: configMapName }), signed, this.#held.signal);
    } catch (error) {
      // It is immutable or full: retrying is useless until somebody changes it.
      if (hasReason(error, 'Invalid')) return this.#report(signed, error);
      // Somebody changed or deleted it: the watch reports that.
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  #report({ metadata: { namespace = '', uid = '' } }: ApiObject, error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error);
    this.#context.logger.warn('cluster-info cannot be signed', { problem });
    this.#context.events.record({
      about: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: configMapName, uid },
      type: 'Warning',
      reason: 'FailedSigning',
      message: `signatures of bootstrap tokens cannot be stored: ${problem}`,
    });
  }

  close(): void {
    this.#held.close();
  }
}
