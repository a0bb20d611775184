import type { Exchange } from '../../../http/exchange.ts';
import type { ReceivedBody } from './body-intake.ts';
import type { FlowSchema } from './flow-schemas.ts';
import type { Place } from './lane.ts';
import type { Tenant } from './tenant.ts';

/** What a request belongs to. */
export interface Flow {
  readonly schema: FlowSchema;
  readonly tenant: Tenant;
  /** Tells the tenant's flows apart, which take turns. */
  readonly key: string;
}

/** What one request holds of what is short. Every request has one from when it is known who asks. */
export class Ticket implements Flow {
  readonly exchange: Exchange;
  readonly schema: FlowSchema;
  readonly tenant: Tenant;
  readonly key: string;
  /** Among the tenant's requests under way. */
  counted = true;
  /** Answered with a watch. */
  longRunning = false;
  body: ReceivedBody | undefined = undefined;
  place: Place | undefined = undefined;
  /** Bytes of the answer that were handed over and counted as not taken by the client. */
  unreadBytes = 0;

  constructor(exchange: Exchange, { schema, tenant, key }: Flow) {
    this.exchange = exchange;
    this.schema = schema;
    this.tenant = tenant;
    this.key = key;
  }

  /** The work is done: place and body are given back. */
  giveBack(): void {
    this.body?.giveBack();
    this.body = undefined;
    this.place?.leave();
    this.place = undefined;
  }
}
