// The main thread's link to the query threads: sends them the state of all indexes whenever it changes, and forwards their
// changes of definitions.
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { UnwritableError } from '#base/unwritable-error.ts';
import type { IndexDefinitions, IndexServiceAdmin } from '../index.contract.ts';
import type { LinkCall, LinkMessage } from './link-messages.ts';

export interface IndexLinksOptions {
  readonly definitions: IndexDefinitions;
  readonly indexAdmin: Pick<IndexServiceAdmin, 'reports' | 'onChange'>;
  readonly indexNodes: {
    /** Resolves when no other node is building one of these indexes. */
    readyOnOtherNodes(ids: readonly string[]): Promise<void>;
    /** Resolves when no other node has one of these indexes. */
    goneFromOtherNodes(ids: readonly string[]): Promise<void>;
  };
  /** Replaces the file of an index that a query thread could not read. */
  readonly damaged: (bucketUuid: string, indexId: string) => Promise<void>;
}

export class IndexLinks {
  private readonly options: IndexLinksOptions;
  private readonly ports = new Set<MessagePort>();
  private readonly changes: { stop(): void }[];

  constructor(options: IndexLinksOptions) {
    this.options = options;
    const send = (): void => this.broadcast();
    this.changes = [options.definitions.onChange(send), options.indexAdmin.onChange(send)];
  }

  /** Creates a port for `connectIndexes` in a query thread. Its first message is the state. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    port1.on('message', (call: LinkCall) => void this.answer(port1, call));
    port1.on('close', () => this.ports.delete(port1));
    port1.unref();
    this.ports.add(port1);
    port1.postMessage(this.state());
    return port2;
  }

  stop(): void {
    for (const change of this.changes) change.stop();
    for (const port of this.ports) port.close();
    this.ports.clear();
  }

  private broadcast(): void {
    if (this.ports.size === 0) return;
    const state = this.state();
    for (const port of this.ports) port.postMessage(state);
  }

  private state(): LinkMessage {
    const reports = new Map(this.options.indexAdmin.reports().map((report) => [report.id, report]));
    const indexes = this.options.definitions
      .all()
      .map(({ definition }) => ({ definition, report: reports.get(definition.id) }));
    return { kind: 'state', indexes };
  }

  private async answer(port: MessagePort, call: LinkCall): Promise<void> {
    const { id } = call;
    try {
      port.postMessage({ kind: 'result', id, result: await this.act(call) } satisfies LinkMessage);
    } catch (error) {
      const reason = (error as Error).message;
      const isUnwritable = error instanceof UnwritableError;
      port.postMessage({ kind: 'failure', id, reason, isUnwritable } satisfies LinkMessage);
    }
  }

  private act(call: LinkCall): Promise<unknown> {
    const { definitions, damaged, indexNodes } = this.options;
    switch (call.method) {
      case 'create':
        return definitions.create(call.definition);
      case 'drop':
        return definitions.drop(call.keyspace, call.name);
      case 'build':
        return definitions.build(call.keyspace, call.names);
      case 'alter':
        return definitions.alter(call.keyspace, call.name, call.change);
      case 'ready on other nodes':
        return indexNodes.readyOnOtherNodes(call.ids);
      case 'gone from other nodes':
        return indexNodes.goneFromOtherNodes(call.ids);
      case 'damaged':
        return damaged(call.bucketUuid, call.indexId);
    }
  }
}
