import {
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../../meta/field-error.ts';
import type { FormatCheck } from '../../../../meta/formats.ts';
import type { Container } from '../container/container.ts';
import type { Lifecycle } from '../container/lifecycle.ts';
import type { Probe } from '../container/probe.ts';
import { failing, validatePort } from './field-checks.ts';

/** Probes and lifecycle handlers of a container that may have them. `graceSeconds` is the pod's grace period. */
export function validateProbes(container: Container, path: string, graceSeconds: number): FieldError[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  return [
    ...(lifecycle ? validateLifecycle(lifecycle, `${path}.lifecycle`, graceSeconds) : []),
    ...(livenessProbe ? validateDecidingProbe(livenessProbe, `${path}.livenessProbe`) : []),
    ...(readinessProbe ? validateReadinessProbe(readinessProbe, `${path}.readinessProbe`) : []),
    ...(startupProbe ? validateDecidingProbe(startupProbe, `${path}.startupProbe`) : []),
  ];
}

/** Liveness and startup probes: successThreshold must be 1. */
function validateDecidingProbe(probe: Probe, path: string): FieldError[] {
  const { successThreshold = 1, terminationGracePeriodSeconds: seconds } = probe;
  return [
    ...validateHandler(probe, path),
    ...validateGrace(seconds, `${path}.terminationGracePeriodSeconds`),
    ...(successThreshold === 1 ? [] : [invalid(`${path}.successThreshold`, successThreshold, 'must be 1')]),
  ];
}

const validateGrace = (seconds: number | undefined, field: string): FieldError[] =>
  seconds !== undefined && seconds <= 0 ? [invalid(field, seconds, 'must be greater than 0')] : [];

/** A readiness probe never stops the container, so it may not have a grace period. */
function validateReadinessProbe(probe: Probe, path: string): FieldError[] {
  const { terminationGracePeriodSeconds: seconds } = probe;
  const field = `${path}.terminationGracePeriodSeconds`;
  return [
    ...validateHandler(probe, path),
    ...validateGrace(seconds, field),
    ...(seconds === undefined ? [] : [invalid(field, seconds, 'must not be set for readinessProbes')]),
  ];
}

function validateLifecycle({ postStart, preStop }: Lifecycle, path: string, graceSeconds: number): FieldError[] {
  return [
    ...(postStart ? validateHandler(postStart, `${path}.postStart`, graceSeconds) : []),
    ...(preStop ? validateHandler(preStop, `${path}.preStop`, graceSeconds) : []),
  ];
}

type Action = NonNullable<Lifecycle['preStop']>;

type Handler = Pick<Action & Probe, (typeof handlers)[number]>;

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const satisfies readonly (keyof (Action &
  Probe))[];

/**
 * Exactly one handler must be set: the first is validated, any after it is in error. No rule of the schema, since handlers of
 * containers that may not have any are not looked at. `graceSeconds` bounds a sleep, which no probe has.
 */
function validateHandler(handler: Handler, path: string, graceSeconds = 0): FieldError[] {
  const [first, ...more] = handlers.filter((name) => handler[name] !== undefined);
  if (first === undefined) return [required(path, 'must specify a handler type')];
  return [
    ...validateFirst({ [first]: handler[first] }, path, graceSeconds),
    ...more.map((name) => forbidden(`${path}.${name}`, 'may not specify more than 1 handler type')),
  ];
}

function validateFirst(
  { exec, httpGet, tcpSocket, grpc, sleep }: Handler,
  path: string,
  graceSeconds: number,
): FieldError[] {
  if (exec) return exec.command ? [] : [required(`${path}.exec.command`)];
  if (httpGet) return validateHttpGet(httpGet, `${path}.httpGet`);
  if (tcpSocket) return validatePort(tcpSocket.port ?? 0, `${path}.tcpSocket.port`);
  if (grpc) return validatePort(grpc.port ?? 0, `${path}.grpc.port`);
  const seconds = sleep?.seconds ?? 0;
  const rule = `must be greater than 0 and less than terminationGracePeriodSeconds (${graceSeconds})`;
  return seconds > 0 && seconds <= graceSeconds ? [] : [invalid(`${path}.sleep`, seconds, rule)];
}

const schemes = ['HTTP', 'HTTPS'];

function validateHttpGet(
  { port = 0, scheme = '', httpHeaders = [] }: NonNullable<Handler['httpGet']>,
  path: string,
): FieldError[] {
  return [
    ...validatePort(port, `${path}.port`),
    ...(schemes.includes(scheme) ? [] : [notSupported(`${path}.scheme`, scheme, schemes)]),
    ...errorsOfEach(httpHeaders, ({ name = '' }) => failing(isHeaderName, `${path}.httpHeaders`, name)),
  ];
}

const isHeaderName: FormatCheck = (value) =>
  /^[-A-Za-z0-9]+$/.test(value)
    ? []
    : [
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      ];
