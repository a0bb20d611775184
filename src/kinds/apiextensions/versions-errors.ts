import { limits } from '../../base/limits.ts';
import { boundedCount, describeFieldError, errorsOfEach, type FieldError, invalid, required } from '../../meta/field-error.ts';
import { isDns1035Label } from '../../meta/formats.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { asSchema } from '../../schema/structural/json-schema.ts';
import { statusRootErrors } from '../../schema/structural/status-root-errors.ts';
import { readStructuralSchema } from '../../schema/structural/structural-schema.ts';
import type { StrategyContext } from '../kind.ts';
import { validateEmbeddedMetadata } from '../meta/embedded-metadata-validation.ts';
import { objectMeta } from '../meta/object-meta.ts';
import { columnsErrors } from './columns-errors.ts';
import type { DefinitionVersion } from './custom-resource-definition.ts';
import { deprecationErrors } from './deprecation-errors.ts';
import { selectableFieldsErrors } from './selectable-fields-errors.ts';
import { subresourcesErrors } from './subresources-errors.ts';

type Versions = readonly DefinitionVersion[];

const jsonSchemaOf = ({ schema }: DefinitionVersion): unknown => schema?.openAPIV3Schema;

/**
 * Errors of the versions of a definition. kube-apiserver validates a form in which parts that all versions have in common
 * stand at the definition, and so do the paths of their errors: `spec.validation.openAPIV3Schema`, `spec.subresources`. `old`
 * are the versions of the definition that an update replaces: a schema that it does not change is not looked at again.
 */
export function versionsErrors(versions: Versions, old: Versions, { inline }: Inline): FieldError[] {
  const tooMany = boundedCount('spec.versions', versions.length, limits.definitionListMax, old.length);
  if (tooMany.length > 0) return tooMany;
  const shared = { ...sharedParts(versions), inline };
  const [first] = versions;
  return [
    ...missingSchemas(versions, old),
    ...errorsOfEach(versions, (version, index) => versionErrors(version, old, `spec.versions[${index}]`, shared)),
    ...namesErrors(versions),
    ...(first ? sharedErrors(first, versions, old, shared) : []),
  ];
}

/** Whether others wait for this thread, see `StrategyContext`. */
type Inline = Pick<StrategyContext, 'inline'>;

/** The parts that are equal in all versions. */
interface SharedParts extends Inline {
  readonly schema: boolean;
  readonly subresources: boolean;
  readonly columns: boolean;
  readonly selectableFields: boolean;
}

/** A schema that is validated: new, or not as the stored definition has it. */
interface ChangedSchema {
  readonly json: unknown;
  readonly path: string;
}

/** The schemas of versions that are validated, with their paths in errors. */
export function changedSchemas(versions: Versions, old: Versions): readonly ChangedSchema[] {
  if (versions.length > Math.max(limits.definitionListMax, old.length)) return [];
  const shown = sharedParts(versions).schema
    ? versions.slice(0, 1).map((version) => ({ version, path: 'spec.validation.openAPIV3Schema' }))
    : versions.map((version, index) => ({ version, path: `spec.versions[${index}].schema.openAPIV3Schema` }));
  return shown.filter(({ version }) => isChanged(version, old)).map(({ version, path }) => ({ json: jsonSchemaOf(version), path }));
}

function isChanged(version: DefinitionVersion, old: Versions): boolean {
  const json = jsonSchemaOf(version);
  if (json === undefined) return false;
  const before = old.find(({ name }) => name === version.name);
  return !before || !equalValues(json, jsonSchemaOf(before));
}

function sharedParts(versions: Versions): Omit<SharedParts, 'inline'> {
  const isShared = (part: (version: DefinitionVersion) => unknown): boolean => {
    const first = versions[0] && part(versions[0]);
    return versions.every((version) => equalValues(part(version), first));
  };
  const schema = isShared(jsonSchemaOf);
  return {
    schema,
    subresources: isShared(({ subresources }) => subresources),
    columns: isShared(({ additionalPrinterColumns = [] }) => additionalPrinterColumns),
    // Published servers refuse fields that are shared where schemas are not; here they are looked up in each.
    selectableFields: schema && isShared(({ selectableFields = [] }) => selectableFields),
  };
}

const hasStatus = ({ subresources }: DefinitionVersion): boolean => subresources?.status !== undefined;

function versionErrors(version: DefinitionVersion, old: Versions, path: string, shared: SharedParts): FieldError[] {
  const { name = '', subresources, additionalPrinterColumns = [], selectableFields = [] } = version;
  const problems = isDns1035Label(name);
  return [
    ...(problems.length > 0 ? [invalid(`${path}.name`, name, problems.join(','))] : []),
    ...deprecationErrors(version, path),
    ...(shared.schema ? [] : schemaErrors(version, old, `${path}.schema.openAPIV3Schema`, { ...shared, withStatus: hasStatus(version) })),
    ...(shared.subresources || !subresources ? [] : subresourcesErrors(subresources, `${path}.subresources`)),
    ...(shared.columns ? [] : columnsErrors(additionalPrinterColumns, `${path}.additionalPrinterColumns`)),
    ...(shared.selectableFields ? [] : selectableFieldsErrors(selectableFields, jsonSchemaOf(version), `${path}.selectableFields`)),
  ];
}

/** Errors of what all versions have in common, as the first of them has it. */
function sharedErrors(first: DefinitionVersion, versions: Versions, old: Versions, shared: SharedParts): FieldError[] {
  const { subresources, additionalPrinterColumns = [], selectableFields = [] } = first;
  return [
    ...(shared.schema ? schemaErrors(first, old, 'spec.validation.openAPIV3Schema', { ...shared, withStatus: versions.some(hasStatus) }) : []),
    ...(shared.subresources && subresources ? subresourcesErrors(subresources, 'spec.subresources') : []),
    ...(shared.columns ? columnsErrors(additionalPrinterColumns, 'spec.additionalPrinterColumns') : []),
    ...(shared.selectableFields ? selectableFieldsErrors(selectableFields, jsonSchemaOf(first), 'spec.selectableFields') : []),
  ];
}

/** Every version needs a schema, unless the stored definition has one without. */
function missingSchemas(versions: Versions, old: Versions): FieldError[] {
  const allowed = old.some((version) => jsonSchemaOf(version) === undefined);
  const detail = allowed ? 'because otherwise all fields are pruned' : 'schemas are required';
  return errorsOfEach(versions, (version, index) =>
    jsonSchemaOf(version) !== undefined || (allowed && version.served !== true) ? [] : [required(`spec.versions[${index}].schema.openAPIV3Schema`, detail)],
  );
}

function namesErrors(versions: Versions): FieldError[] {
  const names = versions.map(({ name = '' }) => name);
  const errors: FieldError[] = [];
  if (new Set(names).size < names.length) {
    errors.push(invalid('spec.versions', names, 'must contain unique version names'));
  }
  if (versions.filter(({ storage }) => storage === true).length !== 1) {
    errors.push(invalid('spec.versions', names, 'must have exactly one version marked as storage version'));
  }
  return errors;
}

/** Errors of a schema. Those that the stored schema of the version has in the same place pass, so that the rest can be changed. */
function schemaErrors(version: DefinitionVersion, old: Versions, path: string, { inline, withStatus }: Inline & { readonly withStatus: boolean }): readonly FieldError[] {
  const schema = jsonSchemaOf(version);
  if (schema === undefined) return [];
  const root = withStatus ? statusRootErrors(asSchema(schema), path) : [];
  if (!isChanged(version, old)) return root;
  const options = { path, inline, objectMeta, validateMetadata: validateEmbeddedMetadata };
  const { errors } = readStructuralSchema(schema, options);
  const before = errors.length === 0 ? undefined : old.find(({ name }) => name === version.name);
  const stored = new Set(before ? readStructuralSchema(jsonSchemaOf(before), options).errors.map(textOf) : []);
  return [...root, ...errors.filter((error) => !stored.has(textOf(error)))];
}

const textOf = (error: FieldError): string => `${error.field}: ${describeFieldError(error)}`;
