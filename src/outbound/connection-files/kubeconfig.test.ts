import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemFiles } from '../../base/files.ts';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { ensureAuthority, ensureIssued } from '../../pki/ca.ts';
import type { CredentialPlugin } from '../connection-config.ts';
import { ConnectionFileError } from './connection-file.ts';
import { readKubeconfig } from './kubeconfig.ts';

let directory: string;
let [ca, certificate, key] = ['', '', ''];
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  const files = (name: string) => ({
    certificate: join(directory, `${name}.crt`),
    key: join(directory, `${name}.key`),
  });
  const context = { clock: systemClock, random: systemRandom };
  const authority = ensureAuthority(files('ca'), 'ca', context);
  for (const name of ['client', 'other']) {
    ensureIssued(files(name), authority, { subject: { commonName: name }, use: 'clientAuth' }, context);
  }
  [ca, certificate, key] = ['ca.crt', 'client.crt', 'client.key'].map((name) =>
    readFileSync(join(directory, name), 'utf8'),
  ) as [string, string, string];
  writeFileSync(join(directory, 'encrypted.key'), '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n');
});
after(() => rmSync(directory, { recursive: true }));

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function read(text: string, dialect = orch, options = {}) {
  const file = join(directory, 'config');
  writeFileSync(file, text);
  return readKubeconfig(file, dialect, systemFiles, options);
}

/** A kubeconfig with one cluster and one user. */
const file = (cluster: string, user: string): string =>
  `{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], ` +
  `clusters: [{name: other, cluster: {server: 'https://other:1'}}, {name: k, cluster: {${cluster}}}], ` +
  `users: [{name: u, user: {${user}}}]}`;
const server = "server: 'https://h:1/'";

describe('a kubeconfig', () => {
  it('with everything in it', () => {
    const { server: url, ...rest } = read(
      file(
        `server: 'https://[::1]:6443/k?a=b', tls-server-name: api, certificate-authority-data: ${base64(ca)}`,
        `client-certificate-data: ${base64(certificate)}, client-key-data: ${base64(key)}`,
      ),
    );
    assert.equal(url.href, 'https://[::1]:6443/k?a=b');
    assert.deepEqual(rest, {
      authorities: ca,
      serverName: 'api',
      insecure: false,
      credential: { type: 'stored', certificate: { certificate, key } },
      impersonation: undefined,
    });
  });

  it('of a webhook, without TLS', () => {
    const allowsHttp = { allowsHttp: true };
    assert.equal(read(file("server: 'http://h:1/a?b=c'", ''), orch, allowsHttp).server.href, 'http://h:1/a?b=c');
    for (const text of ['http://u:secret@h:1', 'ftp://h:1', 'h:1']) {
      assert.throws(() => read(file(`server: '${text}'`, ''), orch, allowsHttp), {
        message: /the server is not of the form https:\/\/HOST:PORT or http:\/\/HOST:PORT$/,
      });
    }
  });

  it('with relative files', () => {
    const { authorities, credential } = read(
      file(`${server}, certificate-authority: ca.crt`, 'client-certificate: client.crt, client-key: ./client.key'),
    );
    assert.equal(authorities, ca);
    assert.deepEqual(credential, {
      type: 'stored',
      certificate: { certificate, key },
      certificateFiles: { certificate: join(directory, 'client.crt'), key: join(directory, 'client.key') },
    });
  });

  const token = { type: 'token', token: 't' } as const;
  for (const [user, authorization] of [
    ['', undefined],
    ['token: t', token],
    ["token: t, client-certificate: ''", token],
    ["username: u, password: ''", { type: 'basic', username: 'u', password: '' }],
    ['username: u, password: p', { type: 'basic', username: 'u', password: 'p' }],
    ['password: p', { type: 'basic', username: '', password: 'p' }],
    ["token: t, exec: {command: c, apiVersion: 'client.authentication.orch.io/v1', interactiveMode: Never}", token],
  ] as const) {
    it(`user {${user}}`, () => {
      assert.deepEqual(read(file(server, user)).credential, {
        type: 'stored',
        ...(authorization && { authorization }),
      });
    });
  }

  it('a token file takes precedence over a token', () => {
    const { credential } = read(file(server, 'token: t, tokenFile: token'));
    const authorization = { type: 'tokenFile', file: join(directory, 'token'), token: 't' };
    assert.deepEqual(credential, { type: 'stored', authorization });
  });

  it('a token beside a certificate', () => {
    const { credential } = read(file(server, 'token: t, client-certificate: client.crt, client-key: client.key'));
    assert.ok(credential.type === 'stored' && credential.certificate && credential.authorization);
  });

  it('without a user, CA or verification', () => {
    const text = file(`${server}, insecure-skip-tls-verify: true`, '').replace(', user: u', '');
    const { credential, insecure, authorities } = read(text);
    assert.deepEqual([credential, insecure, authorities], [{ type: 'stored' }, true, undefined]);
  });

  it('with impersonation', () => {
    const { impersonation } = read(
      file(server, "as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {Scopes/x: [one, two], y: []}"),
    );
    const extra = { 'Scopes/x': ['one', 'two'], y: [] };
    assert.deepEqual(impersonation, { user: 'jane', uid: '7', groups: ['a', 'b'], extra });
    assert.deepEqual(read(file(server, 'as: jane')).impersonation, {
      user: 'jane',
      uid: undefined,
      groups: [],
      extra: {},
    });
  });
});

function plugin(exec: string, cluster = server, dialect = orch): CredentialPlugin {
  const { credential } = read(file(cluster, `exec: {${exec}}`), dialect);
  assert.ok(credential.type === 'plugin');
  return credential.plugin;
}

describe('a user with a credential plugin', () => {
  const v1 = "apiVersion: 'client.authentication.orch.io/v1'";
  const v1beta1 = "apiVersion: 'client.authentication.orch.io/v1beta1'";

  it('with everything in it', () => {
    const exec = `${v1}, command: get-token, args: [--for, ''], env: [{name: A, value: b}, {name: C}]`;
    assert.deepEqual(plugin(`${exec}, installHint: "run\\tit \\e[31m", interactiveMode: Always`), {
      apiVersion: 'client.authentication.orch.io/v1',
      command: 'get-token',
      args: ['--for', ''],
      env: [
        { name: 'A', value: 'b' },
        { name: 'C', value: '' },
      ],
      installHint: 'run\tit U+001B[31m',
      interactiveMode: 'Always',
      cluster: undefined,
      variable: 'ORCH_EXEC_INFO',
    });
  });

  it('has the names of the dialect', () => {
    const text = "apiVersion: 'client.authentication.k8s.io/v1beta1', command: x";
    const { apiVersion, variable, interactiveMode } = plugin(text, server, kubernetes);
    assert.deepEqual(
      [apiVersion, variable, interactiveMode],
      ['client.authentication.k8s.io/v1beta1', 'KUBERNETES_EXEC_INFO', 'IfAvailable'],
    );
    assert.throws(() => plugin(text), /apiVersion of the user's exec is not client.authentication.orch.io\/v1 or /);
  });

  it('with a command relative to the file', () => {
    assert.equal(plugin(`${v1beta1}, command: bin/x`).command, join(directory, 'bin/x'));
    assert.equal(plugin(`${v1beta1}, command: ./x`).command, join(directory, 'x'));
    assert.equal(plugin(`${v1beta1}, command: /x`).command, '/x');
  });

  it('with cluster information', () => {
    const exec = `${v1beta1}, command: x, provideClusterInfo: true`;
    assert.deepEqual(plugin(exec).cluster, { server: 'https://h:1/', config: null });
    const extensions =
      "extensions: [{name: other, extension: 1}, {name: 'client.authentication.orch.io/exec', extension: {a: [b]}}]";
    const more = 'tls-server-name: api, certificate-authority: ca.crt, disable-compression: true';
    assert.deepEqual(plugin(exec, `${server}, ${more}, ${extensions}`).cluster, {
      server: 'https://h:1/',
      'tls-server-name': 'api',
      'certificate-authority-data': base64(ca),
      'disable-compression': true,
      config: { a: ['b'] },
    });
    assert.deepEqual(plugin(exec, `${server}, insecure-skip-tls-verify: true`).cluster, {
      server: 'https://h:1/',
      'insecure-skip-tls-verify': true,
      config: null,
    });
  });

  for (const [exec, message] of [
    ['1', /the user's exec is no object$/],
    ['{}', /does not say which command is meant$/],
    ['{command: x}', /the apiVersion of the user's exec is not/],
    [`{command: x, ${v1.replace('v1', 'v1alpha1')}}`, /the apiVersion of the user's exec is not/],
    [`{command: x, ${v1}}`, /the interactiveMode of the user's exec is not Never, IfAvailable, Always$/],
    [`{command: x, ${v1beta1}, interactiveMode: never}`, /the interactiveMode of the user's exec is not/],
    [`{command: x, ${v1beta1}, args: x}`, /args is no list$/],
    [`{command: x, ${v1beta1}, args: [1]}`, /an item of args is no text$/],
    [`{command: x, ${v1beta1}, args: ["a\\0secret"]}`, /an item of args has a zero byte in it$/],
    [`{command: x, ${v1beta1}, env: [{value: secret}]}`, /env of the user's exec has no name/],
    [`{command: x, ${v1beta1}, env: [{name: a=b}]}`, /has no name, or one with = in it$/],
    [`{command: x, ${v1beta1}, env: [1]}`, /an item of env is no object$/],
    [`{command: x, ${v1beta1}, provideClusterInfo: 'true'}`, /provideClusterInfo is neither true nor false$/],
  ] as const) {
    it(`exec: ${exec}`, () => assertRefused(file(server, `exec: ${exec}`), message));
  }
});

function assertRefused(text: string, message: RegExp): void {
  assert.throws(
    () => read(text),
    (error) => {
      assert.ok(error instanceof ConnectionFileError);
      assert.ok(error.message.startsWith(join(directory, 'config: ')));
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    },
  );
}

describe('an invalid kubeconfig', () => {
  for (const [text, message] of [
    ['[', /cannot be read: /],
    ['hello', /it is no object$/],
    ['[]', /it is no object$/],
    ['{}', /does not say which context is meant$/],
    ['{current-context: x}', /there is no context "x"$/],
    ['{current-context: x, contexts: {}}', /contexts is no list$/],
    ['{current-context: x, contexts: [1]}', /an item of contexts is no object$/],
    ['{current-context: [x]}', /current-context is no text$/],
    ['{current-context: x, contexts: [{name: x, context: 1}]}', /the context "x" is no object$/],
    ['{current-context: x, contexts: [{name: x}]}', /does not say which cluster is meant$/],
    ['{current-context: x, contexts: [{name: x, context: {cluster: k}}]}', /there is no cluster "k"$/],
    [file(server, '').replace('user: u', 'user: nobody'), /there is no user "nobody"$/],
    [file('', ''), /the server is not of the form https:\/\/HOST:PORT$/],
    [file("server: 'http://h:1'", ''), /the server is not of the form/],
    [file("server: 'https://user:secret@h:1'", ''), /the server is not of the form/],
    [file("server: 'https://:secret@h:1'", ''), /the server is not of the form/],
    [file("server: 'h:1'", ''), /the server is not of the form/],
    [file(`${server}, proxy-url: 'http://p'`, ''), /proxy-url is not supported$/],
    [file(`${server}, insecure-skip-tls-verify: 'true'`, ''), /insecure-skip-tls-verify is neither true nor false$/],
    [file(`${server}, certificate-authority: none`, ''), /certificate-authority: .*none cannot be read$/],
    [file(`${server}, certificate-authority: client.key`, ''), /certificate-authority: there is no certificate in it$/],
    [file(`${server}, certificate-authority-data: '%secret'`, ''), /certificate-authority-data is not base64$/],
    [
      file(`${server}, certificate-authority: ca.crt, insecure-skip-tls-verify: true`, ''),
      /insecure-skip-tls-verify and certificate-authority exclude each other$/,
    ],
    [file(server, 'client-certificate: client.crt'), /client-certificate and client-key go together$/],
    [file(server, 'client-certificate: client.key, client-key: client.key'), /the certificate is not in PEM$/],
    [file(server, 'client-certificate: client.crt, client-key: ca.crt'), /the key is not in PEM, or is encrypted$/],
    [file(server, 'client-certificate: client.crt, client-key: encrypted.key'), /is not in PEM, or is encrypted$/],
    [file(server, 'client-certificate: client.crt, client-key: other.key'), /the key does not belong to/],
    [file(server, 'auth-provider: {name: gcp}'), /the user's auth-provider is not supported/],
    [file(server, 'username: u, token: secret'), /a token and a password exclude each other$/],
    [file(server, 'password: p, tokenFile: x'), /a token and a password exclude each other$/],
    [file(server, "username: 'a:b', password: secret"), /the username has a colon in it$/],
    [file(server, 'token: "secret\\n"'), /the token has characters that no header can carry$/],
    [file(server, 'as-uid: x'), /as-uid, as-groups and as-user-extra go together with as$/],
    [file(server, 'as-groups: [x]'), /go together with as$/],
    [file(server, 'as-user-extra: {x: [z]}'), /go together with as$/],
    [file(server, 'as: x, as-user-extra: {x: y}'), /x is no list$/],
    [file(server, 'as: "x\\r\\nauthorization: y"'), /a field as… has a line break in it$/],
  ] as const) {
    it(message.source, () => assertRefused(text, message));
  }

  it('that does not exist', () =>
    assert.throws(() => readKubeconfig(join(directory, 'none'), orch, systemFiles), /ENOENT/));
});
