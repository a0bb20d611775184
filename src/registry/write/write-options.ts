import { validateFieldManager } from '../../kinds/meta/managed-fields-validation.ts';
import { createOptions, patchOptions, updateOptions } from '../../kinds/meta/request-options.ts';
import { type FieldError, forbidden, notSupported, required } from '../../meta/field-error.ts';
import { invalidObject } from '../../meta/status-error.ts';
import { queryOptions, refuseMistakenParameters } from '../query-options.ts';
import type { VerbRequest } from '../verb.ts';
import type { PatchFormat } from './patch-formats.ts';
import { clientName } from './track-managed-fields.ts';

/** Spec section 4.6: how unknown and duplicate fields are handled. */
type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Parameter sets W and P (spec section 4.1). */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** The field manager (spec section 4.7): the parameter `fieldManager`, else the product name in the `User-Agent`. */
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
  /** Take over fields from other managers. */
  readonly force: boolean;
  /** The options that create and update share, as the client sent them. */
  readonly sent: Readonly<Record<string, unknown>>;
}

/**
 * Parses the options of POST, PUT and PATCH. Throws BadRequest if they cannot be decoded, Invalid for invalid values.
 */
export function parseWriteOptions(request: VerbRequest, metaGroup: string): WriteOptions {
  const { query, verb } = request.info;
  const schema = verb === 'patch' ? patchOptions : verb === 'update' ? updateOptions : createOptions;
  refuseMistakenParameters({ query, options: [schema] });
  const sent: SentOptions = queryOptions(schema, query);
  const { fieldManager = '', fieldValidation = '' } = sent;
  const dryRun = dryRunOfQuery(sent.dryRun);
  const errors = [
    ...(request.body?.patch ? validatePatch(request.body.patch, sent) : []),
    ...validateFieldManager(fieldManager, 'fieldManager'),
    ...validateDryRun(dryRun),
    ...(isFieldValidation(fieldValidation)
      ? []
      : [notSupported('fieldValidation', fieldValidation, ['', 'Ignore', 'Warn', 'Strict'])]),
  ];
  if (errors.length > 0) throw invalidOptions(schema, metaGroup, errors);
  return {
    dryRun: dryRun.length > 0,
    manager: fieldManager === '' ? clientName(request.userAgent) : fieldManager,
    fieldValidation: isFieldValidation(fieldValidation) && fieldValidation !== '' ? fieldValidation : 'Warn',
    force: sent.force ?? false,
    sent: sentOf(sent, dryRun),
  };
}

const sentOf = ({ force: _, ...sent }: SentOptions, dryRun: readonly string[]): Readonly<Record<string, unknown>> =>
  dryRun.length > 0 ? { ...sent, dryRun } : sent;

/** The fields of CreateOptions, UpdateOptions and PatchOptions. */
interface SentOptions {
  readonly dryRun?: readonly string[];
  readonly fieldManager?: string;
  readonly fieldValidation?: string;
  readonly force?: boolean;
}

const isFieldValidation = (text: string): text is FieldValidation | '' =>
  text === '' || text === 'Ignore' || text === 'Warn' || text === 'Strict';

function validatePatch(patch: PatchFormat, { fieldManager, force }: SentOptions): readonly FieldError[] {
  if (patch === 'apply') {
    return fieldManager === undefined ? [required('fieldManager', 'is required for apply patch')] : [];
  }
  return force === undefined ? [] : [forbidden('force', 'may not be specified for non-apply patch')];
}

/** Spec section 4.6: an empty `dryRun` in a query means `All`. */
export const dryRunOfQuery = (values: readonly string[] = []): readonly string[] =>
  values.map((value) => value || dryRunAll);

const dryRunAll = 'All';

/** Spec section 4.6: `All` runs every stage except the commit; no other value is valid. */
export const validateDryRun = (values: readonly string[]): readonly FieldError[] =>
  values.every((value) => value === dryRunAll) ? [] : [notSupported('dryRun', values, [dryRunAll])];

/** kube-apiserver's error for invalid options: `PatchOptions.<meta group> "" is invalid: ...`. */
export const invalidOptions = (schema: { readonly name: string }, metaGroup: string, errors: readonly FieldError[]) =>
  invalidObject({ group: metaGroup, kind: schema.name.split('.').at(-1) ?? '' }, '', errors);
