// A registry of npm packages on this machine: it serves the packages that the checkout needs in production, from its `node_modules`, so
// that a test installs Divan with npm and without a network.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const tarBytesMax = 256 << 20;

interface LockedPackage {
  readonly dev?: boolean;
  readonly integrity?: string;
}

interface InstalledPackage {
  readonly folder: string;
  readonly manifest: { readonly name: string; readonly version: string };
}

export class LocalRegistry {
  /** Names that were asked for. */
  readonly requested = new Set<string>();
  private readonly server: Server;
  private readonly packages = productionPackages();

  private constructor() {
    this.server = createServer((request, response) => {
      const [name = '', tarball] = decodeURIComponent((request.url ?? '').slice(1)).split('/-/');
      const versions = this.packages.filter(({ manifest }) => manifest.name === name);
      if (tarball === undefined) this.requested.add(name);
      if (versions.length === 0) response.writeHead(404).end('{}');
      else if (tarball === undefined) response.end(JSON.stringify(this.packument(name, versions)));
      else response.end(tarOf(versions.find(({ manifest }) => tarball === `${manifest.version}.tgz`)));
    });
  }

  static async start(): Promise<LocalRegistry> {
    const registry = new LocalRegistry();
    registry.server.listen(0, '127.0.0.1');
    await once(registry.server, 'listening');
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private packument(name: string, packages: readonly InstalledPackage[]): unknown {
    const versions = packages.map(({ manifest }) => {
      const tarball = `${this.url}/${name}/-/${manifest.version}.tgz`;
      return [manifest.version, { ...manifest, dist: { tarball } }] as const;
    });
    return { name, 'dist-tags': { latest: versions[0]?.[0] }, versions: Object.fromEntries(versions) };
  }
}

/** Packages of the lock file that are no development dependencies and are installed here. */
function productionPackages(): InstalledPackage[] {
  const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(packages)
    .filter(([path, { dev, integrity }]) => path !== '' && !dev && integrity !== undefined)
    .map(([path]) => join(checkout, path))
    .filter((folder) => existsSync(folder))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }));
}

function tarOf(found: InstalledPackage | undefined): Buffer {
  if (found === undefined) return Buffer.alloc(0);
  const options = ['--exclude=./node_modules', '--transform=s,^\\.,package,'];
  return execFileSync('tar', ['-I', 'gzip -1', '-cf', '-', ...options, '-C', found.folder, '.'], {
    maxBuffer: tarBytesMax,
  });
}
