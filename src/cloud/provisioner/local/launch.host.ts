// The command line of a node, and how it is started without ever being lost: the new process waits until its number is
// written down, and ends by itself when whoever started it is gone before.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NodeSpec } from '../provisioner.ts';
import { type ProcessRecord, writeRecord } from './process-record.host.ts';

const launcher = fileURLToPath(new URL('../../../../bin/divan.js', import.meta.url));
const gate = 'read -r go && [ "$go" = go ] && exec "$@" </dev/null';
const logBytesMax = 1024 * 1024;

export interface Launched {
  readonly child: ChildProcess;
  readonly record: ProcessRecord;
}

export interface LaunchOptions {
  readonly spec: NodeSpec;
  readonly folder: string;
  readonly operatorAddress: string | undefined;
}

export function launch(options: LaunchOptions): Launched {
  const { spec, folder } = options;
  rmSync(readyFile(folder), { force: true });
  const output = openSync(logFile(folder), 'a', 0o600);
  const child = spawn(
    '/bin/sh',
    ['-c', gate, 'divan', process.execPath, launcher, 'node', ...flags(options)],
    {
      detached: true, // it goes on serving when this process is replaced
      stdio: ['pipe', output, output],
      env: {
        ...allocator,
        ...surroundings(),
        DIVAN_USERNAME: spec.administrator.username,
        DIVAN_PASSWORD: spec.administrator.password,
      },
    },
  );
  closeSync(output);
  child.on('error', () => {});
  child.stdin?.on('error', () => {});
  if (child.pid === undefined) throw new Error('no process could be started: /bin/sh is needed');
  const record = writeRecord(folder, child.pid);
  child.stdin?.end('go\n');
  child.unref();
  return { child, record };
}

/** Written by the node when it is ready; a launch removes that of an earlier process. */
export const readyFile = (folder: string): string => join(folder, 'ready.json');

/** What the node printed last, for whoever reads why it ended. */
export function lastWords(folder: string): string {
  const path = logFile(folder);
  return (existsSync(path) && readFileSync(path, 'utf8').slice(-400).trim()) || 'it wrote nothing';
}

/** The node goes on appending to the same file, so that is emptied rather than renamed; what it held is kept once. */
export function boundLog(folder: string): void {
  const path = logFile(folder);
  if (!existsSync(path) || statSync(path).size <= logBytesMax) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
}

const logFile = (folder: string): string => join(folder, 'node.log');

function flags({ spec, folder, operatorAddress }: LaunchOptions): string[] {
  const { address, ports, memoryMb } = spec;
  const given: Record<string, string | number> = {
    'data-dir': folder,
    host: address,
    'rest-port': ports.rest,
    'rest-tls-port': ports.restTls,
    'kv-port': ports.kv,
    'kv-tls-port': ports.kvTls,
    'capi-port': ports.capi,
    'capi-tls-port': ports.capiTls,
    'dist-port': ports.dist,
    'dist-tls-port': ports.distTls,
    'memory-quota': memoryMb,
    'wire-names': 'branded',
    'ready-file': readyFile(folder),
    ...(operatorAddress !== undefined && { 'operator-address': operatorAddress }),
  };
  return Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/**
 * Left to itself glibc comes to keep buffers of megabytes among small ones and can't give them back: a node with a bucket of
 * 100 MB that had read more than that held 350 MB, and holds 300 like this for the same work.
 */
const allocator = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '1048576' };

/** What a program needs to run here. All else is this process's own: its database's password may be among it. */
const needed =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|LD_\w+|DYLD_\w+|NODE_(OPTIONS|EXTRA_CA_CERTS|COMPILE_CACHE|V8_COVERAGE))$/;

const surroundings = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => needed.test(name)));
