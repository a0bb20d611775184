import { getOrAdd } from '../../../base/collections/get-or-add.ts';
import * as baseline from './baseline-checks.ts';
import { type LevelVersion, minorOf } from './level-version.ts';
import type { CheckedPod, PodCheck, PodFinding } from './pod-check.ts';
import * as restricted from './restricted-checks.ts';

/** A control, by the release (1.x) since which a pod is checked in this way, oldest first. */
interface Control {
  readonly name: string;
  readonly level: 'baseline' | 'restricted';
  readonly since: readonly (readonly [minor: number, check: PodCheck])[];
  /** The control of level `baseline` that it makes superfluous, once it applies itself. */
  readonly overrides?: string;
}

const reservedPorts = ['net.ipv4.ip_local_reserved_ports'];
const keepAlive = [
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
];
const buffers = ['net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];

/** The Pod Security Standards of release 1.32, in the order of findings: by level, then by name. */
const controls: readonly Control[] = [
  { name: 'appArmorProfile', level: 'baseline', since: [[0, baseline.appArmorProfile]] },
  { name: 'capabilities', level: 'baseline', since: [[0, baseline.addedCapabilities]] },
  { name: 'hostNamespaces', level: 'baseline', since: [[0, baseline.hostNamespaces]] },
  { name: 'hostPathVolumes', level: 'baseline', since: [[0, baseline.hostPathVolumes]] },
  { name: 'hostPorts', level: 'baseline', since: [[0, baseline.hostPorts]] },
  { name: 'privileged', level: 'baseline', since: [[0, baseline.privileged]] },
  { name: 'procMount', level: 'baseline', since: [[0, baseline.procMount]] },
  {
    name: 'seLinuxOptions',
    level: 'baseline',
    since: [
      [0, baseline.seLinuxOptions()],
      [31, baseline.seLinuxOptions(['container_engine_t'])],
    ],
  },
  {
    name: 'seccompProfile',
    level: 'baseline',
    since: [
      [0, baseline.seccompAnnotations],
      [19, baseline.seccompProfile],
    ],
  },
  {
    name: 'sysctls',
    level: 'baseline',
    since: [
      [0, baseline.sysctls()],
      [27, baseline.sysctls(reservedPorts)],
      [29, baseline.sysctls([...reservedPorts, ...keepAlive])],
      [32, baseline.sysctls([...reservedPorts, ...keepAlive, ...buffers])],
    ],
  },
  { name: 'windowsHostProcess', level: 'baseline', since: [[0, baseline.windowsHostProcess]] },
  {
    name: 'allowPrivilegeEscalation',
    level: 'restricted',
    since: [
      [8, restricted.allowPrivilegeEscalation],
      [25, restricted.exceptOnWindows(restricted.allowPrivilegeEscalation)],
    ],
  },
  {
    name: 'droppedCapabilities',
    level: 'restricted',
    since: [
      [22, restricted.droppedCapabilities],
      [25, restricted.exceptOnWindows(restricted.droppedCapabilities)],
    ],
    overrides: 'capabilities',
  },
  {
    name: 'restrictedVolumes',
    level: 'restricted',
    since: [[0, restricted.restrictedVolumes]],
    overrides: 'hostPathVolumes',
  },
  { name: 'runAsNonRoot', level: 'restricted', since: [[0, restricted.runAsNonRoot]] },
  { name: 'runAsUser', level: 'restricted', since: [[23, restricted.runAsUser]] },
  {
    name: 'requiredSeccompProfile',
    level: 'restricted',
    since: [
      [19, restricted.requiredSeccompProfile],
      [25, restricted.exceptOnWindows(restricted.requiredSeccompProfile)],
    ],
    overrides: 'seccompProfile',
  },
];

/** Later releases check as this one does. */
const minorMax = Math.max(...controls.flatMap(({ since }) => since.map(([minor]) => minor)));

const checksByLevel = new Map<string, readonly PodCheck[]>();

/** What a pod does that a level forbids; nothing if it complies. */
export function evaluatePod({ level, version }: LevelVersion, pod: CheckedPod): readonly PodFinding[] {
  if (level === 'privileged') return [];
  const minor = Math.min(minorOf(version), minorMax);
  const checks = getOrAdd(checksByLevel, `${level} ${minor}`, () => checksOf(level, minor));
  return checks.map((check) => check(pod)).filter((finding) => finding !== undefined);
}

function checksOf(level: Control['level'], minor: number): readonly PodCheck[] {
  const inForce = controls
    .filter((control) => level === 'restricted' || control.level === 'baseline')
    .flatMap(({ since, ...control }) => {
      const check = since.findLast(([from]) => from <= minor)?.[1];
      return check ? [{ ...control, check }] : [];
    });
  const overridden = new Set(inForce.map(({ overrides }) => overrides));
  return inForce.filter(({ name }) => !overridden.has(name)).map(({ check }) => check);
}

/** `hostPort (container "a" uses hostPort 80), privileged (...)` */
export const detailText = (findings: readonly PodFinding[]): string =>
  findings.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');

/** `hostPort, privileged` */
export const reasonText = (findings: readonly PodFinding[]): string => findings.map(({ reason }) => reason).join(', ');
