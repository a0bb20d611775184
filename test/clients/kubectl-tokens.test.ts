import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Tokens and access reviews, with every release of the client that stands beside the one in use. In the dialect that it has
 * compiled in: under other names it finds no such kinds.
 */

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

describe('kubectl: tokens and access reviews', {
  skip: kubectlReleases.length === 0 && 'kubectl is not installed',
}, () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({ flags: ['--dialect=kubernetes'] });
  });
  after(() => server[Symbol.asyncDispose]());

  for (const { program, release } of kubectlReleases) {
    describe(`release ${release}`, () => {
      const namespace = `n${release.replace(/\D/g, '')}`;
      const run = (args: readonly string[], kubeconfig = server.kubeconfig): Promise<Outcome> =>
        new Promise((resolve) => {
          const env = { ...process.env, HOME: server.dataDir };
          const flags = ['--kubeconfig', kubeconfig, '-n', namespace];
          execFile(program, [...flags, ...args], { env, timeout: 60_000 }, (error, out, err) =>
            resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
          );
        });
      const prints = async (args: readonly string[], kubeconfig?: string): Promise<string> => {
        const { code, out, err } = await run(args, kubeconfig);
        assert.equal(code, 0, err);
        return out;
      };

      /** A connection file of somebody who has nothing but a token. */
      function connection(name: string, token: string): string {
        const file = join(server.dataDir, `${namespace}-${name}.kubeconfig`);
        const authority = server.credentials.ca.toString('base64');
        const cluster = `{server: '${server.url}', certificate-authority-data: ${authority}}`;
        writeFileSync(
          file,
          `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: ${cluster}}], users: [{name: u, user: {token: ${token}}}]}`,
        );
        return file;
      }

      const claimsOf = (token: string): Record<string, unknown> =>
        JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

      before(async () => {
        await prints(['create', 'namespace', namespace]);
        await prints(['create', 'serviceaccount', 'alice']);
        await prints(['create', 'secret', 'generic', 'held']);
        await prints(['create', 'role', 'reader', '--verb=get,list', '--resource=configmaps']);
        await prints(['create', 'rolebinding', 'reader', '--role=reader', `--serviceaccount=${namespace}:alice`]);
      });

      test('create token', async () => {
        const token = (await prints(['create', 'token', 'alice'])).trim();
        const { sub, iat, exp } = claimsOf(token);
        assert.deepEqual([sub, Number(exp) - Number(iat)], [`system:serviceaccount:${namespace}:alice`, 3600]);
        const own = connection('alice', token);
        assert.match(await prints(['get', 'configmaps', '-o', 'name'], own), /^configmap\//);
        const refused = await run(['get', 'secrets'], own);
        assert.match(refused.err, /User "system:serviceaccount:n\d+:alice" cannot list resource "secrets"/);
      });

      test('create token: audience, duration, what it is bound to', async () => {
        const uid = (await prints(['get', 'secret', 'held', '-o', 'jsonpath={.metadata.uid}'])).trim();
        const bound = ['--bound-object-kind=Secret', '--bound-object-name=held', `--bound-object-uid=${uid}`];
        const args = ['create', 'token', 'alice', '--audience=vault', '--duration=10m', ...bound];
        const claims = claimsOf(await prints(args));
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
          const { code, err } = await run(['create', 'token', ...args]);
          assert.equal(code, 1);
          assert.match(err, message);
        }
      });

      test('create token -o yaml', async () => {
        const text = await prints(['create', 'token', 'alice', '-o', 'yaml']);
        assert.match(text, /^kind: TokenRequest$/m);
        assert.match(text, /^ {2}expirationSeconds: 3600$/m);
      });

      test('auth can-i', async () => {
        const own = connection('alice', (await prints(['create', 'token', 'alice'])).trim());
        for (const [args, code, out] of [
          [['get', 'configmaps'], 0, 'yes\n'],
          [['delete', 'configmaps'], 1, 'no\n'],
          [['get', 'configmaps', '--all-namespaces'], 1, 'no\n'],
          [['get', 'configmaps', '-q'], 0, ''],
          [['get', '/version'], 0, 'yes\n'],
          [['get', '/logs'], 1, 'no\n'],
        ] as const) {
          const answer = await run(['auth', 'can-i', ...args], own);
          assert.deepEqual([answer.code, answer.out], [code, out], args.join(' '));
        }
        const as = `--as=system:serviceaccount:${namespace}:alice`;
        assert.equal(await prints(['auth', 'can-i', 'list', 'configmaps', as]), 'yes\n');
        assert.equal(await prints(['auth', 'can-i', '*', '*']), 'yes\n');
      });

      test('auth can-i --list', async () => {
        const own = connection('alice', (await prints(['create', 'token', 'alice'])).trim());
        const text = await prints(['auth', 'can-i', '--list'], own);
        assert.match(text, /^Resources\s+Non-Resource URLs\s+Resource Names\s+Verbs/);
        assert.match(text, /^configmaps\s+\[\]\s+\[\]\s+\[get list\]/m);
        assert.match(text, /^selfsubjectreviews\.authentication\.k8s\.io\s+\[\]\s+\[\]\s+\[create\]/m);
      });

      test('auth whoami', async () => {
        const own = connection('alice', (await prints(['create', 'token', 'alice'])).trim());
        const { code, out, err } = await run(['auth', 'whoami'], own);
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
