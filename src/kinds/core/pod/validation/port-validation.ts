import {
  duplicate,
  errorsOfEach,
  type FieldError,
  invalid,
  notSupported,
  required,
} from '../../../../meta/field-error.ts';
import type { Container, ContainerPort } from '../container/container.ts';
import { failing, isPortName, validatePort } from './field-checks.ts';

const protocols = ['SCTP', 'TCP', 'UDP'];

/** The ports of one container. Names must be unique. */
export function validatePorts(ports: readonly ContainerPort[], path: string): FieldError[] {
  const names = new Set<string>();
  return errorsOfEach(ports, ({ name, containerPort = 0, hostPort = 0, protocol = '' }, index) => {
    const at = `${path}[${index}]`;
    return [
      ...(name === undefined ? [] : validatePortName(name, `${at}.name`, names)),
      ...(containerPort === 0 ? [required(`${at}.containerPort`)] : validatePort(containerPort, `${at}.containerPort`)),
      ...(hostPort === 0 ? [] : validatePort(hostPort, `${at}.hostPort`)),
      ...(protocols.includes(protocol) ? [] : [notSupported(`${at}.protocol`, protocol, protocols)]),
    ];
  });
}

function validatePortName(name: string, field: string, names: Set<string>): FieldError[] {
  const errors = failing(isPortName, field, name);
  if (errors.length > 0) return errors;
  if (names.has(name)) return [duplicate(field, name)];
  names.add(name);
  return [];
}

/** Containers that run at the same time may not share a hostPort. */
export function validateHostPorts(containers: readonly Container[], path: string): FieldError[] {
  const taken = new Set<string>();
  return errorsOfEach(containers, ({ ports = [] }, at) =>
    errorsOfEach(ports, ({ hostPort, hostIP = '', protocol = '' }, index) => {
      if (hostPort === undefined) return [];
      const claim = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(claim)) return [duplicate(`${path}[${at}].ports[${index}].hostPort`, claim)];
      taken.add(claim);
      return [];
    }),
  );
}

/** With host networking, hostPort must equal containerPort. In a template it may be absent: pods get it by default. */
export const validateHostNetworkPorts = (
  containers: readonly Container[],
  path: string,
  within: 'pod' | 'template',
): FieldError[] =>
  errorsOfEach(containers, ({ ports = [] }, at) =>
    errorsOfEach(ports, ({ hostPort = 0, containerPort = 0 }, index) =>
      hostPort === containerPort || (hostPort === 0 && within === 'template')
        ? []
        : [
            invalid(
              `${path}[${at}].ports[${index}].hostPort`,
              hostPort,
              'must match `containerPort` when `hostNetwork` is true',
            ),
          ],
    ),
  );
