import {
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../../meta/field-error.ts';
import type { Container } from '../container/container.ts';
import type { EphemeralContainer } from '../container/ephemeral-container.ts';
import type { PodSpec } from '../pod-spec.ts';
import { validateEnv, validateEnvFrom } from './env-validation.ts';
import { notFound } from './field-checks.ts';
import { type VolumesByName, validateDevices, validateMounts } from './mount-validation.ts';
import { validateHostPorts, validatePorts } from './port-validation.ts';
import { validateProbes } from './probe-validation.ts';
import { type ResourceScope, validateResources } from './resources-validation.ts';
import { validateContainerSecurity } from './security-validation.ts';

/** Parts of the pod that the rules of a container need. */
interface ContainerScope extends ResourceScope {
  readonly spec: PodSpec;
  readonly volumes: VolumesByName;
}

const graceSecondsOf = ({ spec }: ContainerScope): number => spec.terminationGracePeriodSeconds ?? 0;

/** Main containers. The schema requires at least one. */
export function validateContainers(
  containers: readonly Container[],
  path: string,
  scope: ContainerScope,
): FieldError[] {
  const errors = errorsOfEach(containers, (container, index) => {
    const at = `${path}[${index}]`;
    return [
      ...validateContainer(container, at, scope),
      ...validateProbes(container, at, graceSecondsOf(scope)),
      ...(container.restartPolicy === undefined
        ? []
        : [forbidden(`${at}.restartPolicy`, 'may not be set for non-init containers')]),
    ];
  });
  return [...errors, ...validateHostPorts(containers, path)];
}

/** Init containers. Only sidecars (restartable init containers) may have probes and lifecycle handlers. */
export function validateInitContainers(
  containers: readonly Container[],
  path: string,
  scope: ContainerScope,
): FieldError[] {
  const names = new Set((scope.spec.containers ?? []).map(({ name }) => name));
  return errorsOfEach(containers, (container, index) => {
    const at = `${path}[${index}]`;
    const { restartPolicy: policy } = container;
    return [
      ...validateContainer(container, at, scope),
      ...(policy === undefined || policy === 'Always' ? [] : [notSupported(`${at}.restartPolicy`, policy, ['Always'])]),
      ...validateName(container, at, names),
      ...validateHostPorts([container], path),
      ...(policy === 'Always' ? validateProbes(container, at, graceSecondsOf(scope)) : forbidProbes(container, at)),
    ];
  });
}

function forbidProbes(
  { lifecycle, livenessProbe, readinessProbe, startupProbe }: Container,
  path: string,
): FieldError[] {
  return Object.entries({ lifecycle, livenessProbe, readinessProbe, startupProbe })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => forbidden(`${path}.${name}`, 'may not be set for init containers without restartPolicy=Always'));
}

/** Fields that ephemeral containers may not have. */
const forbiddenForEphemeral = [
  'ports',
  'resizePolicy',
  'restartPolicy',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const satisfies readonly (keyof Container)[];

export function validateEphemeralContainers(
  containers: readonly EphemeralContainer[],
  path: string,
  scope: ContainerScope,
): FieldError[] {
  const targets = new Set(
    [...(scope.spec.containers ?? []), ...(scope.spec.initContainers ?? [])].map(({ name }) => name),
  );
  return errorsOfEach(containers, (container, index) => {
    const at = `${path}[${index}]`;
    const { targetContainerName: target } = container;
    return [
      ...validateContainer(container, at, scope),
      ...validateName(container, at, targets),
      ...(target === undefined || targets.has(target) ? [] : [notFound(`${at}.targetContainerName`, target)]),
      ...forbidFields(container, at),
    ];
  });
}

function forbidFields(container: EphemeralContainer, path: string): FieldError[] {
  const detail = 'cannot be set for an Ephemeral Container';
  const { volumeMounts = [], resources = {} } = container;
  return [
    ...forbiddenForEphemeral
      .filter((name) => container[name] !== undefined)
      .map((name) => forbidden(`${path}.${name}`, detail)),
    ...(Object.keys(resources).length > 0 ? [forbidden(`${path}.resources`, detail)] : []),
    ...errorsOfEach(volumeMounts, ({ subPath, subPathExpr }, index) =>
      Object.entries({ subPath, subPathExpr })
        .filter(([, value]) => value !== undefined)
        .map(([name]) => forbidden(`${path}.volumeMounts[${index}].${name}`, detail)),
    ),
  ];
}

/** Rules of all types of containers. */
function validateContainer(container: Container, path: string, scope: ContainerScope): FieldError[] {
  const { ports = [], env = [], envFrom = [], resources = {}, securityContext } = container;
  const hostUsers = scope.spec.hostUsers !== false;
  return [
    ...validateImage(container.image, `${path}.image`),
    ...validatePorts(ports, `${path}.ports`),
    ...validateEnv(env, `${path}.env`),
    ...validateEnvFrom(envFrom, `${path}.envFrom`),
    ...validateMounts(container, scope.volumes, `${path}.volumeMounts`),
    ...validateDevices(container, scope.volumes, `${path}.volumeDevices`),
    ...validateResources(resources, `${path}.resources`, scope),
    ...validateResizePolicy(container, `${path}.resizePolicy`, scope),
    ...(securityContext ? validateContainerSecurity(securityContext, `${path}.securityContext`, { hostUsers }) : []),
  ];
}

function validateImage(image: string | undefined, field: string): FieldError[] {
  if (image === undefined) return [required(field)];
  return image.trim() === image ? [] : [invalid(field, image, 'must not have leading or trailing whitespace')];
}

/** Names must be unique across the container lists; `taken` are those of the other lists. The schema checks each list. */
const validateName = ({ name }: Container, path: string, taken: ReadonlySet<string>): FieldError[] =>
  taken.has(name) ? [duplicate(`${path}.name`, name)] : [];

function validateResizePolicy({ resizePolicy = [] }: Container, path: string, { spec }: ContainerScope): FieldError[] {
  return errorsOfEach(resizePolicy, ({ restartPolicy }) =>
    spec.restartPolicy === 'Never' && restartPolicy === 'RestartContainer'
      ? [invalid(path, restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'")]
      : [],
  );
}
