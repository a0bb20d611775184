import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { as, Folder } from '../support/authorization.ts';
import { KubectlClient } from '../support/kubectl.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Certificates and trust bundles with every release of the client that stands beside the one in use: `certificate
 * approve` and `deny`, `describe`, columns, waits, and the sentences that it prints. All of these releases use version v1
 * of certificate signing requests (releases since 1.22 know no other that a server of 1.32 serves).
 */

const skip = kubectlReleases.length === 0 && 'kubectl is not installed';
const asked = kubectlReleases.find(({ release }) => release === '1.32') ?? kubectlReleases.at(-1);

const subject = [relativeName(ids.organization, 'developers'), relativeName(ids.commonName, 'jane')];
const janes = Buffer.from(requestToPem(makeRequest({ subject }))).toString('base64');

const clientSigner = { kubernetes: 'kubernetes.io/kube-apiserver-client', orch: 'orch.io/apiserver-client' } as const;

/** A request as YAML. */
const manifest = (name: string, { group = 'certificates.k8s.io', signer = clientSigner.kubernetes as string } = {}) => `
apiVersion: ${group}/v1
kind: CertificateSigningRequest
metadata: { name: ${name} }
spec:
  request: ${janes}
  signerName: ${signer}
  expirationSeconds: 3600
  usages: [digital signature, client auth]
`;

/** Who may read requests; approve them in the API, but those of no signer; approve those of one domain; sign for none. */
const users = { reader: [], clerk: [], officer: [], maker: [] };

describe('kubectl: certificates', { skip, concurrency: 2 }, () => {
  const held = new AsyncDisposableStack();
  const folder = held.use(new Folder());
  let server: OrchProcess;
  before(async () => {
    const bundles = '--runtime-config=certificates.k8s.io/v1alpha1';
    const flags = ['--dialect=kubernetes', bundles, folder.tokens(users)];
    server = held.use(await OrchProcess.start({ flags }));
    await grant(server);
  });
  after(() => held.disposeAsync());

  for (const each of kubectlReleases) {
    describe(`release ${each.release}`, { concurrency: 1 }, () => {
      const csr = `certificatesigningrequest.certificates.k8s.io`;
      const one = `one-${each.release}`;
      const two = `two-${each.release}`;
      const three = `three-${each.release}`;
      const foreign = `foreign-${each.release}`;
      let client: KubectlClient;
      before(async () => {
        client = new KubectlClient(each, server);
        const input = [
          ...[one, two, three].map((name) => manifest(name)),
          manifest(foreign, { signer: 'example.com/vpn' }),
        ].join('---');
        const out = await client.prints(['create', '-f', '-'], { input });
        assert.equal(out, [one, two, three, foreign].map((name) => `${csr}/${name} created\n`).join(''));
      });
      const conditionOf = async (name: string): Promise<string> => {
        const line = (await client.prints(['get', 'csr', name, '--no-headers'])).trim();
        return line.split(/ {2,}/).at(-1) ?? '';
      };

      test('get: columns; -o wide has no more', async () => {
        for (const wide of [[], ['-o', 'wide']]) {
          const [head = '', row = '', ...more] = (await client.prints(['get', 'csr', one, ...wide])).trim().split('\n');
          assert.match(head, /^NAME +AGE +SIGNERNAME +REQUESTOR +REQUESTEDDURATION +CONDITION$/);
          assert.match(row, new RegExp(`^${one} +\\d+s +${clientSigner.kubernetes} +orch-admin +60m +Pending$`));
          assert.deepEqual(more, []);
        }
      });

      test('get --field-selector spec.signerName', async () => {
        const selected = async (selector: string): Promise<readonly string[]> => {
          const out = await client.prints(['get', 'csr', '-o', 'name', '--field-selector', selector]);
          return out.split('\n').filter((name) => name.endsWith(each.release));
        };
        assert.deepEqual(await selected('spec.signerName=example.com/vpn'), [`${csr}/${foreign}`]);
        assert.equal((await selected('spec.signerName!=example.com/vpn')).length, 3);
      });

      test('describe: who asks whom for what', async () => {
        const out = await client.prints(['describe', 'csr', one]);
        for (const line of [
          `Name: +${one}`,
          'Requesting User: +orch-admin',
          `Signer: +${clientSigner.kubernetes}`,
          'Requested Duration: +60m',
          'Status: +Pending',
          ' +Common Name: +jane',
          ' +Organization: +developers',
          'Events: +<none>',
        ])
          assert.match(out, new RegExp(`^${line}$`, 'm'));
      });

      test('approve and deny: refusals name the permission', async () => {
        const resource = `certificatesigningrequests.certificates.k8s.io "${two}" is forbidden:`;
        const rows = [
          [
            'reader',
            `User "reader" cannot update resource "certificatesigningrequests/approval" in API group "certificates.k8s.io" at the cluster scope`,
          ],
          ['clerk', `user not permitted to approve requests with signerName "${clientSigner.kubernetes}"`],
          ['officer', `user not permitted to approve requests with signerName "${clientSigner.kubernetes}"`],
        ] as const;
        for (const [who, sentence] of rows) {
          for (const verb of ['approve', 'deny']) {
            const said = await client.refused(['certificate', verb, two], { as: as(who) });
            assert.equal(said, `Error from server (Forbidden): ${resource} ${sentence}`);
          }
        }
        assert.equal(await conditionOf(two), 'Pending');
      });

      test('approve several by name; the certificate comes', async () => {
        const out = await client.prints(['certificate', 'approve', one, two]);
        assert.equal(out, `${csr}/${one} approved\n${csr}/${two} approved\n`);
        const waited = await client.prints(['wait', '--for=condition=Approved', '--timeout=30s', `csr/${one}`]);
        assert.equal(waited, `${csr}/${one} condition met\n`);
        // Since 1.28 a value may be waited for without saying which; before, one waits for what it is.
        const certificateIn = '--for=jsonpath={.status.certificate}';
        const waiting = ['wait', '--timeout=30s', `csr/${two}`];
        if (each.release !== '1.27') {
          assert.equal(await client.prints([...waiting, certificateIn]), `${csr}/${two} condition met\n`);
        } else {
          const unknown = await client.refused([...waiting, certificateIn]);
          assert.match(unknown, /jsonpath wait format must be --for=jsonpath=/);
          await client.prints([...waiting, '--for=jsonpath={.status.conditions[0].type}=Approved']);
        }
        const isIssued = async () => (await conditionOf(two)) === 'Approved,Issued';
        await until(isIssued, () => `the certificate does not come:\n${server.log}`);
        const text = await client.prints(['get', 'csr', two, '-o', certificatePath]);
        const certificate = new X509Certificate(Buffer.from(text, 'base64'));
        assert.equal(certificate.subject, 'O=developers\nCN=jane');
        assert.equal(certificate.verify(new X509Certificate(server.credentials.ca).publicKey), true);
        assert.match(await client.prints(['describe', 'csr', two]), /^Status: +Approved,Issued$/m);
      });

      test('approve and deny once more, and the other after one', async () => {
        const again = await client.prints(['certificate', 'approve', one]);
        assert.equal(again, `${csr}/${one} approved\n`);
        assert.equal(await client.prints(['certificate', 'approve', one, '--force']), again);
        const denied = await client.prints(['certificate', 'deny', '-f', '-'], { input: manifest(three) });
        assert.equal(denied, `${csr}/${three} denied\n`);
        assert.equal(await client.prints(['certificate', 'deny', three, '--force']), denied);
        for (const [verb, name, state] of [
          ['deny', one, 'Approved'],
          ['approve', three, 'Denied'],
        ] as const) {
          const said = await client.refused(['certificate', verb, name]);
          assert.equal(said, `error: certificate signing request "${name}" is already ${state}`);
        }
        const conditions = '-o=jsonpath={range .status.conditions[*]}{.type} {.status} {.reason}: {.message}{end}';
        assert.equal(
          await client.prints(['get', 'csr', three, conditions]),
          'Denied True KubectlDeny: This CSR was denied by kubectl certificate deny.',
        );
        assert.equal(
          await client.prints(['get', 'csr', one, conditions]),
          'Approved True KubectlApprove: This CSR was approved by kubectl certificate approve.',
        );
        assert.equal(await conditionOf(three), 'Denied');
      });

      test('approve for one domain of signers', async () => {
        const out = await client.prints(['certificate', 'approve', foreign], { as: as('officer') });
        assert.equal(out, `${csr}/${foreign} approved\n`);
        assert.equal(await conditionOf(foreign), 'Approved', 'nobody signs for that signer');
      });

      test('what is not there, or not named', async () => {
        assert.equal(
          await client.refused(['certificate', 'approve', 'none']),
          'Error from server (NotFound): certificatesigningrequests.certificates.k8s.io "none" not found',
        );
        assert.match(await client.refused(['certificate', 'deny']), /^error: one or more CSRs must be specified/);
      });

      test('a broken request names its field', async () => {
        const input = manifest('broken').replace(janes, Buffer.from('no PEM').toString('base64'));
        const said = await client.refused(['create', '-f', '-'], { input });
        assert.match(said, /^The CertificateSigningRequest "broken" is invalid: spec\.request: Invalid value: /);
      });

      test('delete', async () => {
        const names = [one, two, three, foreign];
        const out = await client.prints(['delete', 'csr', ...names]);
        assert.equal(out, names.map((name) => `${csr} "${name}" deleted\n`).join(''));
        assert.equal(await client.prints(['get', 'csr', '-o', 'name', '--ignore-not-found', ...names]), '');
      });

      test('trust bundles: create, get, describe, explain, delete', async () => {
        const bundle = 'clustertrustbundle.certificates.k8s.io';
        const name = `example.com:vpn:v${each.release.replace('.', '-')}`;
        const trustBundle = readFileSync(join(server.dataDir, 'pki/ca.crt'), 'utf8');
        const object = {
          apiVersion: 'certificates.k8s.io/v1alpha1',
          kind: 'ClusterTrustBundle',
          metadata: { name },
          spec: { signerName: 'example.com/vpn', trustBundle },
        };
        const input = JSON.stringify(object);
        const refused = await client.refused(['create', '-f', '-'], { as: as('maker'), input });
        assert.match(
          refused,
          /^Error from server \(Forbidden\): .*: user not permitted to attest for signerName "example\.com\/vpn"$/,
        );
        assert.equal(await client.prints(['create', '-f', '-'], { input }), `${bundle}/${name} created\n`);
        const table = await client.prints(['get', 'clustertrustbundles', name], { as: as('reader') });
        assert.match(table, new RegExp(`^NAME +SIGNERNAME\n${name} +example.com/vpn\n$`));
        const described = await client.prints(['describe', 'clustertrustbundle', name]);
        assert.match(
          described,
          /^ {2}Signer Name: +example\.com\/vpn\n {2}Trust Bundle: +-----BEGIN CERTIFICATE-----$/m,
        );
        const explained = await client.prints(['explain', 'clustertrustbundle.spec']);
        assert.match(explained, /^ {2}trustBundle\t<string> -required-$/m);
        assert.equal(await client.prints(['delete', 'clustertrustbundle', name]), `${bundle} "${name}" deleted\n`);
      });
    });
  }
});

const certificatePath = 'jsonpath={.status.certificate}';

async function grant(server: OrchProcess): Promise<void> {
  const group = 'certificates.k8s.io';
  const read = { apiGroups: [group], resources: ['certificatesigningrequests'], verbs: ['get', 'list'] };
  const decide = { apiGroups: [group], resources: ['certificatesigningrequests/approval'], verbs: ['update'] };
  const domain = { apiGroups: [group], resources: ['signers'], resourceNames: ['example.com/*'], verbs: ['approve'] };
  const bundles = { apiGroups: [group], resources: ['clustertrustbundles'], verbs: ['create'] };
  const rules = { reader: [read], clerk: [read, decide], officer: [read, decide, domain], maker: [bundles] };
  const rbac = 'rbac.authorization.k8s.io';
  for (const [name, ofRole] of Object.entries(rules)) {
    const metadata = { name };
    const subjects = [{ apiGroup: rbac, kind: 'User', name }];
    const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name };
    const made = [
      await server.post(`/apis/${rbac}/v1/clusterroles`, { metadata, rules: ofRole }),
      await server.post(`/apis/${rbac}/v1/clusterrolebindings`, { metadata, roleRef, subjects }),
    ];
    for (const { status, text } of made) assert.equal(status, 201, text);
  }
}

describe('kubectl in the dialect that it does not know: certificates', { skip }, () => {
  const held = new AsyncDisposableStack();
  let server: OrchProcess;
  let client: KubectlClient;
  before(async () => {
    assert.ok(asked);
    server = held.use(await OrchProcess.start());
    client = new KubectlClient(asked, server);
  });
  after(() => held.disposeAsync());

  test('by discovery: create, get by its short name, selectors, delete', async () => {
    const input = manifest('jane', { group: 'certificates.orch.io', signer: clientSigner.orch });
    const csr = 'certificatesigningrequest.certificates.orch.io';
    assert.equal(
      await client.prints(['apply', '--server-side', '-f', '-'], { input }),
      `${csr}/jane serverside-applied\n`,
    );
    assert.match(
      await client.prints(['get', 'csr', '--field-selector', `spec.signerName=${clientSigner.orch}`]),
      /^NAME +AGE +SIGNERNAME +REQUESTOR +REQUESTEDDURATION +CONDITION\njane +\d+s +orch\.io\/apiserver-client +orch-admin +60m +Pending\n$/,
    );
    assert.match(await client.prints(['describe', 'csr', 'jane']), /^ {2}Signer Name: +orch\.io\/apiserver-client$/m);
    const explained = await client.prints(['explain', 'csr.spec.signerName', '--api-version=certificates.orch.io/v1']);
    assert.match(explained, /^FIELD: signerName <string>$/m);
  });

  test('certificate approve knows no other group; the approval by its path', async () => {
    const approved = await client.refused(['certificate', 'approve', 'jane']);
    assert.match(approved, /^error: can only handle CertificateSigningRequest\.certificates\.k8s\.io objects, got /);
    const status = { conditions: [{ type: 'Approved', status: 'True', reason: 'ByHand' }] };
    const input = JSON.stringify({ metadata: { name: 'jane' }, status });
    const path = '/apis/certificates.orch.io/v1/certificatesigningrequests/jane/approval';
    await client.prints(['replace', '--raw', path, '-f', '-'], { input });
    await client.prints(['wait', '--for=jsonpath={.status.certificate}', '--timeout=30s', 'csr/jane']);
    assert.match(await client.prints(['get', 'csr', 'jane', '--no-headers']), /Approved,Issued$/m);
    await client.prints(['delete', 'csr', 'jane']);
  });
});
