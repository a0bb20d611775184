import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { publishedApiVersions } from '../../dialect/published-api-versions.ts';
import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts';
import { isDnsSubdomain } from '../../meta/formats.ts';
import type { StrategyContext } from '../kind.ts';
import { approvalErrors } from './api-approval.ts';
import { conversionAllowances, conversionErrors } from './conversion-errors.ts';
import type { Definition, DefinitionSpec, DefinitionStatus } from './custom-resource-definition.ts';
import { isTrue } from './definition-conditions.ts';
import { missingNames, namesErrors } from './names-errors.ts';
import { versionsErrors } from './versions-errors.ts';

type DefinitionObject = Definition & ApiObject;
type ValidationContext = Pick<StrategyContext, 'dialect' | 'inline'>;

/** Errors of a new definition. Paths and texts are those of kube-apiserver 1.32. */
export function definitionErrors(object: DefinitionObject, context: ValidationContext): readonly FieldError[] {
  const { metadata, spec = {} } = object;
  const name = `${spec.names?.plural ?? ''}.${spec.group ?? ''}`;
  const nameErrors = metadata.name === undefined || metadata.name === name ? [] : [invalid('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group')];
  return bounded([...nameErrors, ...specErrors(spec, undefined, context), ...laterErrors(object, undefined, context.dialect)]);
}

/** Errors of an updated definition. What is wrong in the stored one, and is not changed, passes as published. */
export function updatedDefinitionErrors(object: DefinitionObject, old: DefinitionObject, context: ValidationContext): readonly FieldError[] {
  return bounded([...specErrors(object.spec ?? {}, old, context), ...immutableErrors(object.spec ?? {}, old), ...laterErrors(object, old, context.dialect)]);
}

/** Errors of a status. Stored versions may be dropped once their objects are migrated: nobody else can know. */
export const statusErrors = ({ acceptedNames = {} }: DefinitionStatus): readonly FieldError[] => bounded(namesErrors(acceptedNames, 'status.acceptedNames'));

const bounded = (errors: readonly FieldError[]): readonly FieldError[] => errors.slice(0, limits.findingsMax);

/** `old`: the definition that is replaced, if any. */
function specErrors(spec: DefinitionSpec, old: Definition | undefined, { dialect, inline }: ValidationContext): FieldError[] {
  const { group = '', scope = '', names = {}, versions = [], conversion } = spec;
  const established = old !== undefined && isEstablished(old);
  return [
    ...groupErrors(group, dialect),
    ...scopeErrors(scope),
    ...versionsErrors(versions, old?.spec?.versions ?? [], { inline }),
    ...missingNames(names, 'spec.names'),
    ...namesErrors(names, 'spec.names'),
    ...(spec.preserveUnknownFields && conversion?.strategy !== 'None' ? [invalid('spec.conversion.strategy', conversion?.strategy, 'must be None if spec.preserveUnknownFields is true')] : []),
    ...(conversion ? conversionErrors(conversion, conversionAllowances(old?.spec?.conversion, established)) : []),
  ];
}

function groupErrors(group: string, dialect: Dialect): FieldError[] {
  const field = 'spec.group';
  if (publishedApiVersions(dialect).has(group) && group !== '') {
    return [invalid(field, group, 'is the group of built-in resources')];
  }
  if (group === '') return [required(field)];
  const problems = isDnsSubdomain(group);
  if (problems.length > 0) return [invalid(field, group, problems.join(','))];
  return group.includes('.') ? [] : [invalid(field, group, 'should be a domain with at least one dot')];
}

function scopeErrors(scope: string): FieldError[] {
  if (scope === '') return [required('spec.scope')];
  const supported = ['Cluster', 'Namespaced'];
  return supported.includes(scope) ? [] : [notSupported('spec.scope', scope, supported)];
}

/** Group and plural are part of the name. Once objects may be there, scope and kind stay, too. */
function immutableErrors(spec: DefinitionSpec, old: Definition): FieldError[] {
  const { spec: before = {} } = old;
  const whenEstablished = [
    { path: 'spec.scope', value: spec.scope, was: before.scope },
    { path: 'spec.names.kind', value: spec.names?.kind, was: before.names?.kind },
  ];
  const always = [
    { path: 'spec.group', value: spec.group, was: before.group },
    { path: 'spec.names.plural', value: spec.names?.plural, was: before.names?.plural },
  ];
  return [...(isEstablished(old) ? whenEstablished : []), ...always].filter(({ value, was }) => value !== was).map(({ path, value }) => invalid(path, value, 'field is immutable'));
}

const isEstablished = ({ status = {} }: Definition): boolean => isTrue({ status }, 'Established');

/** Errors that stand after those of the spec. */
function laterErrors(object: DefinitionObject, old: DefinitionObject | undefined, dialect: Dialect): FieldError[] {
  const { spec = {}, status = {} } = object;
  return [
    ...statusErrors(status),
    ...storedVersionsErrors(status.storedVersions ?? [], spec.versions ?? []),
    ...approvalErrors(object, old, spec.group ?? '', dialect),
    ...(spec.preserveUnknownFields && !old?.spec?.preserveUnknownFields ? [preserveError] : []),
  ];
}

const preserveError = invalid('spec.preserveUnknownFields', true, `cannot set to true, set ${schemaExtensions.preserveUnknownFields} to true in spec.versions[*].schema instead`);

/** Objects may be stored in each of these, so that none of them may go. */
function storedVersionsErrors(stored: readonly string[], versions: NonNullable<DefinitionSpec['versions']>): FieldError[] {
  const field = 'status.storedVersions';
  if (stored.length === 0) return [invalid(field, stored, 'must have at least one stored version')];
  const names = new Set(versions.map(({ name }) => name));
  return [
    ...versions.filter(({ name = '', storage }) => storage && !stored.includes(name)).map(({ name }) => invalid(field, stored, `must have the storage version ${name}`)),
    ...stored.flatMap((name, index) => (names.has(name) ? [] : [invalid(`${field}[${index}]`, name, 'must appear in spec.versions')])),
  ];
}
