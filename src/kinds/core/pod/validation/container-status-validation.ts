import {
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
} from '../../../../meta/field-error.ts';
import type { ContainerStatus } from '../container/container-status.ts';
import { idMax } from '../container/security-context.ts';
import type { PodSpec } from '../pod-spec.ts';
import type { PodStatus } from '../pod-status.ts';

/** What a node reports of containers: the users that they run as, and the health of the resources that they were given. */
export const validateContainerStatuses = (spec: PodSpec, status: PodStatus): readonly FieldError[] => [
  ...errorsOfEach(lists, (list) =>
    errorsOfEach(status[list] ?? [], ({ user }, index) => validateUser(spec, user, `status.${list}[${index}].linux`)),
  ),
  ...validateHealth(spec.containers ?? [], status.containerStatuses, 'status.containerStatuses'),
  ...validateHealth(spec.initContainers ?? [], status.initContainerStatuses, 'status.initContainerStatuses'),
  ...withoutHealth(status.ephemeralContainerStatuses, 'status.ephemeralContainerStatuses'),
];

const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

/** The published path leaves out `user`. */
function validateUser({ os }: PodSpec, user: ContainerStatus['user'], path: string): FieldError[] {
  if (!user?.linux) return [];
  if (os?.name === 'windows') return [forbidden(path, 'cannot be set for a windows pod')];
  const { uid = 0, gid = 0, supplementalGroups = [] } = user.linux;
  return [
    ...validateId(uid, `${path}.uid`),
    ...validateId(gid, `${path}.gid`),
    ...errorsOfEach(supplementalGroups, (id, index) => validateId(id, `${path}.supplementalGroups[${index}]`)),
  ];
}

const validateId = (id: number | bigint, path: string): FieldError[] =>
  id >= 0 && id <= idMax ? [] : [invalid(path, id, `must be between 0 and ${idMax}, inclusive`)];

type Container = NonNullable<PodSpec['containers']>[number];
type ResourceStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>[number];

/** Statuses of containers that the pod does not have are not compared with anything. */
function validateHealth(
  containers: readonly Container[],
  statuses: readonly ContainerStatus[] = [],
  path: string,
): FieldError[] {
  const named = new Map(containers.map((container) => [container.name ?? '', container]));
  return errorsOfEach(statuses, ({ name = '', allocatedResourcesStatus = [] }, index) => {
    const container = named.get(name);
    return errorsOfEach(allocatedResourcesStatus, (each, at) => {
      const field = `${path}[${index}].allocatedResourcesStatus[${at}]`;
      return [
        ...(container ? validateGiven(container, each.name ?? '', `${field}.name`) : []),
        ...validateUnits(each, `${field}.resources`),
      ];
    });
  });
}

function validateGiven({ resources = {} }: Container, name: string, field: string): FieldError[] {
  const isClaim = name.startsWith('claim:');
  const given = isClaim ? (resources.claims ?? []).map(claimName) : Object.keys(resources.requests ?? {});
  if (given.includes(name)) return [];
  const detail = isClaim
    ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
    : "must match one of the container's resource requests";
  return [{ ...invalid(field, name, detail), shown: name }];
}

type Claim = NonNullable<NonNullable<Container['resources']>['claims']>[number];

const claimName = ({ name = '', request = '' }: Claim): string => `claim:${name}${request === '' ? '' : `/${request}`}`;

function validateUnits({ resources = [] }: ResourceStatus, path: string): FieldError[] {
  const seen = new Set<string>();
  return errorsOfEach(resources, ({ resourceID = '', health = '' }, index) => {
    const repeated = seen.has(resourceID);
    seen.add(resourceID);
    return [
      ...(states.includes(health) ? [] : [notSupported(`${path}[${index}].health`, health, states)]),
      ...(repeated ? [duplicate(`${path}[${index}].resourceID`, resourceID)] : []),
    ];
  });
}

const states: readonly string[] = ['Healthy', 'Unhealthy', 'Unknown'];

const withoutHealth = (statuses: readonly ContainerStatus[] = [], path: string): FieldError[] =>
  errorsOfEach(statuses, ({ allocatedResourcesStatus }, index) =>
    allocatedResourcesStatus === undefined
      ? []
      : [forbidden(`${path}[${index}].allocatedResourcesStatus`, 'must not be specified in container status')],
  );
