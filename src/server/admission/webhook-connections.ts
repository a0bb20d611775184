import type { SendReview } from '../../admission/webhooks/call-webhook.ts';
import type { WebhookClient } from '../../admission/webhooks/webhook.ts';
import type { Closable } from '../../base/disposable.ts';
import type { Files } from '../../base/files.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Network } from '../../outbound/network.ts';
import { type WebhookSender, webhookSender } from '../../outbound/webhook-sender.ts';
import { failedPost, noSuchService, webhookUrl } from '../../outbound/webhook-target.ts';

interface ConnectionParts {
  readonly clock: Clock;
  readonly network: Network;
  readonly files: Files;
}

interface Open {
  readonly sender: WebhookSender;
  readonly url: URL;
  /** Calls under way. */
  calls: number;
}

/** Connections to admission webhooks: shared by those that are reached in the same way, kept while they are used. */
export class WebhookConnections implements Closable {
  readonly #parts: ConnectionParts;
  /** By what the configurations say; the least recently used first. */
  readonly #open = new Map<string, Open>();

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Rejects with a text in the form of Go's HTTP client. */
  readonly send: SendReview = async (client, body, caller) => {
    const { url: target, service, authorities, timeoutMs } = client;
    if (target === undefined) throw new Error(failedPost(webhookUrl(client, timeoutMs), noSuchService(client)));
    const key = JSON.stringify([target, service, authorities, timeoutMs]);
    const open = this.#open.get(key) ?? this.#connect(client);
    this.#open.delete(key);
    this.#open.set(key, open);
    this.#closeUnused();
    open.calls++;
    try {
      return await open.sender.send(body, caller);
    } catch (error) {
      caller.signal.throwIfAborted();
      throw new Error(failedPost(open.url, error instanceof Error ? error.message : String(error)), { cause: error });
    } finally {
      open.calls--;
    }
  };

  #connect(client: WebhookClient): Open {
    const { clock, network, files } = this.#parts;
    const url = webhookUrl(client, client.timeoutMs);
    const sender = webhookSender(
      {
        ...{ server: url, authorities: client.authorities, serverName: undefined, insecure: false },
        ...{ credential: { type: 'stored' }, impersonation: undefined },
      },
      {
        ...{ clock, network, files, pluginHost: noPlugins, userAgent: 'orch' },
        timeoutMs: client.timeoutMs,
        questionsMax: limits.admissionCallsMax,
      },
    );
    return { sender, url, calls: 0 };
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

const noPlugins = { environment: {}, interactive: false, stderr() {} };
