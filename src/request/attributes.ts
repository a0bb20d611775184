import type { Selector } from '../meta/selectors.ts';

/** What is asked about a request (spec section 5.7). A RequestInfo is one. */
export type Attributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  readonly type: 'resource';
  /** `get`, `list`, `create`, ..., and special ones such as `bind`. */
  readonly verb: string;
  /** Full name; '' for core. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** '' where none was named. */
  readonly subresource: string;
  /** '' for cluster-scoped resources and for collections across all namespaces. */
  readonly namespace: string;
  /** '' for collections. */
  readonly name: string;
  /**
   * What the request limits itself to, of `list`, `watch` and `deletecollection` (KEP-4601): only objects of which all
   * requirements hold are concerned. Each may be left out of account, which makes the question a broader one. Absent
   * where there is no selector, and where it cannot be read. The operators are `in` and `notin`, with one value each.
   */
  readonly fieldSelector?: Selector | undefined;
  /** The same for labels, with all operators. */
  readonly labelSelector?: Selector | undefined;
}

export interface PathAttributes {
  readonly type: 'path';
  /** The HTTP method in lower case. */
  readonly verb: string;
  readonly path: string;
}
