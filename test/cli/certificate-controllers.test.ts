import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import type { Command } from '../support/command.ts';
import { ControllersApart } from '../support/controllers-apart.ts';

/** The controllers of certificate requests in programs of their own. */
let apart: ControllersApart;
let signing: readonly string[];
const authority = makeCertificate({ name: 'signing', authority: true });

before(async () => {
  apart = await ControllersApart.start('--v=3');
  signing = [
    `--cluster-signing-cert-file=${apart.folder.write('signing.crt', authority.cert)}`,
    `--cluster-signing-key-file=${apart.folder.write('signing.key', authority.key)}`,
  ];
});
after(() => apart[Symbol.asyncDispose]());

const path = '/apis/certificates.orch.io/v1/certificatesigningrequests';
const manager = (...flags: readonly string[]): Command =>
  apart.manager('--controllers=csrsigning,csrapproving,csrcleaner', ...flags);

/** A node's request. The administrator may have all of them approved. */
async function requestCertificate(name: string): Promise<void> {
  const subject = [relativeName(ids.organization, 'system:nodes'), relativeName(ids.commonName, 'system:node:n1')];
  const request = Buffer.from(requestToPem(makeRequest({ subject }))).toString('base64');
  const signerName = 'orch.io/apiserver-client-node-agent';
  await apart.make(path, {
    metadata: { name },
    spec: { request, signerName, usages: ['digital signature', 'client auth'] },
  });
}

async function certificateOf(name: string): Promise<string | undefined> {
  const { status } = await apart.get<{ status: { certificate?: string } }>(`${path}/${name}`);
  return status.certificate;
}
const issued = (name: string): Promise<void> =>
  until(async () => (await certificateOf(name)) !== undefined, `${name} is not issued`);

/** The answers to writes of the status of a request, from the server's log. */
const answersFor = (name: string): readonly string[] =>
  apart.server.err
    .split('\n')
    .filter((line) => line.includes('"msg":"HTTP"') && line.includes(`${path}/${name}/status`))
    .map((line) => /"resp":(\d+)/.exec(line)?.[1] ?? line);

describe('controllers of certificate requests, remote', () => {
  it('two that both lead sign nothing twice: the second write is a conflict', async () => {
    await using first = manager(...signing, '--leader-elect=false');
    await using second = manager(...signing, '--leader-elect=false');
    for (const each of [first, second]) await each.prints(/"controllers run"/);
    const names = Array.from({ length: 20 }, (_, index) => `both-${index}`);
    await Promise.all(names.map(requestCertificate));
    for (const name of names) await issued(name);
    for (const each of [first, second]) {
      each.signal('SIGTERM');
      assert.equal(await each.exit(), 0);
      assert.doesNotMatch(each.err, /"level":"(warn|error)"/);
    }
    for (const name of names) {
      const answers = answersFor(name);
      assert.equal(answers.filter((each) => each === '200').length, 1, `${name}: ${answers}`);
      assert.deepEqual(
        answers.filter((each) => each !== '200' && each !== '409'),
        [],
      );
    }
  });

  it('without an authority they sign nothing, and say so once', async () => {
    await using running = manager('--leader-elect=false');
    await requestCertificate('unsigned');
    const approved = async (): Promise<boolean> =>
      'conditions' in (await apart.get<{ status: object }>(`${path}/unsigned`)).status;
    await until(approved, 'it is not approved');
    assert.equal(running.err.match(/certificates are not signed: there is no authority to sign with/g)?.length, 1);
    running.signal('SIGTERM');
    assert.equal(await running.exit(), 0);
    assert.equal(await certificateOf('unsigned'), undefined);
  });
});
