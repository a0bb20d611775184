import type { ClientRequest, ClientResponse } from '../../../src/outbound/transport.ts';
import type { UserInfo } from '../../../src/request/user-info.ts';
import { admin, textOf } from '../simulated-world.ts';

/** A server as clients reach it, from its start to its end. */
export interface Member {
  /** Rejects with `LostAnswer` if no answer arrives, and nothing is wrong with that. */
  send(request: ClientRequest, user: UserInfo): Promise<ClientResponse>;
  /** Aborted when the server has been killed: its clients hear no more of it. */
  readonly gone: AbortSignal;
}

/** The servers of one store. One that was killed has been replaced. */
export interface Servers {
  readonly members: readonly Member[];
}

/** The connection ended before the answer. */
export class LostAnswer extends Error {}

export interface Reply {
  readonly status: number;
  readonly body: ReplyBody;
}

/** What is looked at in answers. */
export interface ReplyBody {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string; readonly continue?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly items?: readonly ReplyBody[];
  readonly reason?: string;
  readonly code?: number;
  readonly message?: string;
}

/** Sends a request to a server. `gone`: no answer arrives, and the request may have been carried out. */
export async function ask(member: Member, request: ClientRequest, user: UserInfo = admin): Promise<Reply | 'gone'> {
  const gone = untilAborted(member.gone);
  const reply = (async (): Promise<Reply> => {
    const response = await member.send(request, user);
    return { status: response.status, body: JSON.parse(await textOf(response)) };
  })();
  reply.catch(() => {});
  try {
    return await Promise.race([reply, gone.promise]);
  } catch (error) {
    if (member.gone.aborted || error instanceof LostAnswer) return 'gone';
    throw error;
  } finally {
    gone.close();
  }
}

function untilAborted(signal: AbortSignal): { readonly promise: Promise<'gone'>; close(): void } {
  const { promise, resolve } = Promise.withResolvers<'gone'>();
  const abort = (): void => resolve('gone');
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  return { promise, close: () => signal.removeEventListener('abort', abort) };
}
