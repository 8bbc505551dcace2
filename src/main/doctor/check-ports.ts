// Checks of `divan doctor` about the ports of a node: each one is free, or belongs to the node that runs in the data folder.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename } from 'node:path';
import { environmentName } from '../options.ts';
import { type Finding, good, problem, warning } from './finding.ts';

/** Words after the name of a program that show what it does. */
const wordsShown = 2;

export interface WantedPort {
  /** The option of the port: `rest-port`. */
  readonly option: string;
  readonly port: number;
}

/** `holder`: the process of the data folder. */
export async function checkPorts(
  host: string,
  ports: readonly WantedPort[],
  holder: number | null,
): Promise<Finding[]> {
  const results = await Promise.all(ports.map(async (wanted) => checkPort(host, wanted, holder)));
  const found = results.filter((finding) => finding !== null);
  const free = ports.length - found.length;
  return free === 0 ? found : [good('ports', `${free} of ${ports.length} can be used on ${host}`), ...found];
}

/** Returns null for a free port. */
async function checkPort(
  host: string,
  { option, port }: WantedPort,
  holder: number | null,
): Promise<Finding | null> {
  const error = await listenError(host, port);
  if (error === null) return null;
  const name = `port ${port} (--${option})`;
  const other = `choose another one: --${option} 0 takes any free one, or set ${environmentName(option)}`;
  if (error === 'EACCES') return problem('ports', `${name}: this user may not listen on it`, other);
  if (error === 'EADDRNOTAVAIL' || error === 'ENOTFOUND')
    return problem(
      'ports',
      `${name}: this machine has no address ${host}`,
      'give one of its addresses: --host HOST',
    );
  if (error !== 'EADDRINUSE') return problem('ports', `${name}: ${error}`, other);
  const owner = ownerOf(port);
  if (owner !== null && owner.pid === holder)
    return good('ports', `${name}: used by the node of the data folder`);
  if (owner === null && holder !== null)
    return warning(
      'ports',
      `${name}: in use, perhaps by process ${holder}, which runs in the data folder`,
      `if another process has it, end that one, or ${other}`,
    );
  const user = owner === null ? 'another process' : `process ${owner.pid} (${owner.program})`;
  return problem(
    'ports',
    `${name}: in use by ${user}`,
    `if it is the node that you mean, give its folder: --data-dir PATH; else end that process, or ${other}`,
  );
}

function listenError(host: string, port: number): Promise<string | null> {
  if (port === 0) return Promise.resolve(null);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const server = createServer();
  server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  server.listen({ host, port }, () => server.close(() => resolve(null)));
  return promise;
}

/** The process that listens on the port, as far as this user can see it. */
function ownerOf(port: number): { pid: number; program: string } | null {
  const sockets = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => listening(path, port)));
  if (sockets.size === 0) return null;
  for (const pid of namesIn('/proc').filter((name) => /^\d+$/.test(name)))
    for (const handle of namesIn(`/proc/${pid}/fd`))
      if (sockets.has(linkOf(`/proc/${pid}/fd/${handle}`)))
        return { pid: Number(pid), program: programOf(pid) };
  return null;
}

/** `socket:[INODE]` of the sockets that listen. */
function listening(path: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return systemText(path)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === '0A')
    .map((fields) => `socket:[${fields[9]}]`);
}

/** The program and its first words, such as `node divan.js up`: the name of the process alone would be that of a thread. */
export function programOf(pid: string): string {
  const [program = '', ...words] = systemText(`/proc/${pid}/cmdline`).split('\0');
  const shown = words.slice(0, wordsShown);
  // Options may be secret.
  const option = shown.findIndex((word) => word.startsWith('-'));
  const named = [program, ...shown.slice(0, option < 0 ? wordsShown : option)].map((word) => basename(word));
  return named.join(' ').trim() || systemText(`/proc/${pid}/comm`).trim();
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // of another user, or gone
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function systemText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
