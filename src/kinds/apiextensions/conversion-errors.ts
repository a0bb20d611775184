import { type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts';
import { isDns1035Label } from '../../meta/formats.ts';
import { caBundleProblem, webhookClientErrors } from '../webhook-client-errors.ts';
import type { DefinitionSpec } from './custom-resource-definition.ts';

type Conversion = NonNullable<DefinitionSpec['conversion']>;

/** What the stored definition allows. */
interface Allowances {
  /** An invalid `caBundle`. */
  readonly invalidCaBundle: boolean;
  /** No version of ConversionReview that the server knows. */
  readonly unknownReviewVersions: boolean;
}

/** What passes because an older definition has it: everything that was allowed when that was written. */
export const conversionAllowances = (old: Conversion | undefined, established: boolean): Allowances => ({
  invalidCaBundle: !established || caBundleProblem(old?.webhook?.clientConfig?.caBundle) !== undefined,
  unknownReviewVersions: !hasKnownVersion(old?.webhook?.conversionReviewVersions ?? []),
});

/** `v1beta1` is what old webhooks declare; published servers accept it here, and use v1 if it is there. */
const knownVersions = ['v1', 'v1beta1'];

const hasKnownVersion = (versions: readonly string[]): boolean => versions.length === 0 || versions.some((version) => knownVersions.includes(version));

/** The paths are published: those of the form in which kube-apiserver validates. */
const path = 'spec.conversion';

export function conversionErrors(conversion: Conversion, allowances: Allowances): FieldError[] {
  const { strategy = '', webhook } = conversion;
  const errors = strategyErrors(strategy);
  const { clientConfig, conversionReviewVersions = [] } = webhook ?? {};
  if (strategy === 'Webhook') {
    return [...errors, ...clientErrors(clientConfig, allowances), ...versionErrors(conversionReviewVersions, allowances)];
  }
  const detail = 'should not be set when strategy is not set to Webhook';
  if (clientConfig) errors.push(forbidden(`${path}.webhookClientConfig`, detail));
  if (conversionReviewVersions.length > 0) errors.push(forbidden(`${path}.conversionReviewVersions`, detail));
  return errors;
}

function strategyErrors(strategy: string): FieldError[] {
  if (strategy === '') return [required(`${path}.strategy`)];
  const supported = ['None', 'Webhook'];
  return supported.includes(strategy) ? [] : [notSupported(`${path}.strategy`, strategy, supported)];
}

function clientErrors(client: NonNullable<Conversion['webhook']>['clientConfig'], { invalidCaBundle }: Allowances): FieldError[] {
  const field = `${path}.webhookClientConfig`;
  if (!client) return [required(field, 'required when strategy is set to Webhook')];
  const problem = invalidCaBundle ? undefined : caBundleProblem(client.caBundle);
  const errors = webhookClientErrors(client, field);
  return problem === undefined ? errors : [...errors, invalid(`${field}.caBundle`, '<certificates>', problem)];
}

function versionErrors(versions: readonly string[], { unknownReviewVersions }: Allowances): FieldError[] {
  const field = `${path}.conversionReviewVersions`;
  if (versions.length === 0) return [required(field)];
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, version] of versions.entries()) {
    const at = `${field}[${index}]`;
    if (seen.has(version)) errors.push(invalid(at, version, 'duplicate version'));
    else for (const problem of isDns1035Label(version)) errors.push(invalid(at, version, problem));
    seen.add(version);
  }
  if (!unknownReviewVersions && !hasKnownVersion(versions)) {
    errors.push(invalid(field, versions, `must include at least one of ${knownVersions.join(', ')}`));
  }
  return errors;
}
