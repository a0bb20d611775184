import { isIPv4, isIPv6 } from 'node:net';

/** Every generated certificate has it. */
const loopback = '::1';

/**
 * As `isIPv6` of Node.js, whose expression takes milliseconds to compile: it is not asked about what servers on IPv4 meet
 * while they start.
 */
export const isIpv6 = (text: string): boolean => text === loopback || (text.includes(':') && isIPv6(text));

/** 4 or 6; 0 for what is no IP address. */
export const ipVersion = (text: string): 0 | 4 | 6 => (isIPv4(text) ? 4 : isIpv6(text) ? 6 : 0);
