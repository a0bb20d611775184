import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLogger } from '../../../base/logger.ts';
import { type Clock, systemClock } from '../../../base/time/clock.ts';
import { once, until } from '../../../base/waits-fixture.ts';
import { isStoreError } from '../../store.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from './etcd-process-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';
import type { EtcdTls } from './etcd-tls.ts';
import { hurriedClock } from './faulty-network-fixture.ts';

const opensslMissing = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed';

describe('etcd over TLS', { skip: etcdMissing || opensslMissing }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-etcd-tls-'));
  const file = (name: string): string => join(directory, name);
  const text = (name: string): string => readFileSync(file(name), 'utf8');
  let etcd: EtcdProcess;
  let tls: Required<EtcdTls>;

  before(async () => {
    makeAuthority(file('ca'));
    makeAuthority(file('other-ca'));
    issue(file('ca'), file('server'), 'subjectAltName=IP:127.0.0.1,DNS:localhost');
    issue(file('ca'), file('client'), 'extendedKeyUsage=clientAuth');
    tls = {
      authorities: text('ca.pem'),
      client: { certificate: text('client.pem'), key: text('client.key') },
    };
    const served = { certFile: file('server.pem'), keyFile: file('server.key'), clientCaFile: file('ca.pem') };
    etcd = await startEtcd({ tls: served, clientTls: tls });
  });
  after(async () => {
    await etcd?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('reads, writes and watches, by address and by name', async () => {
    for (const endpoint of [etcd.endpoint, etcd.endpoint.replace('127.0.0.1', 'localhost')]) {
      const store = await openEtcdStore({ endpoints: [endpoint], tls });
      const { host } = new URL(endpoint);
      const { revision } = await store.create(`/${host}`, Buffer.from('x'));
      for await (const batch of store.changes(revision - 1, new AbortController().signal)) {
        assert.equal(batch.changes[0]?.key, `/${host}`);
        break;
      }
      await store.close();
    }
  });

  const refused = async (options: { readonly endpoint?: string; readonly tls?: EtcdTls }, reason: RegExp) => {
    const endpoint = options.endpoint ?? etcd.endpoint;
    const opening = openEtcdStore({
      endpoints: [endpoint],
      clock: hurriedClock(100),
      ...(options.tls ? { tls: options.tls } : {}),
    });
    await assert.rejects(opening, (error) => {
      assert.ok(isStoreError(error, 'unavailable'), String(error));
      assert.match(error.message, reason);
      assert.ok(error.message.includes(endpoint), error.message);
      const shown = [error, error.cause].map((each) => (each instanceof Error ? each.message : '')).join(' ');
      assert.ok(error.cause instanceof Error && error.message.includes(error.cause.message), shown);
      assert.doesNotMatch(shown, /Resolution note|SSL routines|use-system-ca/);
      return true;
    });
  };

  test('an etcd of another authority is refused', async () => {
    const reason =
      /: --etcd-cafile must name the authority that signed the certificate of etcd \([^()]*(verify|self-signed)[^()]*\)$/;
    await refused({ tls: { ...tls, authorities: text('other-ca.pem') } }, reason);
    await refused({}, reason);
  });

  test('an etcd whose certificate is for another address is refused', async (context) => {
    issue(file('ca'), file('elsewhere'), 'subjectAltName=IP:127.0.0.2,DNS:etcd.invalid');
    const server = createSecureServer({ cert: text('elsewhere.pem'), key: text('elsewhere.key') });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    context.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    await refused({ endpoint: `https://127.0.0.1:${port}`, tls }, /127\.0\.0\.1 is not in the cert's list/);
    await refused({ endpoint: `https://localhost:${port}`, tls }, /localhost\. is not in the cert's altnames/);
  });

  test('etcd rejects a client without a certificate, with the reason', async () => {
    await refused(
      { tls: { authorities: tls.authorities } },
      /: --etcd-certfile and --etcd-keyfile must name a client certificate .* \([^()]*(bad certificate|certificate required)\)$/,
    );
  });

  test('a client without TLS cannot connect', async () => {
    await refused({ endpoint: etcd.endpoint.replace('https', 'http') }, /Failed to connect|dropped|ECONNRESET/);
  });

  test('a client certificate that was renewed is used by the next connection, and a broken pair is not', async (context) => {
    issue(file('other-ca'), file('renewed'), 'extendedKeyUsage=clientAuth');
    openssl('genrsa', '-out', file('rsa.key'), '2048');
    const files = { certificate: file('used.pem'), key: file('used.key') };
    const put = (certificate: string, key: string): void => {
      copyFileSync(file(certificate), files.certificate);
      copyFileSync(file(key), files.key);
    };
    put('client.pem', 'client.key');
    copyFileSync(file('ca.pem'), file('trusted.pem'));
    const clientTls = { ...tls, client: { ...tls.client, files } };
    const served = { certFile: file('server.pem'), keyFile: file('server.key'), clientCaFile: file('trusted.pem') };
    const renewing = await startEtcd({ tls: served, clientTls });
    context.after(() => renewing.stop());
    const logged: string[] = [];
    const logger = {
      ...silentLogger,
      error: (message: string, fields?: object) => logged.push(`${message} ${Object.values(fields ?? {}).join()}`),
      info: (message: string) => logged.push(message),
    };
    const timers = new Set<object>();
    const store = await openEtcdStore({
      endpoints: [renewing.endpoint],
      tls: clientTls,
      clock: counting(timers),
      logger,
    });
    const head = await store.head();
    const goesOn = async (key: string): Promise<void> => {
      await renewing.kill();
      await renewing.start();
      await until(async () => (await store.create(key, Buffer.from('x')).catch(() => undefined)) !== undefined);
      for await (const { changes } of store.changes(head, new AbortController().signal)) {
        if (changes.some((change) => change.key === key)) break;
      }
    };

    put('renewed.pem', 'rsa.key');
    await until(() => logged.some((line) => line.startsWith('a certificate stays as it is')));
    await goesOn('/broken');
    put('renewed.pem', 'renewed.key');
    await until(() => logged.includes('a certificate was replaced'));
    copyFileSync(file('other-ca.pem'), file('trusted.pem'));
    await goesOn('/renewed');

    await store.close();
    assert.equal(timers.size, 0);
    const [problem, ...more] = logged.filter((line) => line.startsWith('a certificate stays'));
    assert.match(problem ?? '', /used\.pem/);
    assert.deepEqual(more, []);
    assert.doesNotMatch(logged.join(), /PRIVATE/);
    await refused({ endpoint: renewing.endpoint, tls }, /--etcd-certfile .*(unknown ca|bad certificate)/);
  });

  test('endpoints and files that cannot be used are refused at once', async () => {
    const opening = (endpoints: readonly string[], material?: EtcdTls) =>
      openEtcdStore({ endpoints, ...(material ? { tls: material } : {}) });
    await assert.rejects(opening([]), /no etcd endpoint/);
    for (const endpoint of ['', 'ftp://a:1', 'https://a', 'https://a:1/path', 'https://user@a:1', 'a b:1']) {
      await assert.rejects(opening([endpoint]), /etcd endpoint must be like/, endpoint);
    }
    await assert.rejects(opening(['http://127.0.0.1:1'], tls), /is without TLS/);
    await assert.rejects(opening(['unix:///run/kine.sock'], tls), /is without TLS/);
    const mixed = { ...tls, client: { ...tls.client, key: text('server.key') } };
    await assert.rejects(opening([etcd.endpoint], mixed), /TLS files for etcd cannot be used.*key values mismatch/);
  });
});

/** The system's clock; `timers` are those that run. */
const counting = (timers: Set<object>): Clock => ({
  ...systemClock,
  after(delayMs, callback) {
    const timer = systemClock.after(delayMs, () => {
      timers.delete(timer);
      callback();
    });
    timers.add(timer);
    return {
      close() {
        timers.delete(timer);
        timer.close();
      },
    };
  },
});

const openssl = (...args: readonly string[]): void => {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
};

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Creates `<name>.pem` and `<name>.key`. */
const makeAuthority = (name: string): void =>
  openssl('req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-days', '2', '-subj', '/CN=ca');

const issue = (authority: string, name: string, extension: string): void => {
  openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', '/CN=orch');
  writeFileSync(`${name}.ext`, extension);
  const signer = ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`, '-CAcreateserial'];
  const made = ['-in', `${name}.csr`, '-out', `${name}.pem`, '-days', '2', '-extfile', `${name}.ext`];
  openssl('x509', '-req', ...signer, ...made);
};
