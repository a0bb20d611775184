import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemFiles } from '../../base/files.ts';
import { silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import { readServiceAccountTokens } from './options.ts';
import { createServiceAccountTokens } from './service-account-tokens.ts';
import { account, makeSigningKey } from './token-fixture.ts';

const pem = (): string => makeSigningKey().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

function start(context: TestContext, issuer: string) {
  const directory = mkdtempSync(join(tmpdir(), 'orch-service-account-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'sign.pem');
  writeFileSync(path, pem());
  const options = readServiceAccountTokens(
    {
      'service-account-key-file': [],
      'service-account-signing-key-file': path,
      'service-account-issuer': [issuer],
      'service-account-jwks-uri': undefined,
      'service-account-lookup': true,
      'service-account-max-token-expiration': undefined,
      'service-account-extend-token-expiration': true,
      'api-audiences': [],
      'tls-private-key-file': undefined,
    },
    (file) => readFileSync(file),
  );
  assert.ok(options);
  const clock = new ManualClock();
  const found = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account };
  const nothing = () => undefined;
  const tokens = createServiceAccountTokens(options, {
    dialect: orch,
    externalAddress: () => '127.0.0.1:6443',
    clock,
    files: systemFiles,
    random: systemRandom,
    logger: silentLogger,
    metrics: new Metrics(),
  });
  context.after(() => {
    tokens.close();
    assert.equal(clock.pending, 0);
  });
  const objects = { upToDate: nothing, account: () => found, pod: nothing, secret: nothing, node: nothing };
  return { tokens, of: (scope: string) => tokens.of({ scope, objects }), clock, path };
}

test('an issued token is accepted until its key is replaced in the file', async (context) => {
  const issuer = 'https://issuer.test';
  const { tokens, of, clock, path } = start(context, issuer);
  const ours = of('');
  const lifetime = tokens.lifetime({ expirationSeconds: 600, audiences: [issuer], boundToPod: false });
  const { token = '' } = (await ours.issuer?.issue({ account, audiences: [issuer], ...lifetime })) ?? {};
  assert.equal((await ours.authenticator.authenticateToken(token, [issuer]))?.user.uid, account.uid);
  const before = tokens.discovery?.keySet().body;
  writeFileSync(path, pem());
  clock.advance(2_000);
  assert.throws(() => ours.authenticator.authenticateToken(token, [issuer]), /unknown key/);
  assert.notDeepEqual(tokens.discovery?.keySet().body, before);
});

test('an issuer that is not a URL signs tokens but has no discovery', (context) => {
  const { tokens, of } = start(context, 'issuer');
  assert.ok(of('').issuer);
  assert.equal(tokens.discovery, undefined);
});

test('tokens of an account hold in its scope only, also where another has an account of the same name and uid', async (context) => {
  const { of } = start(context, 'https://issuer.test');
  const scopes = ['', 'b', 'c'];
  const audiences = ['https://issuer.test'];
  for (const made of scopes) {
    const { issuer } = of(made);
    assert.ok(issuer);
    const { token } = await issuer.issue({ account, audiences, lifetimeSeconds: 600 });
    for (const shown of scopes) {
      const { authenticator } = of(shown);
      if (shown === made) assert.ok(await authenticator.authenticateToken(token, audiences));
      else assert.throws(() => authenticator.authenticateToken(token, audiences), /of another scope/);
    }
    // The test's store is empty, so a legacy token of the right scope fails only when its Secret is looked up.
    const legacy = await issuer.issueLegacy(account, 'kept');
    for (const shown of scopes) {
      const problem = shown === made ? /^Error: Token has been invalidated$/ : /of another scope/;
      await assert.rejects(async () => of(shown).authenticator.authenticateToken(legacy, audiences), problem);
    }
  }
});
