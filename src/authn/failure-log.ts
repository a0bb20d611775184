import type { Logger } from '../base/logger.ts';
import { StatusError } from '../meta/status-error.ts';
import type { FinalAuthenticator } from './anonymous.ts';

/**
 * Logs why requests are not authenticated, because the client is not told. The reasons come from authenticators, whose
 * errors never contain a credential.
 */
export function withFailureLog(authenticator: FinalAuthenticator, logger: Logger): FinalAuthenticator {
  const report = (auditId: string | undefined, error: unknown): never => {
    if (error instanceof StatusError && error.code === 401) {
      logger.debug('a request is not authenticated', { 'audit-ID': auditId, reasons: reasonsOf(error.cause) });
    }
    throw error;
  };
  return {
    authenticate(credentials) {
      try {
        const user = authenticator.authenticate(credentials);
        return user instanceof Promise ? user.catch((error: unknown) => report(credentials.auditId, error)) : user;
      } catch (error) {
        return report(credentials.auditId, error);
      }
    },
  };
}

/** One reason per authenticator that failed, with its chain of causes. */
function reasonsOf(error: unknown): readonly string[] {
  if (error instanceof AggregateError) return error.errors.flatMap(reasonsOf);
  if (error instanceof StatusError) return reasonsOf(error.cause);
  if (!(error instanceof Error)) return [String(error)];
  return error.cause === undefined ? [error.message] : reasonsOf(error.cause).map((why) => `${error.message}: ${why}`);
}
