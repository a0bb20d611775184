import type { ApiClient } from './api-client.ts';
import { create, dialect } from './api-objects.ts';

/** Webhooks and policies, as their users create them. */

const path = `/apis/${dialect.group('admissionregistration')}/v1`;
const createdAtOnce = 20;

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
}

const resourceRule = (rule: Rule) => ({ ...rule, apiVersions: ['*'], operations: ['CREATE', 'UPDATE'] });

export function makeWebhook(
  api: ApiClient,
  name: string,
  { rule, clientConfig }: { readonly rule: Rule; readonly clientConfig: Readonly<Record<string, string>> },
): Promise<unknown> {
  const webhook = { name: `${name}.example.com`, rules: [resourceRule(rule)], clientConfig };
  const webhooks = [{ ...webhook, sideEffects: 'None', admissionReviewVersions: ['v1'] }];
  return create(api, `${path}/validatingwebhookconfigurations`, { metadata: { name }, webhooks });
}

/** A policy with these rules, and its binding. */
export async function makePolicy(
  api: ApiClient,
  name: string,
  { rule, expressions }: { readonly rule: Rule; readonly expressions: readonly string[] },
): Promise<void> {
  const metadata = { name };
  const matchConstraints = { resourceRules: [resourceRule(rule)] };
  const validations = expressions.map((expression) => ({ expression }));
  await create(api, `${path}/validatingadmissionpolicies`, { metadata, spec: { matchConstraints, validations } });
  const spec = { policyName: name, validationActions: ['Deny'] };
  await create(api, `${path}/validatingadmissionpolicybindings`, { metadata, spec });
}

/** Makes so many of something, some at once. */
export async function makeMany(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += createdAtOnce) {
    await Promise.all(Array.from({ length: Math.min(createdAtOnce, count - from) }, (_, at) => make(from + at)));
  }
}
