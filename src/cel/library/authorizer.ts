import { expressionTypes } from '../../dialect/expression-types.ts';
import { isDnsLabel, isDnsSubdomain } from '../../meta/formats.ts';
import { CelFault } from '../fault.ts';
import { costOfConstruction, costOfList } from '../meter.ts';
import { defineMethod } from '../overload.ts';
import { boolType, opaqueType, stringType } from '../type.ts';
import { CelOpaque } from '../value.ts';

/** A question to the authorizers. */
export type AccessCheck =
  | { readonly type: 'path'; readonly path: string; readonly verb: string }
  | (ResourceFields & { readonly type: 'resource'; readonly verb: string });

/** A resource as an expression describes it; '' is what it does not name. */
export interface ResourceFields {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Text of a selector, which may be malformed. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

export interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** '' if there was none. */
  readonly error: string;
}

/** Decisions of the authorizers, for the user of a request. */
export interface Decisions {
  /**
   * The decision about `account`, or about the user of the request. Throws a PendingDecision if it is not known yet: once its
   * promise is settled, the expression is evaluated anew.
   */
  decide(check: AccessCheck, account: AccountName | undefined): AccessDecision;
}

/** Thrown out of an evaluation that needs a decision that is still to be made. Not an Error: nothing went wrong. */
export class PendingDecision {
  readonly settled: Promise<unknown>;

  constructor(settled: Promise<unknown>) {
    this.settled = settled;
  }
}

/** A check whose subject is fixed: the start of all questions. */
export class CelAuthorizer extends CelOpaque {
  readonly typeName = authorizerType.name;
  readonly decisions: Decisions;
  readonly account: AccountName | undefined;

  constructor(decisions: Decisions, account?: AccountName) {
    super();
    this.decisions = decisions;
    this.account = account;
  }

  get text(): string {
    return JSON.stringify(this.account ?? null);
  }
}

class PathCheck extends CelOpaque {
  readonly typeName = pathCheckType.name;
  readonly authorizer: CelAuthorizer;
  readonly path: string;

  constructor(authorizer: CelAuthorizer, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }

  get text(): string {
    return this.path;
  }
}

class GroupCheck extends CelOpaque {
  readonly typeName = groupCheckType.name;
  readonly authorizer: CelAuthorizer;
  readonly group: string;

  constructor(authorizer: CelAuthorizer, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }

  get text(): string {
    return this.group;
  }
}

/** A check of a resource: of one that the expression names, or of the one that is requested. */
export class CelResourceCheck extends CelOpaque {
  readonly typeName = resourceCheckType.name;
  readonly authorizer: CelAuthorizer;
  readonly fields: ResourceFields;

  constructor(authorizer: CelAuthorizer, fields: Pick<ResourceFields, 'group' | 'resource'> & Partial<ResourceFields>) {
    super();
    this.authorizer = authorizer;
    this.fields = { subresource: '', namespace: '', name: '', fieldSelector: '', labelSelector: '', ...fields };
  }

  get text(): string {
    return JSON.stringify(this.fields);
  }

  with(fields: Partial<ResourceFields>): CelResourceCheck {
    return new CelResourceCheck(this.authorizer, { ...this.fields, ...fields });
  }
}

class Decided extends CelOpaque {
  readonly typeName = decisionType.name;
  readonly decision: AccessDecision;

  constructor(decision: AccessDecision) {
    super();
    this.decision = decision;
  }

  get text(): string {
    return JSON.stringify(this.decision);
  }
}

export const authorizerType = opaqueType(expressionTypes.authorizer);
export const resourceCheckType = opaqueType(expressionTypes.resourceCheck);
const pathCheckType = opaqueType(expressionTypes.pathCheck);
const groupCheckType = opaqueType(expressionTypes.groupCheck);
const decisionType = opaqueType(expressionTypes.decision);

const filled = (text: string, what: string): string => {
  if (text.trim() === '') throw new CelFault(`${what} must not be empty`);
  return text;
};

function serviceAccount({ decisions }: CelAuthorizer, namespace: string, name: string): CelAuthorizer {
  if (isDnsSubdomain(name).length > 0) throw new CelFault('Invalid service account name');
  if (isDnsLabel(namespace).length > 0) throw new CelFault('Invalid service account namespace');
  return new CelAuthorizer(decisions, { namespace, name });
}

const checkPath = ({ authorizer: { decisions, account }, path }: PathCheck, verb: string): Decided =>
  new Decided(decisions.decide({ type: 'path', path, verb }, account));

const checkResource = ({ authorizer: { decisions, account }, fields }: CelResourceCheck, verb: string): Decided =>
  new Decided(decisions.decide({ type: 'resource', ...fields, verb }, account));

/** A check may ask a webhook: an expression can afford two of them. */
const costOfCheck = (): number => 350_000;

/** Of parsing a selector: a requirement takes two characters at least, and makes a list and a struct. */
const costOfSelector = (_check: CelResourceCheck, text: string): number =>
  costOfList + Math.ceil(text.length * 0.1) + Math.ceil(text.length * 0.5) * (costOfList + costOfConstruction);

/** Authorization checks (KEP-3488), with their published costs. Only variables make an authorizer. */
export const authorizers = [
  defineMethod(
    'path',
    [authorizerType, stringType],
    pathCheckType,
    (authorizer: CelAuthorizer, path: string) => new PathCheck(authorizer, filled(path, 'path')),
  ),
  defineMethod(
    'group',
    [authorizerType, stringType],
    groupCheckType,
    (authorizer: CelAuthorizer, group: string) => new GroupCheck(authorizer, group),
  ),
  defineMethod('serviceAccount', [authorizerType, stringType, stringType], authorizerType, serviceAccount),
  defineMethod(
    'resource',
    [groupCheckType, stringType],
    resourceCheckType,
    ({ authorizer, group }: GroupCheck, resource: string) =>
      new CelResourceCheck(authorizer, { group, resource: filled(resource, 'resource') }),
  ),
  ...(['subresource', 'namespace', 'name'] as const).map((field) =>
    defineMethod(field, [resourceCheckType, stringType], resourceCheckType, (check: CelResourceCheck, text: string) =>
      check.with({ [field]: text }),
    ),
  ),
  ...(['fieldSelector', 'labelSelector'] as const).map((field) =>
    defineMethod(
      field,
      [resourceCheckType, stringType],
      resourceCheckType,
      (check: CelResourceCheck, text: string) => check.with({ [field]: text }),
      costOfSelector,
    ),
  ),
  {
    ...defineMethod('check', [pathCheckType, stringType], decisionType, checkPath, costOfCheck),
    asksOthers: true as const,
  },
  {
    ...defineMethod('check', [resourceCheckType, stringType], decisionType, checkResource, costOfCheck),
    asksOthers: true as const,
  },
  defineMethod('allowed', [decisionType], boolType, ({ decision }: Decided) => decision.allowed),
  defineMethod('reason', [decisionType], stringType, ({ decision }: Decided) => decision.reason),
  defineMethod('errored', [decisionType], boolType, ({ decision }: Decided) => decision.error !== ''),
  defineMethod('error', [decisionType], stringType, ({ decision }: Decided) => decision.error),
];
