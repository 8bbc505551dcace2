// Starts the process of a node: the child waits until its process id is stored, and exits if its parent ends before that, so that no
// process runs unrecorded.
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
import { packageRoot } from '#ports/code-place.ts';
import { type NodeSpec, nodeServiceNames } from '../provisioner.ts';
import { type ProcessRecord, writeRecord } from './process-record.host.ts';

const launcher = fileURLToPath(new URL('bin/divan.js', packageRoot));
/** A shell command: waits for the line `go`, then becomes the process of the node. */
const gate = 'read -r go && [ "$go" = go ] && exec "$@" </dev/null';
const logBytesMax = 1024 * 1024;

export interface LaunchedProcess {
  readonly child: ChildProcess;
  readonly record: ProcessRecord;
}

export interface LaunchOptions {
  readonly spec: NodeSpec;
  readonly folder: string;
  readonly operatorAddress: string | undefined;
}

export function launch(options: LaunchOptions): LaunchedProcess {
  const { spec, folder } = options;
  rmSync(readyFile(folder), { force: true });
  const output = openSync(logFile(folder), 'a', 0o600);
  const child = spawn(
    '/bin/sh',
    ['-c', gate, 'divan', process.execPath, launcher, 'node', ...flags(options)],
    {
      detached: true, // the node keeps serving when this process is replaced
      stdio: ['pipe', output, output],
      env: {
        ...allocator,
        ...neededEnvironment(),
        DIVAN_USERNAME: spec.administrator.username,
        DIVAN_PASSWORD: spec.administrator.password,
      },
    },
  );
  closeSync(output);
  child.on('error', () => {});
  child.stdin?.on('error', () => {});
  if (child.pid === undefined) throw new Error('no process could be started: /bin/sh is needed');
  const record = recordOrEnd(folder, child, child.pid);
  child.stdin?.end('go\n');
  child.unref();
  return { child, record };
}

/** Records the child. If that fails, ends the child, which would wait for its line as long as this process runs. */
function recordOrEnd(folder: string, child: ChildProcess, pid: number): ProcessRecord {
  try {
    return writeRecord(folder, pid);
  } catch (error) {
    child.stdin?.destroy();
    child.unref();
    throw error;
  }
}

/** The ready file of the node; a launch removes the previous one. */
export const readyFile = (folder: string): string => join(folder, 'ready.json');

/** The end of the node's output, to explain why it ended. */
export function outputTail(folder: string): string {
  const path = logFile(folder);
  return (existsSync(path) && readFileSync(path, 'utf8').slice(-400).trim()) || 'it wrote nothing';
}

/** The node appends to the open file, so the file is copied once and truncated instead of renamed. */
export function truncateLog(folder: string): void {
  const path = logFile(folder);
  if (!existsSync(path) || statSync(path).size <= logBytesMax) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
}

const logFile = (folder: string): string => join(folder, 'node.log');

function flags({ spec, folder, operatorAddress }: LaunchOptions): string[] {
  const { address, ports, memoryMb, services } = spec;
  const options: Record<string, string | number | undefined> = {
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
    'replication-port': ports.replication,
    'query-port': ports.query,
    'query-tls-port': ports.queryTls,
    'index-port': ports.index,
    'index-tls-port': ports.indexTls,
    // A node is alone until it joins, and then needs the data service.
    services: [...new Set(['kv', ...nodeServiceNames(services)])].join(','),
    'memory-quota': memoryMb,
    'wire-names': 'branded',
    'ready-file': readyFile(folder),
    'operator-address': operatorAddress,
  };
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  );
}

/**
 * By default glibc eventually allocates large buffers between small ones and cannot return them: a node with a 100 MB bucket that had read
 * more than that held 350 MB; with these settings it holds 300 MB.
 */
const allocator = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '1048576' };

/** The environment variables that a node needs. Others may contain the database password, so a node does not get them. */
const neededVariables =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|LD_\w+|DYLD_\w+|NODE_(OPTIONS|EXTRA_CA_CERTS|COMPILE_CACHE|V8_COVERAGE))$/;

const neededEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => neededVariables.test(name)));
