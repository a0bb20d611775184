import { join } from 'node:path';
import { makePrivateDirectory } from '../../base/atomic-file.ts';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { ensureSelfSigned } from '../../pki/ca.ts';
import { httpsUrl } from '../../server/wiring/addresses.ts';
import type { ServerConfig } from '../../server/wiring/config.ts';
import { servedHosts } from '../addresses.ts';
import { ignoredPluginFlags } from '../flags/admission-flags.ts';
import { apiserverPublishedFlags } from '../flags/apiserver-published-flags.ts';
import { warnOfAudit } from '../flags/audit-options.ts';
import { readBrowserOptions } from '../flags/browser-flags.ts';
import { warnOfGates } from '../flags/feature-gate-flag.ts';
import { serverLoggers } from '../flags/logging-flags.ts';
import { warnOfIgnored } from '../flags/published-flags.ts';
import { ignoredApis } from '../flags/runtime-config-flag.ts';
import { type ServerFlagValues, serverFlags } from '../flags/server-flags.ts';
import { certificateDirectory, readServerOptions } from '../flags/server-options.ts';
import { readTls } from '../flags/tls-flags.ts';
import { defineCommand } from './command.ts';
import { runServer } from './run-server.ts';
import { givenServing, type ServingCertificate, servingConfig } from './serving-certificate.ts';

export const apiserver = defineCommand({
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
    warnOfIgnored(logger, [...ignored, ...ignoredPluginFlags(values), ...ignoredApis(values)]);
    warnOfGates(logger, values['feature-gates']);
    warnOfAudit(values, logger);
    const context = { clock: systemClock, logger };
    const tls = readTls(values, context);
    const config: ServerConfig = {
      ...(await readBrowserOptions(values)),
      ...readServerOptions(values),
      ...servingConfig(givenServing(values) ?? ownServing(values), context),
      tls,
      // Controllers run in a separate program: `orch controller-manager`.
      controllers: { run: [], rootAuthority: '' },
      ...loggers,
    };
    return runServer(config, ({ address, port }) => logger.info('serving', { url: httpsUrl(address, port) }));
  },
});

/** A self-signed pair in --cert-dir; an existing one is reused. */
function ownServing(values: ServerFlagValues): ServingCertificate {
  const directory = certificateDirectory(values);
  makePrivateDirectory(directory);
  const files = { certificate: join(directory, 'apiserver.crt'), key: join(directory, 'apiserver.key') };
  const purpose = { subject: { commonName: 'orch-apiserver' }, use: 'serverAuth' } as const;
  const context = { clock: systemClock, random: systemRandom };
  return { files, read: () => ensureSelfSigned(files, { ...purpose, hosts: servedHosts(values) }, context) };
}
