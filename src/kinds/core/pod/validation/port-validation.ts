import { duplicate, errorsOfEach, type FieldError, invalid } from '../../../../meta/field-error.ts';
import type { Container, ContainerPort } from '../container/container.ts';
import { failing, isPortName } from './field-checks.ts';

/** Port names of one container. The schema checks the numbers. */
export function validatePorts(ports: readonly ContainerPort[], path: string): FieldError[] {
  return errorsOfEach(ports, ({ name }, index) =>
    name === undefined ? [] : failing(isPortName, `${path}[${index}].name`, name),
  );
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
    errorsOfEach(ports, ({ hostPort = 0, containerPort }, index) =>
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
