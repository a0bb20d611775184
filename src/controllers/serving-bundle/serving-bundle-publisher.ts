import { createHash } from 'node:crypto';
import type { Closable } from '../../base/disposable.ts';
import { hasReason } from '../../client/api-client.ts';
import { discoverGroups } from '../../client/discovery-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { servingSigner } from '../../dialect/signer-names.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { observedPass } from '../publish-outcome.ts';

/**
 * Keeps one ClusterTrustBundle of the signer of API servers' certificates (spec section 2.8), with the authority that
 * clients in the cluster verify the server by. Its name ends with a hash of its content, so that a new authority is a
 * new bundle; all others of that signer are deleted. Nothing is done while ClusterTrustBundles are not served.
 */
export const startServingBundlePublisher = (context: ControllerContext): Closable => new Publisher(context);

/** `look`: whether the resource is served; `publish`: the bundles. */
type Work = 'look' | 'publish';

const kind = 'ClusterTrustBundle';
const resource = 'clustertrustbundles';
/** Between looks at discovery, in milliseconds: of a server that is another process, not all changes are reported. */
const lookMs = 30_000;
/** Bytes of SHA-256 in a name, as in kube-controller-manager. */
const hashBytes = 12;

const trustBundleOf = (object: ApiObject): unknown =>
  (object['spec'] as { readonly trustBundle?: string } | undefined)?.trustBundle;

interface Following extends Closable {
  readonly apiVersion: string;
  /** All bundles of the signer. */
  readonly bundles: Informer<ApiObject>;
}

class Publisher implements Closable {
  readonly #context: ControllerContext;
  readonly #signerName: string;
  readonly #name: string;
  readonly #group: string;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<Work>;
  #following: Following | undefined;
  #reported = false;

  constructor(context: ControllerContext) {
    const { dialect, rootAuthority } = context;
    this.#context = context;
    this.#group = dialect.group('certificates');
    this.#signerName = servingSigner(dialect);
    const hash = createHash('sha256').update(rootAuthority).digest('hex');
    this.#name = `${this.#signerName.replaceAll('/', ':')}:${hash.slice(0, 2 * hashBytes)}`;
    this.#queue = this.#held.add(
      new WorkQueue({
        ...context,
        name: 'ca_cert_publisher_cluster_trust_bundles',
        parallel: 1,
        work: (work: Work) => (work === 'look' ? this.#look() : this.#pass()),
      }),
    );
    this.#held.add({ close: () => this.#following?.close() });
    const told = context.onGroupsChanged?.((groups) => {
      if (groups.has(this.#group)) this.#queue.add('look');
    });
    if (told) this.#held.add(told);
    this.#queue.add('look');
  }

  /** Follows the bundles in the version in which they are served. */
  async #look(): Promise<void> {
    const { reader, logger, clock, dialect } = this.#context;
    const { resources, failures } = await discoverGroups(
      { clock, dialect, client: reader, signal: this.#held.signal },
      new Set([this.#group]),
    );
    this.#held.signal.throwIfAborted();
    const apiVersion = resources.find((each) => each.resource === resource)?.apiVersion;
    if (apiVersion === undefined && failures.length > 0) throw new Error(`discovery failed: ${failures[0]?.message}`);
    if (apiVersion !== this.#following?.apiVersion) {
      this.#following?.close();
      this.#following = apiVersion === undefined ? undefined : this.#follow(apiVersion);
      logger.info(apiVersion === undefined ? `${resource} are not served any more` : `${resource} are served`, {
        controller: this.#context.name,
      });
    }
    this.#queue.addAfter('look', lookMs);
  }

  #follow(apiVersion: string): Following {
    const publish = (): void => this.#queue.add('publish');
    const bundles = new Informer({
      ...this.#context,
      client: this.#context.reader,
      path: resourcePath({ apiVersion, resource, fieldSelector: `spec.signerName=${this.#signerName}` }),
      select: (object) => object,
      changed: publish,
      synced: publish,
    });
    return { apiVersion, bundles, close: () => bundles.close() };
  }

  #pass(): Promise<void> {
    const { clock, trustBundlePublished } = this.#context;
    return observedPass(() => this.#publish(), clock, trustBundlePublished);
  }

  /** One step at a time: the watch reports what was written, and asks for the next step. */
  async #publish(): Promise<void> {
    if (!this.#following?.bundles.synced) return;
    const { bundles, apiVersion } = this.#following;
    const found = bundles.get(`/${this.#name}`);
    if (found && trustBundleOf(found) === this.#context.rootAuthority) await this.#deleteOthers(bundles, apiVersion);
    else await this.#put(apiVersion, found);
  }

  /** Called when ours is there: until then, those who still use an old one can go on. */
  async #deleteOthers(bundles: Informer<ApiObject>, apiVersion: string): Promise<void> {
    const { client, logger } = this.#context;
    for (const key of [...bundles.keys()]) {
      const name = key.slice(1);
      if (name === this.#name) continue;
      try {
        await client.delete(this.#path(apiVersion, name), {}, this.#held.signal);
        logger.info('an outdated trust bundle was deleted', { name });
      } catch (error) {
        if (!hasReason(error, 'NotFound')) throw error;
      }
    }
  }

  async #put(apiVersion: string, found: ApiObject | undefined): Promise<void> {
    const { client, rootAuthority, logger } = this.#context;
    const spec = { signerName: this.#signerName, trustBundle: rootAuthority };
    const object = found ? { ...found, spec } : { apiVersion, kind, metadata: { name: this.#name }, spec };
    try {
      if (found) await client.update(this.#path(apiVersion, this.#name), object, this.#held.signal);
      else await client.create(this.#path(apiVersion), object, this.#held.signal);
      logger.info('the trust bundle of the server was published', { name: this.#name });
    } catch (error) {
      if (hasReason(error, 'Invalid')) this.#report(apiVersion, error);
      // Others made, changed or deleted the bundle meanwhile: the watch reports that.
      else if (!hasReason(error, 'AlreadyExists', 'Conflict', 'NotFound')) throw error;
    }
  }

  /** Once: the authority is no valid bundle, and stays so. A self-signed certificate of a server is no authority. */
  #report(apiVersion: string, error: unknown): void {
    if (this.#reported) return;
    this.#reported = true;
    const { events, logger } = this.#context;
    const message = error instanceof Error ? error.message : String(error);
    logger.warn('the authority of the server cannot be published as a trust bundle', { message });
    const about = { apiVersion, kind, name: this.#name };
    events.record({ about, type: 'Warning', reason: 'InvalidAuthority', message });
  }

  #path(apiVersion: string, name?: string): string {
    return resourcePath({ apiVersion, resource, name });
  }

  close(): void {
    this.#held.close();
  }
}
