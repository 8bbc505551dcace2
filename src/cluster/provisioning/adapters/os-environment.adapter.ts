// Resolves names and folders through the operating system.

import { lookup } from 'node:dns/promises';
import { constants } from 'node:fs';
import { access, mkdir, realpath, stat } from 'node:fs/promises';
import { createServer, isIP } from 'node:net';
import { dirname, join, resolve, sep } from 'node:path';
import type { Family } from '../../config/cluster-state.ts';
import type { HostEnvironment } from '../node-setup.service.ts';

/** A node that listens on all addresses is reachable at any of them. */
const allAddresses = ['0.0.0.0', '::'];

export class OsEnvironment implements HostEnvironment {
  readonly #listenHost: string;
  readonly families: readonly Family[];
  readonly listensOnLoopbackOnly: boolean;

  constructor(listenHost: string) {
    this.#listenHost = listenHost;
    this.families = familiesOf(listenHost);
    this.listensOnLoopbackOnly = this.isLoopback(listenHost);
  }

  async nameProblem(hostname: string): Promise<string | null> {
    if (!/^[A-Za-z0-9._:-]{1,253}$/.test(hostname)) {
      return `Requested hostname "${hostname}" is not allowed: it is neither an address nor a domain name`;
    }
    const resolved = await resolveName(hostname);
    if ('problem' in resolved) {
      return `Unable to resolve ipv4 address for "${hostname}": ${resolved.problem}`;
    }
    const unusable = await bindProblem(resolved.address);
    if (unusable !== null) return `Could not listen on address "${hostname}": ${unusable}`;
    if (allAddresses.includes(this.#listenHost) || (await this.#listensAt(resolved.address))) return null;
    return `Requested hostname "${hostname}" is not allowed: this node listens on ${this.#listenHost} only`;
  }

  async usableFolder(path: string): Promise<boolean> {
    try {
      await makeFolders(path);
      await access(path, constants.W_OK);
      return (await stat(path)).isDirectory();
    } catch {
      return false; // missing, denied, or not a folder: the same to the caller
    }
  }

  async physicalPath(path: string): Promise<string> {
    // Starts at the root: a path with a thousand missing parts costs one call, not a thousand.
    const parts = resolve(path).split(sep).slice(1);
    let existing: string = sep;
    for (const [i, part] of parts.entries()) {
      try {
        existing = await realpath(join(existing, part));
      } catch (error) {
        // After any other error nothing can be written to the path.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return resolve(path);
        return join(existing, ...parts.slice(i));
      }
    }
    return existing;
  }

  isLoopback(hostname: string): boolean {
    return hostname === 'localhost' || hostname === '::1' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  }

  isOwnLoopback(hostname: string): boolean {
    const isUsual = ['127.0.0.1', '::1', 'localhost'].includes(hostname);
    return hostname === this.#listenHost && this.isLoopback(hostname) && !isUsual;
  }

  async #listensAt(address: string): Promise<boolean> {
    const resolved = await resolveName(this.#listenHost);
    if ('problem' in resolved) return false;
    return resolved.address === address || (this.isLoopback(resolved.address) && this.isLoopback(address));
  }
}

/** `::` accepts connections of both families. A name counts as IPv4, the family of its first address in nearly all cases. */
function familiesOf(host: string): Family[] {
  if (host === '::') return ['inet', 'inet6'];
  return [isIP(host) === 6 ? 'inet6' : 'inet'];
}

/** One level at a time: Node's own recursion never ends below a folder that denies new entries with ENOENT, as /proc does. */
async function makeFolders(path: string): Promise<void> {
  const missing: string[] = [];
  let folder = resolve(path);
  for (; !(await exists(folder)); folder = dirname(folder)) missing.push(folder);
  for (const next of missing.reverse()) await mkdir(next);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function resolveName(hostname: string): Promise<{ address: string } | { problem: string }> {
  if (isIP(hostname) !== 0) return { address: hostname };
  try {
    return { address: (await lookup(hostname, { verbatim: true })).address };
  } catch (error) {
    return { problem: (error as NodeJS.ErrnoException).code === 'ENOTFOUND' ? 'nxdomain' : posixCode(error) };
  }
}

function bindProblem(address: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const server = createServer();
  server.once('error', (error) => resolve(posixCode(error)));
  server.listen(0, address, () => server.close(() => resolve(null)));
  return promise;
}

const posixCode = (error: unknown): string =>
  ((error as NodeJS.ErrnoException).code ?? 'einval').toLowerCase();
