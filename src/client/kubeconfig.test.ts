import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ConnectionFileError, readKubeconfig } from './kubeconfig.ts';

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  for (const name of ['ca.crt', 'client.crt', 'client.key']) writeFileSync(join(directory, name), `the ${name}`);
});
after(() => rmSync(directory, { recursive: true }));

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function read(text: string) {
  const file = join(directory, 'config');
  writeFileSync(file, text);
  return readKubeconfig(file);
}

/** A file with one cluster and one user. */
const file = (cluster: string, user: string): string =>
  `{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], ` +
  `clusters: [{name: other, cluster: {server: 'https://other:1'}}, {name: k, cluster: {${cluster}}}], ` +
  `users: [{name: u, user: {${user}}}]}`;
const server = "server: 'https://h:1/'";

describe('a connection file', () => {
  it('with everything in it', () => {
    const { server: url, ...rest } = read(
      file(
        `server: 'https://[::1]:6443/k', tls-server-name: api, certificate-authority-data: ${base64('CA')}`,
        `client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}`,
      ),
    );
    assert.equal(url.href, 'https://[::1]:6443/k');
    assert.deepEqual(rest, {
      authorities: 'CA',
      serverName: 'api',
      insecure: false,
      credential: { type: 'certificate', certificate: 'CERT', key: 'KEY' },
    });
  });

  it('with files beside it', () => {
    const { authorities, credential } = read(
      file(`${server}, certificate-authority: ca.crt`, 'client-certificate: client.crt, client-key: ./client.key'),
    );
    assert.equal(authorities, 'the ca.crt');
    assert.deepEqual(credential, { type: 'certificate', certificate: 'the client.crt', key: 'the client.key' });
  });

  for (const [user, expected] of [
    ['', { type: 'none' }],
    ['token: t', { type: 'token', token: 't' }],
    ["token: t, client-certificate: ''", { type: 'token', token: 't' }],
  ] as const) {
    it(`user {${user}}`, () => assert.deepEqual(read(file(server, user)).credential, expected));
  }

  it('a file with a token counts more than a token', () => {
    const { credential } = read(file(server, 'token: t, tokenFile: token'));
    assert.deepEqual(credential, { type: 'tokenFile', file: join(directory, 'token') });
  });

  it('without a user, without an authority, without verification', () => {
    const text = file(`${server}, insecure-skip-tls-verify: true`, '').replace(', user: u', '');
    const { credential, insecure, authorities } = read(text);
    assert.deepEqual([credential, insecure, authorities], [{ type: 'none' }, true, undefined]);
  });
});

describe('a file that cannot be used', () => {
  for (const [text, message] of [
    ['[', /cannot be read: /],
    ['hello', /it is no object$/],
    ['[]', /it is no object$/],
    ['{}', /does not say which context is meant$/],
    ['{current-context: x}', /there is no context "x"$/],
    ['{current-context: x, contexts: {}}', /there is no context "x"$/],
    ['{current-context: x, contexts: [1]}', /an item of contexts is no object$/],
    ['{current-context: [x]}', /current-context is no text$/],
    ['{current-context: x, contexts: [{name: x, context: 1}]}', /the context "x" is no object$/],
    ['{current-context: x, contexts: [{name: x}]}', /does not say which cluster is meant$/],
    ['{current-context: x, contexts: [{name: x, context: {cluster: k}}]}', /there is no cluster "k"$/],
    [file(server, '').replace('user: u', 'user: nobody'), /there is no user "nobody"$/],
    [file('', ''), /the server is not of the form https:\/\/HOST:PORT$/],
    [file("server: 'http://h:1'", ''), /the server is not of the form/],
    [file("server: 'https://user:secret@h:1'", ''), /the server is not of the form/],
    [file("server: 'h:1'", ''), /the server is not of the form/],
    [file(`${server}, proxy-url: 'http://p'`, ''), /proxy-url is not supported$/],
    [file(`${server}, certificate-authority: none`, ''), /certificate-authority: .*none cannot be read$/],
    [file(server, 'client-certificate: client.crt'), /client-certificate and client-key go together$/],
    [file(server, 'exec: {command: rm}'), /the user's exec is not supported$/],
    [file(server, 'as: root'), /the user's as is not supported$/],
    [file(server, 'username: u, password: p'), /the user's username is not supported$/],
  ] as const) {
    it(text.slice(0, 90), () =>
      assert.throws(
        () => read(text),
        (error) => {
          assert.ok(error instanceof ConnectionFileError);
          assert.ok(error.message.startsWith(join(directory, 'config: ')));
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      ),
    );
  }

  it('that is not there', () => assert.throws(() => readKubeconfig(join(directory, 'none')), /ENOENT/));
});
