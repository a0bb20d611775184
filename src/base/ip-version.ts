import { isIPv4, isIPv6 } from 'node:net';

/**
 * As `isIPv6` of Node.js, whose expression takes milliseconds to compile: it is asked only about text that has a colon, as
 * no server on IPv4 meets while it starts.
 */
export const isIpv6 = (text: string): boolean => text.includes(':') && isIPv6(text);

/** 4 or 6; 0 for what is no IP address. */
export const ipVersion = (text: string): 0 | 4 | 6 => (isIPv4(text) ? 4 : isIpv6(text) ? 6 : 0);
