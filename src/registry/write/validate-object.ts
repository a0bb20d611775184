import { untilAborted } from '../../base/time/until-aborted.ts';
import { validateScaled } from '../../kinds/autoscaling/scale.ts';
import type { Kind, StrategyContext } from '../../kinds/kind.ts';
import { validateEmbeddedObjects } from '../../kinds/meta/embedded-metadata-validation.ts';
import { finalizerWarnings, validateFinalizerDomains } from '../../kinds/meta/finalizer-names.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../kinds/meta/metadata-validation.ts';
import { allErrors, type Validation } from '../../kinds/validation.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { describeFieldError, type FieldError } from '../../meta/field-error.ts';
import { invalidObject } from '../../meta/status-error.ts';
import { mergeErrors, withChanges } from '../../schema/order-errors.ts';
import { validateRules } from '../../schema/rules/validate-rules.ts';
import { validate, validateFields, validateUpdate } from '../../schema/validate.ts';
import type { RegistryParts } from '../verb.ts';
import type { UpdateView, WriteContext } from './object-writer.ts';

/** Validation of objects that are written: metadata, schema, rules and strategy. */

type Parts = Pick<RegistryParts, 'dialect' | 'clock' | 'inline' | 'timeRules'>;

/** Throws or rejects if a new object is invalid. A promise only if a part of the validation is one. */
export function validateNew(
  parts: Parts,
  context: WriteContext,
  object: ApiObject,
  strategyContext: StrategyContext,
): Promise<void> | undefined {
  const kind = context.served.written;
  const errors = [
    ...validateObjectMeta(context.served.kind, object),
    ...validateEmbeddedObjects(kind.schema, object),
    ...validate(kind.schema, object, '', { inline: parts.inline }),
  ];
  const ofSchema = mergeErrors(
    kind.schema,
    errors,
    validateFinalizerDomains(context.served.kind, object, parts.dialect),
  );
  return requireValid(context, object, {
    ofSchema,
    ofKind: [
      ruleErrors(parts, context, object, { errors, ratcheting: false }),
      validateScaled(kind, object, ''),
      kind.strategy.validateCreate?.(object, strategyContext),
    ],
    ofChange: [],
  });
}

interface Change {
  readonly old: ApiObject;
  /** The strategy of the endpoint that was written to. */
  readonly view: UpdateView;
  readonly strategyContext: StrategyContext;
}

/** The same of an update. */
export function validateChanged(
  parts: Parts,
  context: WriteContext,
  object: ApiObject,
  { old, view, strategyContext }: Change,
): Promise<void> | undefined {
  const kind = context.served.written;
  const errors = updateErrors(kind, object, { old, view, inline: parts.inline });
  const ofChange = looksAtFields(kind, view) ? [] : validateUpdate(kind.schema, object, old);
  const ofFinalizers = view === kind.strategy ? validateFinalizerDomains(kind, object, parts.dialect) : [];
  return requireValid(context, object, {
    ofSchema: mergeErrors(kind.schema, errors, ofFinalizers),
    ofKind: [
      ruleErrors(parts, context, object, { old, errors: [...errors, ...ofChange], ratcheting: ratchets(kind, view) }),
      validateScaled(kind, object, context.info.subresource),
      kind.strategy.validateEveryUpdate?.(object, old, strategyContext),
      withoutLeft(view.validateUpdate?.(object, old, strategyContext), () =>
        kind.strategy.validateCreate?.(old, strategyContext),
      ),
    ],
    ofChange,
  });
}

/** Without errors that may stay, if the object had some before. */
function withoutLeft(errors: Validation | undefined, before: () => Validation | undefined): Validation | undefined {
  if (errors === undefined || errors instanceof Promise || !errors.some(({ mayStay }) => mayStay)) return errors;
  const left = before();
  const hadSome = left !== undefined && !(left instanceof Promise) && left.some(({ mayStay }) => mayStay);
  return hadSome ? errors.filter(({ mayStay }) => !mayStay) : errors;
}

/** Sends the warnings about an object that is valid. */
export function warnAbout(
  { served: { written }, request }: WriteContext,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  for (const warning of written.strategy.warnings?.(object, old) ?? []) request.warn(warning);
  for (const warning of finalizerWarnings(written, object, old)) request.warn(warning);
}

/** What rules see of a write. */
interface RuledChange {
  readonly old?: ApiObject;
  /** Errors found before. */
  readonly errors: readonly FieldError[];
  /** Whether an update may leave values that break rules as they are. */
  readonly ratcheting: boolean;
}

/** Rules of custom resources. An update that leaves a wrong value as it is gets a warning, as in kube-apiserver. */
function ruleErrors(
  { clock, inline, timeRules }: Parts,
  { served, request }: WriteContext,
  object: ApiObject,
  { old, errors, ratcheting }: RuledChange,
): Validation {
  const onRatcheted = (error: FieldError): void => request.warn(`${error.field}: ${describeFieldError(error)}`);
  const options = { old, errors, clock, inline, timeRules, ...(ratcheting && { onRatcheted }) };
  return validateRules(served.written.schema, object, options);
}

/**
 * As in kube-apiserver, an update of some fields of a custom object by a subresource (`status`) looks at their schema only, but
 * evaluates all rules; neither passes over what it does not change.
 */
const ratchets = (kind: Kind, view: UpdateView): boolean => !looksAtFields(kind, view);

const looksAtFields = ({ schema }: Kind, { fields }: UpdateView): boolean =>
  schema.structural === true && fields !== undefined;

/** Errors of metadata and schema, but for fields that may not change. */
function updateErrors(
  kind: Kind,
  object: ApiObject,
  { old, view, inline }: Pick<Parts, 'inline'> & Pick<Change, 'old' | 'view'>,
): readonly FieldError[] {
  const ofMetadata = [...validateObjectMeta(kind, object, old), ...validateObjectMetaUpdate(object, old)];
  if (view.fields && !ratchets(kind, view)) {
    return [...ofMetadata, ...validateFields(kind.schema, object, { names: view.fields, old, inline })];
  }
  return [
    ...ofMetadata,
    ...validateEmbeddedObjects(kind.schema, object),
    ...validate(kind.schema, object, '', { old, inline }),
  ];
}

/** Errors of an object, in the order in which they are reported. */
interface Findings {
  /** Of metadata and schema, shown among those of the kind. */
  readonly ofSchema: readonly FieldError[];
  readonly ofKind: readonly (Validation | undefined)[];
  /** Fields that may not change. */
  readonly ofChange: readonly FieldError[];
}

function requireValid(
  context: WriteContext,
  object: ApiObject,
  { ofSchema, ofKind, ofChange }: Findings,
): Promise<void> | undefined {
  const { schema } = context.served.written;
  const reject = (errors: readonly FieldError[]): void =>
    rejectInvalid(context, object, withChanges(schema, mergeErrors(schema, ofSchema, errors), ofChange));
  const errors = allErrors(...ofKind);
  if (errors instanceof Promise) return untilAborted(errors, context.request.signal).then(reject);
  reject(errors);
  return undefined;
}

/** Throws if there are errors. Field paths are reported as in the client's version, the group is that of the stored one. */
export function rejectInvalid(
  { served: { kind } }: WriteContext,
  object: ApiObject,
  errors: readonly FieldError[],
): void {
  if (errors.length === 0) return;
  const { storedAs } = kind;
  const named = storedAs ? errors.map((error) => ({ ...error, field: storedAs.versionPath(error.field) })) : errors;
  throw invalidObject(storedAs?.kind ?? kind, object.metadata.name ?? '', named);
}
