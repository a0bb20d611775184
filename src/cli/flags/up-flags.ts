import { clusterSigningFlags } from './cluster-signing-flags.ts';
import { controllersFlag, simulatedNodesFlags } from './controllers-flag.ts';
import { serverFlags } from './server-flags.ts';

/** All of them: it costs nothing to be ready for joining nodes. */
const ownControllers = ['*', 'bootstrapsigner', 'tokencleaner'];

/** The flags of a server that runs the controllers itself. */
export const upFlags = {
  ...serverFlags,
  ...clusterSigningFlags,
  ...simulatedNodesFlags,
  controllers: controllersFlag(ownControllers),
};
