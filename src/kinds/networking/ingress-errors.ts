import { errorsOfEach, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts';
import { isDns1035Label, isDnsSubdomain, isIpAddress, isWildcardDnsSubdomain } from '../../meta/formats.ts';
import { parseIpAddress } from '../../meta/ip-address.ts';
import { failing, isPortName, validatePort } from '../core/pod/validation/field-checks.ts';
import type { HttpIngressPath, IngressBackend, IngressRule, IngressSpec, IngressStatus } from './ingress-schema.ts';
import { referenceErrors } from './reference-errors.ts';

/** Errors of a spec, given the one that it replaces: what it already had wrong in secret names and wildcard hosts it may keep. */
export function ingressErrors(spec: IngressSpec, old?: IngressSpec): FieldError[] {
  const { defaultBackend, rules = [], tls = [], ingressClassName } = spec;
  const keepsSecretNames = (old?.tls ?? []).some(({ secretName = '' }) => secretNameErrors(secretName, '').length > 0);
  const keepsWildcards = (old?.rules ?? []).some((rule) => isWildcard(rule) && pathsErrors(rule, '').length > 0);
  return [
    ...(rules.length === 0 && !defaultBackend ? [{ ...invalid('spec', rules, 'either `defaultBackend` or `rules` must be specified'), shown: '[]networking.IngressRule(nil)' }] : []),
    ...(defaultBackend ? backendErrors(defaultBackend, 'spec.defaultBackend') : []),
    ...errorsOfEach(rules, (rule, index) => {
      const path = `spec.rules[${index}]`;
      return [...hostErrors(rule, path), ...(keepsWildcards && isWildcard(rule) ? [] : pathsErrors(rule, path))];
    }),
    ...errorsOfEach(tls, ({ hosts = [], secretName = '' }, index) => [
      ...errorsOfEach(hosts, (host, at) => failing(host.includes('*') ? isWildcardDnsSubdomain : isDnsSubdomain, `spec.tls[${index}].hosts[${at}]`, host)),
      ...(keepsSecretNames ? [] : secretNameErrors(secretName, `spec.tls[${index}].secretName`)),
    ]),
    ...(ingressClassName === undefined ? [] : failing(isDnsSubdomain, 'spec.ingressClassName', ingressClassName)),
  ];
}

const secretNameErrors = (name: string, path: string): FieldError[] => (name === '' ? [] : failing(isDnsSubdomain, path, name));

const isWildcard = ({ host = '' }: IngressRule): boolean => host.includes('*');

const notAddress = 'must be a DNS name, not an IP address';

function hostErrors(rule: IngressRule, path: string): FieldError[] {
  const { host = '' } = rule;
  if (host === '') return [];
  return [...(parseIpAddress(host) ? [invalid(`${path}.host`, host, notAddress)] : []), ...failing(isWildcard(rule) ? isWildcardDnsSubdomain : isDnsSubdomain, `${path}.host`, host)];
}

function pathsErrors({ http }: IngressRule, path: string): FieldError[] {
  if (!http) return [];
  const { paths = [] } = http;
  return [...(paths.length === 0 ? [required(`${path}.http.paths`)] : []), ...errorsOfEach(paths, (each, index) => pathErrors(each, `${path}.http.paths[${index}]`))];
}

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];
const badSequences = ['//', '/./', '/../', '%2f', '%2F'];
const badEnds = ['/..', '/.'];

function pathErrors({ path: urlPath = '', pathType, backend = {} }: HttpIngressPath, path: string): FieldError[] {
  if (pathType === undefined) return [required(`${path}.pathType`, 'pathType must be specified')];
  return [...typedPathErrors(urlPath, pathType, path), ...backendErrors(backend, `${path}.backend`)];
}

function typedPathErrors(urlPath: string, pathType: string, path: string): FieldError[] {
  if (!pathTypes.includes(pathType)) return [notSupported(`${path}.pathType`, pathType, pathTypes)];
  const problems: string[] = [];
  const isFree = pathType === 'ImplementationSpecific';
  if (!urlPath.startsWith('/') && !(isFree && urlPath === '')) problems.push('must be an absolute path');
  if (!isFree) {
    for (const sequence of badSequences) if (urlPath.includes(sequence)) problems.push(`must not contain '${sequence}'`);
    for (const end of badEnds) if (urlPath.endsWith(end)) problems.push(`cannot end with '${end}'`);
  }
  return problems.map((problem) => invalid(`${path}.path`, urlPath, problem));
}

function backendErrors({ resource, service }: IngressBackend, path: string): FieldError[] {
  if (resource && service) return [invalid(path, '', 'cannot set both resource and service backends')];
  if (resource) return referenceErrors(resource, `${path}.resource`);
  if (!service) return [invalid(path, '', 'resource or service backend is required')];
  const { name = '', port: { name: portName = '', number = 0 } = {} } = service;
  return [...(name === '' ? [required(`${path}.service.name`)] : failing(isDns1035Label, `${path}.service.name`, name)), ...portErrors(portName, number, path)];
}

function portErrors(name: string, number: number, path: string): FieldError[] {
  if (name !== '' && number !== 0) return [invalid(path, '', 'cannot set both port name & port number')];
  if (name !== '') return failing(isPortName, `${path}.service.port.name`, name);
  return number === 0 ? [required(path, 'port name or number is required')] : validatePort(number, `${path}.service.port.number`);
}

/** Errors of a status that a controller writes. */
export const ingressStatusErrors = ({ loadBalancer: { ingress = [] } = {} }: IngressStatus): FieldError[] =>
  errorsOfEach(ingress, ({ ip = '', hostname = '' }, index) => {
    const path = `status.loadBalancer.ingress[${index}]`;
    return [
      ...(ip === '' ? [] : failing(isIpAddress, `${path}.ip`, ip)),
      ...(hostname === '' ? [] : failing(isDnsSubdomain, `${path}.hostname`, hostname)),
      ...(hostname !== '' && parseIpAddress(hostname) ? [invalid(`${path}.hostname`, hostname, notAddress)] : []),
    ];
  });
