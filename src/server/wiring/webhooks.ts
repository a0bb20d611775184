import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Connection } from '../../outbound/connection.ts';
import { inClusterConnection } from '../../outbound/connection-files/in-cluster.ts';
import { readKubeconfig } from '../../outbound/connection-files/kubeconfig.ts';
import { type WebhookSender, webhookSender } from '../../outbound/webhook-sender.ts';

interface WebhookParts {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How a webhook is reached. */
type WebhookPlace =
  | { readonly type: 'file'; readonly file: string }
  /** `path` of the API server of the cluster that this program runs in. */
  | { readonly type: 'inCluster'; readonly path: string };

/** Opens the way to a webhook. Throws where its connection file cannot be used; nothing is sent yet. */
export function openWebhook(
  place: WebhookPlace,
  timeoutMs: number,
  { dialect, clock, logger }: WebhookParts,
): WebhookSender {
  return webhookSender(connectionOf(place, dialect), {
    clock,
    timeoutMs,
    userAgent: 'orch',
    pluginHost: {
      environment: process.env,
      interactive: false,
      stderr: (text) => logger.warn('a credential plugin says', { text: text.trimEnd() }),
    },
  });
}

function connectionOf(place: WebhookPlace, dialect: Dialect): Connection {
  if (place.type === 'file') return readKubeconfig(place.file, dialect);
  const connection = inClusterConnection(dialect, process.env);
  return { ...connection, server: new URL(place.path, connection.server) };
}
