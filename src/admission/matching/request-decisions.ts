import type { Caller } from '../../base/caller.ts';
import {
  type AccessCheck,
  type AccessDecision,
  type AccountName,
  type Decisions,
  PendingDecision,
} from '../../cel/library/authorizer.ts';
import { isLabelValue, isQualifiedName } from '../../meta/formats.ts';
import { parseFieldSelector, parseLabelSelector, type Selector } from '../../meta/selectors.ts';
import type { Decision } from '../../request/access.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { Attributes } from '../../request/authorization-attributes.ts';
import { accountGroups, accountUsername } from '../../request/service-account-user.ts';
import type { UserInfo } from '../../request/user-info.ts';

/** Decision of the authorizer chain. */
export type AuthorizeInExpression = (
  attributes: Attributes,
  user: UserInfo,
  request: Caller,
) => Decision | Promise<Decision>;

/** Answers `authorizer` in the expressions about one request; the same question is asked once. */
export class RequestDecisions implements Decisions {
  readonly #attributes: AdmissionAttributes;
  readonly #authorize: AuthorizeInExpression;
  readonly #known = new Map<string, AccessDecision>();

  constructor(attributes: AdmissionAttributes, authorize: AuthorizeInExpression) {
    this.#attributes = attributes;
    this.#authorize = authorize;
  }

  decide(check: AccessCheck, account: AccountName | undefined): AccessDecision {
    const key = JSON.stringify([check, account]);
    const known = this.#known.get(key);
    if (known) return known;
    const { user, signal } = this.#attributes;
    const decision = this.#authorize(questionOf(check), account ? userOf(account) : user, { signal });
    if (!(decision instanceof Promise)) return this.#keep(key, shown(decision));
    throw new PendingDecision(decision.then((made) => this.#keep(key, shown(made))));
  }

  #keep(key: string, decision: AccessDecision): AccessDecision {
    this.#known.set(key, decision);
    return decision;
  }
}

const shown = ({ verdict, reason, evaluationError = '' }: Decision): AccessDecision => ({
  allowed: verdict === 'allow',
  reason,
  error: evaluationError,
});

const userOf = (account: AccountName): UserInfo => ({
  username: accountUsername(account),
  uid: '',
  groups: accountGroups(account.namespace),
  extra: {},
});

function questionOf(check: AccessCheck): Attributes {
  if (check.type === 'path') return check;
  const { fieldSelector, labelSelector, ...fields } = check;
  return {
    ...fields,
    version: '*',
    fieldSelector: readSelector(fieldSelector, parseFieldSelector),
    labelSelector: readSelector(labelSelector, (text) => parseLabelSelector(text, isQualifiedName, isLabelValue)),
  };
}

/** Undefined for one that cannot be read: the authorizers then decide about everything. */
function readSelector(text: string, parse: (text: string) => Selector): Selector | undefined {
  if (text === '') return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** What `authorizer.requestResource` asks about. */
export const requestResource = ({ info, name }: AdmissionAttributes) => {
  const { group, resource, subresource, namespace } = info;
  return { group, resource, subresource, namespace, name };
};
