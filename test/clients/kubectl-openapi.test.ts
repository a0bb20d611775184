import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { kubectlLeftOut, kubectlReleases, leftOutReason } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Commands that read the OpenAPI documents before they do anything. Releases 1.27 and 1.28 take version 2 in protobuf
 * alone; all take version 3 in protobuf to learn whether the server looks for unknown fields.
 */

const expected = ['1.27', '1.28', '1.29', '1.30', '1.31', '1.32', '1.33'];

interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const pod = (name: string, container: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers: [{name: main, ${container}}]\n`;
const good = 'image: example.com/image';
const unknown = `${good}, imag: example.com/other`;

/** `[]Container` and its like, with the fields below each. */
const recursive =
  /^ {2}spec\t<PodSpec>$[\s\S]*^ {4}containers\t<\[\]Container>( -required-)?$[\s\S]*^ {6}image\t<string>$/m;

describe('OpenAPI documents and the command-line client', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({ flags: ['--dialect=kubernetes'] });
  });
  after(() => server[Symbol.asyncDispose]());

  /** With a cache of its own, so that nothing is known from another release. */
  function run(program: string, release: string, args: readonly string[], input = ''): Promise<Result> {
    const env = { ...process.env, HOME: join(server.dataDir, `home-${release}`) };
    return new Promise((resolve, reject) => {
      const child = spawn(program, ['--kubeconfig', server.kubeconfig, ...args], { env, timeout: 60_000 });
      let [out, err] = ['', ''];
      child.stdout.on('data', (chunk) => {
        out += chunk;
      });
      child.stderr.on('data', (chunk) => {
        err += chunk;
      });
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, out, err }));
      child.stdin.on('error', () => {}); // it may end before it has read everything
      child.stdin.end(input);
    });
  }

  for (const release of expected) {
    const program = kubectlReleases.find((each) => each.release === release)?.program ?? '';
    const isLeftOut = kubectlLeftOut.some((each) => each.release === release);
    const missing = isLeftOut ? leftOutReason : `kubectl.${release} is not installed`;
    describe(`release ${release}`, { skip: program === '' && missing }, () => {
      const name = `p${release.replace('.', '-')}`;
      const kubectl = (args: readonly string[], input?: string): Promise<Result> => run(program, release, args, input);
      const succeeds = async (pattern: RegExp, args: readonly string[], input?: string): Promise<void> => {
        const { code, out, err } = await kubectl(args, input);
        assert.equal(code, 0, err);
        assert.equal(err, '');
        assert.match(out, pattern);
      };
      const fails = async (pattern: RegExp, args: readonly string[], input?: string): Promise<void> => {
        const { code, err } = await kubectl(args, input);
        assert.equal(code, 1);
        assert.match(err, pattern);
      };

      test('learns of every resource in two requests, by the aggregated form that it knows', async () => {
        const { code, out, err } = await kubectl(['api-resources', '--v=8', `--cache-dir=${server.dataDir}/${name}`]);
        assert.equal(code, 0, err);
        assert.match(out, /^leases +coordination\.k8s\.io\/v1 +true +Lease$/m);
        const version = release < '1.30' ? 'v2beta1' : 'v2';
        const answers = [...err.matchAll(/Content-Type: (application\/\S+)/g)].map(([, type]) => type);
        const form = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
        assert.deepEqual(answers, [form, form]);
      });

      test('create -f', async () => {
        await succeeds(/^pod\/.* created$/m, ['create', '-f', '-'], pod(name, good));
        await succeeds(
          /^pod\/.* created \(server dry run\)$/m,
          ['create', '--dry-run=server', '-f', '-'],
          pod('d', good),
        );
        const rejected = /unknown field "spec\.containers\[0\]\.imag"/;
        await fails(rejected, ['create', '-f', '-'], pod(`${name}-u`, unknown));
        await fails(/NotFound/, ['get', 'pod', `${name}-u`]);
      });

      test('apply -f', async () => {
        const applied = `${name}-applied`;
        await succeeds(/^pod\/.* created$/m, ['apply', '-f', '-'], pod(applied, good));
        await succeeds(/^pod\/.* unchanged$/m, ['apply', '-f', '-'], pod(applied, good));
        await fails(/unknown field "spec\.containers\[0\]\.imag"/, ['apply', '-f', '-'], pod(applied, unknown));
        await fails(/expected string|invalid type|must be/, ['apply', '-f', '-'], pod(`${name}-t`, 'image: [a]'));
        await succeeds(
          /serverside-applied$/m,
          ['apply', '--server-side', '--force-conflicts', '-f', '-'],
          pod(applied, good),
        );
      });

      test('apply -f merges lists by what the documents say of them', async () => {
        const account = (...secrets: readonly string[]): string =>
          `apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: ${name}}\nsecrets: [${secrets.map((each) => `{name: ${each}}`).join()}]\n`;
        await succeeds(/created/, ['apply', '-f', '-'], account('a'));
        await succeeds(/patched/, ['patch', 'serviceaccount', name, '-p', '{"secrets":[{"name":"b"}]}']);
        await succeeds(/configured/, ['apply', '-f', '-'], account('a', 'c'));
        const { out } = await kubectl(['get', 'serviceaccount', name, '-o', 'jsonpath={.secrets[*].name}']);
        assert.deepEqual(out.split(' ').sort(), ['a', 'b', 'c']);
      });

      test('explain', async () => {
        await succeeds(/^ {2}image\t<string>$/m, ['explain', 'pod.spec.containers']);
        await succeeds(recursive, ['explain', 'pod', '--recursive']);
        await succeeds(/^FIELD: metadata <ObjectMeta>$/m, ['explain', 'leases.metadata']);
        await fails(/field "nosuch" does not exist/, ['explain', 'pod.nosuch']);
      });

      test('explain by version 2', async () => {
        const old = ['explain', '--output=plaintext-openapiv2'];
        await succeeds(/^ {3}data\t<map\[string\]string>$/m, [...old, 'configmap']);
        await succeeds(/^RESOURCE: containers <\[\]Object>$/m, [...old, 'pod.spec.containers']);
        await succeeds(/^ {9}image\t<string>$/m, [...old, 'pod', '--recursive']);
      });
    });
  }
});
