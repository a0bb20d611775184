import type { Closable } from '../../base/disposable.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { asServiceAccount } from '../../kinds/core/service-account.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import {
  fillTokenSecret,
  readTokenSecret,
  type TokenSecret,
  type TokenSecretRules,
  tokenSecretType,
} from './token-secret.ts';

/**
 * Adds tokens to Secrets of the service account token type that lack one; deletes such Secrets when their account is
 * deleted or replaced by another of the same name; removes deleted Secrets from the account's list. These tokens
 * never expire: they are for programs that cannot use TokenRequest.
 */
export function startServiceAccountTokens(context: ControllerContext): Closable {
  const { signSecretToken: signToken, logger } = context;
  if (signToken) return new TokenSecrets(context, { ...context, signToken });
  logger.info('Secrets for tokens of service accounts are not filled: there is no key to sign tokens with');
  return { close() {} };
}

const parallel = 5;

class TokenSecrets implements Closable {
  readonly #context: ControllerContext;
  readonly #rules: TokenSecretRules;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  /** Deleted Secrets whose account may still list them. */
  readonly #goneQueue: WorkQueue<TokenSecret>;
  /** UIDs of the service accounts. */
  readonly #accounts: Informer<string>;
  readonly #secrets: Informer<TokenSecret>;
  /** Keys of Secrets by the key of the account that they refer to. */
  readonly #byAccount = new Map<string, Set<string>>();

  constructor(context: ControllerContext, rules: TokenSecretRules) {
    this.#context = context;
    this.#rules = rules;
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: 'serviceaccount_tokens_secret', parallel, work: (key) => this.#sync(key) }),
    );
    this.#goneQueue = this.#held.add(
      new WorkQueue({
        ...context,
        name: 'serviceaccount_tokens_reference',
        parallel,
        work: (secret) => this.#removeReference(secret),
      }),
    );
    this.#accounts = this.#held.add(
      new Informer({
        ...context,
        path: resourcePath({ resource: 'serviceaccounts' }),
        select: ({ metadata }) => metadata.uid ?? '',
        changed: (key, now, before) => {
          if (now !== before) this.#enqueueAll(this.#byAccount.get(key));
        },
        synced: () => this.#enqueueAll(this.#secrets.keys()),
      }),
    );
    const type = tokenSecretType(rules.dialect);
    this.#secrets = this.#held.add(
      new Informer({
        ...context,
        path: resourcePath({ resource: 'secrets', fieldSelector: `type=${type}` }),
        select: (object) => readTokenSecret(object, rules),
        changed: (key, now, before) => this.#secretChanged(key, now, before),
      }),
    );
  }

  #secretChanged(key: string, now: TokenSecret | undefined, before: TokenSecret | undefined): void {
    if (before) this.#unindex(key, before);
    if (now) {
      const named = accountKey(now);
      const secrets = this.#byAccount.get(named) ?? new Set();
      this.#byAccount.set(named, secrets.add(key));
      this.#queue.add(key);
    }
    if (before && before.uid !== now?.uid) this.#goneQueue.add(before);
  }

  #unindex(key: string, secret: TokenSecret): void {
    const secrets = this.#byAccount.get(accountKey(secret));
    secrets?.delete(key);
    if (secrets?.size === 0) this.#byAccount.delete(accountKey(secret));
  }

  #enqueueAll(keys: Iterable<string> = []): void {
    for (const key of keys) this.#queue.add(key);
  }

  async #sync(key: string): Promise<void> {
    const secret = this.#secrets.get(key);
    // Before the accounts are listed, all of them would seem to be gone.
    if (!secret || !this.#accounts.synced || secret.accountName === '') return;
    const uid = await this.#accountUid(secret);
    if (uid === undefined) await this.#delete(secret);
    else if (!secret.filled) await this.#fill(secret, uid);
  }

  /** UID of the account that the Secret refers to; undefined if there is no such account. */
  async #accountUid(secret: TokenSecret): Promise<string | undefined> {
    const isMeant = (uid: string | undefined): boolean => secret.accountUid === '' || secret.accountUid === uid;
    const known = this.#accounts.get(accountKey(secret));
    if (known !== undefined && isMeant(known)) return known;
    // The watch may lag: a Secret is deleted only if a live read confirms that the account is gone.
    const found = await this.#get(accountPath(secret));
    const uid = found?.metadata.uid;
    return isMeant(uid) ? uid : undefined;
  }

  async #delete(secret: TokenSecret): Promise<void> {
    const { client, logger } = this.#context;
    const { namespace, name, uid } = secret;
    logger.info('the account of a token Secret is gone, so it goes', { namespace, secret: name });
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } };
    await settled(client.delete(secretPath(secret), options, this.#held.signal));
  }

  async #fill(secret: TokenSecret, uid: string): Promise<void> {
    const path = secretPath(secret);
    const live = await this.#get(path);
    // If the Secret has changed meanwhile, the watch will report it.
    if (live?.metadata.resourceVersion !== secret.resourceVersion) return;
    const filled = await fillTokenSecret(live, { name: secret.accountName, uid }, this.#rules);
    try {
      await settled(this.#context.client.update(path, filled, this.#held.signal));
    } catch (error) {
      if (!hasReason(error, 'Invalid')) throw error;
      // The Secret is immutable: retrying is useless until somebody changes it.
      const { namespace, name } = secret;
      this.#context.logger.warn('a token Secret cannot be filled', { namespace, secret: name, error });
    }
  }

  /** Removes a deleted token Secret from its account's list. */
  async #removeReference(secret: TokenSecret): Promise<void> {
    const { accountName, accountUid, name } = secret;
    if (accountName === '' || this.#accounts.get(accountKey(secret)) === undefined) return;
    const path = accountPath(secret);
    const account = await this.#get(path);
    if (!account || (accountUid !== '' && accountUid !== account.metadata.uid)) return;
    const { secrets = [] } = asServiceAccount(account);
    const kept = secrets.filter((each) => each.name !== name);
    if (kept.length === secrets.length) return;
    try {
      await this.#context.client.update(path, { ...account, secrets: kept }, this.#held.signal);
    } catch (error) {
      // A Conflict is retried: no further event will come for the deleted Secret.
      if (!hasReason(error, 'NotFound')) throw error;
    }
  }

  async #get(path: string): Promise<ApiObject | undefined> {
    try {
      return await this.#context.client.get(path, this.#held.signal);
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  close(): void {
    this.#held.close();
  }
}

const accountKey = ({ namespace, accountName }: TokenSecret): string => `${namespace}/${accountName}`;

const secretPath = ({ namespace, name }: TokenSecret): string => resourcePath({ resource: 'secrets', namespace, name });
const accountPath = ({ namespace, accountName: name }: TokenSecret): string =>
  resourcePath({ resource: 'serviceaccounts', namespace, name });

/** NotFound and Conflict are no failures: the watch reports the other client's change. */
async function settled(writing: Promise<unknown>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
  }
}
