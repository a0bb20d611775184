import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freePort } from '../../src/base/free-port-fixture.ts';
import { within } from '../../src/base/waits-fixture.ts';
import { etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { TestEnvironment } from '../support/test-environment.ts';

const launcher = new URL('../../bin/orch', import.meta.url).pathname;
const root = mkdtempSync(join(tmpdir(), 'orch-envtest-'));
after(() => rmSync(root, { recursive: true, force: true }));

const configMaps = '/api/v1/namespaces/default/configmaps';
const named = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

describe('orch envtest', () => {
  const envtest = (to: string, path = process.env['PATH']) =>
    spawnSync(launcher, ['envtest', '--to', to], { encoding: 'utf8', env: { ...process.env, PATH: path } });

  test('makes programs that run from anywhere, twice as well as once', () => {
    const to = join(root, "it's here", 'assets');
    for (const _ of [1, 2]) {
      const { status, stdout } = envtest(to);
      assert.equal(status, 0);
      assert.equal(stdout, `export KUBEBUILDER_ASSETS='${join(root, "it'\\''s here", 'assets')}'\n`);
    }
    for (const [name, version] of [
      ['kube-apiserver', /^Kubernetes v1\.32/],
      ['etcd', /^etcd Version: 3\.5/],
    ] as const) {
      assert.equal(statSync(join(to, name)).mode & 0o777, 0o755);
      assert.match(execFileSync(join(to, name), ['--version'], { encoding: 'utf8', cwd: '/' }), version);
      assert.match(execFileSync(join(to, name), ['--help'], { encoding: 'utf8', env: {}, cwd: '/' }), /^ {2}--/m);
    }
  });

  test('links the client of PATH, leaves one that is there, and says where there is none', () => {
    const own = join(root, 'own');
    execFileSync('mkdir', ['-p', own]);
    const client = join(own, 'kubectl');
    writeFileSync(client, '#!/bin/sh\n', { mode: 0o755 });
    const to = join(root, 'linked');
    assert.equal(envtest(to, `/nowhere:${own}:${process.env['PATH']}`).status, 0);
    assert.equal(readFileSync(join(to, 'kubectl'), 'utf8'), '#!/bin/sh\n');
    rmSync(join(to, 'kubectl'));
    writeFileSync(join(to, 'kubectl'), 'mine');
    assert.equal(envtest(to).status, 0);
    assert.equal(readFileSync(join(to, 'kubectl'), 'utf8'), 'mine');
    // The launcher needs these of the shell's own folder, which may have a client too.
    const tools = join(root, 'tools');
    execFileSync('mkdir', ['-p', tools]);
    for (const tool of ['sh', 'readlink', 'find', 'env', 'dirname']) {
      const found = ['/bin', '/usr/bin'].map((folder) => join(folder, tool)).find(existsSync);
      if (found) symlinkSync(found, join(tools, tool));
    }
    const without = envtest(join(root, 'without'), tools);
    assert.equal(without.status, 0, without.stderr);
    assert.match(without.stderr, /^kubectl is not on PATH: /);
    assert.ok(!existsSync(join(root, 'without', 'kubectl')));
  });

  test('does not write over programs that it did not make', () => {
    const to = join(root, 'foreign');
    execFileSync('mkdir', ['-p', to]);
    writeFileSync(join(to, 'etcd'), 'a real one');
    const { status, stderr } = envtest(to);
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^orch envtest: --to: .*\/etcd is there and was not made by this command: remove it, or choose/,
    );
    assert.deepEqual(readdirSync(to), ['etcd']);
  });

  test('says what is missing', () => {
    const { status, stderr } = spawnSync(launcher, ['envtest'], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [1, 'orch envtest: --to is missing: --to=DIR\n']);
  });
});

describe('a test environment', () => {
  test('serves who is its own authority, and leaves nothing when it stops', async () => {
    await using environment = new TestEnvironment();
    const data = join(environment.root, 'data');
    const etcd = await environment.startEtcd('-data-dir', data, '--unsafe-no-fsync=true');
    const api = await environment.startApiserver(etcd.url, '--profiling=false', '--egress-selector-config-file=/none');
    assert.equal((await api.request('POST', configMaps, named('one'))).status, 201);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const { json } = await api.request('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
    assert.deepEqual(json['status'], {
      userInfo: { username: 'admin', groups: ['system:masters', 'system:authenticated'], extra: extraOf(json) },
    });
    for (const flag of ['--profiling', '--egress-selector-config-file']) {
      assert.match(api.program.log, new RegExp(`"a flag changes nothing here",.*"flag":"${flag}"`));
    }
    assert.match(etcd.program.log, /"flags change nothing here".*--data-dir/);
    const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    await api.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
      ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } },
    });
    const path = '/api/v1/namespaces/default/serviceaccounts/robot/token';
    const issued = (await api.request('POST', path, token)).json['status'] as { readonly token: string };
    const [, claims = ''] = issued.token.split('.');
    assert.equal(JSON.parse(Buffer.from(claims, 'base64url').toString()).iss, 'https://localhost');
    assert.equal(await api.program.end('SIGTERM'), 0);
    assert.equal(await etcd.program.end('SIGTERM'), 0);
    assert.deepEqual(readdirSync(environment.root).sort(), ['assets', 'certificates', 'client.crt', 'sa.key']);
    assert.deepEqual(readdirSync(join(environment.root, 'certificates')).sort(), ['apiserver.crt', 'apiserver.key']);
  });

  test('has one store for all API servers, of which each may end at any time', async () => {
    await using environment = new TestEnvironment();
    const { url } = await environment.startEtcd();
    const [one, other] = [await environment.startApiserver(url), await environment.startApiserver(url)];
    const { json } = await one.request('POST', configMaps, named('shared'));
    const uidOf = (object: Readonly<Record<string, unknown>>) => (object['metadata'] as { readonly uid: string }).uid;
    assert.equal(uidOf((await other.request('GET', `${configMaps}/shared`)).json), uidOf(json));
    await one.program.end('SIGKILL');
    assert.equal((await other.request('POST', configMaps, named('after'))).status, 201);
    await other.program.end('SIGKILL');
    const later = await environment.startApiserver(url);
    const { items } = (await later.request('GET', configMaps)).json as {
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    };
    const names = items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt');
    assert.deepEqual(names, ['after', 'shared']);
  });

  test('may start both programs at once', async () => {
    await using environment = new TestEnvironment();
    const port = await freePort();
    const starting = environment.startApiserver(`http://0.0.0.0:${port}`);
    environment.start('etcd', '--listen-client-urls', `http://0.0.0.0:${port}`);
    const api = await within(starting, 'the API server is ready');
    assert.equal((await api.request('GET', configMaps)).status, 200);
  });

  test('uses a real etcd where one is named', { skip: etcdMissing }, async () => {
    await using environment = new TestEnvironment();
    const etcd = await startEtcd();
    try {
      const api = await environment.startApiserver(etcd.endpoint);
      assert.equal((await api.request('POST', configMaps, named('kept'))).status, 201);
      assert.equal(await api.program.end('SIGTERM'), 0);
      const again = await environment.startApiserver(etcd.endpoint);
      assert.equal((await again.request('GET', `${configMaps}/kept`)).status, 200);
      assert.equal(await again.program.end('SIGTERM'), 0);
    } finally {
      await etcd.stop();
    }
  });

  test('runs no controllers: what is deleted with its namespace is there for others to delete', async () => {
    await using environment = new TestEnvironment();
    const { url } = await environment.startEtcd();
    const api = await environment.startApiserver(url);
    await api.request('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'gone' },
    });
    const { status, json } = await api.request('DELETE', '/api/v1/namespaces/gone');
    assert.equal(status, 200);
    assert.deepEqual(json['status'], { phase: 'Terminating' });
    const accounts = await api.request('GET', '/api/v1/namespaces/default/serviceaccounts');
    assert.deepEqual(accounts.json['items'], []);
  });
});

/** Identifies the certificate. */
const extraOf = (review: Readonly<Record<string, unknown>>): unknown =>
  (review['status'] as { readonly userInfo: { readonly extra: unknown } }).userInfo.extra;
