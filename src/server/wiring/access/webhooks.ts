import type { Logger } from '../../../base/logger.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { ConnectionConfig } from '../../../outbound/connection-config.ts';
import { inClusterConnection } from '../../../outbound/connection-files/in-cluster.ts';
import { readKubeconfig } from '../../../outbound/connection-files/kubeconfig.ts';
import type { PluginHost } from '../../../outbound/credentials/plugin-process.ts';
import { type WebhookSender, webhookSender } from '../../../outbound/webhook-sender.ts';
import type { OutsideWorld } from '../environment.ts';

export interface WebhookParts {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment: OutsideWorld;
}

/** How a webhook is reached. */
type WebhookTarget =
  | { readonly type: 'file'; readonly file: string }
  /** `path` at the API server of a connection file. */
  | { readonly type: 'server'; readonly file: string; readonly path: string }
  /** `path` at the API server of the cluster that this program runs in. */
  | { readonly type: 'inCluster'; readonly path: string };

/** Opens a webhook client. Throws if the connection file cannot be used; sends nothing yet. The log tells who is asked without TLS. */
export function openWebhook(
  target: WebhookTarget,
  timeoutMs: number,
  { dialect, clock, logger, environment }: WebhookParts,
): WebhookSender {
  const connection = connectionOf(target, dialect, environment);
  if (connection.server.protocol === 'http:') warnOfHttp(connection, logger);
  return webhookSender(connection, {
    clock,
    network: environment.network,
    files: environment.files,
    timeoutMs,
    userAgent: 'orch',
    pluginHost: credentialPluginHost(environment, logger),
  });
}

function warnOfHttp({ server, credential }: ConnectionConfig, logger: Logger): void {
  const hasCredential = credential.type === 'plugin' || credential.authorization !== undefined;
  logger.warn('a webhook is asked without TLS: whoever is between can read and change what is said', {
    server: server.host,
    ...(hasCredential && { credential: 'it is sent as well, for everybody between to read' }),
  });
}

/** Credential plugins of the server: nobody is there to answer them. */
export const credentialPluginHost = ({ variables }: Pick<OutsideWorld, 'variables'>, logger: Logger): PluginHost => ({
  environment: variables,
  interactive: false,
  stderr: (text) => logger.warn('output of a credential plugin', { text: text.trimEnd() }),
});

function connectionOf(target: WebhookTarget, dialect: Dialect, environment: OutsideWorld): ConnectionConfig {
  if (target.type === 'file') return readKubeconfig(target.file, dialect, environment.files, { allowsHttp: true });
  const connection =
    target.type === 'server'
      ? readKubeconfig(target.file, dialect, environment.files)
      : inClusterConnection(dialect, environment);
  return { ...connection, server: new URL(target.path, connection.server) };
}
