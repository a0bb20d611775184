import { join } from 'node:path';
import { makePrivateDirectory } from '../../base/atomic-file.ts';
import type { Logger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { systemClock } from '../../base/time/clock.ts';
import { ensureSelfSigned } from '../../pki/ca.ts';
import { type KeyPair, type KeyPairFiles, readKeyPair } from '../../pki/key-pair-files.ts';
import { WatchedKeyPair } from '../../pki/watched-key-pair.ts';
import type { KeyPairPem, ServerConfig } from '../../server/wiring/config.ts';
import { servedHosts } from '../addresses.ts';
import type { ServerFlagValues } from '../flags/server-flags.ts';
import { certificateDirectory, readServingPair } from '../flags/server-options.ts';

/** A serving certificate: its files, and how it is read and renewed. */
export interface ServingCertificate {
  readonly files: KeyPairFiles;
  /** Throws if the files have invalid content. */
  readonly read: () => KeyPair;
}

/** The certificate named by the flags, renewed by its owner; undefined if none is named. Throws a UsageError. */
export function givenServing(values: ServerFlagValues): ServingCertificate | undefined {
  if (!readServingPair(values)) return undefined;
  const files = { certificate: values['tls-cert-file'] ?? '', key: values['tls-private-key-file'] ?? '' };
  return { files, read: () => readKeyPair(files) };
}

/** A self-signed pair in --cert-dir; an existing one is reused. `renews`: false where another thread makes and renews it. */
export function ownServing(values: ServerFlagValues, { renews }: { readonly renews: boolean }): ServingCertificate {
  const directory = certificateDirectory(values);
  makePrivateDirectory(directory);
  const files = { certificate: join(directory, 'apiserver.crt'), key: join(directory, 'apiserver.key') };
  if (!renews) return { files, read: () => readKeyPair(files) };
  const purpose = { subject: { commonName: 'orch-apiserver' }, use: 'serverAuth' } as const;
  const context = { clock: systemClock, random: systemRandom };
  return { files, read: () => ensureSelfSigned(files, { ...purpose, hosts: servedHosts(values) }, context) };
}

export const pemOf = ({ certificatePem, keyPem }: KeyPair): KeyPairPem => ({
  certificate: certificatePem,
  key: keyPem,
});

/** The current pair, and the subscription to its replacements, for the server's configuration. */
export function servingConfig(
  { files, read }: ServingCertificate,
  context: { readonly clock: Clock; readonly logger: Logger },
): Required<Pick<ServerConfig, 'serving' | 'followServing'>> {
  const current = read();
  return {
    serving: pemOf(current),
    followServing: (changed) =>
      new WatchedKeyPair({ ...context, files, read, changed: (pair) => changed(pemOf(pair)) }, current),
  };
}
