import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { StatusError } from '../../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../../request/admission.ts';
import { admissionForbidden } from '../../forbidden.ts';

type Found = ApiObject | undefined;

export interface NodeRestrictionOptions {
  readonly dialect: Dialect;
  /** The pod of that name. If undefined, the result reflects all writes acknowledged before the call. */
  readonly pod: (namespace: string, name: string) => Promise<Found> | Found;
  /** Whether a node may request node certificates in its own name only. */
  readonly checksRequestedNames: boolean;
  /** Whether a node may request tokens for those audiences only that a pod names. */
  readonly checksAudiences: boolean;
  /** Claims, volumes and storage drivers, with the same guarantee. */
  readonly storage: {
    readonly claim: (namespace: string, name: string) => Promise<Found> | Found;
    readonly volume: (name: string) => Promise<Found> | Found;
    readonly driver: (name: string) => Promise<Found> | Found;
  };
  /** The Node of that name, with the same guarantee. */
  readonly node: (name: string) => Promise<Found> | Found;
  /**
   * The common name in a certificate request (base64-encoded PEM); '' if there is none. Throws if the request cannot be
   * parsed, or is ambiguous.
   */
  readonly commonName: (request: string) => Promise<string> | string;
}

/** A write by a kubelet. */
export interface NodeWrite {
  /** Node name; never ''. */
  readonly node: string;
  /** A patch is an update. */
  readonly operation: 'create' | 'update' | 'delete';
  readonly attributes: AdmissionAttributes;
  readonly options: NodeRestrictionOptions;
}

/** Rejects by throwing. */
export type Check = (write: NodeWrite) => Promise<void> | void;

export const quote = (text: string): string => JSON.stringify(text);

export const refused = ({ attributes }: NodeWrite, why: string): StatusError => admissionForbidden(attributes, why);

/** For missing data that the write should carry; a server bug. */
export const incomplete = (write: NodeWrite): StatusError => refused(write, 'the object is missing');

/** The operation in error messages: `CREATE`. */
export const operationText = ({ operation }: NodeWrite): string => operation.toUpperCase();
