import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { KubectlClient } from '../support/kubectl.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Tokens and access reviews, with every release of the client that stands beside the one in use. In the dialect that it has
 * compiled in: under other names it finds no such kinds.
 */

describe('kubectl: tokens and access reviews', {
  skip: kubectlReleases.length === 0 && 'kubectl is not installed',
}, () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({ flags: ['--dialect=kubernetes'] });
  });
  after(() => server[Symbol.asyncDispose]());

  for (const each of kubectlReleases) {
    const { release } = each;
    describe(`release ${release}`, () => {
      const namespace = `n${release.replace(/\D/g, '')}`;
      let client: KubectlClient;

      const claimsOf = (token: string): Record<string, unknown> =>
        JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

      before(async () => {
        client = new KubectlClient(each, server, ['-n', namespace]);
        await client.prints(['create', 'namespace', namespace]);
        await client.prints(['create', 'serviceaccount', 'alice']);
        await client.prints(['create', 'secret', 'generic', 'held']);
        await client.prints(['create', 'role', 'reader', '--verb=get,list', '--resource=configmaps']);
        await client.prints([
          'create',
          'rolebinding',
          'reader',
          '--role=reader',
          `--serviceaccount=${namespace}:alice`,
        ]);
      });

      test('create token', async () => {
        const token = (await client.prints(['create', 'token', 'alice'])).trim();
        const { sub, iat, exp } = claimsOf(token);
        assert.deepEqual([sub, Number(exp) - Number(iat)], [`system:serviceaccount:${namespace}:alice`, 3600]);
        const own = { as: { token } };
        assert.match(await client.prints(['get', 'configmaps', '-o', 'name'], own), /^configmap\//);
        const refused = await client.run(['get', 'secrets'], own);
        assert.match(refused.err, /User "system:serviceaccount:n\d+:alice" cannot list resource "secrets"/);
      });

      test('create token: audience, duration, what it is bound to', async () => {
        const uid = (await client.prints(['get', 'secret', 'held', '-o', 'jsonpath={.metadata.uid}'])).trim();
        const bound = ['--bound-object-kind=Secret', '--bound-object-name=held', `--bound-object-uid=${uid}`];
        const args = ['create', 'token', 'alice', '--audience=vault', '--duration=10m', ...bound];
        const claims = claimsOf(await client.prints(args));
        assert.deepEqual(claims['aud'], ['vault']);
        assert.equal(Number(claims['exp']) - Number(claims['iat']), 600);
        const { secret } = claims['kubernetes.io'] as { secret: unknown };
        assert.deepEqual(secret, { name: 'held', uid });
      });

      test('create token: refusals', async () => {
        for (const [args, message] of [
          [['nobody'], /serviceaccounts "nobody" not found/],
          [['alice', '--duration=10s'], /may not specify a duration less than 10 minutes/],
          [
            ['alice', '--bound-object-kind=Secret', '--bound-object-name=held', '--bound-object-uid=x'],
            /Operation cannot be fulfilled on Secret "held": the UID in the bound object reference/,
          ],
        ] as const) {
          const { code, err } = await client.run(['create', 'token', ...args]);
          assert.equal(code, 1);
          assert.match(err, message);
        }
      });

      test('create token -o yaml', async () => {
        const text = await client.prints(['create', 'token', 'alice', '-o', 'yaml']);
        assert.match(text, /^kind: TokenRequest$/m);
        assert.match(text, /^ {2}expirationSeconds: 3600$/m);
      });

      test('auth can-i', async () => {
        const own = { as: { token: (await client.prints(['create', 'token', 'alice'])).trim() } };
        for (const [args, code, out] of [
          [['get', 'configmaps'], 0, 'yes\n'],
          [['delete', 'configmaps'], 1, 'no\n'],
          [['get', 'configmaps', '--all-namespaces'], 1, 'no\n'],
          [['get', 'configmaps', '-q'], 0, ''],
          [['get', '/version'], 0, 'yes\n'],
          [['get', '/logs'], 1, 'no\n'],
        ] as const) {
          const answer = await client.run(['auth', 'can-i', ...args], own);
          assert.deepEqual([answer.code, answer.out], [code, out], args.join(' '));
        }
        const as = `--as=system:serviceaccount:${namespace}:alice`;
        assert.equal(await client.prints(['auth', 'can-i', 'list', 'configmaps', as]), 'yes\n');
        assert.equal(await client.prints(['auth', 'can-i', '*', '*']), 'yes\n');
      });

      test('auth can-i --list', async () => {
        const own = { as: { token: (await client.prints(['create', 'token', 'alice'])).trim() } };
        const text = await client.prints(['auth', 'can-i', '--list'], own);
        assert.match(text, /^Resources\s+Non-Resource URLs\s+Resource Names\s+Verbs/);
        assert.match(text, /^configmaps\s+\[\]\s+\[\]\s+\[get list\]/m);
        assert.match(text, /^selfsubjectreviews\.authentication\.k8s\.io\s+\[\]\s+\[\]\s+\[create\]/m);
      });

      test('auth whoami', async () => {
        const own = { as: { token: (await client.prints(['create', 'token', 'alice'])).trim() } };
        const { code, out, err } = await client.run(['auth', 'whoami'], own);
        if (release === '1.27') {
          // It knows only the beta of this kind, which servers of 1.32 do not serve unless told to.
          assert.match(err, /the selfsubjectreviews API is not enabled in the cluster/);
          return;
        }
        assert.equal(code, 0, err);
        assert.match(out, /^Username\s+system:serviceaccount:n\d+:alice$/m);
        assert.match(out, /^Groups\s+\[system:serviceaccounts system:serviceaccounts:n\d+ system:authenticated\]$/m);
        assert.match(out, /^Extra: authentication\.kubernetes\.io\/credential-id\s+\[JTI=[-0-9a-f]+\]$/m);
      });
    });
  }
});
