import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Commands with typed clients inside, which send protobuf since release 1.32 and understand no refusal of it. With every
 * release of the client that stands beside the one in use.
 */

const run = promisify(execFile);

for (const dialect of ['orch', 'kubernetes']) {
  describe(`typed commands with --dialect=${dialect}`, {
    skip: kubectlReleases.length === 0 && 'kubectl is not installed',
  }, () => {
    let server: OrchProcess;
    before(async () => {
      server = await OrchProcess.start({ flags: [`--dialect=${dialect}`] });
    });
    after(() => server[Symbol.asyncDispose]());

    for (const { program: client, release } of kubectlReleases) {
      test(`kubectl ${release}: create and read`, async () => {
        const namespace = `n${release.replace(/\D/g, '')}`;
        const kubectl = async (...args: readonly string[]): Promise<string> => {
          const flags = ['--kubeconfig', server.kubeconfig, '-n', namespace];
          const env = { ...process.env, HOME: server.dataDir };
          const { stdout, stderr } = await run(client, [...flags, ...args], { env, timeout: 60_000 });
          assert.equal(stderr, '');
          return stdout;
        };
        const fails = (pattern: RegExp, ...args: readonly string[]) => assert.rejects(kubectl(...args), pattern);
        assert.match(await kubectl('create', 'namespace', namespace), / created/);
        assert.match(await kubectl('create', 'serviceaccount', 'account'), / created/);
        assert.match(await kubectl('create', 'configmap', 'config', '--from-literal=a=b'), / created/);
        assert.match(await kubectl('create', 'secret', 'generic', 'secret', '--from-literal=a=b'), / created/);
        assert.match(await kubectl('create', 'configmap', 'dry', '--dry-run=server', '-o', 'name'), /dry/);
        assert.match(await kubectl('run', 'pod', '--image=example.com/image'), / created/);
        await fails(/configmaps "config" already exists/, 'create', 'configmap', 'config');
        await fails(/Invalid value: "Bad"/, 'create', 'configmap', 'Bad');
        await fails(/configmaps "dry" not found/, 'get', 'configmap', 'dry');
        assert.equal(await kubectl('get', 'configmap', 'config', '-o', 'jsonpath={.data}'), '{"a":"b"}');
        assert.equal(await kubectl('get', 'secret', 'secret', '-o', 'jsonpath={.data}'), '{"a":"Yg=="}');
        assert.match(await kubectl('describe', 'pod', 'pod'), /Image: +example\.com\/image/);
        assert.match(await kubectl('describe', 'serviceaccount', 'account'), /Name: +account/);
        assert.match(await kubectl('delete', 'pod', 'pod', '--now'), /deleted/);
      });
    }
  });
}
