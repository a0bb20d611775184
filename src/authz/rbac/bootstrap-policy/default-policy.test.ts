import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Dialect } from '../../../dialect/dialect.ts';
import { kubernetes } from '../../../dialect/kubernetes.ts';
import { orch } from '../../../dialect/orch.ts';
import { asBinding } from '../../../kinds/rbac/binding.ts';
import { clusterRole } from '../../../kinds/rbac/cluster-role.ts';
import { clusterRoleBinding } from '../../../kinds/rbac/cluster-role-binding.ts';
import { asRole, role } from '../../../kinds/rbac/role.ts';
import { roleBinding } from '../../../kinds/rbac/role-binding.ts';
import { create } from '../../../kinds/strategy-fixture.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { defaultPolicy } from './default-policy.ts';
import { joinPolicy } from './join-policy.ts';
import { trustBundlePolicy } from './trust-bundle-policy.ts';

const names = (dialect: Dialect, kind: string): string[] =>
  defaultPolicy(dialect)
    .filter((object) => object.kind === kind)
    .map(({ metadata }) => (metadata.namespace ? `${metadata.namespace}/${metadata.name}` : String(metadata.name)))
    .sort();

const find = (dialect: Dialect, kind: string, name: string): ApiObject => {
  const found = defaultPolicy(dialect).find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind} ${name}`);
  return found;
};

/** With what nodes need to join, and with trust bundles. */
const wholePolicy = (dialect: Dialect): readonly ApiObject[] => [
  ...defaultPolicy(dialect),
  ...joinPolicy(dialect),
  ...trustBundlePolicy(dialect),
];

const controllers = [
  'attachdetach-controller',
  'certificate-controller',
  'clusterrole-aggregation-controller',
  'cronjob-controller',
  'daemon-set-controller',
  'deployment-controller',
  'disruption-controller',
  'endpoint-controller',
  'endpointslice-controller',
  'endpointslicemirroring-controller',
  'ephemeral-volume-controller',
  'expand-controller',
  'generic-garbage-collector',
  'horizontal-pod-autoscaler',
  'job-controller',
  'legacy-service-account-token-cleaner',
  'namespace-controller',
  'node-controller',
  'persistent-volume-binder',
  'pod-garbage-collector',
  'pv-protection-controller',
  'pvc-protection-controller',
  'replicaset-controller',
  'replication-controller',
  'resourcequota-controller',
  'root-ca-cert-publisher',
  'route-controller',
  'service-account-controller',
  'service-controller',
  'statefulset-controller',
  'ttl-after-finished-controller',
  'ttl-controller',
  'validatingadmissionpolicy-status-controller',
].map((each) => `system:controller:${each}`);

describe('the default policy', () => {
  test('cluster roles have the published names', () => {
    const certificates = 'system:certificates.k8s.io';
    assert.deepEqual(
      names(kubernetes, 'ClusterRole'),
      [
        ...['admin', 'cluster-admin', 'edit', 'view'],
        ...['admin', 'edit', 'view'].map((to) => `system:aggregate-to-${to}`),
        ...['system:auth-delegator', 'system:basic-user', 'system:discovery', 'system:heapster', 'system:monitoring'],
        ...[
          `${certificates}:certificatesigningrequests:nodeclient`,
          `${certificates}:certificatesigningrequests:selfnodeclient`,
        ],
        ...['kube-apiserver-client', 'kube-apiserver-client-kubelet', 'kubelet-serving', 'legacy-unknown'].map(
          (signer) => `${certificates}:${signer}-approver`,
        ),
        ...['kube-aggregator', 'kube-controller-manager', 'kube-dns', 'kube-scheduler'].map((each) => `system:${each}`),
        ...['system:kubelet-api-admin', 'system:node', 'system:node-bootstrapper', 'system:node-problem-detector'],
        ...['system:node-proxier', 'system:persistent-volume-provisioner', 'system:public-info-viewer'],
        ...['system:service-account-issuer-discovery', 'system:volume-scheduler'],
        ...controllers,
      ].sort(),
    );
  });

  test('cluster role bindings have the published names and subjects', () => {
    const bindings: Readonly<Record<string, string>> = {
      'cluster-admin': 'Group system:masters',
      'system:basic-user': 'Group system:authenticated',
      'system:discovery': 'Group system:authenticated',
      'system:public-info-viewer': 'Group system:authenticated, Group system:unauthenticated',
      'system:monitoring': 'Group system:monitoring',
      'system:node': '',
      'system:node-proxier': 'User system:kube-proxy',
      'system:kube-controller-manager': 'User system:kube-controller-manager',
      'system:kube-scheduler': 'User system:kube-scheduler',
      'system:volume-scheduler': 'User system:kube-scheduler',
      'system:kube-dns': 'ServiceAccount kube-system/kube-dns',
      'system:service-account-issuer-discovery': 'Group system:serviceaccounts',
      ...Object.fromEntries(
        controllers.map((name) => [name, `ServiceAccount kube-system/${name.replace('system:controller:', '')}`]),
      ),
    };
    assert.deepEqual(names(kubernetes, 'ClusterRoleBinding'), Object.keys(bindings).sort());
    for (const [name, subjects] of Object.entries(bindings)) {
      const binding = asBinding(find(kubernetes, 'ClusterRoleBinding', name));
      const texts = (binding.subjects ?? []).map(
        ({ kind, name: subject, namespace }) => `${kind} ${namespace ? `${namespace}/` : ''}${subject}`,
      );
      assert.equal(texts.join(', '), subjects, name);
      assert.equal(binding.roleRef.name, name);
    }
  });

  test('roles and bindings of namespaces have the published names', () => {
    const shared = [
      ...['bootstrap-signer', 'cloud-provider', 'token-cleaner'].map((each) => `kube-system/system:controller:${each}`),
      ...['kube-controller-manager', 'kube-scheduler'].map((each) => `kube-system/system::leader-locking-${each}`),
      'kube-public/system:controller:bootstrap-signer',
    ];
    const reader = 'extension-apiserver-authentication-reader';
    assert.deepEqual(names(kubernetes, 'Role'), [...shared, `kube-system/${reader}`].sort());
    assert.deepEqual(names(kubernetes, 'RoleBinding'), [...shared, `kube-system/system::${reader}`].sort());
  });

  const lease = (...verbs: string[]) => ({ verbs, apiGroups: ['coordination.k8s.io'] });
  for (const [kind, name, rules] of [
    [
      'ClusterRole',
      'system:controller:endpoint-controller',
      [{ verbs: ['create', 'delete', 'get', 'list', 'update', 'watch'], apiGroups: [''], resources: ['endpoints'] }],
    ],
    [
      'ClusterRole',
      'system:kube-scheduler',
      [
        { ...lease('get', 'list', 'update', 'watch'), resources: ['leases'], resourceNames: ['kube-scheduler'] },
        {
          ...lease('create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'),
          resources: ['leasecandidates'],
        },
        { verbs: ['get', 'list', 'watch'], apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'] },
      ],
    ],
    ...['kube-controller-manager', 'kube-scheduler'].map(
      (each) =>
        [
          'Role',
          `system::leader-locking-${each}`,
          ['leases', 'leasecandidates'].map((resource) => ({
            ...lease('create', 'get', 'list', 'update', 'watch'),
            resources: [resource],
          })),
        ] as const,
    ),
    [
      'ClusterRole',
      'system:service-account-issuer-discovery',
      [
        {
          verbs: ['get'],
          nonResourceURLs: ['/.well-known/openid-configuration', '/openid/v1/jwks'].flatMap((each) => [
            each,
            `${each}/`,
          ]),
        },
      ],
    ],
  ] as const) {
    test(`${name} has the published rules`, () => {
      const given = asRole(find(kubernetes, kind, name)).rules ?? [];
      for (const rule of rules) {
        assert.ok(
          given.some((each) => isDeepStrictEqual(each, rule)),
          `${JSON.stringify(rule)} in ${JSON.stringify(given)}`,
        );
      }
    });
  }

  test('leaders among controllers may be elected by the controller of leader election', () => {
    const { subjects = [] } = asBinding(
      find(kubernetes, 'RoleBinding', 'system::leader-locking-kube-controller-manager'),
    );
    assert.deepEqual(
      subjects.map(({ name }) => name),
      ['system:kube-controller-manager', 'kube-controller-manager', 'leader-election-controller'],
    );
  });

  for (const [dialect, certificates, tokens] of [
    [orch, 'system:certificates.orch.io', 'system:bootstrappers:default-node-token'],
    [kubernetes, 'system:certificates.k8s.io', 'system:bootstrappers:kubeadm:default-node-token'],
  ] as const) {
    test(`${dialect.name}: what joining nodes need`, () => {
      const requests = `${certificates}:certificatesigningrequests`;
      const reader = `${dialect.namespaces.public}/system:cluster-info-reader`;
      const policy = joinPolicy(dialect);
      const bound = policy
        .filter(({ kind }) => kind.endsWith('Binding'))
        .map((object) => {
          const { subjects = [], roleRef } = asBinding(object);
          const { namespace = '' } = object.metadata;
          const name = namespace === '' ? roleRef.name : `${namespace}/${roleRef.name}`;
          return [name, ...subjects.map((subject) => `${subject.kind} ${subject.name}`)];
        });
      assert.deepEqual(bound, [
        ['system:node-bootstrapper', `Group ${tokens}`],
        [`${requests}:nodeclient`, `Group ${tokens}`],
        [`${requests}:selfnodeclient`, 'Group system:nodes'],
        [reader, 'User system:anonymous'],
      ]);
      const roles = policy.filter(({ kind }) => kind === 'Role').map((object) => asRole(object).rules);
      const rule = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-info'] };
      assert.deepEqual(roles, [[rule]]);
    });
  }

  for (const [dialect, publisher, signer] of [
    [orch, 'apiserver-serving-clustertrustbundle-publisher', 'orch.io/apiserver-serving'],
    [kubernetes, 'kube-apiserver-serving-clustertrustbundle-publisher', 'kubernetes.io/kube-apiserver-serving'],
  ] as const) {
    test(`${dialect.name}: what trust bundles need`, () => {
      const discovery = 'system:cluster-trust-bundle-discovery';
      const policy = trustBundlePolicy(dialect);
      const bound = policy
        .filter(({ kind }) => kind === 'ClusterRoleBinding')
        .map((object) => [object.metadata.name, ...(asBinding(object).subjects ?? []).map(({ name }) => name)]);
      assert.deepEqual(bound, [
        [discovery, 'system:authenticated'],
        [`system:controller:${publisher}`, publisher],
      ]);
      const rules = policy.filter(({ kind }) => kind === 'ClusterRole').map((object) => asRole(object).rules);
      const apiGroups = [dialect.group('certificates')];
      const resources = ['clustertrustbundles'];
      assert.deepEqual(rules, [
        [{ verbs: ['get', 'list', 'watch'], apiGroups, resources }],
        [
          { verbs: ['attest'], apiGroups, resources: ['signers'], resourceNames: [signer] },
          { verbs: ['create', 'delete', 'list', 'update', 'watch'], apiGroups, resources },
          { verbs: ['create', 'patch', 'update'], apiGroups: ['', dialect.group('events')], resources: ['events'] },
        ],
      ]);
    });
  }

  test('the default dialect contains no Kubernetes names', () => {
    const text = JSON.stringify(wholePolicy(orch));
    assert.deepEqual(text.match(/[\w:./-]*(?:kube|k8s)[\w:./-]*/g), null);
  });

  for (const dialect of [orch, kubernetes]) {
    test(`${dialect.name}: labelled, and reconciled at each start`, () => {
      for (const { metadata } of wholePolicy(dialect)) {
        assert.equal(
          metadata.annotations?.[`rbac.authorization.${dialect.domain}/autoupdate`],
          'true',
          String(metadata.name),
        );
        assert.equal(metadata.labels?.[`${dialect.domain}/bootstrapping`], 'rbac-defaults', String(metadata.name));
      }
    });

    test(`${dialect.name}: each binding refers to an existing role`, () => {
      const policy = wholePolicy(dialect);
      for (const binding of policy.filter(({ kind }) => kind.endsWith('Binding'))) {
        const { kind, name } = asBinding(binding).roleRef;
        const namespace = kind === 'Role' ? binding.metadata.namespace : undefined;
        const found = policy.some(
          (each) => each.kind === kind && each.metadata.name === name && each.metadata.namespace === namespace,
        );
        assert.ok(found, String(binding.metadata.name));
      }
    });

    test(`${dialect.name}: admin, edit and view are aggregated`, () => {
      const prefix = `${dialect.group('rbac.authorization')}/aggregate-to-`;
      for (const [name, into] of [
        ['admin', undefined],
        ['edit', 'admin'],
        ['view', 'edit'],
      ] as const) {
        const { metadata, aggregationRule } = find(dialect, 'ClusterRole', name);
        assert.deepEqual(aggregationRule, {
          clusterRoleSelectors: [{ matchLabels: { [`${prefix}${name}`]: 'true' } }],
        });
        assert.equal(metadata.labels?.[`${prefix}${into}`], into && 'true');
        assert.equal(
          find(dialect, 'ClusterRole', `system:aggregate-to-${name}`).metadata.labels?.[`${prefix}${name}`],
          'true',
        );
      }
    });
  }

  test('it contains no object twice', () => {
    const keys = wholePolicy(orch).map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    assert.equal(new Set(keys).size, keys.length);
  });

  test('all objects are valid', () => {
    const kinds = [role, clusterRole, roleBinding, clusterRoleBinding].map((make) => make(orch));
    for (const object of wholePolicy(orch)) {
      const kind = kinds.find((each) => each.kind === object.kind);
      assert.ok(kind);
      const made = create(kind, structuredClone(object) as unknown as Record<string, unknown>);
      assert.deepEqual(made.errors, [], String(object.metadata.name));
      // Decoding must add no defaults, so that the stored object equals the one compared at the next start.
      delete made.object.metadata.creationTimestamp;
      assert.deepEqual(made.object, object);
    }
  });

  test('the lists in rules are sorted and without duplicates', () => {
    for (const object of wholePolicy(orch)) {
      for (const each of asRole(object).rules ?? []) {
        for (const values of Object.values(each)) assert.deepEqual([...new Set(values)].sort(), values);
      }
    }
  });
});
