import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { type KeyPair, type KeyPairFiles, readKeyPair } from '../pki/key-pair-files.ts';
import { WatchedKeyPair } from '../pki/watched-key-pair.ts';
import type { KeyPairPem, ServerConfig } from '../server/wiring/config.ts';
import type { ServerFlagValues } from './server-flags.ts';
import { readServingPair } from './server-options.ts';

/** A certificate that a server shows: where it is, and how it is read and renewed. */
export interface ServingCertificate {
  readonly files: KeyPairFiles;
  /** Throws where what is in the files cannot be used. */
  readonly read: () => KeyPair;
}

/** The one that the flags name, which whoever gave it renews; undefined where they name none. Throws a UsageError. */
export function givenServing(values: ServerFlagValues): ServingCertificate | undefined {
  if (!readServingPair(values)) return undefined;
  const files = { certificate: values['tls-cert-file'] ?? '', key: values['tls-private-key-file'] ?? '' };
  return { files, read: () => readKeyPair(files) };
}

const pemOf = ({ certificatePem, keyPem }: KeyPair): KeyPairPem => ({
  certificate: certificatePem,
  key: keyPem,
});

/** What a server is told of its certificate: as it is now, and how it learns of the ones that take its place. */
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
