import { limits } from '../base/limits.ts';

/** A status that is no success, in the words of client-go for an answer that is no Status object. */
export function describeAnswer(status: number, body: Buffer): string {
  switch (status) {
    case 401:
      return 'the server has asked for the client to provide credentials';
    case 404:
      return 'the server could not find the requested resource';
    case 429:
      return 'the server has received too many requests and has asked us to try again later';
    case 503:
      return 'the server is currently unable to handle the request';
    case 500: {
      const text = JSON.stringify(body.toString().slice(0, limits.webhookErrorLengthMax).trim());
      return `an error on the server (${text}) has prevented the request from succeeding`;
    }
    default:
      return `the server responded with the status code ${status} but did not return more information`;
  }
}

/** As client-go, which reads the answers of some more statuses than 200. */
export const isAnswered = (status: number): boolean => status >= 200 && status <= 206;
