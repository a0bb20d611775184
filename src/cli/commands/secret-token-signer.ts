import { createTokenIssuer } from '../../authn/service-account/token-issuer.ts';
import type { Closable } from '../../base/disposable.ts';
import { readWhole, systemFiles } from '../../base/files.ts';
import type { Logger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { SecretTokenSigner } from '../../controllers/controller.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { TokenKeyFiles } from '../../pki/token-key-files.ts';
import { UsageError } from '../usage-error.ts';

export interface SignerContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dialect: Dialect;
}

export interface OpenedSigner extends Closable {
  readonly sign: SecretTokenSigner;
}

/**
 * Signs tokens stored in Secrets with the private key of a file, which is watched for changes until closed. Throws a
 * UsageError that begins with the flag if the file holds no such key.
 */
export function openSecretTokenSigner(
  flag: string,
  path: string,
  { clock, logger, dialect }: SignerContext,
): OpenedSigner {
  const files = openFiles(flag, path, { clock, logger });
  const issuer = createTokenIssuer({
    issuer: '', // tokens in Secrets have a fixed issuer
    scope: '',
    signingKey: () => {
      const key = files.current().signingKey;
      if (!key) throw new Error('no key signs tokens');
      return key;
    },
    dialect,
    clock,
    random: systemRandom,
  });
  return { sign: (account, secretName) => issuer.issueLegacy(account, secretName), close: () => files.close() };
}

function openFiles(flag: string, path: string, context: Pick<SignerContext, 'clock' | 'logger'>): TokenKeyFiles {
  try {
    return new TokenKeyFiles({
      files: systemFiles,
      ...context,
      keyFiles: [],
      signingKeyFile: { path, content: readWhole(path) },
    });
  } catch (error) {
    throw new UsageError(`--${flag}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
