import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigurationError } from '../../codec/configuration-document.ts';
import { dialects } from '../../dialect/dialects.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import type { KubeconfigUsers } from '../../outbound/connection-files/kubeconfig-users.ts';
import { defaultPodSecurity } from '../plugins/pod-security/pod-security-configuration.ts';
import { readAdmissionConfiguration } from './admission-configuration.ts';

type Plugin = Readonly<Record<string, unknown>>;

const read = (plugins: readonly Plugin[], files: Readonly<Record<string, string>> = {}, dialect = kubernetes) =>
  readAdmissionConfiguration(
    Buffer.from(
      JSON.stringify({
        apiVersion: `${dialect.group('apiserver.config')}/v1`,
        kind: 'AdmissionConfiguration',
        plugins,
      }),
    ),
    {
      dialect,
      readFile(path) {
        const content = files[path];
        if (content === undefined) throw new Error(`${path} cannot be read: ENOENT`);
        return Buffer.from(content);
      },
      readUsers(file) {
        if (file !== '/kubeconfig') throw new Error(`${file}: there are two users "u"`);
        return users;
      },
      known: (name) => name !== 'Nonsense',
    },
  );

const users: KubeconfigUsers = { users: new Map(), current: undefined };
const calls = (kubeConfigFile: unknown, version = 'v1', kind = 'WebhookAdmissionConfiguration') => ({
  ...{ apiVersion: `apiserver.config.k8s.io/${version}`, kind, kubeConfigFile },
});
const podSecurity = (fields: object, version = 'v1') => ({
  ...{ apiVersion: `pod-security.admission.config.k8s.io/${version}`, kind: 'PodSecurityConfiguration' },
  ...fields,
});
const events = (limits: readonly object[]) => ({
  ...{ apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1', kind: 'Configuration', limits },
});

const tolerations = (fields: object, version = 'v1alpha1') => ({
  ...{ apiVersion: `podtolerationrestriction.admission.k8s.io/${version}`, kind: 'Configuration' },
  ...fields,
});

const quotas = (limitedResources: readonly object[], apiVersion = 'apiserver.config.k8s.io/v1') => ({
  apiVersion,
  kind: apiVersion.startsWith('apiserver.') ? 'ResourceQuotaConfiguration' : 'Configuration',
  limitedResources,
});

describe('valid configurations', () => {
  it('nothing', () => assert.deepEqual(read([]), {}));
  it('a plugin without a configuration', () => assert.deepEqual(read([{ name: 'PodSecurity' }]), {}));
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    it(`PodSecurity, ${version}; a level that is enforced is not warned of by itself`, () => {
      const defaults = { enforce: 'baseline', 'enforce-version': 'v1.30', audit: 'restricted' };
      const exemptions = { usernames: ['u'], namespaces: ['n'], runtimeClasses: ['r'] };
      const configuration = podSecurity({ defaults, exemptions }, version);
      assert.deepEqual(read([{ name: 'PodSecurity', configuration }]), {
        podSecurity: {
          defaults: {
            ...defaultPodSecurity.defaults,
            enforce: { level: 'baseline', version: 'v1.30' },
            audit: { level: 'restricted', version: 'latest' },
          },
          exemptions,
        },
      });
    });
  }
  it('defaults', () => {
    assert.deepEqual(read([{ name: 'PodSecurity', configuration: podSecurity({}) }]), {
      podSecurity: defaultPodSecurity,
    });
  });
  it('EventRateLimit', () => {
    const limits = [
      { type: 'Server', qps: 1, burst: 2, cacheSize: -1 },
      { type: 'User', qps: 3, burst: 4 },
      { type: 'Namespace', qps: 3, burst: 4, cacheSize: 5 },
    ];
    assert.deepEqual(read([{ name: 'EventRateLimit', configuration: events(limits) }]).eventLimits, [
      { ...limits[0], cacheSize: -1 },
      { ...limits[1], cacheSize: 4096 },
      limits[2],
    ]);
  });
  for (const apiVersion of [
    'apiserver.config.k8s.io/v1',
    'resourcequota.admission.k8s.io/v1beta1',
    'resourcequota.admission.k8s.io/v1alpha1',
  ]) {
    it(`ResourceQuota, ${apiVersion}`, () => {
      const matchScopes = [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }];
      const limited = [
        { apiGroup: 'apps', resource: 'deployments', matchContains: ['count/'] },
        { resource: 'pods', matchScopes },
      ];
      assert.deepEqual(read([{ name: 'ResourceQuota', configuration: quotas(limited, apiVersion) }]), {
        limitedResources: [
          { group: 'apps', resource: 'deployments', matchContains: ['count/'], matchScopes: [] },
          { group: '', resource: 'pods', matchContains: [], matchScopes },
        ],
      });
    });
  }
  it('PodTolerationRestriction', () => {
    const pool = { key: 'pool', operator: 'Exists' };
    const configuration = tolerations({ default: [pool], whitelist: [pool] });
    const podTolerations = { default: [pool], allowed: [pool] };
    assert.deepEqual(read([{ name: 'PodTolerationRestriction', configuration }]), { podTolerations });
  });
  it('PodNodeSelector, in a file', () => {
    const file = 'podNodeSelectorPluginConfig:\n  clusterDefaultNodeSelector: "a=b, c=d"\n  n: ""\n';
    assert.deepEqual(read([{ name: 'PodNodeSelector', path: 'x.yaml' }], { 'x.yaml': file }), {
      podNodeSelectors: { clusterDefaultNodeSelector: 'a=b, c=d', n: '' },
    });
  });
  for (const [version, kind] of [
    ['v1', 'WebhookAdmissionConfiguration'],
    ['v1alpha1', 'WebhookAdmission'],
  ] as const) {
    it(`calls of webhooks, each type by itself, ${version}`, () => {
      const configuration = calls('/kubeconfig', version, kind);
      assert.deepEqual(read([{ name: 'MutatingAdmissionWebhook', configuration }]), { mutatingWebhookUsers: users });
      assert.deepEqual(
        read([{ name: 'ValidatingAdmissionWebhook', path: 'x' }], { x: JSON.stringify(configuration) }),
        {
          validatingWebhookUsers: users,
        },
      );
    });
  }
  for (const dialect of Object.values(dialects)) {
    it(`groups of dialect ${dialect.name}`, () => {
      const apiVersion = `${dialect.group('pod-security.admission.config')}/v1`;
      const configuration = { apiVersion, kind: 'PodSecurityConfiguration' };
      assert.deepEqual(read([{ name: 'PodSecurity', configuration }], {}, dialect), {
        podSecurity: defaultPodSecurity,
      });
    });
  }
});

describe('invalid configurations', () => {
  const inPodSecurity = (fields: object): readonly Plugin[] => [
    { name: 'PodSecurity', configuration: podSecurity(fields) },
  ];
  const inLimit = (fields: object): readonly Plugin[] => [
    { name: 'EventRateLimit', configuration: events([{ type: 'User', qps: 1, burst: 1, ...fields }]) },
  ];
  const inQuota = (fields: object): readonly Plugin[] => [{ name: 'ResourceQuota', configuration: quotas([fields]) }];
  const cases: readonly (readonly [plugins: readonly Plugin[], problem: string])[] = [
    [[{}], 'plugins[0].name: Required value'],
    [[{ name: 'Nonsense' }], 'plugins[0].name: Invalid value: "Nonsense": there is no such admission plugin'],
    [[{ name: 'PodSecurity' }, { name: 'PodSecurity' }], 'plugins[1].name: Duplicate value: "PodSecurity"'],
    [
      [{ name: 'ServiceAccount' }],
      'plugins[0].name: Invalid value: "ServiceAccount": this plugin reads no configuration here',
    ],
    [[{ name: 'PodSecurity', other: 1 }], 'unknown field "plugins[0].other"'],
    [[{ name: 'PodSecurity', path: 'none' }], 'plugins[0].path: none: none cannot be read: ENOENT'],
    [
      [{ name: 'PodSecurity', path: 'bad' }],
      'plugins[0].path: bad: expected an object of kind PodSecurityConfiguration',
    ],
    [
      [{ name: 'PodSecurity', configuration: 7 }],
      'plugins[0].configuration: expected an object of kind PodSecurityConfiguration',
    ],
    [
      inPodSecurity({ defaults: { enforce: 'x' } }),
      'plugins[0].configuration: defaults.enforce: Invalid value: "x": must be one of privileged, baseline, restricted',
    ],
    [
      inPodSecurity({ defaults: { 'warn-version': '1' } }),
      'plugins[0].configuration: defaults.warn-version: Invalid value: "1": must be "latest" or "v1.x"',
    ],
    [inPodSecurity({ defaults: { enforced: 'x' } }), 'plugins[0].configuration: unknown field "defaults.enforced"'],
    [
      inPodSecurity({ exemptions: { usernames: [''] } }),
      'plugins[0].configuration: exemptions.usernames[0]: Invalid value: "": username must not be empty',
    ],
    [
      inPodSecurity({ exemptions: { namespaces: ['a', 'a'] } }),
      'plugins[0].configuration: exemptions.namespaces[1]: Duplicate value: "a"',
    ],
    [
      [{ name: 'EventRateLimit', configuration: events([]) }],
      'plugins[0].configuration: limits: Invalid value: []string(nil): must not be empty',
    ],
    [
      inLimit({ type: 'X' }),
      'plugins[0].configuration: limits[0].type: Unsupported value: "X": supported values: "Namespace", "Server", "SourceAndObject", "User"',
    ],
    [inLimit({ qps: 0 }), 'plugins[0].configuration: limits[0].qps: Invalid value: 0: must be positive'],
    [inLimit({ burst: -1 }), 'plugins[0].configuration: limits[0].burst: Invalid value: -1: must be positive'],
    [
      inLimit({ cacheSize: -1 }),
      'plugins[0].configuration: limits[0].cacheSize: Invalid value: -1: must not be negative',
    ],
    [inQuota({}), 'plugins[0].configuration: limitedResources[0].resource: Required value'],
    [inQuota({ resource: 'pods', foo: 'bar' }), 'plugins[0].configuration: unknown field "limitedResources[0].foo"'],
    [
      inQuota({ resource: 'pods', matchScopes: [{ scopeName: 'PriorityClass', operator: 'Like' }] }),
      'plugins[0].configuration: limitedResources[0].matchScopes[0].operator: Unsupported value: "Like": supported values: "DoesNotExist", "Exists", "In", "NotIn"',
    ],
    [
      [{ name: 'ResourceQuota', configuration: { ...quotas([]), kind: 'Configuration' } }],
      'plugins[0].configuration: kind: Unsupported value: "Configuration": supported values: "ResourceQuotaConfiguration"',
    ],
    [
      [{ name: 'PodNodeSelector', configuration: { podNodeSelectorPluginConfig: { n: 'a' } } }],
      'plugins[0].configuration: podNodeSelectorPluginConfig[n]: Invalid value: "a": invalid selector: [a]',
    ],
    ...['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'].flatMap(
      (name): (readonly [plugins: readonly Plugin[], problem: string])[] => [
        [
          [{ name, configuration: calls(undefined) }],
          'plugins[0].configuration: kubeConfigFile: Invalid value: "": must be an absolute file path',
        ],
        [
          [{ name, configuration: calls('kubeconfig') }],
          'plugins[0].configuration: kubeConfigFile: Invalid value: "kubeconfig": must be an absolute file path',
        ],
        [
          [{ name, configuration: calls('/other') }],
          'plugins[0].configuration: kubeConfigFile: /other: there are two users "u"',
        ],
        [[{ name, configuration: calls(7) }], 'plugins[0].configuration: kubeConfigFile: expected string, got number'],
        [
          [{ name, configuration: { ...calls('/kubeconfig'), kubeconfigFile: '/k' } }],
          'plugins[0].configuration: unknown field "kubeconfigFile"',
        ],
        [
          [{ name, configuration: calls('/kubeconfig', 'v1', 'WebhookAdmission') }],
          'plugins[0].configuration: kind: Unsupported value: "WebhookAdmission": supported values: "WebhookAdmissionConfiguration"',
        ],
        [
          [{ name, configuration: calls('/kubeconfig', 'v2') }],
          'plugins[0].configuration: apiVersion: Unsupported value: "apiserver.config.k8s.io/v2": supported values: "apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1"',
        ],
      ],
    ),
    [
      [{ name: 'PodTolerationRestriction', configuration: tolerations({}, 'v1') }],
      'plugins[0].configuration: apiVersion: Unsupported value: "podtolerationrestriction.admission.k8s.io/v1": supported values: "podtolerationrestriction.admission.k8s.io/v1alpha1"',
    ],
    [
      [{ name: 'PodTolerationRestriction', configuration: tolerations({ whitelist: [{ operator: 'Equal' }] }) }],
      'plugins[0].configuration: whitelist[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
    [[{ name: 'PodNodeSelector', configuration: { other: {} } }], 'plugins[0].configuration: unknown field "other"'],
  ];
  for (const [plugins, problem] of cases) {
    it(problem, () => {
      assert.throws(
        () => read(plugins, { bad: '[]' }),
        (error) => error instanceof ConfigurationError && error.message === problem,
      );
    });
  }
});
