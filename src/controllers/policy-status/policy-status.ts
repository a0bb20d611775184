import type { Closable } from '../../base/disposable.ts';
import { inSlices } from '../../base/time/in-slices.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { PolicyTypes } from '../../kinds/admissionregistration/check-types.ts';
import {
  groupsNamed,
  type ServedTypes,
  typesNamed,
  typeText,
} from '../../kinds/admissionregistration/matched-types.ts';
import type { ValidatingPolicy } from '../../kinds/admissionregistration/validating-policy-schema.ts';
import type { GroupVersionKind } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { documentedType } from '../../schema/rules/rule-type.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { ServedSchemas } from './served-schemas.ts';

/**
 * Checks the expressions of validating admission policies against the types that they match, and writes what it finds into
 * their status (KEP-3488, "Type Checking"). A policy is checked once for each generation: not again when a type comes later
 * or changes, as published.
 */
export const startPolicyStatus = (context: ControllerContext): Closable => new PolicyStatus(context);

const parallel = 5;
/** Also the manager of the status in `managedFields`. */
const name = 'validatingadmissionpolicy-status';

type Policy = ApiObject & ValidatingPolicy;

class PolicyStatus implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  /** Those to be checked; null for others. */
  readonly #policies: Informer<Policy | null>;
  readonly #served: ServedSchemas;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#served = new ServedSchemas(context, this.#held.signal);
    this.#queue = this.#held.add(new WorkQueue({ ...context, name, parallel, work: (key) => this.#check(key) }));
    this.#policies = this.#held.add(
      new Informer<Policy | null>({
        ...context,
        path: this.#path(),
        select: (object) => (isObserved(object) ? null : object),
        changed: (key, policy) => {
          if (policy) this.#queue.add(key);
        },
      }),
    );
  }

  async #check(key: string): Promise<void> {
    const policy = this.#policies.get(key);
    if (!policy) return;
    const warnings = await this.#warningsOf(policy);
    try {
      await this.#write(policy, warnings).catch((error: unknown) => {
        if (warnings.length === 0 || !hasReason(error, 'RequestEntityTooLarge')) throw error;
        this.#context.logger.warn('warnings have no room in the status of a policy', { name: key, error });
        return this.#write(policy, []);
      });
    } catch (error) {
      // The policy was deleted or made anew: a watch reports it.
      if (!hasReason(error, 'Conflict', 'NotFound')) throw error;
    }
  }

  /** Of the policy that was checked, and of no other one with its name. */
  async #write({ metadata }: Policy, warnings: readonly object[]): Promise<void> {
    const status = {
      observedGeneration: metadata.generation,
      typeChecking: { expressionWarnings: warnings.length > 0 ? warnings : null },
    };
    await this.#context.client.mergePatchMetadata(
      `${this.#path(metadata.name, 'status')}?fieldManager=${name}`,
      { metadata: { uid: metadata.uid }, status },
      this.#held.signal,
    );
  }

  async #warningsOf({ spec = {} }: Policy): Promise<readonly object[]> {
    const { clock } = this.#context;
    const { matchConstraints = {}, paramKind = {} } = spec;
    const groups = new Set(await inSlices(groupsNamed(matchConstraints), clock));
    if (groups.size === 0) return [];
    const params = typeOfParams(paramKind);
    if (params) groups.add(params.group);
    const served = await this.#served.typesOf(groups);
    const objects = await this.#knownTypes(await inSlices(typesNamed(matchConstraints, served), clock), served);
    if (objects.length === 0) return [];
    const [known] = params ? await this.#knownTypes([params], served, 'params') : [];
    const { checkTypes } = await import('../../kinds/admissionregistration/check-types.ts');
    return inSlices(checkTypes(spec, { objects, params: known?.type }), clock);
  }

  /** Those with a schema. Names of types in messages have a number behind that of the kind, as published. */
  async #knownTypes(
    types: readonly GroupVersionKind[],
    served: ServedTypes,
    role = 'object',
  ): Promise<PolicyTypes['objects']> {
    const known: PolicyTypes['objects'][number][] = [];
    for (const type of types) {
      const schema = await this.#served.schemaOf(type, served);
      const number = role === 'params' ? 0 : known.length + 1;
      if (schema) known.push({ text: typeText(type), type: documentedType(schema, `${type.kind}${number}`) });
    }
    return known;
  }

  #path(policy?: string, subresource?: string): string {
    const apiVersion = `${this.#context.dialect.group('admissionregistration')}/v1`;
    return resourcePath({
      apiVersion,
      resource: 'validatingadmissionpolicies',
      name: policy,
      ...(subresource && { subresource }),
    });
  }

  close(): void {
    this.#held.close();
  }
}

const isObserved = ({ metadata, status }: Policy): boolean => status?.observedGeneration === metadata.generation;

/** Undefined if there are no params. */
function typeOfParams({
  apiVersion = '',
  kind = '',
}: {
  readonly apiVersion?: string;
  readonly kind?: string;
}): GroupVersionKind | undefined {
  if (kind === '') return undefined;
  const slash = apiVersion.indexOf('/');
  return { group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind };
}
