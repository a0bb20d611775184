import type { Span, SpanAttributes } from './span.ts';

/** A span that keeps what is said of it. */
export class SpanFixture implements Span {
  readonly name: string;
  readonly kind: 'internal' | 'client';
  attributes: SpanAttributes;
  readonly children: SpanFixture[] = [];
  readonly events: string[] = [];
  failed = false;
  ends = 0;

  constructor(name = 'root', attributes: SpanAttributes = {}, kind: 'internal' | 'client' = 'internal') {
    this.name = name;
    this.attributes = attributes;
    this.kind = kind;
  }

  get headers(): Readonly<Record<string, string>> {
    return { traceparent: `of ${this.name}` };
  }

  child(name: string, attributes?: SpanAttributes, kind?: 'internal' | 'client'): Span {
    const child = new SpanFixture(name, attributes, kind);
    this.children.push(child);
    return child;
  }

  event(name: string): void {
    this.events.push(name);
  }

  set(attributes: SpanAttributes): void {
    this.attributes = { ...this.attributes, ...attributes };
  }

  fail(): void {
    this.failed = true;
  }

  end(): void {
    this.ends += 1;
  }
}
