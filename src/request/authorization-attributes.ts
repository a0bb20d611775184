import type { Selector } from '../meta/selectors.ts';

/** Attributes that an authorizer decides on (spec section 5.7). A RequestInfo is assignable to it. */
export type Attributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  readonly type: 'resource';
  /** `get`, `list`, `create`, ..., and special verbs such as `bind`. */
  readonly verb: string;
  /** Full name; '' for core. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** '' if there is none. */
  readonly subresource: string;
  /** '' for cluster-scoped resources and for collections across all namespaces. */
  readonly namespace: string;
  /** '' for collections. */
  readonly name: string;
  /**
   * The field selector of `list`, `watch` and `deletecollection` (KEP-4601): the request is limited to objects that
   * meet all requirements. An authorizer may ignore requirements, and then decides on a broader request. Undefined if
   * there is no selector or it cannot be parsed. The operators are `in` and `notin`, with one value each.
   */
  readonly fieldSelector?: Selector | undefined;
  /** The label selector, with all operators. */
  readonly labelSelector?: Selector | undefined;
}

export interface PathAttributes {
  readonly type: 'path';
  /** The HTTP method in lower case. */
  readonly verb: string;
  readonly path: string;
}
