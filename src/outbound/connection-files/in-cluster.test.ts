import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, it } from 'node:test';
import { systemFiles as files } from '../../base/files.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { inClusterConnection } from './in-cluster.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'in-cluster-'));
  writeFileSync(join(folder, 'token'), 't\n');
  writeFileSync(join(folder, 'ca.crt'), 'CA');
});
afterEach(() => rmSync(folder, { recursive: true }));

const podOf = (variables: Readonly<Record<string, string>>) => ({ variables, files });
const variables = (host: string, port: string) => ({ ORCH_SERVICE_HOST: host, ORCH_SERVICE_PORT: port });

it('a pod has the server, its CA and a token', () => {
  const { server, ...rest } = inClusterConnection(orch, podOf(variables('10.0.0.1', '443')), folder);
  assert.equal(server.href, 'https://10.0.0.1/');
  assert.deepEqual(rest, {
    authorities: 'CA',
    serverName: undefined,
    insecure: false,
    credential: { type: 'stored', authorization: { type: 'tokenFile', file: join(folder, 'token'), token: 't' } },
    impersonation: undefined,
  });
});

it('an IPv6 address, and the names of the dialect', () => {
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
  assert.equal(inClusterConnection(kubernetes, podOf(environment), folder).server.href, 'https://[fd00::1]:6443/');
});

it('without a CA file, no CA is configured', () => {
  rmSync(join(folder, 'ca.crt'));
  assert.equal(inClusterConnection(orch, podOf(variables('h', '1')), folder).authorities, undefined);
});

for (const environment of [{}, variables('h', ''), variables('', '1'), variables('h', 'x'), variables('a b', '1')]) {
  it(`in no pod: ${JSON.stringify(environment)}`, () => {
    assert.throws(
      () => inClusterConnection(orch, podOf(environment), folder),
      /^Error: not in a pod: ORCH_SERVICE_HOST and/,
    );
  });
}

it('without a token', () => {
  rmSync(join(folder, 'token'));
  assert.throws(() => inClusterConnection(orch, podOf(variables('h', '1')), folder), /ENOENT.*token/);
  assert.throws(() => inClusterConnection(orch, podOf(variables('h', '1'))), /ENOENT.*\/var\/run\/secrets\/orch.io\//);
});
