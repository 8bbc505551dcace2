// startNode(): starts a throw-away node with the buckets, users and statements of the caller.
import { checkOptions, portFlags } from './check-options.ts';
import { NodeChild } from './node-child.host.ts';
import { NodeReset } from './reset/node-reset.ts';
import type { PortOptions, StartNodeOptions, TestBucketOptions, TestNode } from './types.ts';

export const startMsDefault = 60_000;
const defaults = { username: 'Administrator', password: 'password', startMs: startMsDefault };
/** Ports that no option of startNode() sets. */
const otherPorts = ['capi', 'capi-tls', 'dist', 'dist-tls', 'replication'];

export async function startNode(options: StartNodeOptions = {}): Promise<TestNode> {
  checkOptions(options);
  const { username, password, startMs } = { ...defaults, ...options };
  const child = await NodeChild.start({
    flags: flagsOf(options),
    secrets: { DIVAN_USERNAME: username, DIVAN_PASSWORD: password },
    plan: planOf(options),
    startMs,
  });
  const account = { username, password };
  const { buckets, users } = planOf(options);
  try {
    const nodeReset = await NodeReset.capture({ addresses: child.addresses, account, buckets, users });
    return new StartedNode(child, account, nodeReset);
  } catch (error) {
    await child.stop();
    throw error;
  }
}

interface Account {
  username: string;
  password: string;
}

class StartedNode implements TestNode {
  readonly username: string;
  readonly password: string;
  private readonly child: NodeChild;
  private readonly nodeReset: NodeReset;
  private resetting: Promise<void> = Promise.resolve();

  constructor(child: NodeChild, { username, password }: Account, nodeReset: NodeReset) {
    this.child = child;
    this.nodeReset = nodeReset;
    this.username = username;
    this.password = password;
  }

  get pid(): number {
    return this.child.pid;
  }

  get addresses() {
    return this.child.addresses;
  }

  get connectionString(): string {
    return this.addresses.kv.replace(/^(couchbase:\/\/)?/, 'couchbase://');
  }

  /** A reset starts when the one before has ended. */
  reset(): Promise<void> {
    if (this.child.hasEnded) return Promise.reject(new Error('reset: the node has ended'));
    this.resetting = this.resetting.catch(() => {}).then(() => this.nodeReset.run());
    return this.resetting;
  }

  stop(): Promise<void> {
    return this.child.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function flagsOf(options: StartNodeOptions): string[] {
  const { edition, host, memoryQuotaMB, ports = {}, services } = options;
  const flags = Object.entries(portFlags).map(
    ([name, flag]) => `--${flag}=${ports[name as keyof PortOptions] ?? 0}`,
  );
  for (const name of otherPorts) flags.push(`--${name}-port=0`);
  if (services !== undefined) flags.push(`--services=${services.join(',')}`);
  if (memoryQuotaMB !== undefined) flags.push(`--memory-quota=${memoryQuotaMB}`);
  if (edition !== undefined) flags.push(`--edition=${edition}`);
  if (host !== undefined) flags.push(`--host=${host}`);
  return flags;
}

const planOf = ({ buckets = [], users = [], statements = [] }: StartNodeOptions) => ({
  buckets: buckets.map(asBucket),
  users,
  statements,
});

const asBucket = (bucket: string | TestBucketOptions): TestBucketOptions =>
  typeof bucket === 'string' ? { name: bucket } : bucket;
