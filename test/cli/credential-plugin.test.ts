import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { Command } from '../support/command.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** A program that knows who it is from a credential plugin (spec section 5.6). */
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: ['--controllers=serviceaccount'] });
});
after(() => server[Symbol.asyncDispose]());

/** The administrator's connection file, with a plugin that gives the certificate instead of the certificate. */
function withPlugin(source: string): string {
  const text = readFileSync(server.kubeconfig, 'utf8');
  const data = (name: string): string => new RegExp(`    ${name}: (\\S+)\n`).exec(text)?.[1] ?? '';
  const pem = (name: string): string => Buffer.from(data(name), 'base64').toString();
  const pair = {
    clientCertificateData: pem('client-certificate-data'),
    clientKeyData: pem('client-key-data'),
  };
  const plugin = join(server.dataDir, 'plugin');
  const preamble = `const pair = ${JSON.stringify(pair)}; const info = JSON.parse(process.env.ORCH_EXEC_INFO);`;
  writeFileSync(plugin, `#!${process.execPath}\n${preamble}\n${source}\n`, { mode: 0o755 });
  const exec =
    "    exec: {apiVersion: 'client.authentication.orch.io/v1', command: ./plugin, interactiveMode: Never, provideClusterInfo: true}\n";
  const file = join(server.dataDir, 'plugin.kubeconfig');
  writeFileSync(file, text.replace(/ {4}client-certificate-data: .*\n {4}client-key-data: .*\n/, exec));
  return file;
}

const namespaces = '/api/v1/namespaces';

it('the controllers work with a certificate from a plugin, which may speak with people', async () => {
  const file = withPlugin(
    "process.stderr.write('a certificate for ' + info.spec.cluster.server);" +
      "process.stdout.write(JSON.stringify({ kind: 'ExecCredential', apiVersion: info.apiVersion, status: pair }));",
  );
  await using running = new Command('controller-manager', `--kubeconfig=${file}`, '--leader-elect=false');
  await running.prints(/a certificate for https:\/\/127.0.0.1:\d+/);
  await running.prints(/"controllers run"/);
  await server.post(namespaces, { metadata: { name: 'n' } });
  await server.delete(`${namespaces}/n`);
  await until(async () => (await server.get(`${namespaces}/n`)).status === 404, 'the namespace is gone');
  assert.doesNotMatch(running.out + running.err, /PRIVATE KEY/);
});

it('a plugin that fails is told of, and is tried again', async () => {
  await using running = new Command('controller-manager', `--kubeconfig=${withPlugin('process.exit(3);')}`);
  await running.prints(/credential plugin \S+plugin: it ended with exit code 3.*with exit code 3/s);
});
