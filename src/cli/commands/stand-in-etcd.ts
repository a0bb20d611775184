import { ipVersion } from '../../base/ip-version.ts';
import { createLogger } from '../../base/logger.ts';
import { systemClock } from '../../base/time/clock.ts';
import { etcdRelease, openEtcdStandIn } from '../../store/drivers/stand-in/etcd-stand-in.ts';
import { etcdFlags, etcdPublishedFlags } from '../flags/etcd-flags.ts';
import { FlagError, type FlagProblem } from '../flags/flags.ts';
import { parseProgramLine } from '../flags/program-line.ts';
import { ignoredFlags, publishedFlagTable } from '../flags/published-flags.ts';
import { untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';
import type { Command, Terminal } from './command.ts';
import { standInHelp } from './stand-in-help.ts';

const table = { ...publishedFlagTable(etcdPublishedFlags), ...etcdFlags };

/** What a folder of `orch envtest` starts as etcd. It reads its command line as etcd does. */
export const standInEtcd: Command = {
  summary: 'What `orch envtest` puts in the place of etcd',
  description: 'Holds the data of the API servers of a test environment in memory, for as long as it runs.',
  flags: etcdFlags,
  published: etcdPublishedFlags,
  readsAll: true,
  async run(args, terminal) {
    if (args.some((arg) => /^--?h(elp)?$/.test(arg))) {
      terminal.out(etcdHelp());
      return 0;
    }
    if (args.some((arg) => /^--?version(=true)?$/.test(arg))) {
      terminal.out(`etcd Version: ${etcdRelease}\n`);
      return 0;
    }
    try {
      return await serve(args, terminal);
    } catch (error) {
      if (!(error instanceof FlagError)) throw error;
      terminal.err(`${describeEtcdProblem(error.problem)}\n`);
      return error.problem.type === 'argument' ? 1 : 2;
    }
  },
};

export const etcdHelp = (): string => standInHelp('etcd', standInEtcd);

async function serve(args: readonly string[], terminal: Terminal): Promise<number> {
  // As in Go, one dash is as good as two; the environment comes first, so that flags count more.
  const dashed = args.map((arg) => arg.replace(/^-(?=[a-z][a-z0-9-]+(?:=|$))/, '--'));
  const values = parseProgramLine(table, [...fromEnvironment(), ...dashed]);
  const addresses = [values['listen-client-urls'], values['listen-metrics-urls'] ?? ''].flatMap(addressesOf);
  const logger = createLogger({ format: 'json', level: 'info', clock: systemClock, write: terminal.err });
  const flags = ignoredFlags(etcdPublishedFlags, values).map(({ name }) => `--${name}`);
  if (flags.length > 0) logger.info('flags change nothing here', { flags: flags.join(' ') });
  return untilStopped(logger, async (stopped) => {
    const standIn = await openEtcdStandIn(addresses);
    try {
      for (const { address, port } of standIn.addresses) {
        logger.info('ready to serve client requests', { address, port });
      }
      await stopped;
    } finally {
      standIn.close();
    }
  });
}

/** etcd takes every flag from a variable as well. */
const fromEnvironment = (): readonly string[] =>
  Object.keys(table).flatMap((name) => {
    const value = process.env[`ETCD_${name.toUpperCase().replaceAll('-', '_')}`];
    return value === undefined || value === '' ? [] : [`--${name}=${value}`];
  });

/** The addresses of comma-separated URLs, of the form that etcd wants. */
function addressesOf(urls: string): readonly { readonly host: string; readonly port: number }[] {
  return urls
    .split(',')
    .filter((url) => url !== '')
    .map((text) => {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      if (url?.protocol === 'https:') {
        throw new UsageError(`${text}: plain HTTP alone is spoken here: leave TLS out, or use etcd itself`);
      }
      const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
      if (url?.protocol !== 'http:' || !/^\/?$/.test(url.pathname) || (ipVersion(host) === 0 && host !== 'localhost')) {
        throw new UsageError(`${JSON.stringify(text)} is not of the form http://IP:PORT`);
      }
      return { host, port: url.port === '' ? 80 : Number(url.port) };
    });
}

/** What etcd prints, whose flags are those of Go's own package. */
function describeEtcdProblem(problem: FlagProblem): string {
  switch (problem.type) {
    case 'unknown':
      return `flag provided but not defined: -${problem.name}\n${usage}`;
    case 'noValue':
      return `flag needs an argument: -${problem.name}\n${usage}`;
    case 'badValue':
      return `invalid value ${JSON.stringify(problem.value)} for flag -${problem.name}: ${problem.reason}\n${usage}`;
    case 'argument':
      return `'${problem.argument}' is not a valid flag. See 'etcd --help'.`;
  }
}

const usage = 'Usage: etcd [flags]. See etcd --help.';
