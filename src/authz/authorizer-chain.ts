import type { Caller } from '../base/caller.ts';
import { type Closable, ClosableStack } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { UserInfo } from '../request/user-info.ts';
import { alwaysAllow, alwaysDeny } from './always.ts';
import type { AuthorizationMetrics } from './authorization-metrics.ts';
import type { Attributes, Authorizer, Decision } from './authorizer.ts';
import type { AuthorizerSpec, BuiltInSpec, WebhookConnection, WebhookSpec } from './configuration/authorizer-spec.ts';
import { counted } from './counted.ts';
import { masters } from './masters.ts';
import { type RuleResolver, type UserRules, unlistable } from './rule-resolver.ts';
import { unionAuthorizer, unionRules } from './union.ts';
import type { WebhookSend } from './webhook/round-trips.ts';
import { WebhookAuthorizer } from './webhook/webhook-authorizer.ts';

type ListingAuthorizer = Authorizer & RuleResolver;

/** Connection to one webhook. Closing it releases its sockets; requests in flight may fail. */
interface WebhookSender extends Closable {
  readonly send: WebhookSend;
}

/** Dependencies of an authorizer chain, shared by all chains of a server. */
export interface ChainParts {
  /** Undefined if the server did not start with this mode: a chain that contains it cannot be built. */
  readonly rbac?: ListingAuthorizer | undefined;
  readonly node?: ListingAuthorizer | undefined;
  readonly abac?: ListingAuthorizer | undefined;
  /** Creates the connection to a webhook from its connection file. Throws or rejects if that is invalid. */
  readonly webhookSender: (connection: WebhookConnection, spec: WebhookSpec) => WebhookSender | Promise<WebhookSender>;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: AuthorizationMetrics;
}

/** An authorizer chain and its webhook connections. Closing it fails the webhook requests in flight. */
export interface AuthorizerChain extends ListingAuthorizer, Closable {}

/**
 * Builds the chain that the specs describe, in order, preceded by the authorizer for masters. Rejects if a part cannot be
 * built, after closing the others.
 */
export async function buildAuthorizers(specs: readonly AuthorizerSpec[], parts: ChainParts): Promise<AuthorizerChain> {
  const held = new ClosableStack();
  try {
    const authorizers: Authorizer[] = [masters];
    const resolvers: RuleResolver[] = [];
    for (const spec of specs) {
      const { authorizer, resolver } =
        spec.type === 'Webhook' ? await buildWebhook(spec, parts, held) : builtIn(spec, parts);
      authorizers.push(counted(authorizer, parts.metrics.decisionsOf(spec.type, spec.name)));
      resolvers.push(resolver);
    }
    return new Chain(unionAuthorizer(authorizers), unionRules(resolvers), held);
  } catch (error) {
    held.close();
    throw error;
  }
}

class Chain implements AuthorizerChain {
  readonly #authorizer: Authorizer;
  readonly #resolver: RuleResolver;
  readonly #held: Closable;

  constructor(authorizer: Authorizer, resolver: RuleResolver, held: Closable) {
    this.#authorizer = authorizer;
    this.#resolver = resolver;
    this.#held = held;
  }

  authorize(attributes: Attributes, user: UserInfo, caller?: Caller): Decision | Promise<Decision> {
    return this.#authorizer.authorize(attributes, user, caller);
  }

  rulesFor(user: UserInfo, namespace: string): UserRules | Promise<UserRules> {
    return this.#resolver.rulesFor(user, namespace);
  }

  close(): void {
    this.#held.close();
  }
}

interface Link {
  readonly authorizer: Authorizer;
  readonly resolver: RuleResolver;
}

function builtIn({ type }: BuiltInSpec, parts: ChainParts): Link {
  const authorizer = {
    AlwaysAllow: alwaysAllow,
    AlwaysDeny: alwaysDeny,
    ABAC: parts.abac,
    RBAC: parts.rbac,
    Node: parts.node,
  }[type];
  if (!authorizer)
    throw new Error(`authorizer type ${type} is not allowed if it was not enabled when the server started`);
  return { authorizer, resolver: authorizer };
}

const cannotList = unlistable('webhook');

async function buildWebhook(spec: WebhookSpec, parts: ChainParts, held: ClosableStack): Promise<Link> {
  const { dialect, clock, random, logger, metrics } = parts;
  const sender = held.add(await parts.webhookSender(spec.connection, spec));
  const authorizer = new WebhookAuthorizer({
    ...spec,
    send: sender.send,
    group: dialect.group('authorization'),
    ...{ clock, random, logger, metrics },
  });
  held.add(authorizer);
  return { authorizer, resolver: cannotList };
}
