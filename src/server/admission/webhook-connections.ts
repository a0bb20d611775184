import type { SendReview } from '../../admission/webhooks/call-webhook.ts';
import type { WebhookClient, WebhookType } from '../../admission/webhooks/webhook.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Files } from '../../base/files.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import {
  credentialFor,
  type KubeconfigUser,
  type KubeconfigUsers,
  userForServer,
} from '../../outbound/connection-files/kubeconfig-users.ts';
import type { PluginHost } from '../../outbound/credentials/plugin-process.ts';
import type { Network } from '../../outbound/network.ts';
import { type WebhookSender, webhookSender } from '../../outbound/webhook-sender.ts';
import { failedCall, noSuchService, webhookServer, webhookUrl } from '../../outbound/webhook-target.ts';

interface ConnectionParts {
  readonly clock: Clock;
  readonly network: Network;
  readonly files: Files;
  /** Runs credential plugins. */
  readonly pluginHost: PluginHost;
  readonly users: WebhookUsers;
}

/** Credentials for admission webhooks, by the type of webhook. */
export type WebhookUsers = Readonly<Partial<Record<WebhookType, KubeconfigUsers | undefined>>>;

interface Open {
  readonly sender: WebhookSender;
  /** Calls under way. */
  calls: number;
}

/** Connections to admission webhooks: shared by those that are reached in the same way with the same credential, kept while they are used. */
export class WebhookConnections implements Closable {
  readonly #parts: ConnectionParts;
  /** By what the configurations say; the least recently used first. */
  readonly #open = new Map<string, Open>();

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /**
   * Rejects with a text in the form of Go's HTTP client. A webhook that could take longer than the request is told how much time is
   * left; the request's signal ends the call.
   */
  readonly send: SendReview = async (client, body, caller) => {
    const { url, authorities, timeoutMs } = client;
    const leftMs = Math.min(timeoutMs, (caller.deadlineMs ?? Infinity) - this.#parts.clock.monotonic());
    if (url === undefined) throw new Error(failedCall(client, leftMs, noSuchService(client)));
    const users = this.#parts.users[client.type];
    const user = users && userForServer(users, webhookServer(client));
    const key = JSON.stringify([url, authorities, user?.id]);
    const open = this.#open.get(key) ?? this.#connect(client, user);
    this.#open.delete(key);
    this.#open.set(key, open);
    this.#closeUnused();
    open.calls++;
    try {
      const { pathname, search } = webhookUrl(client, leftMs);
      return await open.sender.send(body, caller, { target: pathname + search, timeoutMs });
    } catch (error) {
      caller.signal.throwIfAborted();
      throw new Error(failedCall(client, leftMs, error), {
        cause: error,
      });
    } finally {
      open.calls--;
    }
  };

  #connect(client: WebhookClient, user: KubeconfigUser = anonymous): Open {
    const { clock, network, files, pluginHost } = this.#parts;
    const server = { server: webhookUrl(client, client.timeoutMs), authorities: client.authorities };
    const { credential, impersonation } = user;
    const sender = webhookSender(
      {
        ...{ ...server, serverName: undefined, insecure: false },
        ...{ credential: credentialFor(credential, server), impersonation },
      },
      {
        ...{ clock, network, files, pluginHost, userAgent: 'orch' },
        timeoutMs: client.timeoutMs,
        questionsMax: limits.admissionCallsMax,
      },
    );
    return { sender, calls: 0 };
  }

  #closeUnused(): void {
    for (const [key, open] of this.#open) {
      if (this.#open.size <= limits.admissionConnectionsKept) return;
      if (open.calls > 0) continue;
      this.#open.delete(key);
      open.sender.close();
    }
  }

  close(): void {
    for (const { sender } of this.#open.values()) sender.close();
    this.#open.clear();
  }
}

const anonymous: KubeconfigUser = { id: '', credential: { type: 'stored' }, impersonation: undefined };
