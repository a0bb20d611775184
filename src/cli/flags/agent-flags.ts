import { publishedFlagNames as names } from '../../dialect/published-flag-names.ts';
import { readKeyPair } from '../../pki/key-pair-files.ts';
import { type AgentsConfig, defaultAgents } from '../../server/wiring/config.ts';
import { UsageError } from '../usage-error.ts';
import { named, readBundle, readBytes } from './flag-files.ts';
import { duration, type FlagValues, file, integer, list } from './flags.ts';

/** Flags for the agents of nodes, which logs, shells and ports of pods are asked of. */
export const agentFlags = {
  [names.agentAuthority]: file({
    help: 'authorities (PEM) for the certificates of the agents of nodes, read again when they change; otherwise any certificate is accepted',
  }),
  [names.agentClientCertificate]: file({
    help: 'client certificate (PEM) for the agents of nodes; read again when it changes',
  }),
  [names.agentClientKey]: file({ help: `key (PEM) of --${names.agentClientCertificate}; read again when it changes` }),
  [names.agentPort]: integer({
    min: 1,
    max: 65_535,
    default: defaultAgents.port,
    help: 'port of the agents of nodes that report none',
  }),
  [names.agentAddressTypes]: list({
    placeholder: 'TYPE,...',
    default: defaultAgents.addressTypes,
    defaultText: defaultAgents.addressTypes.join(','),
    help: 'types of the addresses of a node by which its agent is reached, the best first',
  }),
  [names.agentTimeout]: duration({
    default: defaultAgents.timeoutMs,
    defaultText: '5s',
    help: 'what connecting to the agent of a node may take',
  }),
} as const;

/** Throws a UsageError. */
export function readAgents(values: FlagValues<typeof agentFlags>): AgentsConfig {
  const authority = values[names.agentAuthority];
  const client = readClient(values);
  if (authority !== undefined) readBundle(names.agentAuthority, authority);
  return {
    addressTypes: values[names.agentAddressTypes],
    port: values[names.agentPort],
    timeoutMs: values[names.agentTimeout] || defaultAgents.timeoutMs,
    ...(authority !== undefined && {
      authorities: { path: authority, content: named(names.agentAuthority, () => readBytes(authority)) },
    }),
    ...(client && { client }),
  };
}

function readClient(values: FlagValues<typeof agentFlags>): AgentsConfig['client'] {
  const [certificate, key] = [values[names.agentClientCertificate], values[names.agentClientKey]];
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined)
    throw new UsageError(`--${names.agentClientKey} needs --${names.agentClientCertificate}`);
  if (key === undefined) throw new UsageError(`--${names.agentClientCertificate} needs --${names.agentClientKey}`);
  const files = { certificate, key };
  const pair = named(names.agentClientCertificate, () => readKeyPair(files));
  return { files, pair: { certificate: pair.certificatePem, key: pair.keyPem } };
}
