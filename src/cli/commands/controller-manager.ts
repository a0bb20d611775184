import { hostname } from 'node:os';
import { isatty } from 'node:tty';
import { ClosableStack } from '../../base/disposable.ts';
import { systemFiles } from '../../base/files.ts';
import { Metrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import { pause, systemClock } from '../../base/time/clock.ts';
import { defaultTiming, type ElectionTiming } from '../../client/leader-election.ts';
import { ControllerMetrics } from '../../controllers/controller-metrics.ts';
import type { ControllerName, ControllersContext } from '../../controllers/controllers.ts';
import { Leadership } from '../../controllers/leadership.ts';
import { runAsLeader, runControllers } from '../../controllers/run-controllers.ts';
import { dialectNames, dialects } from '../../dialect/dialects.ts';
import { publishedControllers } from '../../dialect/published-controllers.ts';
import { readKubeconfig } from '../../outbound/connection-files/kubeconfig.ts';
import type { PluginHost } from '../../outbound/credentials/plugin-process.ts';
import { systemNetwork } from '../../outbound/network/system-network.ts';
import type { StatusEndpoint } from '../../server/delegated/status-endpoint.ts';
import { type HealthCheck, HealthChecks } from '../../server/upkeep/health-checks.ts';
import { httpsUrl } from '../../server/wiring/addresses.ts';
import { namesOfEnabled } from '../../server/wiring/features.ts';
import { clusterSigningFlags } from '../flags/cluster-signing-flags.ts';
import { controllerManagerPublishedFlags } from '../flags/controller-manager-published-flags.ts';
import { chosenControllers, controllersFlag, simulatedNodesFlags } from '../flags/controllers-flag.ts';
import { featureGateFlag, warnOfGates } from '../flags/feature-gate-flag.ts';
import { readBundle } from '../flags/flag-files.ts';
import { boolean, choice, duration, type FlagValues, file, optionalText } from '../flags/flags.ts';
import { commandLogger, loggingFlags } from '../flags/logging-flags.ts';
import { metricsFlags, readMetrics } from '../flags/metrics-flags.ts';
import { warnOfIgnored } from '../flags/published-flags.ts';
import { readStatusEndpoint, statusEndpointFlags } from '../flags/status-endpoint-flags.ts';
import { untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';
import { openCertificateSigning } from './certificate-signing.ts';
import { defineCommand, type Terminal } from './command.ts';
import { ControllerClients } from './controller-clients.ts';
import { explainListenError } from './run-server.ts';
import { type OpenedSigner, openSecretTokenSigner, type SignerContext } from './secret-token-signer.ts';

const flags = {
  ...clusterSigningFlags,
  ...loggingFlags,
  ...metricsFlags,
  ...statusEndpointFlags,
  ...simulatedNodesFlags,
  controllers: controllersFlag(['*']),
  dialect: choice({ of: dialectNames, default: 'orch', help: 'the names that the API carries' }),
  kubeconfig: file({ help: 'connection file that says where the API server is, and who we are' }),
  'feature-gates': featureGateFlag,
  'leader-elect': boolean({ default: true, help: 'run the controllers only while no other program does' }),
  'leader-elect-lease-duration': duration({
    default: defaultTiming.leaseMs,
    defaultText: '15s',
    help: 'how long others wait after the last renewal before they take over',
  }),
  'leader-elect-renew-deadline': duration({
    default: defaultTiming.renewMs,
    defaultText: '10s',
    help: 'how long the leader tries to renew before it stops leading; less than the lease duration',
  }),
  'leader-elect-resource-name': optionalText({
    placeholder: 'NAME',
    help: 'the lease that is competed for',
    defaultText: "the name of this program in the dialect's words",
  }),
  'leader-elect-resource-namespace': optionalText({
    placeholder: 'NAMESPACE',
    help: 'where that lease is',
    defaultText: 'the system namespace',
  }),
  'leader-elect-retry-period': duration({
    default: defaultTiming.retryMs,
    defaultText: '2s',
    help: 'between attempts to take or renew the lease; less than the renew deadline',
  }),
  'root-ca-file': file({
    help: 'authorities (PEM) that are published in every namespace, and stand beside the tokens in secrets',
    defaultText: 'those of the connection file',
  }),
  'service-account-private-key-file': file({
    help: 'private key (PEM) that signs the tokens of service accounts that are kept in secrets',
    defaultText: 'such secrets are left alone',
  }),
  'use-service-account-credentials': boolean({
    default: false,
    help: 'let each controller work as its own service account in the system namespace, by tokens that we ask for',
  }),
} as const;

type Values = FlagValues<typeof flags>;

export const controllerManager = defineCommand({
  summary: 'The controllers, as a client of an API server',
  description:
    'Runs the controllers against the API server of a connection file. Of several programs one runs them, the others wait\n' +
    'until it ends or loses its lease. The log goes to standard error, a JSON object a line.',
  flags,
  published: controllerManagerPublishedFlags,
  async run(values, terminal, ignored) {
    const clock = systemClock;
    const logger = commandLogger(values, 'json', { clock, terminal });
    warnOfIgnored(logger, ignored);
    warnOfGates(logger, values['feature-gates']);
    const { kubeconfig } = values;
    if (kubeconfig === undefined) throw new UsageError('--kubeconfig is missing: --kubeconfig=FILE');
    const timing = readTiming(values);
    const dialect = dialects[values.dialect];
    const connection = readKubeconfig(kubeconfig, dialect, systemFiles);
    const caFile = values['root-ca-file'];
    const rootAuthority = (caFile === undefined ? connection.authorities : readBundle('root-ca-file', caFile)) ?? '';
    const signer = openSigner(values, { clock, logger, dialect });
    const signing = openCertificateSigning(values, { clock, logger });
    const metrics = new Metrics(readMetrics(values));
    metrics.countThemselves();
    const clients = new ControllerClients({
      ...{ connection, clock, logger, dialect, metrics },
      pluginHost: pluginHost(terminal),
    });
    const context: ControllersContext = {
      client: clients.own,
      features: namesOfEnabled(values['feature-gates'].features),
      ...(values['use-service-account-credentials'] && { clientOf: (account) => clients.ofAccount(account) }),
      clock,
      random: systemRandom,
      logger,
      dialect,
      rootAuthority,
      simulatedNodes: values['simulated-nodes'],
      metrics: new ControllerMetrics(metrics, dialect.controllerManager),
      ...(signer && { signSecretToken: signer.sign }),
      ...signing.config,
    };
    const leadership = new Leadership(clock);
    const held = new ClosableStack();
    for (const each of [signer, signing, clients]) if (each) held.add(each);
    try {
      const endpoint = await openEndpoint(values, context, { metrics, leadership });
      if (endpoint) held.add(endpoint);
      return await untilStopped(logger, (_stopped, signal) => manage(values, timing, context, signal, leadership));
    } finally {
      held.close();
    }
  },
});

interface Shown {
  readonly metrics: Metrics;
  readonly leadership: Leadership;
}

/** Opens the port with health and metrics, if one is wanted. */
async function openEndpoint(
  values: Values,
  { clock, random, logger, dialect, metrics: controllers }: ControllersContext,
  { metrics, leadership }: Shown,
): Promise<StatusEndpoint | undefined> {
  const config = readStatusEndpoint(values, dialect.controllerManager, { clock, logger });
  if (!config) return undefined;
  const elected: readonly HealthCheck[] = values['leader-elect']
    ? [{ name: 'leaderElection', run: () => leadership.problem() }]
    : [];
  const health = new HealthChecks({
    ...{ clock, logger, dialect },
    checks: () => ({
      healthz: [...elected, ...(controllers?.running ?? []).map((name) => ({ name, run: () => undefined }))],
    }),
  });
  const { openStatusEndpoint } = await import('../../server/delegated/status-endpoint.ts');
  const environment = { files: systemFiles, network: systemNetwork, hostname: hostname(), variables: process.env };
  const parts = { clock, random, logger, dialect, metrics, health, environment };
  const endpoint = await openStatusEndpoint(config, parts).catch((error: unknown) => {
    throw explainListenError(error, config);
  });
  logger.info('serving health and metrics', { url: httpsUrl(endpoint.address, endpoint.port) });
  return endpoint;
}

function openSigner(values: Values, context: SignerContext): OpenedSigner | undefined {
  const flag = 'service-account-private-key-file';
  const path = values[flag];
  return path === undefined ? undefined : openSecretTokenSigner(flag, path, context);
}

/** Credential plugins may prompt the user. */
const pluginHost = (terminal: Terminal): PluginHost => ({
  environment: process.env,
  interactive: isatty(0),
  stderr: terminal.err,
});

function readTiming(values: Values): ElectionTiming {
  const timing = {
    leaseMs: values['leader-elect-lease-duration'],
    renewMs: values['leader-elect-renew-deadline'],
    retryMs: values['leader-elect-retry-period'],
  };
  if (timing.renewMs >= timing.leaseMs) {
    throw new UsageError('--leader-elect-renew-deadline: must be less than --leader-elect-lease-duration');
  }
  if (timing.retryMs <= 0 || timing.retryMs >= timing.renewMs) {
    throw new UsageError(
      '--leader-elect-retry-period: must be more than 0 and less than --leader-elect-renew-deadline',
    );
  }
  return timing;
}

/** Runs the controllers until a signal; rejects if leadership is lost, so that a supervisor restarts the program. */
async function manage(
  values: Values,
  timing: ElectionTiming,
  context: ControllersContext,
  signal: AbortSignal,
  leadership: Leadership,
): Promise<void> {
  await requireDialect(context, signal);
  const names = chosenControllers(values).filter((name) => isPossible(name, context));
  if (!values['leader-elect']) return runControllers(names, context, signal);
  const { namespaces, controllerManager } = context.dialect;
  const namespace = values['leader-elect-resource-namespace'] ?? namespaces.system;
  const name = values['leader-elect-resource-name'] ?? controllerManager;
  const election = { random: systemRandom, hostname: hostname(), timing, namespace, name, leadership };
  await runAsLeader(names, context, election, signal);
  if (!signal.aborted) throw new Error('the lease was lost; the controllers have stopped');
}

/** They publish the authority of the server. */
const publishers: ReadonlySet<ControllerName> = new Set([
  'root-ca-certificate-publisher-controller',
  publishedControllers.servingBundlePublisher,
]);

/**
 * Without an authority, no root CA can be published; such a server is verified against the system's trust store.
 * Without a key, no tokens can be signed.
 */
function isPossible(name: ControllerName, { rootAuthority, signSecretToken, logger }: ControllersContext): boolean {
  if (publishers.has(name) && rootAuthority === '') {
    logger.warn('nothing to publish: neither --root-ca-file nor the connection file names an authority', { name });
    return false;
  }
  if (name === 'serviceaccount-token-controller' && !signSecretToken) {
    logger.info('secrets for tokens of service accounts are left alone: no --service-account-private-key-file');
    return false;
  }
  return true;
}

/** Interval of attempts to reach the server. Milliseconds. */
const reachMs = 1_000;

/** Waits for the server and checks its dialect: controllers would otherwise request missing resources over and over. */
async function requireDialect(
  { client, clock, logger, dialect }: ControllersContext,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { groups } = await client.get<{ groups: readonly { name: string }[] }>('/apis', signal);
      if (groups.some(({ name }) => name === dialect.group('coordination'))) return;
      throw new UsageError(`--dialect: the server does not speak the dialect ${dialect.name}`);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      if (!signal.aborted) logger.warn('the server cannot be reached yet', { error });
    }
    await pause(clock, reachMs, signal);
  }
}
