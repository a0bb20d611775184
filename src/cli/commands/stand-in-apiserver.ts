import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { publishedPrograms } from '../../dialect/published-programs.ts';
import { makeSelfSigned } from '../../pki/ca.ts';
import { httpsUrl } from '../../server/wiring/addresses.ts';
import type { ServerConfig } from '../../server/wiring/config.ts';
import { type Environment, systemEnvironment } from '../../server/wiring/environment.ts';
import { openStandInStore } from '../../store/drivers/stand-in/stand-in-store.ts';
import { servedHosts } from '../addresses.ts';
import { ignoredPluginFlags } from '../flags/admission-flags.ts';
import { apiserverPublishedFlags } from '../flags/apiserver-published-flags.ts';
import { warnOfAudit } from '../flags/audit-options.ts';
import { readBrowserOptions } from '../flags/browser-flags.ts';
import { warnOfGates } from '../flags/feature-gate-flag.ts';
import { boolean, choice, FlagError, type FlagTable, type FlagValues, integer, ipAddress } from '../flags/flags.ts';
import { serverLoggers } from '../flags/logging-flags.ts';
import { describeProblem, parseProgramLine } from '../flags/program-line.ts';
import { ignoredFlags, publishedFlagTable, takingAll, warnOfIgnored } from '../flags/published-flags.ts';
import { ignoredApis } from '../flags/runtime-config-flag.ts';
import { type ServerFlagValues, serverFlags } from '../flags/server-flags.ts';
import { readServerOptions } from '../flags/server-options.ts';
import { readTls } from '../flags/tls-flags.ts';
import { UsageError } from '../usage-error.ts';
import type { Command, Terminal } from './command.ts';
import { runServer } from './run-server.ts';
import { givenServing, ownServing, pemOf, servingConfig } from './serving-certificate.ts';
import { standInHelp } from './stand-in-help.ts';

const { server: program, dialect } = publishedPrograms;
/** Flags of ours that the published program does not have. */
const {
  'data-dir': _dataDir,
  dialect: _dialect,
  'serving-threads': _threads,
  'sqlite-file': _sqliteFile,
  ...shared
} = serverFlags;
const published = takingAll(apiserverPublishedFlags);

const flags = {
  ...shared,
  'bind-address': ipAddress({ default: '0.0.0.0', help: serverFlags['bind-address'].help }),
  'storage-backend': choice({ of: ['', 'etcd3'], default: '', defaultText: 'etcd3', help: 'where objects are kept' }),
};

/** A flag that the published program has no more, and that older libraries always give. */
const former = {
  'insecure-port': {
    ...integer({ min: 0, max: 65_535, default: 0, help: '' }),
    parse(text: string) {
      if (text !== '0') throw new Error(`invalid port value ${text}: only zero is allowed`);
      return 0;
    },
  },
};
const asked = { help: boolean({ default: false, help: '' }), version: boolean({ default: false, help: '' }) };

/** What a folder of `orch envtest` starts as API server. It reads its command line as the published program does. */
export const standInApiserver: Command = {
  summary: `What \`orch envtest\` puts in the place of ${program}`,
  description:
    'Serves the API for a test environment. Its data is in the memory of the program that stands in for etcd, or in etcd\n' +
    'where --etcd-servers names a real one. It runs no controllers, like the published program.',
  flags,
  published,
  readsAll: true,
  async run(args, terminal) {
    try {
      return await run(args, terminal);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      const text = error instanceof FlagError ? describeProblem(program, error.problem) : error.message;
      terminal.err(`Error: ${text}\n`);
      return 1;
    }
  },
};

export const apiserverHelp = (): string => standInHelp(program, standInApiserver);

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    terminal.out(apiserverHelp());
    return 0;
  }
  const table = { ...publishedFlagTable(published), ...flags, ...former, ...asked } satisfies FlagTable;
  const given = parseProgramLine(table, args);
  if (given.version) {
    terminal.out(`${dialect.title} ${dialect.gitVersion}\n`);
    return 0;
  }
  const values = publishedDefaults(given);
  const loggers = serverLoggers(values, 'json', { clock: systemClock, terminal });
  const { logger } = loggers;
  warnOfIgnored(logger, [...ignoredFlags(published, given), ...ignoredPluginFlags(values), ...ignoredApis(values)]);
  warnOfGates(logger, values['feature-gates']);
  warnOfAudit(values, logger);
  const context = { clock: systemClock, logger };
  const config: ServerConfig = {
    ...(await readBrowserOptions(values)),
    ...readServerOptions(values),
    ...serving(values, context),
    tls: readTls(values, context),
    controllers: { run: [], rootAuthority: '' },
    ...loggers,
  };
  const environment: Environment = {
    ...systemEnvironment,
    async openStore(storage, parts) {
      const standIn = storage.backend === 'etcd3' ? await openStandInStore(storage.endpoints, parts.clock) : undefined;
      return standIn ?? systemEnvironment.openStore(storage, parts);
    },
  };
  return runServer(config, {
    started: ({ address, port }) => logger.info('serving', { url: httpsUrl(address, port) }),
    environment,
  });
}

/** What holds in the published program where the command line says nothing. */
function publishedDefaults(given: FlagValues<typeof flags>): ServerFlagValues {
  if (given['etcd-servers'].length === 0) throw new UsageError('--etcd-servers must be specified');
  const asked = given['authorization-config'] !== undefined || given['authorization-mode'] !== undefined;
  return {
    ...given,
    'data-dir': '',
    dialect: dialect.name,
    'serving-threads': 1,
    'sqlite-file': undefined,
    // Whoever asks nobody may do everything, once it is known who it is.
    ...(!asked && { 'authorization-mode': ['AlwaysAllow'], 'anonymous-auth': given['anonymous-auth'] ?? false }),
  };
}

/** The pair that the flags name, or that of --cert-dir, made where it is missing; without a folder, one in memory. */
function serving(
  values: ServerFlagValues,
  context: Parameters<typeof servingConfig>[1],
): Pick<ServerConfig, 'serving' | 'followServing'> {
  const files =
    givenServing(values) ?? (values['cert-dir'] === undefined ? undefined : ownServing(values, { renews: true }));
  if (files) return servingConfig(files, context);
  const purpose = { subject: { commonName: program }, use: 'serverAuth', hosts: servedHosts(values) } as const;
  return { serving: pemOf(makeSelfSigned(purpose, { clock: systemClock, random: systemRandom })) };
}
