import type { ApiObject } from '../../../../meta/api-object.ts';
import { errorsOfEach, type FieldError, forbidden, invalid } from '../../../../meta/field-error.ts';
import { isIpAddress, isQualifiedName } from '../../../../meta/formats.ts';
import type { ContainerStatus } from '../container/container-status.ts';
import { asPod } from '../pod-schema.ts';
import type { PodSpec } from '../pod-spec.ts';
import type { PodStatus } from '../pod-status.ts';
import { validateContainerStatuses } from './container-status-validation.ts';
import { failing } from './field-checks.ts';

/** Validates a reported pod status against the previous one. */
export function validateStatusUpdate(object: ApiObject, old: ApiObject): readonly FieldError[] {
  const { spec = { containers: [] }, status = {} } = asPod(object);
  const oldStatus = asPod(old).status ?? {};
  return [
    ...validateConditions(status),
    ...validateTransitions(spec, status, oldStatus),
    ...validateClaimStatuses(spec, status),
    ...validateAddresses(status.podIPs ?? [], 'status.podIPs'),
    ...validateHostAddresses(status),
    ...validateContainerStatuses(spec, status),
  ];
}

const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized']);

/** The published path is not that of the field. */
const validateConditions = ({ conditions = [] }: PodStatus): FieldError[] =>
  errorsOfEach(conditions, ({ type = '' }, index) =>
    systemConditions.has(type) ? [] : failing(isQualifiedName, `metadata.conditions[${index}].Type`, type),
  );

/** A container that terminated for good may not run again. Ephemeral containers are never restarted. */
function validateTransitions(spec: PodSpec, status: PodStatus, old: PodStatus): FieldError[] {
  const { restartPolicy = 'Always', initContainers = [] } = spec;
  const sidecars = new Set(initContainers.filter((each) => each.restartPolicy === 'Always').map(({ name }) => name));
  const lists = [
    { list: 'containerStatuses', policy: restartPolicy, restarted: new Set<string>() },
    { list: 'initContainerStatuses', policy: restartPolicy, restarted: sidecars },
    { list: 'ephemeralContainerStatuses', policy: 'Never', restarted: new Set<string>() },
  ] as const;
  return errorsOfEach(lists, ({ list, policy, restarted }) => {
    const reported = new Map((status[list] ?? []).map((next) => [next.name ?? '', next]));
    return errorsOfEach(old[list] ?? [], (last, index) => {
      const name = last.name ?? '';
      if (!isFinal(last, policy) || restarted.has(name)) return [];
      const next = reported.get(name);
      if (!next || next.state?.terminated) return [];
      return [forbidden(`status.${list}[${index}].state`, 'may not be transitioned to non-terminated state')];
    });
  });
}

function isFinal({ state }: ContainerStatus, policy: 'Always' | 'OnFailure' | 'Never'): boolean {
  if (!state?.terminated || policy === 'Always') return false;
  return policy === 'Never' || (state.terminated.exitCode ?? 0) === 0;
}

function validateClaimStatuses(
  { resourceClaims = [] }: PodSpec,
  { resourceClaimStatuses = [] }: PodStatus,
): FieldError[] {
  const known = new Set(resourceClaims.map(({ name }) => name));
  return errorsOfEach(resourceClaimStatuses, ({ name = '' }, index) =>
    known.has(name)
      ? []
      : [
          invalid(
            `status.resourceClaimStatuses[${index}].name`,
            name,
            'must match the name of an entry in `spec.resourceClaims`',
          ),
        ],
  );
}

type Addresses = readonly { readonly ip?: string }[];

function validateHostAddresses({ hostIP, hostIPs = [] }: PodStatus): FieldError[] {
  const first = hostIPs[0]?.ip;
  const field = 'status.hostIPs';
  return [
    ...(first === undefined || first === hostIP ? [] : [invalid(`${field}[0].ip`, first, 'must be equal to `hostIP`')]),
    ...validateAddresses(hostIPs, field),
  ];
}

/** At most one address per IP family. */
function validateAddresses(addresses: Addresses, path: string): FieldError[] {
  const ips = addresses.map(({ ip = '' }) => ip);
  const errors = errorsOfEach(ips, (ip, index) => failing(isIpAddress, `${path}[${index}]`, ip));
  const six = ips.filter((ip) => ip.includes(':')).length;
  if (six > 1 || ips.length - six > 1) {
    errors.push(invalid(path, addresses, 'may specify no more than one IP for each IP family'));
  }
  return errors;
}
