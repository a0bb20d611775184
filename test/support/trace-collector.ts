import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { WireReader } from '../../src/base/protobuf-wire.ts';
import { until } from '../../src/base/waits-fixture.ts';

type Value = string | number | boolean | undefined;

/** A span as a collector sees it (opentelemetry.proto.trace.v1.Span). */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** '' of a root. */
  readonly parentSpanId: string;
  readonly state: string;
  readonly name: string;
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, Value>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
  /** Nanoseconds since the Unix epoch. */
  readonly startNs: bigint;
  readonly endNs: bigint;
}

type Reply = (error: { readonly code: number; readonly message: string } | null, message?: Buffer) => void;

/** A collector of traces on the loopback interface: OTLP over gRPC, without TLS. */
export class TraceCollector implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'orch-traces-'));
  readonly spans: CollectedSpan[] = [];
  /** Attributes of the resource of the last message. */
  resource: Readonly<Record<string, Value>> = {};
  /** The messages as they came. */
  readonly messages: Buffer[] = [];
  /** How a message is answered. */
  answer: (reply: Reply) => void = (reply) => reply(null, Buffer.alloc(0));
  readonly #server = new Server({ 'grpc.max_receive_message_length': -1 });
  address = '';

  static async start(address = '127.0.0.1:0'): Promise<TraceCollector> {
    const collector = new TraceCollector();
    const service = { path: exportPath, requestStream: false, responseStream: false, ...asBytes };
    collector.#server.addService(
      { export: service },
      { export: (call: { readonly request: Buffer }, reply: Reply) => collector.#take(call.request, reply) },
    );
    const port = await new Promise<number>((resolve, reject) => {
      collector.#server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    collector.address = address.startsWith('unix:') ? address : `127.0.0.1:${port}`;
    return collector;
  }

  #take(request: Buffer, reply: Reply): void {
    this.messages.push(request);
    this.#read(request);
    this.answer(reply);
  }

  #read(request: Buffer): void {
    each(request, {
      1: (resourceSpans) =>
        each(resourceSpans, {
          1: (resource) => {
            this.resource = attributesOf(resource, 1);
          },
          2: (scopeSpans) => each(scopeSpans, { 2: (span) => this.spans.push(spanOf(span)) }),
        }),
    });
  }

  /** Writes a configuration that names this collector; its path. */
  configuration(fields: object = {}): string {
    return writeConfiguration(this.directory, { endpoint: this.address, ...fields });
  }

  /** Flags of a server that sends spans here, a moment after they ended. */
  flags(fields: object = {}): readonly string[] {
    return [`--tracing-config-file=${this.configuration(fields)}`];
  }

  /** The spans of one request, once its root has come. */
  async trace(auditId: string): Promise<readonly CollectedSpan[]> {
    const root = (): CollectedSpan | undefined =>
      this.spans.find(({ kind, attributes }) => kind === serverKind && attributes['audit-id'] === auditId);
    await until(
      () => root() !== undefined,
      () => `no trace of ${auditId} among ${this.spans.length} spans`,
    );
    const { traceId } = root() as CollectedSpan;
    return this.spans.filter((span) => span.traceId === traceId);
  }

  /** Closes the port and all connections. */
  stopServing(): void {
    this.#server.forceShutdown();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    rmSync(this.directory, { recursive: true });
  }
}

export const serverKind = 2;
export const clientKind = 3;

const exportPath = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

const same = (bytes: Buffer): Buffer => bytes;
const asBytes = {
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

/** Writes a TracingConfiguration; its path. */
function writeConfiguration(directory: string, fields: object): string {
  const path = join(directory, 'tracing.json');
  const head = { apiVersion: 'apiserver.config.orch.io/v1beta1', kind: 'TracingConfiguration' };
  writeFileSync(path, JSON.stringify({ ...head, ...fields }));
  return path;
}

/** Calls back with the bytes of the fields of a message that are wanted. */
function each(message: Buffer, wanted: Readonly<Record<number, (bytes: Buffer) => unknown>>): void {
  const reader = new WireReader(message);
  while (reader.next()) {
    const take = wanted[reader.field];
    if (take) take(reader.bytes());
    else reader.skip();
  }
}

function attributesOf(message: Buffer, field: number): Readonly<Record<string, Value>> {
  const attributes: Record<string, Value> = {};
  each(message, {
    [field]: (pair) => {
      let key = '';
      let value: Value;
      each(pair, {
        1: (text) => {
          key = text.toString();
        },
        2: (any) => {
          value = anyValue(any);
        },
      });
      attributes[key] = value;
    },
  });
  return attributes;
}

/** Of an AnyValue. */
function anyValue(message: Buffer): Value {
  const reader = new WireReader(message);
  if (!reader.next()) return undefined;
  switch (reader.field) {
    case 1:
      return reader.string();
    case 2:
      return reader.bool();
    case 3:
      return Number(reader.int64());
    case 4:
      return reader.double();
    default:
      return undefined;
  }
}

function spanOf(message: Buffer): CollectedSpan {
  const ids: Record<number, string> = {};
  const events: { name: string; attributes: Readonly<Record<string, Value>> }[] = [];
  const links: { traceId: string; spanId: string }[] = [];
  let failed = false;
  const hex = (field: number) => (bytes: Buffer) => {
    ids[field] = bytes.toString('hex');
  };
  const text = (field: number) => (bytes: Buffer) => {
    ids[field] = bytes.toString();
  };
  each(message, {
    ...{ 1: hex(1), 2: hex(2), 3: text(3), 4: hex(4), 5: text(5) },
    11: (event) => {
      let name = '';
      each(event, {
        2: (bytes) => {
          name = bytes.toString();
        },
      });
      events.push({ name, attributes: attributesOf(event, 3) });
    },
    13: (link) => {
      const [at, to] = [{ id: '' }, { id: '' }];
      each(link, {
        1: (bytes) => {
          at.id = bytes.toString('hex');
        },
        2: (bytes) => {
          to.id = bytes.toString('hex');
        },
      });
      links.push({ traceId: at.id, spanId: to.id });
    },
    15: (status) => {
      failed = numberOf(status, 3) === errorCode;
    },
  });
  const { 1: traceId = '', 2: spanId = '', 3: state = '', 4: parentSpanId = '', 5: name = '' } = ids;
  const rest = { kind: numberOf(message, 6), attributes: attributesOf(message, 9), events, links, failed };
  const times = { startNs: timeOf(message, 7), endNs: timeOf(message, 8) };
  return { traceId, spanId, parentSpanId, state, name, ...rest, ...times };
}

const errorCode = 2;

/** Of a field of the type fixed64, whose bytes the reader takes for those of a double. */
function timeOf(message: Buffer, field: number): bigint {
  const reader = new WireReader(message);
  const found = Buffer.alloc(8);
  while (reader.next()) {
    if (reader.field === field) found.writeDoubleLE(reader.double());
    else reader.skip();
  }
  return found.readBigUInt64LE();
}

function numberOf(message: Buffer, field: number): number {
  const reader = new WireReader(message);
  let found = 0;
  while (reader.next()) {
    if (reader.field === field) found = reader.int32();
    else reader.skip();
  }
  return found;
}
