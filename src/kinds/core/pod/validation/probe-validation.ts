import { errorsOfEach, type FieldError, forbidden, invalid, required } from '../../../../meta/field-error.ts';
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
  const { successThreshold = 1 } = probe;
  return [
    ...validateHandler(probe, path),
    ...(successThreshold === 1 ? [] : [invalid(`${path}.successThreshold`, successThreshold, 'must be 1')]),
  ];
}

/** A readiness probe never stops the container, so it may not have a grace period. */
function validateReadinessProbe(probe: Probe, path: string): FieldError[] {
  const { terminationGracePeriodSeconds: seconds } = probe;
  const field = `${path}.terminationGracePeriodSeconds`;
  return [
    ...validateHandler(probe, path),
    ...(seconds === undefined ? [] : [invalid(field, seconds, 'must not be set for readinessProbes')]),
  ];
}

function validateLifecycle({ postStart, preStop }: Lifecycle, path: string, graceSeconds: number): FieldError[] {
  return [
    ...(postStart ? validateAction(postStart, `${path}.postStart`, graceSeconds) : []),
    ...(preStop ? validateAction(preStop, `${path}.preStop`, graceSeconds) : []),
  ];
}

type Action = NonNullable<Lifecycle['preStop']>;

function validateAction(action: Action, path: string, graceSeconds: number): FieldError[] {
  const errors = validateHandler(action, path);
  const { sleep } = action;
  const seconds = sleep?.seconds ?? 0;
  if (sleep && (seconds <= 0 || seconds > graceSeconds)) {
    const rule = `must be greater than 0 and less than terminationGracePeriodSeconds (${graceSeconds})`;
    errors.push(invalid(`${path}.sleep`, seconds, rule));
  }
  return errors;
}

type Handler = Pick<Action & Probe, (typeof handlers)[number]>;

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const satisfies readonly (keyof (Action &
  Probe))[];

/**
 * Exactly one handler must be set: the first is validated, any after it is in error. No rule of the schema, since handlers of
 * containers that may not have any are not looked at.
 */
function validateHandler(handler: Handler, path: string): FieldError[] {
  const [first, ...more] = handlers.filter((name) => handler[name] !== undefined);
  if (first === undefined) return [required(path, 'must specify a handler type')];
  return [
    ...validateFirst({ [first]: handler[first] }, path),
    ...more.map((name) => forbidden(`${path}.${name}`, 'may not specify more than 1 handler type')),
  ];
}

function validateFirst({ exec, httpGet, tcpSocket }: Handler, path: string): FieldError[] {
  if (exec) return exec.command ? [] : [required(`${path}.exec.command`)];
  if (httpGet) return validateHttpGet(httpGet, `${path}.httpGet`);
  return tcpSocket ? validateKnownPort(tcpSocket.port, `${path}.tcpSocket.port`) : [];
}

function validateHttpGet({ port, httpHeaders = [] }: NonNullable<Handler['httpGet']>, path: string): FieldError[] {
  return [
    ...validateKnownPort(port, `${path}.port`),
    ...errorsOfEach(httpHeaders, ({ name }) => (name ? failing(isHeaderName, `${path}.httpHeaders`, name) : [])),
  ];
}

/** Validates a port if present. The schema requires it. */
const validateKnownPort = (port: number | string | undefined, field: string): FieldError[] =>
  port === undefined ? [] : validatePort(port, field);

const isHeaderName: FormatCheck = (value) =>
  /^[-A-Za-z0-9]+$/.test(value)
    ? []
    : [
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      ];
