import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type KeyPair, type KeyPairFiles, readKeyPair } from '../../pki/key-pair-files.ts';
import { WatchedKeyPair } from '../../pki/watched-key-pair.ts';
import type { KeyPairPem, ServerConfig } from '../../server/wiring/config.ts';
import type { ServerFlagValues } from '../flags/server-flags.ts';
import { readServingPair } from '../flags/server-options.ts';

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
