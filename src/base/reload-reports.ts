import { hash } from 'node:crypto';
import type { Metrics } from './metrics.ts';
import type { Clock } from './time/clock.ts';

interface ReloadReportsOptions {
  /** The configuration that is reloaded. */
  readonly of: 'authentication' | 'authorization' | 'encryption';
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Identifies this server; only its hash is shown; '' for none. */
  readonly serverId: string;
}

/** Reports that a configuration file has changed, and whether loading it succeeded. */
export type ReloadReports = (status: 'success' | 'failure') => void;

/** Counts reloads of a configuration file, under kube-apiserver's metric names. Create once per server. */
export function reloadReports({ of, metrics, clock, serverId }: ReloadReportsOptions): ReloadReports {
  const labels = ['status', 'apiserver_id_hash'] as const;
  const prefix = `apiserver_${of}_config_controller_automatic_reload`;
  const reloads = metrics.counter({
    name: `${prefix}s_total`,
    // Each thread reloads the same file.
    common: true,
    help: `How often the ${of} configuration was reloaded, by status and identity of the server.`,
    labels,
  });
  const last = metrics.gauge({
    name: `${prefix}_last_timestamp_seconds`,
    common: true,
    help: `When the ${of} configuration was last reloaded, by status and identity of the server.`,
    labels,
  });
  const apiserver_id_hash = hashedLabel(serverId);
  return (status) => {
    reloads.add({ status, apiserver_id_hash });
    last.set({ status, apiserver_id_hash }, clock.now() / 1000);
  };
}

/** The hash of a text that metrics must not show; '' is returned unchanged. */
export const hashedLabel = (text: string): string => (text === '' ? '' : `sha256:${hash('sha256', text)}`);
