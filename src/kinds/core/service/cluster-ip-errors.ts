import { duplicate, errorsOfEach, type FieldError, invalid, invalidTexts, notSupported, required } from '../../../meta/field-error.ts';
import { isIpAddress } from '../../../meta/formats.ts';
import { familyOf } from '../../../meta/ip-address.ts';
import { failing } from '../pod/validation/field-checks.ts';
import type { ServiceSpec } from './service-schema.ts';
import { isHeadless, isNone, sameTexts } from './service-spec.ts';

const path = 'spec.clusterIPs';
const families = ['IPv4', 'IPv6'];
const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

/** Errors of the addresses of a service and their families. Those of a service without addresses are found elsewhere. */
export function clusterIpErrors(spec: ServiceSpec): FieldError[] {
  if (spec.type === 'ExternalName') return [];
  const { clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  const ofAddresses = addressErrors(clusterIPs);
  const errors = [
    ...singularErrors(spec),
    ...familiesErrors(ipFamilies),
    ...(ipFamilyPolicy === undefined || policies.includes(ipFamilyPolicy) ? [] : [notSupported('spec.ipFamilyPolicy', ipFamilyPolicy, policies)]),
    ...ofAddresses,
    ...(clusterIPs.length > 2 ? [invalidTexts(path, clusterIPs, 'may only hold up to 2 values')] : []),
  ];
  // Families of what is no address say nothing.
  if (ofAddresses.length > 0) return errors;
  return [
    ...errors,
    ...(isOneOfEach(clusterIPs) ? [] : [invalidTexts(path, clusterIPs, 'may specify no more than one IP for each IP family')]),
    ...(isHeadless(spec) ? [] : mismatches(clusterIPs, ipFamilies)),
  ];
}

function singularErrors({ clusterIP = '', clusterIPs = [] }: ServiceSpec): FieldError[] {
  if (clusterIP === '') return clusterIPs.length > 0 ? [invalidTexts(path, clusterIPs, 'must be empty when `clusterIP` is not specified')] : [];
  if (clusterIPs.length === 0) return [required(path)];
  return clusterIPs[0] === clusterIP ? [] : [invalidTexts(path, clusterIPs, 'first value must match `clusterIP`')];
}

const familiesErrors = (ipFamilies: readonly string[]): FieldError[] =>
  errorsOfEach(ipFamilies, (family, index) => [
    ...(families.includes(family) ? [] : [notSupported(`spec.ipFamilies[${index}]`, family, families)]),
    ...(ipFamilies.indexOf(family) < index ? [duplicate(`spec.ipFamilies[${index}]`, family)] : []),
  ]);

const addressErrors = (addresses: readonly string[]): FieldError[] =>
  errorsOfEach(addresses, (address, index) => {
    if (index > 0 || !isNone(address)) return failing(isIpAddress, `${path}[${index}]`, address);
    return addresses.length > 1 ? [invalidTexts(path, addresses, "'None' must be the first and only value")] : [];
  });

const isOneOfEach = (addresses: readonly string[]): boolean => addresses.length < 2 || new Set(addresses.map(familyOf)).size === 2;

const mismatches = (addresses: readonly string[], ipFamilies: readonly string[]): FieldError[] =>
  errorsOfEach(addresses, (address, index) => {
    const family = ipFamilies[index];
    if (family === undefined || !families.includes(family) || familyOf(address) === family) return [];
    return [invalid(`${path}[${index}]`, address, `expected an ${family} value as indicated by \`ipFamilies[${index}]\``)];
  });

const once = 'may not change once set';

/** What an update may not change: the first address, its family, and how the second one comes and goes. */
export function clusterIpChangeErrors(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (spec.type === 'ExternalName' || old.type === 'ExternalName') return [];
  const [isNow, was] = [isHeadless(spec), isHeadless(old)];
  return [...(isNow && was ? [] : addressChangeErrors(spec, old)), ...(isNow || was ? [] : familyChangeErrors(spec, old))];
}

const first = `${path}[0]`;
const notSingle = (policy: string | undefined, what: string): FieldError[] =>
  policy === 'SingleStack' ? [] : [invalid('spec.ipFamilyPolicy', policy ?? 'null', `must be set to 'SingleStack' when releasing the secondary ${what}`)];

function addressChangeErrors({ clusterIPs = [], ipFamilyPolicy }: ServiceSpec, { clusterIPs: before = [] }: ServiceSpec): FieldError[] {
  if (before.length === clusterIPs.length) return errorsOfEach(before, (address, index) => (address === clusterIPs[index] ? [] : [invalidTexts(`${path}[${index}]`, clusterIPs, once)]));
  const isMoved = before.length > 0 && clusterIPs.length > 0 && clusterIPs[0] !== before[0];
  const errors = isMoved ? [invalidTexts(first, clusterIPs, once)] : [];
  if (before.length < clusterIPs.length) return errors;
  if (clusterIPs.length === 0) return [invalidTexts(first, clusterIPs, 'primary clusterIP can not be unset')];
  return [...errors, ...(clusterIPs.length === 1 ? notSingle(ipFamilyPolicy, 'clusterIP') : [])];
}

function familyChangeErrors({ clusterIPs = [], ipFamilies = [], ipFamilyPolicy }: ServiceSpec, { ipFamilies: before = [] }: ServiceSpec): FieldError[] {
  const at = 'spec.ipFamilies[0]';
  if (before.length === ipFamilies.length) {
    if (sameTexts(before, ipFamilies)) return [];
    return errorsOfEach(before, (family, index) => (family === ipFamilies[index] ? [] : [invalidTexts(at, ipFamilies, once, 'core.IPFamily')]));
  }
  const isMoved = before.length > 0 && ipFamilies.length > 0 && ipFamilies[0] !== before[0];
  const errors = isMoved ? [invalidTexts(at, clusterIPs, once)] : [];
  if (before.length < ipFamilies.length) return errors;
  return [
    ...(clusterIPs.length === 0 ? [invalidTexts(at, ipFamilies, 'primary ipFamily can not be unset', 'core.IPFamily')] : []),
    ...errors,
    ...(ipFamilies.length === 1 ? notSingle(ipFamilyPolicy, 'ipFamily') : []),
  ];
}
