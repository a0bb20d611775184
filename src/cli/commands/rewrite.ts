import { isatty } from 'node:tty';
import { systemFiles } from '../../base/files.ts';
import { systemRandom } from '../../base/random.ts';
import { keepAlive, systemClock } from '../../base/time/clock.ts';
import { ApiClient } from '../../client/api-client.ts';
import { type DiscoveredResource, discoverResources } from '../../client/discovery-client.ts';
import { httpTransport } from '../../client/http-transport.ts';
import { RewriteStopped, type Rewritten, rewriteObjects } from '../../client/rewrite-objects.ts';
import { dialects } from '../../dialect/dialects.ts';
import { readKubeconfig } from '../../outbound/connection-files/kubeconfig.ts';
import { systemNetwork } from '../../outbound/network/system-network.ts';
import { file, list, optionalText } from '../flags/flags.ts';
import { serverFlags } from '../flags/server-flags.ts';
import { UsageError } from '../usage-error.ts';
import { defineCommand, type Terminal } from './command.ts';
import { productVersion } from './version.ts';

export const rewrite = defineCommand({
  summary: 'Has a server write its objects again, for example under a new key',
  description:
    'Asks the server of a connection file to write every object as it is. Those whose stored form is outdated are stored\n' +
    'anew: encrypted with the first key, or in the storage version of their kind. It may be ended at any time; started again\n' +
    'it finds what is left to do, or goes on from where --from says.',
  flags: {
    kubeconfig: file({ help: 'connection file that says where the API server is, and who we are' }),
    dialect: serverFlags.dialect,
    resources: list({
      default: [],
      defaultText: 'all',
      help: 'the resources: secrets, deployments.apps, *.apps, *. (of the core group)',
    }),
    from: optionalText({
      placeholder: 'RESOURCE/[NAMESPACE/]NAME',
      help: 'pass over what comes up to this object; as printed when a run stops early',
    }),
  },
  async run(values, terminal) {
    const { kubeconfig, from } = values;
    if (kubeconfig === undefined) throw new UsageError('--kubeconfig is missing: --kubeconfig=FILE');
    const dialect = dialects[values.dialect];
    const transport = httpTransport(readKubeconfig(kubeconfig, dialect, systemFiles), {
      ...{ clock: systemClock, network: systemNetwork, files: systemFiles },
      pluginHost: { environment: process.env, interactive: isatty(0), stderr: terminal.err },
    });
    const alive = keepAlive();
    try {
      const client = new ApiClient(transport, `orch-rewrite/${productVersion}`);
      const { signal } = new AbortController();
      const context = { client, dialect, clock: systemClock, random: systemRandom, signal };
      const { resources, failures } = await discoverResources(context);
      for (const { groupVersion, message } of failures) terminal.err(`${groupVersion}: ${message}\n`);
      const chosen = startingWith(from, chosenOf(resources, values.resources));
      let isWhole = failures.length === 0;
      let isListed = true;
      for (const { resource, after } of chosen) {
        const rewriting = rewriteObjects({ ...context, resource, after, progress: showing(terminal, resource) });
        const outcome = await rewriting.catch(stopped);
        isWhole = report(terminal, resource, outcome) && isWhole;
        isListed = resultOf(outcome).unlisted.length === 0 && isListed;
      }
      if (!isListed) terminal.err(remedy);
      return isWhole ? 0 : 1;
    } finally {
      alive.close();
      transport.close();
    }
  },
});

/** As configurations of encryption name it. */
const nameOf = ({ apiVersion, resource }: DiscoveredResource): string =>
  apiVersion.includes('/') ? `${resource}.${apiVersion.split('/')[0]}` : resource;

/** Those of the patterns that can be written, in order of name. */
function chosenOf(found: readonly DiscoveredResource[], patterns: readonly string[]): readonly DiscoveredResource[] {
  const writable = found.filter(({ verbs }) => verbs.includes('list') && verbs.includes('patch'));
  const unknown = patterns.find((pattern) => !writable.some((resource) => matches(resource, pattern)));
  if (unknown !== undefined) {
    throw new UsageError(`--resources: the server has no resource ${JSON.stringify(unknown)} that can be written`);
  }
  return writable
    .filter((resource) => patterns.length === 0 || patterns.some((pattern) => matches(resource, pattern)))
    .sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

function matches(resource: DiscoveredResource, pattern: string): boolean {
  const name = nameOf(resource);
  if (pattern === '*.*' || pattern === name) return true;
  return (
    pattern.startsWith('*.') &&
    (name.includes('.') ? name.slice(resource.resource.length + 1) : '') === pattern.slice(2)
  );
}

interface Start {
  readonly resource: DiscoveredResource;
  readonly after: string | undefined;
}

/** Without the resources before the one that `from` names. */
function startingWith(from: string | undefined, chosen: readonly DiscoveredResource[]): readonly Start[] {
  if (from === undefined) return chosen.map((resource) => ({ resource, after: undefined }));
  const [, name = '', after] = /^([^/]+)(?:\/(.+))?$/.exec(from) ?? [];
  const at = chosen.findIndex((resource) => nameOf(resource) === name);
  if (at < 0) throw new UsageError(`--from: ${JSON.stringify(name)} is none of the resources`);
  return chosen.slice(at).map((resource, index) => ({ resource, after: index === 0 ? after : undefined }));
}

function stopped(error: unknown): RewriteStopped {
  if (error instanceof RewriteStopped) return error;
  throw error;
}

/** What to do about lists that fail. The server tells in its log alone which object it cannot read. */
const remedy =
  "A list fails where an object cannot be read: find its key in the server's log, put back the key that encrypted it, or delete it with\n" +
  'ignoreStoreReadErrorWithClusterBreakingPotential (feature gate AllowUnsafeMalformedObjectDeletion); then rewrite again.\n';

const resultOf = (outcome: Rewritten | RewriteStopped): Rewritten =>
  outcome instanceof RewriteStopped ? outcome.so : outcome;

/** A line that is redrawn, on a terminal. */
function showing({ interactive, err }: Terminal, resource: DiscoveredResource): (so: Rewritten) => void {
  return ({ seen, written }) => {
    if (interactive) err(`\r${nameOf(resource)}: ${seen} objects, ${written} written `);
  };
}

/** Says what became of a resource; false if something is left to do. */
function report(terminal: Terminal, resource: DiscoveredResource, outcome: Rewritten | RewriteStopped): boolean {
  const name = nameOf(resource);
  const so = resultOf(outcome);
  if (terminal.interactive) terminal.err('\r');
  terminal.out(`${name}: ${so.seen} objects, ${so.written} written\n`);
  for (const why of so.refused) terminal.err(`${name}: not written: ${why}\n`);
  for (const why of so.unlisted) terminal.err(`${name}: not listed: ${why}\n`);
  if (!(outcome instanceof RewriteStopped)) return so.refused.length === 0 && so.unlisted.length === 0;
  const from = so.last === '' ? name : `${name}/${so.last}`;
  terminal.err(`${name}: stopped: ${outcome.message}; goes on with --from=${from}\n`);
  return false;
}
