import { join } from 'node:path';
import { ClosableStack } from '../../base/disposable.ts';
import { silentLogger } from '../../base/logger.ts';
import { systemClock } from '../../base/time/clock.ts';
import { dialects } from '../../dialect/dialects.ts';
import { ensureKey } from '../../pki/key-pair-files.ts';
import { httpsUrl, localAddress } from '../../server/wiring/addresses.ts';
import type { ListenAddress, ServerConfig } from '../../server/wiring/config.ts';
import type { WorkerAhead } from '../../store/drivers/sqlite/worker-ahead.ts';
import { apiserverPublishedFlags } from '../flags/apiserver-published-flags.ts';
import { readBrowserOptions } from '../flags/browser-flags.ts';
import { chosenControllers } from '../flags/controllers-flag.ts';
import { readBytes } from '../flags/flag-files.ts';
import { serverLoggers } from '../flags/logging-flags.ts';
import { type ServerFlagValues, servingThreads } from '../flags/server-flags.ts';
import { certificateDirectory, readServerOptions } from '../flags/server-options.ts';
import { warnOfFlags } from '../flags/server-warnings.ts';
import { readTls } from '../flags/tls-flags.ts';
import { upFlags } from '../flags/up-flags.ts';
import { openCertificateSigning } from './certificate-signing.ts';
import { type Command, defineCommand } from './command.ts';
import { runServer } from './run-server.ts';
import { onThread } from './storage-thread.ts';
import { makeDirectories, UpCertificates } from './up-certificates.ts';
import { productVersion } from './version.ts';

/** `thread`: see `startStorageThread`. */
export const up = (thread?: WorkerAhead): Command => ({
  ...defineUp(thread),
  close: () => thread?.close(),
});

const defineUp = (thread: WorkerAhead | undefined): Command =>
  defineCommand({
    summary: 'Starts everything in one process; needs no configuration',
    description:
      'Makes a private authority, certificates and an administrator under --data-dir on the first start, serves the API\n' +
      'from there, and writes <data-dir>/admin.kubeconfig. Every flag of `orch apiserver` works here too; authorities of\n' +
      '--client-ca-file are trusted beside its own.',
    flags: upFlags,
    published: apiserverPublishedFlags,
    async run(given, terminal, ignored) {
      const loggers = serverLoggers(given, 'text', { clock: systemClock, terminal });
      const { logger } = loggers;
      const isServing = terminal.threads?.type === 'serving';
      // The main thread has said it.
      warnOfFlags(given, ignored, isServing ? silentLogger : logger);
      const values = { ...given, ...ownSettings(given) };
      const run = chosenControllers(values);
      const browsers = await readBrowserOptions(values);
      const tls = readTls(values, { clock: systemClock, logger });
      const options = readServerOptions(values, (path) => readTokenKey(values, path));
      const held = new ClosableStack();
      try {
        const certificates = held.add(new UpCertificates(values, { clock: systemClock, logger, renews: !isServing }));
        const { kubeconfig, authority } = certificates;
        const signing = held.add(openCertificateSigning(given, { clock: systemClock, logger, own: authority }));
        const config: ServerConfig = {
          ...browsers,
          ...options,
          ...certificates.server,
          storage: onThread(options.storage, thread),
          tls,
          authentication: {
            ...options.authentication,
            clientAuthorities: { ...options.authentication.clientAuthorities, fixed: [authority.certificatePem] },
          },
          controllers: {
            ...{ run, rootAuthority: certificates.authorities, simulatedNodes: values['simulated-nodes'] },
            ...signing.config,
          },
          joinPolicy: true,
          ...loggers,
        };
        return await runServer(config, {
          ...{ terminal, threads: servingThreads(values) },
          started(at) {
            const url = localUrl(values, at);
            const { name: dialect, commandLineClient: client } = options.dialect;
            terminal.out(welcome({ dialect, url, kubeconfig, client }));
          },
        });
      } finally {
        held.close();
      }
    },
  });

/** Settings of `up` that the flags did not give. */
function ownSettings(values: ServerFlagValues): Partial<ServerFlagValues> {
  const issuers = values['service-account-issuer'];
  return {
    'service-account-signing-key-file': values['service-account-signing-key-file'] ?? tokenKeyFile(values),
    'service-account-issuer': issuers.length > 0 ? issuers : [dialects[values.dialect].tokenIssuer],
  };
}

const tokenKeyFile = (values: ServerFlagValues): string => join(certificateDirectory(values), 'service-account.key');

/** Creates the default key before it is first read. */
function readTokenKey(values: ServerFlagValues, path: string): Buffer {
  if (path === tokenKeyFile(values)) {
    makeDirectories(values);
    ensureKey(path);
  }
  return readBytes(path);
}

const localUrl = (values: ServerFlagValues, { port }: ListenAddress): string =>
  httpsUrl(localAddress(values['bind-address']), port);

interface Welcome {
  readonly dialect: string;
  readonly url: string;
  readonly kubeconfig: string;
  readonly client: string;
}

function welcome({ dialect, url, kubeconfig, client }: Welcome): string {
  const command = `  ${client} --kubeconfig ${shellWord(kubeconfig)}`;
  return [
    `orch ${productVersion} listens on ${url} (dialect ${dialect})`,
    `${kubeconfig} may do everything: keep it to yourself`,
    '',
    'Try:',
    `${command} get namespaces`,
    `${command} create configmap greeting --from-literal=text=hello`,
    `${command} get configmaps --watch`,
    '',
    '',
  ].join('\n');
}

/** Quotes a word for the shell if needed. */
const shellWord = (word: string): string =>
  /^[-\w./:@%+=,]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
