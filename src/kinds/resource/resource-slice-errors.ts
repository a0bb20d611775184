import { limits } from '../../base/limits.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid, required, tooLong } from '../../meta/field-error.ts';
import { isDnsSubdomain } from '../../meta/formats.ts';
import type { Infer } from '../../schema/schema.ts';
import { validateDriverName } from '../core/driver-name.ts';
import { validateNodeSelector } from '../core/pod/validation/affinity-validation.ts';
import { typed } from '../typed.ts';
import { errorsOfSet, validateDeviceName, validatePoolName, validateQualifiedName } from './device-errors.ts';
import { betaSchemas } from './device-schemas.ts';

type Spec = NonNullable<Infer<typeof betaSchemas.resourceSlice>['spec']>;
type Device = NonNullable<Spec['devices']>[number];
type Attribute = NonNullable<NonNullable<Device['basic']>['attributes']>[string];

export function validateSlice(object: ApiObject, old?: ApiObject): FieldError[] {
  const [spec = {}, before] = [object, old].map((each) => each && typed(betaSchemas.resourceSlice, each).spec) as [Spec, Spec | undefined];
  const { driver = '', pool: { name = '', generation = 0, resourceSliceCount: count = 0 } = {}, devices = [] } = spec;
  return [
    ...validateDriverName(driver, 'spec.driver'),
    ...validatePoolName(name, 'spec.pool.name'),
    ...(count <= 0 ? [invalid('spec.pool.resourceSliceCount', count, 'must be greater than zero')] : []),
    ...(generation < 0 ? [invalid('spec.pool.generation', generation, 'must be greater than or equal to zero')] : []),
    ...(before ? validateFixed(spec, before) : []),
    ...validateNodes(spec),
    ...errorsOfSet(devices, 'spec.devices', validateDevice, { max: limits.devicesOfSliceMax, key: ({ name: device = '' }) => device, field: '.name' }),
  ];
}

function validateFixed(spec: Spec, before: Spec): FieldError[] {
  const fixed: readonly (readonly [path: string, of: (spec: Spec) => string])[] = [
    ['pool.name', ({ pool }) => pool?.name ?? ''],
    ['driver', ({ driver = '' }) => driver],
    ['nodeName', ({ nodeName = '' }) => nodeName],
  ];
  return fixed.flatMap(([path, of]) => (of(spec) === of(before) ? [] : [invalid(`spec.${path}`, of(spec), 'field is immutable')]));
}

function termsError(terms: readonly unknown[]): FieldError {
  const error = invalid('spec.nodeSelector.nodeSelectorTerms', terms, 'must have exactly one node selector term');
  return terms.length === 0 ? { ...error, shown: '[]core.NodeSelectorTerm{}' } : error;
}

const oneOfThem = 'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required';

function validateNodes({ nodeName = '', nodeSelector, allNodes = false }: Spec): FieldError[] {
  const terms = nodeSelector?.nodeSelectorTerms ?? [];
  const count = [nodeName !== '', nodeSelector !== undefined, allNodes].filter(Boolean).length;
  return [
    ...(nodeName === '' ? [] : isDnsSubdomain(nodeName).map((problem) => invalid('spec.nodeName', nodeName, problem))),
    ...(nodeSelector ? validateNodeSelector(nodeSelector, 'spec.nodeSelector', { labelValues: true }) : []),
    ...(nodeSelector && terms.length !== 1 ? [termsError(terms)] : []),
    ...(count === 0 ? [required('spec', oneOfThem)] : []),
    ...(count > 1 ? [invalid('spec', 'null', oneOfThem)] : []),
  ];
}

/** Keys longer than this are shown without their middle. */
const keyMax = limits.deviceDomainMax + 1 + limits.devicePropertyNameMax;

const shownKey = (key: string): string => (key.length <= keyMax ? key : `${key.slice(0, Math.floor((keyMax - 2) / 2))}...${key.slice(-Math.floor((keyMax - 3) / 2))}`);

function validateDevice({ name = '', basic }: Device, path: string): FieldError[] {
  if (!basic) return [...validateDeviceName(name, `${path}.name`), required(`${path}.basic`)];
  const { attributes = {}, capacity = {} } = basic;
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  return [
    ...validateDeviceName(name, `${path}.name`),
    ...errorsOfEach(Object.entries(attributes), ([key, value]) => {
      const at = `${path}.basic.attributes[${shownKey(key)}]`;
      return [...validateQualifiedName(key, at), ...validateAttribute(value, at)];
    }),
    ...errorsOfEach(Object.keys(capacity), (key) => validateQualifiedName(key, `${path}.basic.capacity[${shownKey(key)}]`)),
    ...(count > limits.devicePropertiesMax ? [invalid(`${path}.basic`, count, `the total number of attributes and capacities must not exceed ${limits.devicePropertiesMax}`)] : []),
  ];
}

const identifier = '(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)';
const version = new RegExp(`^(?:(?:0|[1-9]\\d*)\\.){2}(?:0|[1-9]\\d*)(?:-${identifier}(?:\\.${identifier})*)?(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$`);

function validateAttribute(attribute: Attribute, path: string): FieldError[] {
  const max = limits.deviceValueBytesMax;
  const count = Object.keys(attribute).length;
  const one = 'exactly one value must be specified';
  const long = (name: 'string' | 'version'): FieldError[] => (Buffer.byteLength(attribute[name] ?? '') > max ? [tooLong(`${path}.${name}`, max)] : []);
  const { version: text = '' } = attribute;
  // The pattern takes quadratic time, so that a text that is too long is not looked at.
  const wrong = attribute.version !== undefined && (text.length > max || !version.test(text));
  return [
    ...long('string'),
    ...(wrong ? [invalid(`${path}.version`, text, 'must be a string compatible with semver.org spec 2.0.0')] : []),
    ...long('version'),
    ...(count === 0 ? [required(path, one)] : []),
    ...(count > 1 ? [invalid(path, attribute, one)] : []),
  ];
}
