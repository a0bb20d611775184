import { type Closable, ClosableStack } from '../../base/disposable.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { authorityOfAll, type CertificateSigning } from '../../controllers/certificate-signing.ts';
import type { Authority } from '../../pki/certificate.ts';
import { SigningAuthority } from '../../pki/signing-authority.ts';
import {
  type ClusterSigningValues,
  ignoredSigningFlags,
  readSigningPairs,
  type SigningPair,
  type SigningPairs,
} from '../flags/cluster-signing-flags.ts';
import { named } from '../flags/flag-files.ts';
import { warnOfIgnored } from '../flags/published-flags.ts';

interface Context {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Signs for all signers if the flags name no authority. */
  readonly own?: Authority;
}

interface OpenedSigning extends Closable {
  /** For the controllers; empty if there is no authority to sign with. */
  readonly config: { readonly certificateSigning?: CertificateSigning };
}

type Authorities = CertificateSigning['authorities'];

/**
 * The authorities that flags name, whose files are watched for changes until closed. Throws a UsageError that begins with
 * the flag if they do not fit together or a file holds no authority.
 */
export function openCertificateSigning(values: ClusterSigningValues, { own, ...context }: Context): OpenedSigning {
  const held = new ClosableStack();
  const open = ({ flag, ...files }: SigningPair): (() => Authority) => {
    const authority = held.add(named(flag, () => new SigningAuthority(files, context)));
    return () => authority.current;
  };
  try {
    const pairs = readSigningPairs(values);
    warnOfIgnored(context.logger, ignoredSigningFlags(values));
    const authorities = pairs ? openPairs(pairs, open) : own && authorityOfAll(() => own);
    const lifetimeMsMax = values['cluster-signing-duration'];
    const config = authorities ? { certificateSigning: { authorities, lifetimeMsMax } } : {};
    return { config, close: () => held.close() };
  } catch (error) {
    held.close();
    throw error;
  }
}

function openPairs(pairs: SigningPairs, open: (pair: SigningPair) => () => Authority): Authorities {
  if (pairs.type === 'all') return authorityOfAll(open(pairs.pair));
  return Object.fromEntries(pairs.pairs.map(([signer, pair]) => [signer, open(pair)]));
}
