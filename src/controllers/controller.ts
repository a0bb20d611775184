import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ApiClient } from '../client/api-client.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { SharedInformers } from '../client/shared-informers.ts';
import type { WorkQueueMetrics } from '../client/work-queue-metrics.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { CertificateSigning } from './certificate-signing.ts';
import type { PublishOutcome } from './publish-outcome.ts';
import type { JobMetrics } from './workloads/job-metrics.ts';

/** Dependencies of every controller. */
export interface ControllerContext {
  /** The controller's name; also that of its queue in metrics, if it gives it no other. */
  readonly name: string;
  readonly queueMetrics?: WorkQueueMetrics | undefined;
  /** Observe a pass of the publisher of the root CA over one namespace, and of the publisher of the trust bundle. */
  readonly rootCaPublished?: ((outcome: PublishOutcome) => void) | undefined;
  readonly trustBundlePublished?: ((outcome: PublishOutcome) => void) | undefined;
  /** Observes jobs and cron jobs. */
  readonly jobMetrics?: JobMetrics | undefined;
  /** Client for the controller's own requests, with the identity of its service account if it has one. */
  readonly client: ApiClient;
  /**
   * Client for lists and watches. Reads are shared, as in kube-controller-manager: an account may only be able to
   * write.
   */
  readonly reader: ApiClient;
  /** Records Events with the controller's own identity and its name as the component. */
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly dialect: Dialect;
  /**
   * Notifies the listener of groups whose served resources changed, until closed. Of a server that is another process,
   * only definitions of custom resources are followed; for anything else, such as a restart with other flags, and while
   * they cannot be followed, discovery has to be polled.
   */
  readonly onGroupsChanged?: (listener: (groups: ReadonlySet<string>) => void) => Closable;
  /** PEM of the CA that clients in the cluster verify the API server against. */
  readonly rootAuthority: string;
  /** Absent if there is no key to sign service account tokens with. */
  readonly signSecretToken?: SecretTokenSigner;
  /** Number of nodes that `simulated-nodes` registers. */
  readonly simulatedNodes?: number | undefined;
  /** Absent if there is no authority to sign certificates with. */
  readonly certificateSigning?: CertificateSigning;
}

/** Dependencies of controllers that follow whole collections, as those of workloads do. */
export interface InformedContext extends ControllerContext {
  /** Copies of collections, one for all controllers of the process, read with `reader`. */
  readonly informers: SharedInformers;
}

/** Signs a service account token that is stored in the named Secret of the account's namespace. */
export type SecretTokenSigner = (
  account: { readonly namespace: string; readonly name: string; readonly uid: string },
  secretName: string,
) => string | Promise<string>;
