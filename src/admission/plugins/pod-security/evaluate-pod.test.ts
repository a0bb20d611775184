import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodSpec } from '../../../kinds/core/pod/pod-spec.ts';
import { detailText, evaluatePod } from './evaluate-pod.ts';
import type { LevelVersion } from './level-version.ts';

interface Case {
  readonly level?: LevelVersion['level'];
  /** `v1.x` or `latest`, and what is found then. */
  readonly found: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

const evaluate = (version: string, { level = 'baseline', annotations = {}, spec = {} }: Case): string =>
  detailText(evaluatePod({ level, version }, { annotations, spec: spec as Partial<PodSpec>, domain: 'kubernetes.io' }));

const context = (...contexts: readonly (object | undefined)[]) => ({
  containers: contexts.map((securityContext, at) => ({ name: 'abc'[at], ...(securityContext && { securityContext }) })),
});

describe('baseline', () => {
  const cases: Readonly<Record<string, Case>> = {
    nothing: { found: { 'v1.0': '', latest: '' } },
    'all containers are looked at': {
      spec: {
        initContainers: [{ name: 'i', securityContext: { privileged: true } }],
        containers: [{ name: 'c', securityContext: { privileged: true } }],
        ephemeralContainers: [{ name: 'e', securityContext: { privileged: true } }],
      },
      found: { latest: 'privileged (containers "i", "c", "e" must not set securityContext.privileged=true)' },
    },
    'AppArmor of the pod and containers': {
      spec: {
        securityContext: { appArmorProfile: { type: 'Unconfined' } },
        ...context({ appArmorProfile: { type: 'Unconfined' } }, { appArmorProfile: { type: 'Localhost' } }),
      },
      found: {
        latest: 'forbidden AppArmor profile (pod and container "a" must not set AppArmor profile type to "Unconfined")',
      },
    },
    'AppArmor by annotations': {
      annotations: {
        'container.apparmor.security.beta.kubernetes.io/b': 'unconfined',
        'container.apparmor.security.beta.kubernetes.io/a': 'runtime/other',
        'container.apparmor.security.beta.kubernetes.io/c': 'runtime/default',
        'container.apparmor.security.beta.kubernetes.io/d': 'localhost/x',
        'container.apparmor.security.beta.kubernetes.io/e': '',
      },
      found: {
        latest:
          'forbidden AppArmor profiles (annotations must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/a="runtime/other"", "container.apparmor.security.beta.kubernetes.io/b="unconfined"")',
      },
    },
    capabilities: {
      spec: context({ capabilities: { add: ['NET_RAW', 'KILL', 'SYS_ADMIN'] } }, { capabilities: { add: ['CHOWN'] } }),
      found: {
        latest:
          'non-default capabilities (container "a" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
      },
    },
    'host namespaces': {
      spec: { hostPID: true, hostIPC: true, hostNetwork: true },
      found: { latest: 'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)' },
    },
    'host paths': {
      spec: {
        volumes: [
          { name: 'v', hostPath: { path: '/' } },
          { name: 'w', emptyDir: {} },
        ],
      },
      found: { latest: 'hostPath volumes (volume "v")' },
    },
    'host ports': {
      spec: {
        containers: [
          {
            name: 'a',
            ports: [
              { containerPort: 1, hostPort: 80 },
              { containerPort: 2, hostPort: 8 },
            ],
          },
          { name: 'b', ports: [{ containerPort: 1, hostPort: 80 }] },
          { name: 'c', ports: [{ containerPort: 1 }] },
        ],
      },
      found: { latest: 'hostPort (containers "a", "b" use hostPorts 8, 80)' },
    },
    procMount: {
      spec: context({ procMount: 'Unmasked' }, { procMount: 'Default' }),
      found: { latest: 'procMount (container "a" must not set securityContext.procMount to "Unmasked")' },
    },
    'SELinux options': {
      spec: {
        securityContext: { seLinuxOptions: { type: 'bar', user: 'u' } },
        ...context({ seLinuxOptions: { type: 'foo', role: 'r' } }, { seLinuxOptions: { type: 'container_t' } }),
      },
      found: {
        latest:
          'seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: types "bar", "foo"; user may not be set; role may not be set)',
      },
    },
    'SELinux type of container engines': {
      spec: context({ seLinuxOptions: { type: 'container_engine_t' } }),
      found: {
        'v1.30':
          'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "container_engine_t")',
        'v1.31': '',
        latest: '',
      },
    },
    'seccomp by annotations, before there was a field': {
      annotations: {
        'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
        'container.seccomp.security.alpha.kubernetes.io/a': 'x',
        'container.seccomp.security.alpha.kubernetes.io/b': 'docker/default',
        'container.seccomp.security.alpha.kubernetes.io/other': 'x',
      },
      spec: context(undefined, undefined),
      found: {
        'v1.18':
          'seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/a="x", seccomp.security.alpha.kubernetes.io/pod="unconfined")',
        'v1.19': '',
      },
    },
    'seccomp profiles': {
      spec: {
        securityContext: { seccompProfile: { type: 'Unconfined' } },
        ...context({ seccompProfile: { type: 'Localhost' } }),
      },
      found: {
        'v1.18': '',
        'v1.19': 'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
      },
    },
    sysctls: {
      spec: {
        securityContext: {
          sysctls: [
            'kernel.msgmax',
            'kernel.shm_rmid_forced',
            'net.ipv4.ip_local_reserved_ports',
            'net.ipv4.tcp_fin_timeout',
            'net.ipv4.tcp_rmem',
          ].map((name) => ({ name, value: '1' })),
        },
      },
      found: {
        'v1.26':
          'forbidden sysctls (kernel.msgmax, net.ipv4.ip_local_reserved_ports, net.ipv4.tcp_fin_timeout, net.ipv4.tcp_rmem)',
        'v1.27': 'forbidden sysctls (kernel.msgmax, net.ipv4.tcp_fin_timeout, net.ipv4.tcp_rmem)',
        'v1.29': 'forbidden sysctls (kernel.msgmax, net.ipv4.tcp_rmem)',
        'v1.32': 'forbidden sysctls (kernel.msgmax)',
        'v1.99': 'forbidden sysctls (kernel.msgmax)',
        latest: 'forbidden sysctls (kernel.msgmax)',
      },
    },
    'Windows host processes': {
      spec: {
        securityContext: { windowsOptions: { hostProcess: true } },
        ...context({ windowsOptions: { hostProcess: true } }, { windowsOptions: { hostProcess: false } }),
      },
      found: {
        latest: 'hostProcess (pod and container "a" must not set securityContext.windowsOptions.hostProcess=true)',
      },
    },
    'findings are in order': {
      spec: { hostPID: true, ...context({ privileged: true, capabilities: { add: ['BPF'] } }) },
      found: {
        latest:
          'non-default capabilities (container "a" must not include "BPF" in securityContext.capabilities.add), host namespaces (hostPID=true), privileged (container "a" must not set securityContext.privileged=true)',
      },
    },
  };
  for (const [title, written] of Object.entries(cases)) {
    for (const [version, found] of Object.entries(written.found)) {
      it(`${title}, ${version}`, () => assert.equal(evaluate(version, written), found));
      it(`${title}, ${version}: nothing is privileged`, () => {
        assert.equal(evaluate(version, { ...written, level: 'privileged' }), '');
      });
    }
  }
});

describe('restricted', () => {
  const escalation =
    'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)';
  const drop = 'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])';
  const nonRoot = 'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)';
  const seccomp =
    'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")';
  const complying = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  };
  const cases: Readonly<Record<string, Omit<Case, 'level'>>> = {
    'a complying pod': { spec: context(complying), found: { 'v1.0': '', latest: '' } },
    'a usual pod': {
      spec: context(undefined),
      found: {
        'v1.0': nonRoot,
        'v1.8': `${escalation}, ${nonRoot}`,
        'v1.19': `${escalation}, ${nonRoot}, ${seccomp}`,
        'v1.22': `${escalation}, ${drop}, ${nonRoot}, ${seccomp}`,
        latest: `${escalation}, ${drop}, ${nonRoot}, ${seccomp}`,
      },
    },
    'a Windows pod': {
      spec: { os: { name: 'windows' }, ...context({ runAsNonRoot: true }) },
      found: { 'v1.24': `${escalation}, ${drop}, ${seccomp}`, 'v1.25': '', latest: '' },
    },
    'what baseline forbids': {
      spec: { hostIPC: true, ...context(complying) },
      found: { latest: 'host namespaces (hostIPC=true)' },
    },
    capabilities: {
      spec: context({ ...complying, capabilities: { drop: ['KILL'], add: ['CHOWN', 'NET_BIND_SERVICE'] } }),
      found: {
        'v1.21': '',
        latest:
          'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "CHOWN" in securityContext.capabilities.add)',
      },
    },
    'capabilities, told once': {
      spec: context({ ...complying, capabilities: { drop: ['ALL'], add: ['BPF'] } }),
      found: {
        'v1.21': 'non-default capabilities (container "a" must not include "BPF" in securityContext.capabilities.add)',
        'v1.22': 'unrestricted capabilities (container "a" must not include "BPF" in securityContext.capabilities.add)',
      },
    },
    volumes: {
      spec: {
        ...context(complying),
        volumes: [
          { name: 'h', hostPath: { path: '/' } },
          { name: 'n', nfs: { server: 's', path: '/' } },
          { name: 'i', image: { reference: 'x' } },
          ...[
            'configMap',
            'csi',
            'downwardAPI',
            'emptyDir',
            'ephemeral',
            'persistentVolumeClaim',
            'projected',
            'secret',
          ].map((source) => ({ name: source, [source]: {} })),
        ],
      },
      found: {
        latest:
          'restricted volume types (volumes "h", "n", "i" use restricted volume types "hostPath", "nfs", "unknown")',
      },
    },
    'root, said': {
      spec: { securityContext: { runAsNonRoot: false }, ...context({ ...complying, runAsNonRoot: false }, complying) },
      found: { latest: 'runAsNonRoot != true (pod and container "a" must not set securityContext.runAsNonRoot=false)' },
    },
    'the pod says it for its containers': {
      spec: {
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'Localhost' } },
        ...context({ ...complying, runAsNonRoot: undefined, seccompProfile: undefined }),
      },
      found: { latest: '' },
    },
    'user 0': {
      spec: {
        securityContext: { runAsUser: 0 },
        ...context({ ...complying, runAsUser: 0 }, { ...complying, runAsUser: 1 }),
      },
      found: { 'v1.22': '', 'v1.23': 'runAsUser=0 (pod and container "a" must not set runAsUser=0)' },
    },
    'an unconfined profile': {
      spec: context({ ...complying, seccompProfile: { type: 'Unconfined' } }),
      found: {
        'v1.18': '',
        latest: 'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
      },
    },
  };
  for (const [title, written] of Object.entries(cases)) {
    for (const [version, found] of Object.entries(written.found)) {
      it(`${title}, ${version}`, () => assert.equal(evaluate(version, { ...written, level: 'restricted' }), found));
    }
  }
});
