import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { StatusError } from '../../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../../request/admission.ts';
import { admissionForbidden } from '../../forbidden.ts';

type Found = ApiObject | undefined;

export interface NodeRestrictionOptions {
  readonly dialect: Dialect;
  /** The pod of that name. Where it is undefined, no write acknowledged before the call has made one. */
  readonly pod: (namespace: string, name: string) => Promise<Found> | Found;
  /** The Node of that name, on the same terms. */
  readonly node: (name: string) => Promise<Found> | Found;
  /**
   * The common name that a certificate request (PEM, as bytes in base64) asks for; '' where it asks for none. Throws where the
   * request cannot be read, or could be read in two ways.
   */
  readonly commonName: (request: string) => Promise<string> | string;
}

/** A write by the agent of a node. */
export interface NodeWrite {
  /** Name of the node; never ''. */
  readonly node: string;
  /** A patch is an update here. */
  readonly operation: 'create' | 'update' | 'delete';
  readonly attributes: AdmissionAttributes;
  readonly options: NodeRestrictionOptions;
}

/** Refuses by throwing. */
export type Check = (write: NodeWrite) => Promise<void> | void;

export const quote = (text: string): string => JSON.stringify(text);

export const refused = ({ attributes }: NodeWrite, why: string): StatusError => admissionForbidden(attributes, why);

/** For what the check needs and the write does not carry, which would be a fault of the server. */
export const incomplete = (write: NodeWrite): StatusError => refused(write, 'the object is missing');

/** The operation as messages have it. */
export const shout = ({ operation }: NodeWrite): string => operation.toUpperCase();
