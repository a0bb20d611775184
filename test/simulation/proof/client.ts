import type { ClientRequest } from '../../../src/outbound/transport.ts';
import type { UserInfo } from '../../../src/request/user-info.ts';
import { admin, textOf } from '../simulated-world.ts';
import type { Member } from './cluster.ts';

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
  readonly message?: string;
}

/** Sends a request to a server. `gone`: the server was killed before it answered. */
export async function ask(member: Member, request: ClientRequest, user: UserInfo = admin): Promise<Reply | 'gone'> {
  const gone = untilAborted(member.gone.signal);
  const reply = (async (): Promise<Reply> => {
    const response = await member.server.transportAs(user).send(request);
    return { status: response.status, body: JSON.parse(await textOf(response)) };
  })();
  reply.catch(() => {});
  try {
    return await Promise.race([reply, gone.promise]);
  } catch (error) {
    if (member.gone.signal.aborted) return 'gone';
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
