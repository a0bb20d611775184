/**
 * `orch/testing`: servers for tests of TypeScript and JavaScript, in the process of the test. Loading it has no effect.
 */

export type { Definition, FlagValue, TestServerOptions, TestUserOptions } from './options.ts';
export { type ClientTls, type Credentials, startTestServer, type TestServer, type TestUser } from './test-server.ts';
