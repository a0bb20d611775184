import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { until } from '../../src/base/waits-fixture.ts';
import { type ControllerName, controllerNames } from '../../src/controllers/controllers.ts';
import { publishedControllers } from '../../src/dialect/published-controllers.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { rbacPath } from '../support/authorization.ts';
import { AuthorizationWebhook } from '../support/authorization-webhook.ts';
import { ControllersApart } from '../support/controllers-apart.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { type Row, workloadNamespace, workloadRows } from '../support/workload-rows.ts';

/**
 * Each controller alone in a program of its own, with the default roles and nothing else: it does its work, all of it as its
 * own service account, and is refused nothing. A webhook in front of RBAC, which has no opinion, sees who asks for what.
 */

let webhook: AuthorizationWebhook;
let apart: ControllersApart;
before(async () => {
  webhook = await AuthorizationWebhook.start();
  apart = await ControllersApart.start(
    ...webhook.flagsBeforeRbac(),
    '--authorization-webhook-version=v1',
    '--v=3',
    '--runtime-config=certificates.orch.io/v1alpha1,networking.orch.io/v1beta1',
    multiCidr,
  );
  await makeNamespace('workloads');
  await apart.make(`${workloadNamespace}/serviceaccounts`, { metadata: { name: 'default' } });
});
after(async () => {
  await apart[Symbol.asyncDispose]();
  await webhook[Symbol.asyncDispose]();
});

const multiCidr = '--feature-gates=MultiCIDRServiceAllocator=true';
const namespaces = '/api/v1/namespaces';
const inDefault = (resource: string): string => `${namespaces}/default/${resource}`;
const secrets = `${namespaces}/orch-system/secrets`;
const clusterInfo = `${namespaces}/orch-public/configmaps/cluster-info`;
const bundles = '/apis/certificates.orch.io/v1alpha1/clustertrustbundles';
const events = 'create,patch,update events,events@events';
const makeNamespace = (name: string): Promise<unknown> => apart.make(namespaces, { metadata: { name } });
const bootstrapToken = (id: string, data: Readonly<Record<string, string>>): Promise<unknown> =>
  apart.make(secrets, {
    metadata: { name: `bootstrap-token-${id}` },
    type: 'bootstrap.orch.io/token',
    stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', ...data },
  });

const requests = '/apis/certificates.orch.io/v1/certificatesigningrequests';
const signers = ['apiserver-client', 'apiserver-client-node-agent', 'node-agent-serving', 'legacy-unknown'];
/** The account of all controllers of certificate requests. */
const certificates = [
  'get,list,watch,delete certificatesigningrequests@certificates',
  'update certificatesigningrequests/approval@certificates,certificatesigningrequests/status@certificates',
  'approve signers@certificates#orch.io/apiserver-client-node-agent',
  ...signers.map((name) => `sign signers@certificates#orch.io/${name}`),
  'create subjectaccessreviews@authorization',
  events,
];
const authority = makeCertificate({ name: 'signing', authority: true });

/** Makes a request of a node; gives its path. */
async function requestCertificate(name: string, signerName: string): Promise<string> {
  const subject = [relativeName(ids.organization, 'system:nodes'), relativeName(ids.commonName, 'system:node:n1')];
  const request = Buffer.from(requestToPem(makeRequest({ subject }))).toString('base64');
  const usages = ['digital signature', 'client auth'];
  await apart.make(requests, { metadata: { name }, spec: { request, signerName, usages } });
  return `${requests}/${name}`;
}

const setConditions = (path: string, conditions: readonly object[]): Promise<void> =>
  apart.patch(path, { status: { conditions } });

const rows: Readonly<Partial<Record<ControllerName, Row>>> = {
  'garbage-collector-controller': {
    account: 'generic-garbage-collector',
    published: ['get,list,watch,patch,update,delete *@*', events],
    async work() {
      const { metadata } = await apart.make<{ metadata: { uid: string } }>(`${namespaces}/orch-system/configmaps`, {
        metadata: { name: 'owner' },
      });
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata.uid };
      await apart.make(inDefault('configmaps'), { metadata: { name: 'owned', ownerReferences: [owner] } });
      return async () => {
        await apart.gone(inDefault('configmaps/owned'));
        const warned = inDefault('events?fieldSelector=reason%3DOwnerRefInvalidNamespace');
        await until(async () => (await apart.get<{ items: unknown[] }>(warned)).items.length > 0, 'no warning');
      };
    },
  },
  'namespace-controller': {
    account: 'namespace-controller',
    published: [
      'get,list,watch,delete namespaces',
      'update namespaces/finalize,namespaces/status',
      'get,list,watch,delete,deletecollection *@*',
    ],
    async work() {
      await makeNamespace('leaving');
      await apart.make(`${namespaces}/leaving/configmaps`, { metadata: { name: 'x' } });
      await apart.remove(`${namespaces}/leaving`);
      return () => apart.gone(`${namespaces}/leaving`);
    },
  },
  'resourcequota-controller': {
    account: 'resourcequota-controller',
    published: ['list,watch *@*', 'update resourcequotas/status', events],
    async work() {
      const group = 'counted.example.com';
      const hard = { configmaps: '9', [`count/widgets.${group}`]: '9' };
      await makeNamespace('counted');
      await apart.make(`${namespaces}/counted/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
      await apart.make(`${namespaces}/counted/configmaps`, { metadata: { name: 'x' } });
      await apart.make(definitionPath(), definitionOf({ group }));
      return async () => {
        const used = { configmaps: '1', [`count/widgets.${group}`]: '0' };
        const status = async (): Promise<object> =>
          (await apart.get<{ status: object }>(`${namespaces}/counted/resourcequotas/q`)).status;
        await until(async () => isDeepStrictEqual(await status(), { hard, used }), 'it is not counted');
      };
    },
  },
  'serviceaccount-controller': {
    account: 'service-account-controller',
    published: ['create serviceaccounts', events],
    async work() {
      await makeNamespace('without-account');
      return () => apart.has(`${namespaces}/without-account/serviceaccounts/default`);
    },
  },
  'serviceaccount-token-controller': {
    account: undefined,
    published: [],
    flags: () => [`--service-account-private-key-file=${apart.signingKey}`],
    async work() {
      await apart.make(inDefault('serviceaccounts'), { metadata: { name: 'robot' } });
      await apart.make(inDefault('secrets'), {
        metadata: { name: 'robot-token', annotations: { 'orch.io/service-account.name': 'robot' } },
        type: 'orch.io/service-account-token',
      });
      return async () => {
        const path = inDefault('secrets/robot-token');
        const filled = async (): Promise<boolean> => 'token' in ((await apart.get<{ data?: object }>(path)).data ?? {});
        await until(filled, 'there is no token');
        await apart.remove(inDefault('serviceaccounts/robot'));
        await apart.gone(path);
      };
    },
  },
  'root-ca-certificate-publisher-controller': {
    account: 'root-ca-cert-publisher',
    published: ['create,update configmaps', events],
    async work() {
      await makeNamespace('without-authority');
      return async () => {
        const path = `${namespaces}/without-authority/configmaps/orch-root-ca.crt`;
        await apart.has(path);
        await apart.patch(path, { data: { 'ca.crt': 'other' } });
        const content = async (): Promise<string | undefined> =>
          (await apart.get<{ data: Record<string, string> }>(path)).data['ca.crt'];
        await until(async () => (await content()) !== 'other', 'the authority stays wrong');
      };
    },
  },
  [publishedControllers.servingBundlePublisher]: {
    account: 'apiserver-serving-clustertrustbundle-publisher',
    published: [
      'attest signers@certificates#orch.io/apiserver-serving',
      'create,delete,list,update,watch clustertrustbundles@certificates',
      events,
    ],
    // The server's own certificate is that of no authority.
    flags: () => [`--root-ca-file=${apart.folder.write('root.crt', makeCertificate({ authority: true }).cert)}`],
    async work() {
      const old = 'orch.io:apiserver-serving:old';
      const spec = { signerName: 'orch.io/apiserver-serving', trustBundle: makeCertificate({ authority: true }).cert };
      await apart.make(bundles, { metadata: { name: old }, spec });
      return async () => {
        await apart.gone(`${bundles}/${old}`);
        const { items } = await apart.get<{ items: readonly { metadata: { name: string } }[] }>(bundles);
        const path = `${bundles}/${items[0]?.metadata.name}`;
        assert.match(path, /\/orch\.io:apiserver-serving:[0-9a-f]{24}$/);
        await apart.patch(path, { spec });
        const content = async (): Promise<string> => (await apart.get<{ spec: typeof spec }>(path)).spec.trustBundle;
        await until(async () => (await content()) !== spec.trustBundle, 'the bundle stays wrong');
        await apart.remove(path);
        await apart.has(path);
      };
    },
  },
  'clusterrole-aggregation-controller': {
    account: 'clusterrole-aggregation-controller',
    published: ['escalate,get,list,patch,update,watch clusterroles@rbac.authorization'],
    async work() {
      const view = `${rbacPath}/clusterroles/view`;
      return () =>
        until(async () => ((await apart.get<{ rules?: unknown[] }>(view)).rules ?? []).length > 0, 'view has no rules');
    },
  },
  'certificatesigningrequest-signing-controller': {
    account: 'certificate-controller',
    published: certificates,
    flags: () => [
      `--cluster-signing-cert-file=${apart.folder.write('signing.crt', authority.cert)}`,
      `--cluster-signing-key-file=${apart.folder.write('signing.key', authority.key)}`,
    ],
    async work() {
      const path = await requestCertificate('to-sign', 'orch.io/apiserver-client');
      await setConditions(`${path}/approval`, [{ type: 'Approved', status: 'True' }]);
      return async () => {
        const issued = async (): Promise<boolean> =>
          'certificate' in (await apart.get<{ status: object }>(path)).status;
        await until(issued, 'nothing is issued');
      };
    },
  },
  'certificatesigningrequest-approving-controller': {
    account: 'certificate-controller',
    published: certificates,
    async work() {
      const path = await requestCertificate('to-approve', 'orch.io/apiserver-client-node-agent');
      return async () => {
        const approved = async (): Promise<boolean> =>
          'conditions' in (await apart.get<{ status: object }>(path)).status;
        await until(approved, 'nothing is approved');
      };
    },
  },
  'certificatesigningrequest-cleaner-controller': {
    account: 'certificate-controller',
    published: certificates,
    async work() {
      const path = await requestCertificate('to-clean', 'example.com/mine');
      const old = '2020-01-01T00:00:00Z';
      await setConditions(`${path}/approval`, [{ type: 'Denied', status: 'True', lastUpdateTime: old }]);
      return () => apart.gone(path);
    },
  },
  'validatingadmissionpolicy-status-controller': {
    account: 'validatingadmissionpolicy-status-controller',
    published: [
      'get,list,watch validatingadmissionpolicies@admissionregistration',
      'get,patch,update validatingadmissionpolicies/status@admissionregistration',
      events,
    ],
    async work() {
      const group = 'typed.example.com';
      await apart.make(definitionPath(), definitionOf({ group }));
      await until(async () => (await apart.status(`/apis/${group}/v1`)) === 200, 'the group is not served');
      const policies = '/apis/admissionregistration.orch.io/v1/validatingadmissionpolicies';
      const rule = { operations: ['*'], apiGroups: ['', group], apiVersions: ['v1'], resources: ['pods', 'widgets'] };
      await apart.make(policies, {
        metadata: { name: 'typed' },
        spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'object.nope == 1' }] },
      });
      return async () => {
        const status = async (): Promise<string> =>
          JSON.stringify((await apart.get<{ status: object }>(`${policies}/typed`)).status);
        const found = /, Kind=Pod: ERROR: .*undefined field 'nope'.*, Kind=Widget: ERROR: .*undefined field 'nope'/;
        await until(async () => found.test(await status()), 'no warning about both types');
      };
    },
  },
  'persistentvolumeclaim-protection-controller': {
    account: 'pvc-protection-controller',
    published: ['get,list,watch,update persistentvolumeclaims', 'get,list,watch pods', events],
    async work() {
      const claims = inDefault('persistentvolumeclaims');
      const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
      await apart.make(claims, { metadata: { name: 'unused' }, spec });
      await apart.remove(`${claims}/unused`);
      await apart.has(`${claims}/unused`);
      return () => apart.gone(`${claims}/unused`);
    },
  },
  'persistentvolume-protection-controller': {
    account: 'pv-protection-controller',
    published: ['get,list,watch,update persistentvolumes', events],
    async work() {
      const volumes = '/api/v1/persistentvolumes';
      const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/data' } };
      await apart.make(volumes, { metadata: { name: 'unbound' }, spec });
      await apart.remove(`${volumes}/unbound`);
      await apart.has(`${volumes}/unbound`);
      return () => apart.gone(`${volumes}/unbound`);
    },
  },
  'service-cidr-controller': {
    account: 'service-cidrs-controller',
    published: [
      'get,list,watch,patch,update servicecidrs@networking',
      'patch,update servicecidrs/finalizers@networking,servicecidrs/status@networking',
      'get,list,watch ipaddresses@networking',
      events,
    ],
    flags: () => [multiCidr],
    async work() {
      const ranges = '/apis/networking.orch.io/v1beta1/servicecidrs';
      await apart.make(ranges, { metadata: { name: 'more' }, spec: { cidrs: ['10.9.0.0/24'] } });
      return async () => {
        const shown = async (): Promise<string> => JSON.stringify(await apart.get(`${ranges}/more`));
        const isKept = /"finalizers":\["networking\.orch\.io\/service-cidr-finalizer"\].*"type":"Ready"/;
        await until(async () => isKept.test(await shown()), 'the range is not called ready');
      };
    },
  },
  'bootstrap-signer-controller': {
    account: 'bootstrap-signer',
    published: [
      'orch-system: get,list,watch secrets',
      'orch-public: get,list,watch configmaps',
      'orch-public: update configmaps#cluster-info',
      `orch-public: ${events}`,
    ],
    async work() {
      await apart.make(clusterInfo.replace(/\/[^/]*$/, ''), {
        metadata: { name: 'cluster-info' },
        data: { kubeconfig: '{}' },
      });
      await bootstrapToken('signs0', { 'usage-bootstrap-signing': 'true' });
      return async () => {
        const signed = async (): Promise<boolean> =>
          'jws-kubeconfig-signs0' in (await apart.get<{ data: object }>(clusterInfo)).data;
        await until(signed, 'cluster-info is not signed');
      };
    },
  },
  'token-cleaner-controller': {
    account: 'token-cleaner',
    published: ['orch-system: get,list,watch,delete secrets', `orch-system: ${events}`],
    async work() {
      await bootstrapToken('past00', { expiration: '2020-01-01T00:00:00Z' });
      return () => apart.gone(`${secrets}/bootstrap-token-past00`);
    },
  },
  ...workloadRows(() => apart),
};

interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Each permission of a rule by itself: `get secrets`, `update configmaps#cluster-info`. */
function permissionsOf({ verbs, apiGroups, resources, resourceNames = [''] }: PolicyRule, prefix: string): string[] {
  const all: string[] = [];
  for (const verb of verbs) {
    for (const group of apiGroups) {
      for (const resource of resources) {
        for (const name of resourceNames) {
          const of = group === '' ? '' : `@${group.replace(/\.orch\.io$/, '')}`;
          all.push(`${prefix}${verb} ${resource}${of}${name === '' ? '' : `#${name}`}`);
        }
      }
    }
  }
  return all;
}

/** The same of the table's notation. */
function permissionsIn(text: string): string[] {
  const [, prefix = '', verbs = '', resources = ''] = /^([\w-]+: )?(\S+) (\S+)$/.exec(text) ?? assert.fail(text);
  return verbs.split(',').flatMap((verb) => resources.split(',').map((resource) => `${prefix}${verb} ${resource}`));
}

interface Bound {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly roleRef: { readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** All permissions that bindings give the service account by name. */
async function permissionsOfAccount(account: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [bindings, roles] of [
    ['clusterrolebindings', 'clusterroles'],
    ['rolebindings', 'roles'],
  ] as const) {
    const { items } = await apart.get<{ items: readonly Bound[] }>(`${rbacPath}/${bindings}`);
    for (const { metadata, roleRef, subjects = [] } of items) {
      if (!subjects.some(({ kind, name }) => kind === 'ServiceAccount' && name === account)) continue;
      const { namespace } = metadata;
      const at = namespace === undefined ? roles : `namespaces/${namespace}/${roles}`;
      const { rules } = await apart.get<{ rules: readonly PolicyRule[] }>(`${rbacPath}/${at}/${roleRef.name}`);
      found.push(...rules.flatMap((rule) => permissionsOf(rule, namespace === undefined ? '' : `${namespace}: `)));
    }
  }
  return found;
}

/** What the program does as itself: reading for all controllers, leading, and asking for tokens. */
const ownWork = [
  /^(get|list|watch) /,
  /^(create|update) leases$/,
  /^(create|patch|update) events$/,
  /^create serviceaccounts(\/token)?$/,
];

describe('each controller alone, remote', () => {
  for (const name of controllerNames) {
    it(name, async () => {
      const { account, flags = () => [], work } = rows[name] ?? assert.fail(`${name} has no row in this test`);
      const done = await work();
      webhook.questions.length = 0;
      const logged = apart.server.err.length;
      await using running = apart.manager(`--controllers=${name}`, ...flags());
      await done();
      running.signal('SIGTERM');
      assert.equal(await running.exit(), 0, running.err);
      const own = account === undefined ? apart.program : `system:serviceaccount:orch-system:${account}`;
      const requests = webhook.questions.flatMap(({ spec: { user, resourceAttributes } }) => {
        const { verb, resource, subresource } = resourceAttributes ?? {};
        return resourceAttributes ? [{ user, what: `${verb} ${resource}${subresource ? `/${subresource}` : ''}` }] : [];
      });
      assert.deepEqual(
        [...new Set(requests.map(({ user }) => user))].sort(),
        [...new Set([own, apart.program])].sort(),
      );
      const writes = requests.filter(({ what }) => !/^(get|list|watch) /.test(what));
      assert.ok(
        writes.some(
          ({ user, what }) => user === own && !ownWork.some((each) => account === undefined && each.test(what)),
        ),
      );
      const strange = writes.filter(({ user, what }) => user !== own && !ownWork.some((each) => each.test(what)));
      assert.deepEqual(strange, [], 'the program writes as itself');
      const answers = [...apart.server.err.slice(logged).matchAll(/"msg":"HTTP".*"resp":(\d+)/g)].map(
        ([, code]) => code,
      );
      assert.ok(answers.includes('201') || answers.includes('200'));
      assert.ok(!answers.includes('401') && !answers.includes('403'), answers.join());
      assert.doesNotMatch(running.err, /"level":"(warn|error)"|cannot (get|list|watch|create|update|patch|delete)/);
    });

    it(`${name}: its account may do what it may in version 1.32, and no more`, async () => {
      const { account, published } = rows[name] ?? assert.fail(`${name} has no row in this test`);
      if (account === undefined) return assert.deepEqual(published, []);
      const expected = published.flatMap(permissionsIn).sort();
      assert.deepEqual([...new Set(await permissionsOfAccount(account))].sort(), expected);
    });
  }
});
