import { type CertificateSigner, defaultLifetimeMs } from '../../controllers/certificate-signing.ts';
import { publishedFlagNames as names } from '../../dialect/published-flag-names.ts';
import type { KeyPairFiles } from '../../pki/key-pair-files.ts';
import { UsageError } from '../usage-error.ts';
import { duration, type Flag, type FlagValues, file } from './flags.ts';
import type { IgnoredFlag } from './published-flags.ts';

/** A hundred years: certificates can name no year with more than four digits. */
const lifetimeMsMax = 100 * defaultLifetimeMs;

const lifetime: Flag<number> = duration({
  default: defaultLifetimeMs,
  defaultText: '8760h',
  max: lifetimeMsMax,
  help: 'lifetime of signed certificates; a request may ask for a shorter one',
});

/** The flags of one pair: which certificates its certificate and key sign. */
const pair = (of: string) => ({
  certificate: file({ help: `certificate (PEM) of the authority that signs ${of}; read again when it changes` }),
  key: file({ help: `key (PEM) of the authority that signs ${of}; read again when it changes` }),
});
const all = pair('for all built-in signers');
const client = pair('client certificates for the API server');
const nodeClient = pair('client certificates of node agents');
const nodeServing = pair('serving certificates of node agents');

/** Flags of the controller that signs certificate signing requests. */
export const clusterSigningFlags = {
  'cluster-signing-cert-file': all.certificate,
  'cluster-signing-duration': {
    ...lifetime,
    parse(text, before) {
      const parsed = lifetime.parse(text, before);
      if (parsed === 0) throw new Error('must be more than 0');
      return parsed;
    },
  } satisfies Flag<number>,
  'cluster-signing-key-file': all.key,
  [names.clientSignerCertificate]: client.certificate,
  [names.clientSignerKey]: client.key,
  [names.agentClientSignerCertificate]: nodeClient.certificate,
  [names.agentClientSignerKey]: nodeClient.key,
  [names.agentServingSignerCertificate]: nodeServing.certificate,
  [names.agentServingSignerKey]: nodeServing.key,
  [names.legacySignerCertificate]: file({ help: 'no effect: requests for that signer are refused' }),
  [names.legacySignerKey]: file({ help: 'no effect: requests for that signer are refused' }),
} as const;

export type ClusterSigningValues = FlagValues<typeof clusterSigningFlags>;
type FileFlag = Exclude<keyof ClusterSigningValues, 'cluster-signing-duration'>;

/** The files of a pair, and the flag that errors about it name. */
export interface SigningPair extends KeyPairFiles {
  readonly flag: string;
}

/** One pair for all signers, or one for each of some. */
export type SigningPairs =
  | { readonly type: 'all'; readonly pair: SigningPair }
  | { readonly type: 'each'; readonly pairs: readonly (readonly [signer: CertificateSigner, pair: SigningPair])[] };

/** The given flags without effect. */
export const ignoredSigningFlags = (values: ClusterSigningValues): readonly IgnoredFlag[] =>
  [names.legacySignerCertificate, names.legacySignerKey]
    .filter((name) => values[name] !== undefined)
    .map((name) => ({ name, because: 'requests for that signer are refused' }));

const signerFlags = [
  ['client', names.clientSignerCertificate, names.clientSignerKey],
  ['nodeClient', names.agentClientSignerCertificate, names.agentClientSignerKey],
  ['nodeServing', names.agentServingSignerCertificate, names.agentServingSignerKey],
] as const satisfies readonly (readonly [CertificateSigner, FileFlag, FileFlag])[];

/** The files that the flags name; undefined if they name none. Throws a UsageError. */
export function readSigningPairs(values: ClusterSigningValues): SigningPairs | undefined {
  const common = readPair(values, 'cluster-signing-cert-file', 'cluster-signing-key-file');
  const legacy = readPair(values, names.legacySignerCertificate, names.legacySignerKey);
  const pairs = signerFlags.flatMap(([signer, certificateFlag, keyFlag]) => {
    const pair = readPair(values, certificateFlag, keyFlag);
    return pair ? [[signer, pair] as const] : [];
  });
  const isSpecific = pairs.length > 0 || legacy !== undefined;
  if (common && isSpecific) {
    throw new UsageError(
      'cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time',
    );
  }
  if (common) return { type: 'all', pair: common };
  return isSpecific ? { type: 'each', pairs } : undefined;
}

function readPair(values: ClusterSigningValues, certificateFlag: FileFlag, keyFlag: FileFlag): SigningPair | undefined {
  const [certificate, key] = [values[certificateFlag], values[keyFlag]];
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined) throw new UsageError(`--${keyFlag} needs --${certificateFlag}`);
  if (key === undefined) throw new UsageError(`--${certificateFlag} needs --${keyFlag}`);
  return { certificate, key, flag: certificateFlag };
}
