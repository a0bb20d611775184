import { silentLogger } from '../../base/logger.ts';
import { systemClock } from '../../base/time/clock.ts';
import { httpsUrl } from '../../server/wiring/addresses.ts';
import type { ServerConfig } from '../../server/wiring/config.ts';
import type { WorkerAhead } from '../../store/drivers/sqlite/worker-ahead.ts';
import { apiserverPublishedFlags } from '../flags/apiserver-published-flags.ts';
import { readBrowserOptions } from '../flags/browser-flags.ts';
import { serverLoggers } from '../flags/logging-flags.ts';
import { serverFlags, servingThreads } from '../flags/server-flags.ts';
import { readServerOptions } from '../flags/server-options.ts';
import { warnOfFlags } from '../flags/server-warnings.ts';
import { readTls } from '../flags/tls-flags.ts';
import { type Command, defineCommand } from './command.ts';
import { runServer } from './run-server.ts';
import { givenServing, ownServing, servingConfig } from './serving-certificate.ts';
import { onThread } from './storage-thread.ts';

/** `thread`: see `startStorageThread`. */
export const apiserver = (thread?: WorkerAhead): Command => ({
  ...defineApiserver(thread),
  close: () => thread?.close(),
});

const defineApiserver = (thread: WorkerAhead | undefined): Command =>
  defineCommand({
    summary: 'The API server for production: only what the flags say',
    description:
      'Serves the API. Who may come in is what --client-ca-file and --token-auth-file say: nobody is made here. Without\n' +
      '--tls-cert-file it serves with apiserver.crt and apiserver.key of --cert-dir, and signs them itself where they are\n' +
      'missing. The log goes to standard error, a JSON object a line.',
    flags: serverFlags,
    published: apiserverPublishedFlags,
    async run(values, terminal, ignored) {
      const loggers = serverLoggers(values, 'json', { clock: systemClock, terminal });
      const { logger } = loggers;
      const isServing = terminal.threads?.type === 'serving';
      // The main thread has said it.
      warnOfFlags(values, ignored, isServing ? silentLogger : logger);
      const context = { clock: systemClock, logger };
      const tls = readTls(values, context);
      const browsers = await readBrowserOptions(values);
      const options = readServerOptions(values);
      const config: ServerConfig = {
        ...browsers,
        ...options,
        storage: onThread(options.storage, thread),
        ...servingConfig(givenServing(values) ?? ownServing(values, { renews: !isServing }), context),
        tls,
        // Controllers run in a separate program: `orch controller-manager`.
        controllers: { run: [], rootAuthority: '' },
        ...loggers,
      };
      return runServer(config, {
        ...{ terminal, threads: servingThreads(values) },
        started: ({ address, port }) => logger.info('serving', { url: httpsUrl(address, port) }),
      });
    },
  });
