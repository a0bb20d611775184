import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatusError } from '../../meta/status-error.ts';
import { readCertificateRequest } from '../../pki/certificate-request.ts';
import { ids, makeRequest, primitive, relativeName, requestToPem } from '../../pki/certificate-request-fixture.ts';
import type { Decision } from '../../request/access.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { type AdmissionPlugin, admissionChain } from '../chain.ts';
import { certificateApproval } from './certificate-approval.ts';
import { certificateSigning } from './certificate-signing.ts';
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts';
import { clusterTrustBundleAttest } from './cluster-trust-bundle-attest.ts';
import type { SignerPlugins } from './signer-permission.ts';

const group = 'certificates.orch.io';
const signer = 'example.com/signer';
const requests = 'certificatesigningrequests';
const bundles = 'clustertrustbundles';

type Write = NonNullable<Parameters<typeof attributesOf>[0]>;

/** The write as the plugins see it; the message of the refusal, if there is one. */
async function admit(plugin: AdmissionPlugin, write: Write): Promise<string> {
  try {
    await admissionChain([plugin]).validate(attributesOf({ group, ...write }));
    return '';
  } catch (error) {
    assert.ok(error instanceof StatusError);
    assert.equal(error.reason, 'Forbidden');
    return error.message;
  }
}

/** An authorizer that allows some questions, and remembers all. */
class Asked implements SignerPlugins {
  readonly group = group;
  readonly questions: string[] = [];
  readonly #decide: (question: string) => Partial<Decision>;

  constructor(decide: (question: string) => Partial<Decision>) {
    this.#decide = decide;
  }

  readonly authorize: SignerPlugins['authorize'] = ({
    verb,
    resource,
    subresource,
    group: of,
    namespace,
    name,
    version,
  }) => {
    assert.deepEqual([resource, subresource, of, namespace, version], ['signers', '', group, '', '*']);
    this.questions.push(`${verb} ${name}`);
    return { verdict: 'noOpinion', reason: '', ...this.#decide(`${verb} ${name}`) };
  };
}

const plugins = {
  CertificateApproval: certificateApproval,
  CertificateSigning: certificateSigning,
  ClusterTrustBundleAttest: clusterTrustBundleAttest,
} as const;

const spec = { spec: { signerName: signer } };
const approving: Write = { operation: 'update', resource: `${requests}/approval`, object: spec, old: spec };
const signing: Write = {
  ...approving,
  resource: `${requests}/status`,
  object: { ...spec, status: { certificate: 'AA==' } },
};
const attesting: Write = { resource: bundles, object: spec };

const guarded = [
  [
    'CertificateApproval',
    'approve',
    approving,
    `${requests}.${group} "x" is forbidden: user not permitted to approve requests with signerName "${signer}"`,
  ],
  [
    'CertificateSigning',
    'sign',
    signing,
    `${requests}.${group} "x" is forbidden: user not permitted to sign requests with signerName "${signer}"`,
  ],
  [
    'ClusterTrustBundleAttest',
    'attest',
    attesting,
    `${bundles}.${group} "x" is forbidden: user not permitted to attest for signerName "${signer}"`,
  ],
] as const;

const decisions: readonly (readonly [
  why: string,
  decide: (question: string) => Partial<Decision>,
  asked: number,
  allowed: boolean,
])[] = [
  ['nothing is allowed', () => ({}), 2, false],
  [
    'the signer is allowed',
    (question) => ({ verdict: question.endsWith(` ${signer}`) ? 'allow' : 'noOpinion' }),
    1,
    true,
  ],
  [
    'the domain is allowed',
    (question) => ({ verdict: question.endsWith(' example.com/*') ? 'allow' : 'noOpinion' }),
    2,
    true,
  ],
  [
    'the signer is denied, and the domain allowed',
    (question) => ({ verdict: question.endsWith(' example.com/*') ? 'allow' : 'deny' }),
    2,
    true,
  ],
  ['all is denied', () => ({ verdict: 'deny' }), 2, false],
  ['the answer is an error', () => ({ evaluationError: 'no answer' }), 2, false],
  ['the answer is an error and allows', () => ({ verdict: 'allow', evaluationError: 'no answer' }), 2, false],
];

describe('plugins that guard signers', () => {
  for (const [name, verb, write, refusal] of guarded) {
    for (const [why, decide, asked, allowed] of decisions) {
      it(`${name}: ${why}`, async () => {
        const authorizer = new Asked(decide);
        assert.equal(await admit(plugins[name](authorizer), write), allowed ? '' : refusal);
        assert.deepEqual(authorizer.questions, [`${verb} ${signer}`, `${verb} example.com/*`].slice(0, asked));
      });
    }
  }

  const asks: readonly (readonly [
    name: keyof typeof plugins,
    why: string,
    write: Write,
    question: string | undefined,
  ])[] = [
    ['CertificateApproval', 'an update of approval', approving, `approve ${signer}`],
    [
      'CertificateApproval',
      'the stored signer counts',
      { ...approving, object: { spec: { signerName: 'a.b/c' } } },
      `approve ${signer}`,
    ],
    ['CertificateApproval', 'a dry run', { ...approving, dryRun: true }, `approve ${signer}`],
    ['CertificateApproval', 'another subresource', signing, undefined],
    ['CertificateApproval', 'the request itself', { ...approving, resource: requests }, undefined],
    ['CertificateApproval', 'another resource', { ...approving, resource: 'others/approval' }, undefined],
    ['CertificateApproval', 'another group', { ...approving, group: 'example.com' }, undefined],
    ['CertificateSigning', 'a new certificate', signing, `sign ${signer}`],
    [
      'CertificateSigning',
      'the stored signer counts',
      { ...signing, object: { ...signing.object, spec: { signerName: 'a.b/c' } } },
      `sign ${signer}`,
    ],
    [
      'CertificateSigning',
      'a new condition',
      { ...signing, object: { ...spec, status: { conditions: [{ type: 'Failed' }] } } },
      `sign ${signer}`,
    ],
    [
      'CertificateSigning',
      'a changed condition',
      {
        ...signing,
        old: { ...spec, status: { conditions: [{ type: 'Failed' }] } },
        object: { ...spec, status: { conditions: [{ type: 'Failed', reason: 'a' }] } },
      },
      `sign ${signer}`,
    ],
    [
      'CertificateSigning',
      'a certificate that is removed',
      { ...signing, object: spec, old: signing.object ?? {} },
      `sign ${signer}`,
    ],
    ['CertificateSigning', 'nothing changes', { ...signing, old: signing.object ?? {} }, undefined],
    [
      'CertificateSigning',
      'an empty list of conditions',
      { ...signing, object: { ...spec, status: { conditions: [] } } },
      undefined,
    ],
    [
      'CertificateSigning',
      'labels',
      { ...signing, object: { ...spec, metadata: { name: 'x', labels: { a: 'b' } } } },
      undefined,
    ],
    ['CertificateSigning', 'another subresource', approving, undefined],
    ['CertificateSigning', 'the request itself', { ...signing, resource: requests }, undefined],
    ['ClusterTrustBundleAttest', 'create', attesting, `attest ${signer}`],
    ['ClusterTrustBundleAttest', 'without a signer', { ...attesting, object: { spec: {} } }, undefined],
    [
      'ClusterTrustBundleAttest',
      'another bundle',
      { ...attesting, operation: 'update', object: { spec: { signerName: signer, trustBundle: 'a' } }, old: spec },
      `attest ${signer}`,
    ],
    [
      'ClusterTrustBundleAttest',
      'labels',
      {
        ...attesting,
        operation: 'update',
        object: { ...spec, metadata: { name: 'x', labels: { a: 'b' } } },
        old: spec,
      },
      `attest ${signer}`,
    ],
    [
      'ClusterTrustBundleAttest',
      'labels and finalizers',
      {
        ...attesting,
        operation: 'update',
        object: { ...spec, metadata: { name: 'x', labels: { a: 'b' }, finalizers: ['a/b'] } },
        old: spec,
      },
      `attest ${signer}`,
    ],
    [
      'ClusterTrustBundleAttest',
      'finalizers and owners',
      {
        ...attesting,
        operation: 'update',
        object: {
          ...spec,
          metadata: {
            name: 'x',
            finalizers: ['a/b'],
            ownerReferences: [{ uid: '1' }],
            managedFields: [{}],
            resourceVersion: '2',
          },
        },
        old: { ...spec, metadata: { name: 'x', resourceVersion: '1' } },
      },
      undefined,
    ],
    ['ClusterTrustBundleAttest', 'nothing changes', { ...attesting, operation: 'update', old: spec }, undefined],
    ['ClusterTrustBundleAttest', 'delete', { ...attesting, operation: 'delete', old: spec }, undefined],
    ['ClusterTrustBundleAttest', 'another resource', { ...attesting, resource: requests }, undefined],
    ['ClusterTrustBundleAttest', 'another group', { ...attesting, group: 'example.com' }, undefined],
  ];
  for (const [name, why, write, question] of asks) {
    it(`${name} asks for: ${why}`, async () => {
      const authorizer = new Asked(() => ({ verdict: 'allow' }));
      assert.equal(await admit(plugins[name](authorizer), write), '');
      assert.deepEqual(authorizer.questions, question === undefined ? [] : [question]);
    });
  }
});

describe('CertificateSubjectRestriction', () => {
  const clientSigner = 'orch.io/apiserver-client';
  const plugin = certificateSubjectRestriction({
    group,
    clientSigner,
    organizations: async (request) => (await readCertificateRequest(Buffer.from(request, 'base64'))).organizations,
  });
  const masters = 'system:masters';
  const utf16 = Buffer.from(masters, 'utf16le').swap16();
  const utf32 = Buffer.concat([...masters].map((letter) => Buffer.from([0, 0, 0, letter.charCodeAt(0)])));
  const organization = (value: string | Buffer): Buffer => relativeName(ids.organization, value);
  const requestOf = (...subject: readonly Buffer[]): string =>
    Buffer.from(requestToPem(makeRequest({ subject }))).toString('base64');
  const request = requestOf(organization(masters));
  const create = (more: object = {}): Write => ({
    resource: requests,
    object: { spec: { signerName: clientSigner, request, ...more } },
  });
  const refused = `${requests}.${group} "x" is forbidden: use of ${clientSigner} signer with ${masters} group is not allowed`;

  for (const [why, subject] of [
    ['UTF8String', organization(masters)],
    ['PrintableString', organization(primitive(0x13, Buffer.from(masters)))],
    ['T61String', organization(primitive(0x14, Buffer.from(masters)))],
    ['IA5String', organization(primitive(0x16, Buffer.from(masters)))],
    ['UniversalString', organization(primitive(0x1c, utf32))],
    ['BMPString', organization(primitive(0x1e, utf16))],
  ] as const) {
    it(`${masters} as ${why}`, async () => {
      assert.equal(await admit(plugin, create({ request: requestOf(subject) })), refused);
      const among = [organization('a'), relativeName(ids.commonName, 'b'), subject, organization('c')];
      assert.equal(await admit(plugin, create({ request: requestOf(...among) })), refused);
    });
  }

  const rows: readonly (readonly [why: string, write: Write, refusal: string])[] = [
    [
      'other organizations',
      create({ request: requestOf(organization('system:master'), organization('system:masters ')) }),
      '',
    ],
    ['the group as a common name', create({ request: requestOf(relativeName(ids.commonName, masters)) }), ''],
    ['another signer', create({ signerName: signer }), ''],
    ['an update', { ...create(), operation: 'update', old: {} }, ''],
    ['a subresource', { ...create(), resource: `${requests}/status` }, ''],
    ['another resource', { ...create(), resource: bundles }, ''],
    [
      'no PEM',
      create({ request: 'AA==' }),
      `${requests}.${group} "x" is forbidden: failed to parse CSR: PEM block type must be CERTIFICATE REQUEST`,
    ],
    [
      'no request',
      create({ request: undefined }),
      `${requests}.${group} "x" is forbidden: failed to parse CSR: PEM block type must be CERTIFICATE REQUEST`,
    ],
  ];
  for (const [why, write, refusal] of rows) it(why, async () => assert.equal(await admit(plugin, write), refusal));
});
