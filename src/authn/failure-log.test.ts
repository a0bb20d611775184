import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogger } from '../base/logger.ts';
import { systemClock } from '../base/time/clock.ts';
import { badRequest, type StatusError } from '../meta/status-error.ts';
import { withAnonymous } from './anonymous.ts';
import type { TokenAuthenticator } from './authenticator.ts';
import { bearerAuthenticator, tokenUnion } from './bearer.ts';
import { isUnauthorized, showing } from './credentials-fixture.ts';
import { withFailureLog } from './failure-log.ts';
import { unionAuthenticator } from './union.ts';

const failing = (message: string, cause?: Error): TokenAuthenticator => ({
  authenticateToken() {
    throw new Error(message, cause && { cause });
  },
});

/** The log lines of a request with a token and a certificate, neither of which is accepted. */
async function logOf(tokens: readonly TokenAuthenticator[], level: 'debug' | 'info' = 'debug') {
  const lines: string[] = [];
  const logger = createLogger({ level, format: 'json', clock: systemClock, write: (line) => lines.push(line) });
  const union = unionAuthenticator([
    {
      authenticate() {
        throw new Error('the certificate has expired');
      },
    },
    bearerAuthenticator(tokenUnion(tokens, []), []),
  ]);
  const authenticator = withFailureLog(withAnonymous(union, 'allow'), logger);
  await assert.rejects(async () => authenticator.authenticate(showing({ token: 'the-secret' })), isUnauthorized);
  return lines.map((line) => JSON.parse(line) as { readonly msg: string; readonly reasons: readonly string[] });
}

describe('the reason why a request is not authenticated', () => {
  it('is logged for each authenticator that failed', async () => {
    const [line, ...more] = await logOf([failing('it is late'), failing('keys', new Error('no answer'))]);
    assert.equal(more.length, 0);
    assert.equal(line?.msg, 'a request is not authenticated');
    assert.deepEqual(line.reasons, [
      'the certificate has expired',
      'invalid token: it is late',
      'invalid token: keys: no answer',
    ]);
    assert.equal(JSON.stringify(line).includes('the-secret'), false);
  });

  it('is logged after an asynchronous failure', async () => {
    const [line] = await logOf([{ authenticateToken: async () => undefined }]);
    assert.deepEqual(line?.reasons, ['the certificate has expired', 'unknown token']);
  });

  it('is logged at debug level only', async () => {
    assert.deepEqual(await logOf([failing('it is late')], 'info'), []);
  });

  it('does not affect other errors, nor users', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      level: 'debug',
      format: 'json',
      clock: systemClock,
      write: (line) => lines.push(line),
    });
    const report = (answer: () => never) => withFailureLog({ authenticate: answer }, logger).authenticate(showing({}));
    const error: StatusError = badRequest('no');
    assert.throws(
      () =>
        report(() => {
          throw error;
        }),
      error,
    );
    assert.deepEqual(lines, []);
  });
});
