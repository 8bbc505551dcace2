// Runs commands against a running node, with its address and password from the environment.
import { type CommandEnd, runCommand } from './command.ts';
import { administrator, type NodeProcess } from './node-process.ts';

export const nodeEnvironment = (node: NodeProcess): Record<string, string> => ({
  DIVAN_URL: node.ready.node.rest,
  DIVAN_PASSWORD: administrator.password,
});

/** Runs a command line, split at spaces, on the node that runs then; `lastArguments` may contain spaces. */
export const commandsOn =
  (node: () => NodeProcess) =>
  (line: string, ...lastArguments: string[]): Promise<CommandEnd> =>
    runCommand([...line.split(' '), ...lastArguments], nodeEnvironment(node()));
